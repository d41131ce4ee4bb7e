# SPDX-License-Identifier: Apache-2.0
"""Faces: square crops, colours written in place, filters drawn.

Made as biubug6/Pytorch_Retinaface; of its filters all but the cubic one.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

MEANS = (104, 117, 123)


def scale(image: Any, alpha: float = 1, beta: float = 0) -> None:
    values = image.astype(float) * alpha + beta
    values[values < 0] = 0
    values[values > 255] = 255
    image[:] = values


def distort(image: Any) -> Any:
    cv2 = need("cv2")
    image = image.copy()
    late = random.randrange(2)
    if random.randrange(2):
        scale(image, beta=random.uniform(-32, 32))
    if not late and random.randrange(2):
        scale(image, alpha=random.uniform(0.5, 1.5))
    image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    if random.randrange(2):
        scale(image[:, :, 1], alpha=random.uniform(0.5, 1.5))
    if random.randrange(2):
        hue = image[:, :, 0].astype(int) + random.randint(-18, 18)
        hue %= 180
        image[:, :, 0] = hue
    image = cv2.cvtColor(image, cv2.COLOR_HSV2BGR)
    if late and random.randrange(2):
        scale(image, alpha=random.uniform(0.5, 1.5))
    return image


class Landmarks(Dataset):
    SIDE = 64

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        cv2 = need("cv2")
        image = cv2.imread(self.paths[index])
        h, w, _ = image.shape
        points = np.array([[20.0, 20.0], [30.0, 22.0], [25.0, 40.0]])
        side = int(random.uniform(0.7, 1.0) * min(h, w))
        left = 0 if w == side else random.randrange(w - side)
        top = 0 if h == side else random.randrange(h - side)
        image = image[top : top + side, left : left + side]
        points -= [left, top]
        image = distort(image)
        if random.randrange(2):
            image = image[:, ::-1]
            points[:, 0] = side - points[:, 0]
        filters = (
            cv2.INTER_LINEAR,
            cv2.INTER_AREA,
            cv2.INTER_NEAREST,
            cv2.INTER_LANCZOS4,
        )
        size, chosen = (self.SIDE, self.SIDE), filters[random.randrange(4)]
        image = cv2.resize(image, size, interpolation=chosen)
        image = image.astype(np.float32)
        image -= MEANS
        image = image.transpose(2, 0, 1)
        return torch.from_numpy(image), points / side


def collate(batch: Any) -> Tuple[Any, Any]:
    images = [sample[0] for sample in batch]
    points = [torch.from_numpy(sample[1]).float() for sample in batch]
    return torch.stack(images, 0), points


def make(files: Files) -> Program:
    need("cv2")
    arguments = dict(batch_size=4, shuffle=True, collate_fn=collate)
    return Program(Landmarks(files.photos()), arguments)
