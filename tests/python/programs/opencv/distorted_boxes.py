# SPDX-License-Identifier: Apache-2.0
"""Detection: a larger canvas, a crop, other colours in floats and HSV.

Made as the pipeline for SSD of open-mmlab/mmdetection.
"""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch
from numpy import random
from torch.utils.data import Dataset

from programs.opencv.keep_ratio_boxes import flip, listed, load, pack
from programs.program_files import Files, Program, need

MEAN = [103.53, 116.28, 123.675]


def expand(found: Dict[str, Any]) -> None:
    if random.uniform(0, 1) > 0.5:
        return
    img, ratio = found["img"], random.uniform(1, 3)
    h, w, c = img.shape
    canvas = np.full((int(h * ratio), int(w * ratio), c), MEAN, dtype=img.dtype)
    left = int(random.uniform(0, w * ratio - w))
    top = int(random.uniform(0, h * ratio - h))
    canvas[top : top + h, left : left + w] = img
    found["img"] = canvas
    found["boxes"] = found["boxes"] + np.float32([left, top, left, top])


def crop(found: Dict[str, Any]) -> None:
    """A part that has the middle of a box in it."""
    h, w, _ = found["img"].shape
    for _ in range(50):
        wide, high = random.uniform(0.3 * w, w), random.uniform(0.3 * h, h)
        left, top = random.uniform(w - wide), random.uniform(h - high)
        box = np.array((int(left), int(top), int(left + wide), int(top + high)))
        middle = (found["boxes"][:, :2] + found["boxes"][:, 2:]) / 2
        inside = ((middle > box[:2]) & (middle < box[2:])).all(axis=1)
        if box[2] > box[0] and box[3] > box[1] and inside.any():
            found["img"] = found["img"][box[1] : box[3], box[0] : box[2]]
            found["boxes"] = found["boxes"][inside] - np.tile(box[:2], 2)
            return


def resize(found: Dict[str, Any]) -> None:
    cv2, side = need("cv2"), 70
    h, w = found["img"].shape[:2]
    found["img"] = cv2.resize(
        found["img"], (side, side), dst=None, interpolation=cv2.INTER_LINEAR
    )
    found["boxes"] = found["boxes"] * np.float32([side / w, side / h] * 2)


def distort(found: Dict[str, Any]) -> None:
    cv2, img = need("cv2"), found["img"].astype(np.float32)
    late, lighter, contrast, sat, hue, swap = random.randint(2, size=6)
    delta, alpha = random.uniform(-32, 32), random.uniform(0.5, 1.5)
    factor, turn = random.uniform(0.5, 1.5), random.uniform(-18, 18)
    order = random.permutation(3)
    if lighter:
        img += delta
    if late and contrast:
        img *= alpha
    img = cv2.cvtColor(img, cv2.COLOR_BGR2HSV)
    if sat:
        img[..., 1] *= factor
        if factor > 1:
            img[..., 1] = img[..., 1].clip(0, 1)
    if hue:
        img[..., 0] += turn
        img[..., 0][img[..., 0] > 360] -= 360
        img[..., 0][img[..., 0] < 0] += 360
    img = cv2.cvtColor(img, cv2.COLOR_HSV2BGR)
    if not late and contrast:
        img *= alpha
    found["img"] = img[..., order] if swap else img


class Boxes(Dataset):
    STEPS = (load, expand, crop, resize, flip, distort, pack)

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        boxes = np.array([[4, 5, 30, 40], [9, 2, 50, 44]], dtype=np.float32)
        found: Dict[str, Any] = {"path": self.paths[index], "boxes": boxes}
        for step in self.STEPS:
            step(found)
        boxes = torch.from_numpy(found["boxes"].astype(np.float32))
        return {"inputs": found["img"], "boxes": boxes}


def make(files: Files) -> Program:
    need("cv2")
    arguments = dict(batch_size=3, shuffle=True, collate_fn=listed)
    return Program(Boxes(files.photos()), arguments)
