# SPDX-License-Identifier: Apache-2.0
"""Detection by centers: a crop of a drawn size, flipped and warped.

Made as xingyizhou/CenterNet, without its drawn colours.
"""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

MEAN = np.array([0.408, 0.447, 0.470], dtype=np.float32).reshape(1, 1, 3)
STD = np.array([0.289, 0.274, 0.278], dtype=np.float32).reshape(1, 1, 3)


def to_square(center: Any, scale: float, turn: float, side: int) -> Any:
    """The map of a square around `center` to one of `side`."""
    cv2 = need("cv2")
    angle = np.pi * turn / 180
    up = np.array([np.sin(angle), -np.cos(angle)]) * scale / 2
    middle = np.array([side / 2, side / 2])
    src = np.zeros((3, 2), np.float32)
    dst = np.zeros((3, 2), np.float32)
    src[0], src[1] = center, center + up
    dst[0], dst[1] = middle, middle + [0, -side / 2]
    for points in (src, dst):
        arm = points[0] - points[1]
        points[2] = points[1] + np.array([-arm[1], arm[0]], np.float32)
    return cv2.getAffineTransform(src, dst)


class Centers(Dataset):
    SIDE = 96

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        img = cv2.imread(self.paths[index])
        h, w = img.shape[:2]
        scale = max(h, w) * np.random.choice(np.arange(0.6, 1.4, 0.1))
        center = np.array([0, 0], dtype=np.float32)
        center[0] = np.random.randint(low=w // 4, high=w - w // 4)
        center[1] = np.random.randint(low=h // 4, high=h - h // 4)
        point = np.array([20.0, 30.0, 1.0])
        if np.random.random() < 0.5:
            img = img[:, ::-1, :]
            center[0], point[0] = w - center[0] - 1, w - point[0] - 1
        matrix = to_square(center, scale, 0, self.SIDE)
        size = self.SIDE, self.SIDE
        inp = cv2.warpAffine(img, matrix, size, flags=cv2.INTER_LINEAR)
        inp = inp.astype(np.float32) / 255.0
        inp = (inp - MEAN) / STD
        inp = inp.transpose(2, 0, 1)
        small = to_square(center, scale, 0, self.SIDE // 4)
        place = np.clip(np.dot(small, point), 0, self.SIDE // 4 - 1)
        heat = np.zeros((2, self.SIDE // 4, self.SIDE // 4), np.float32)
        heat[index % 2, int(place[1]), int(place[0])] = 1
        return {"input": inp, "hm": heat, "reg": place - place.astype(int)}


def make(files: Files) -> Program:
    need("cv2")
    return Program(Centers(files.photos()), dict(batch_size=4, shuffle=True))
