# SPDX-License-Identifier: Apache-2.0
"""Detection with mosaics: four images by OpenCV on one canvas, with boxes."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Mosaic(Dataset):
    def __init__(self, paths: List[str], side: int = 64) -> None:
        self.paths, self.side = paths, side

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, index: int) -> Any:
        cv2 = need("cv2")
        image = cv2.imread(self.paths[index])
        h, w = image.shape[:2]
        r = self.side / max(h, w)
        if r != 1:
            size = (max(1, int(w * r)), max(1, int(h * r)))
            image = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
        return image

    def __getitem__(self, index: int) -> Tuple[Any, Any, str]:
        s = self.side
        canvas = np.full((2 * s, 2 * s, 3), 114, dtype=np.uint8)
        chosen = [index] + random.choices(range(len(self)), k=3)
        boxes = []
        for place, one in enumerate(chosen):
            image = self.read(one)
            h, w = image.shape[:2]
            y, x = (place // 2) * s, (place % 2) * s
            canvas[y : y + h, x : x + w] = image
            boxes.append([0, one % 3, x, y, x + w, y + h])
        labels = np.array(boxes, dtype=np.float32)
        if random.random() < 0.5:
            canvas = np.fliplr(canvas)
            labels[:, [2, 4]] = 2 * s - labels[:, [4, 2]]
        image = np.ascontiguousarray(canvas.transpose((2, 0, 1))[::-1])
        found = torch.from_numpy(image), torch.from_numpy(labels)
        return found[0], found[1], self.paths[index]


def collate(batch: Any) -> Tuple[Any, Any, Tuple[str, ...]]:
    images, labels, paths = zip(*batch)
    for i, rows in enumerate(labels):
        rows[:, 0] = i
    return torch.stack(images, 0), torch.cat(labels, 0), paths


def make(files: Files) -> Program:
    need("cv2")
    return Program(
        Mosaic(files.photos()),
        dict(batch_size=4, shuffle=True, collate_fn=collate),
    )
