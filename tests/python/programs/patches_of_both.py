# SPDX-License-Identifier: Apache-2.0
"""Super-resolution: a random patch of both sizes, flips and quarter turns."""

from __future__ import annotations

import random
from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program

SCALE, PATCH = 2, 24


class Patches(Dataset):
    def __init__(self, sharp: List[str], small: List[str]) -> None:
        self.sharp, self.small = sharp, small

    def __len__(self) -> int:
        return len(self.sharp)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        high = np.array(Image.open(self.sharp[index]))
        low = np.array(Image.open(self.small[index]))
        top = random.randint(0, low.shape[0] - PATCH)
        left = random.randint(0, low.shape[1] - PATCH)
        low = low[top : top + PATCH, left : left + PATCH]
        big = PATCH * SCALE
        top, left = top * SCALE, left * SCALE
        high = high[top : top + big, left : left + big]
        turns, mirror = random.randint(0, 3), random.random() < 0.5
        pair = []
        for image in (low, high):
            image = np.rot90(image, turns)
            if mirror:
                image = np.fliplr(image)
            image = np.ascontiguousarray(image.transpose(2, 0, 1))
            pair.append(torch.from_numpy(image).float().div_(255.0))
        return {"lq": pair[0], "gt": pair[1], "lq_path": self.small[index]}


def make(files: Files) -> Program:
    data = Patches(files.color_pngs(), files.color_pngs(shrink=SCALE))
    return Program(data, dict(batch_size=5, shuffle=True, drop_last=True))
