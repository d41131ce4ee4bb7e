# SPDX-License-Identifier: Apache-2.0
"""Segmentation: drawn sizes, crops that look at the classes, other colours.

Made as the pipeline for ADE20K of open-mmlab/mmsegmentation.
"""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


def scaled(img: Any, alpha: float = 1, beta: float = 0) -> Any:
    img = img.astype(np.float32) * alpha + beta
    return np.clip(img, 0, 255).astype(np.uint8)


def distorted(img: Any) -> Any:
    cv2, draw = need("cv2"), np.random
    if draw.randint(2):
        img = scaled(img, beta=draw.uniform(-32, 32))
    late = draw.randint(2)
    if not late and draw.randint(2):
        img = scaled(img, alpha=draw.uniform(0.5, 1.5))
    if draw.randint(2):
        img = cv2.cvtColor(img, cv2.COLOR_BGR2HSV)
        img[:, :, 1] = scaled(img[:, :, 1], alpha=draw.uniform(0.5, 1.5))
        img = cv2.cvtColor(img, cv2.COLOR_HSV2BGR)
    if draw.randint(2):
        img = cv2.cvtColor(img, cv2.COLOR_BGR2HSV)
        hue = img[:, :, 0].astype(int) + draw.randint(-18, 18)
        img[:, :, 0] = hue % 180
        img = cv2.cvtColor(img, cv2.COLOR_HSV2BGR)
    if late and draw.randint(2):
        img = scaled(img, alpha=draw.uniform(0.5, 1.5))
    return img


class Scenes(Dataset):
    SIDE = 64

    def __init__(
        self, images: List[str], masks: List[str], most: float = 0.75
    ) -> None:
        self.images, self.masks, self.most = images, masks, most

    def __len__(self) -> int:
        return len(self.images)

    def box(self, mask: Any) -> Any:
        """A crop in which no class has almost all of it, if one is found."""
        h, w = mask.shape[:2]
        for _ in range(11):
            top = np.random.randint(0, max(h - self.SIDE, 0) + 1)
            left = np.random.randint(0, max(w - self.SIDE, 0) + 1)
            box = np.s_[top : top + self.SIDE, left : left + self.SIDE]
            if self.most >= 1:
                break
            labels, counts = np.unique(mask[box], return_counts=True)
            counts = counts[labels != 255]
            if len(counts) > 1 and max(counts) / sum(counts) < self.most:
                break
        return box

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        img = cv2.imread(self.images[index])
        mask = cv2.imread(self.masks[index], cv2.IMREAD_UNCHANGED)
        factor = np.random.uniform(0.8, 2.0)
        size = tuple(int(side * factor + 0.5) for side in img.shape[1::-1])
        img = cv2.resize(img, size, interpolation=cv2.INTER_LINEAR)
        mask = cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST)
        box = self.box(mask)
        img, mask = img[box], mask[box]
        if np.random.random() < 0.5:
            img, mask = np.flip(img, axis=1), np.flip(mask, axis=1)
        img = distorted(img)
        down, right = self.SIDE - img.shape[0], self.SIDE - img.shape[1]
        around, plain = (0, down, 0, right), cv2.BORDER_CONSTANT
        img = cv2.copyMakeBorder(img, *around, plain, value=0)
        mask = cv2.copyMakeBorder(mask, *around, plain, value=255)
        img = np.ascontiguousarray(img.transpose(2, 0, 1))
        mask = torch.from_numpy(mask[None, ...].astype(np.int64))
        return {"inputs": torch.from_numpy(img), "mask": mask}


def make(files: Files) -> Program:
    need("cv2")
    data = Scenes(files.photos(), files.masks("L"))
    return Program(data, dict(batch_size=4, shuffle=True))
