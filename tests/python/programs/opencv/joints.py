# SPDX-License-Identifier: Apache-2.0
"""Human pose: the person's box turned and warped, joints as heat maps.

Made as leoxiaobin/deep-high-resolution-net.pytorch.
"""

from __future__ import annotations

import copy
import random
from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset
from torchvision import transforms

from programs.opencv.center_points import to_square
from programs.program_files import Files, Program, need


class Joints(Dataset):
    SIDE = 96

    def __init__(self, paths: List[str]) -> None:
        draw = np.random.RandomState(4)
        self.people = [
            {"image": path, "joints": draw.uniform(5, 50, (5, 2))}
            for path in paths
        ]
        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize(mean=mean, std=std)]
        )

    def __len__(self) -> int:
        return len(self.people)

    def __getitem__(self, index: int) -> Tuple[Any, Any, Dict[str, Any]]:
        cv2 = need("cv2")
        person = copy.deepcopy(self.people[index])
        image = cv2.imread(
            person["image"], cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
        )
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        if image is None:
            raise ValueError("no image %s" % person["image"])
        joints, w = person["joints"], image.shape[1]
        center = joints.mean(axis=0)
        scale = 60 * np.clip(np.random.randn() * 0.35 + 1, 0.65, 1.35)
        turn = 0.0
        if random.random() <= 0.6:
            turn = float(np.clip(np.random.randn() * 45, -90, 90))
        if random.random() <= 0.5:
            image = image[:, ::-1, :]
            joints[:, 0] = w - joints[:, 0] - 1
            center[0] = w - center[0] - 1
        matrix = to_square(center, scale, turn, self.SIDE)
        size = int(self.SIDE), int(self.SIDE)
        inp = cv2.warpAffine(image, matrix, size, flags=cv2.INTER_LINEAR)
        inp = self.transform(inp)
        ones = np.ones((len(joints), 1))
        joints = np.concatenate([joints, ones], 1) @ matrix.T
        at = np.arange(24, dtype=np.float32)
        x, y = joints[:, 0] / 4, joints[:, 1] / 4
        far = (at[None, None] - x[:, None, None]) ** 2
        far = far + (at[None, :, None] - y[:, None, None]) ** 2
        target = torch.from_numpy(np.exp(-far / 8).astype(np.float32))
        return inp, target, {"image": person["image"], "scale": scale}


def make(files: Files) -> Program:
    need("cv2")
    return Program(Joints(files.photos()), dict(batch_size=4, shuffle=True))
