# SPDX-License-Identifier: Apache-2.0
"""Detection on a letter box, colours by tables in HSV, written in place.

Made as ultralytics/yolov5 does it, without its mosaics.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need

GRAY = (114, 114, 114)


def letter_box(img: Any, side: int) -> Any:
    cv2 = need("cv2")
    h, w = img.shape[:2]
    r = min(side / h, side / w)
    size = round(w * r), round(h * r)
    if (w, h) != size:
        img = cv2.resize(img, size, interpolation=cv2.INTER_LINEAR)
    across, down = (side - size[0]) / 2, (side - size[1]) / 2
    top, bottom = round(down - 0.1), round(down + 0.1)
    left, right = round(across - 0.1), round(across + 0.1)
    around, plain = (top, bottom, left, right), cv2.BORDER_CONSTANT
    return cv2.copyMakeBorder(img, *around, plain, value=GRAY), r, (left, top)


def tint(img: Any) -> None:
    """Other colours in the same array."""
    cv2 = need("cv2")
    gains = np.random.uniform(-1, 1, 3) * [0.015, 0.7, 0.4] + 1
    parts = cv2.split(cv2.cvtColor(img, cv2.COLOR_BGR2HSV))
    x = np.arange(0, 256, dtype=gains.dtype)
    tables = [((x * gains[0]) % 180).astype(img.dtype)]
    tables += [np.clip(x * g, 0, 255).astype(img.dtype) for g in gains[1:]]
    parts = [cv2.LUT(*pair) for pair in zip(parts, tables)]
    cv2.cvtColor(cv2.merge(parts), cv2.COLOR_HSV2BGR, dst=img)


class LetterBoxes(Dataset):
    def __init__(self, paths: List[str], side: int = 96) -> None:
        self.paths, self.side = paths, side

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any, str]:
        cv2 = need("cv2")
        img = cv2.imread(self.paths[index])
        img, ratio, (left, top) = letter_box(img, self.side)
        boxes = np.array([[0, 1, 8, 9, 50, 40]], dtype=np.float32)
        boxes[:, 2:] = boxes[:, 2:] * ratio + [left, top, left, top]
        angle, scale = random.uniform(-10, 10), random.uniform(0.5, 1.5)
        middle = self.side / 2, self.side / 2
        matrix, size = cv2.getRotationMatrix2D(middle, angle, scale), self.side
        img = cv2.warpAffine(img, matrix, dsize=(size, size), borderValue=GRAY)
        tint(img)
        if random.random() < 0.5:
            img = np.flipud(img)
        if random.random() < 0.5:
            img = np.fliplr(img)
        img = np.ascontiguousarray(img.transpose((2, 0, 1))[::-1])
        return torch.from_numpy(img), torch.from_numpy(boxes), str(index)


def collate(batch: Any) -> Any:
    images, boxes, names = zip(*batch)
    for i, rows in enumerate(boxes):
        rows[:, 0] = i
    return torch.stack(images, 0), torch.cat(boxes, 0), names


def make(files: Files) -> Program:
    need("cv2")
    arguments = dict(batch_size=4, shuffle=True, collate_fn=collate)
    return Program(LetterBoxes(files.photos()), arguments)
