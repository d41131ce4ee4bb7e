# SPDX-License-Identifier: Apache-2.0
"""Classification: a crop of some area by indices, resized, flipped, packed.

Made as the pipeline for ResNet of open-mmlab/mmpretrain.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List

import numpy as np
import torch
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Areas(Dataset):
    SIDE = 64

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def box(self, h: int, w: int) -> Any:
        """Ten tries, and the middle then."""
        for _ in range(10):
            area = np.random.uniform(0.08, 1.0) * h * w
            ratio = math.exp(np.random.uniform(math.log(0.75), math.log(4 / 3)))
            wide = int(round(math.sqrt(area * ratio)))
            high = int(round(math.sqrt(area / ratio)))
            if 0 < wide <= w and 0 < high <= h:
                top = np.random.randint(0, h - high + 1)
                return top, np.random.randint(0, w - wide + 1), high, wide
        side = min(h, w)
        return (h - side) // 2, (w - side) // 2, side, side

    def __getitem__(self, index: int) -> Dict[str, Any]:
        cv2 = need("cv2")
        img = cv2.imread(self.paths[index], cv2.IMREAD_COLOR)
        top, left, h, w = self.box(*img.shape[:2])
        img = img[top : top + h, left : left + w, ...]
        size = self.SIDE, self.SIDE
        img = cv2.resize(img, size, interpolation=cv2.INTER_LINEAR)
        if np.random.random() < 0.5:
            img = np.flip(img, axis=1)
        img = np.ascontiguousarray(img.transpose(2, 0, 1))
        return {"inputs": torch.from_numpy(img), "label": index % 4}


def make(files: Files) -> Program:
    need("cv2")
    return Program(Areas(files.photos()), dict(batch_size=4, shuffle=True))
