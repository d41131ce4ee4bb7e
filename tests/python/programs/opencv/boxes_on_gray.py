# SPDX-License-Identifier: Apache-2.0
"""Detection: the resized image in the corner of a gray canvas.

Made as Megvii-BaseDetection/YOLOX does it, without its mosaics.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
from torch.utils.data import Dataset

from programs.opencv.letterboxed import tint
from programs.program_files import Files, Program, need


def in_corner(img: Any, side: int) -> Tuple[Any, float]:
    cv2 = need("cv2")
    canvas = np.ones((side, side, 3), dtype=np.uint8) * 114
    r = min(side / img.shape[0], side / img.shape[1])
    size = int(img.shape[1] * r), int(img.shape[0] * r)
    small = cv2.resize(img, size, interpolation=cv2.INTER_LINEAR)
    canvas[: size[1], : size[0]] = small.astype(np.uint8)
    canvas = canvas.transpose((2, 0, 1))
    return np.ascontiguousarray(canvas, dtype=np.float32), r


class Corners(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any, Tuple[int, int]]:
        cv2 = need("cv2")
        img = cv2.imread(self.paths[index])
        h, w, _ = img.shape
        boxes = np.array([[4, 5, 30, 44]], dtype=np.float64)
        tint(img)
        if random.random() < 0.5:
            img = img[:, ::-1]
            boxes[:, 0::2] = w - boxes[:, 2::-2]
        img, r = in_corner(img, 96)
        targets = np.zeros((20, 5), dtype=np.float32)
        targets[: len(boxes), 1:] = boxes * r
        return img, targets, (h, w)


def make(files: Files) -> Program:
    need("cv2")
    return Program(Corners(files.photos()), dict(batch_size=4, shuffle=True))
