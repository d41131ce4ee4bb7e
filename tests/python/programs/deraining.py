# SPDX-License-Identifier: Apache-2.0
"""Restoration: both tensors cut at a drawn place, one of eight turns."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import torch
import torchvision.transforms.functional as TF
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program


class Restoration(Dataset):
    def __init__(self, rainy: List[str], clean: List[str], side: int) -> None:
        self.rainy, self.clean, self.side = rainy, clean, side

    def __len__(self) -> int:
        return len(self.clean)

    def __getitem__(self, index: int) -> Tuple[Any, Any, str]:
        side = self.side
        rain = Image.open(self.rainy[index]).convert("RGB")
        dry = Image.open(self.clean[index]).convert("RGB")
        w, h = dry.size
        pad_w, pad_h = max(0, side - w), max(0, side - h)
        if pad_w or pad_h:
            rain = TF.pad(rain, (0, 0, pad_w, pad_h), padding_mode="reflect")
            dry = TF.pad(dry, (0, 0, pad_w, pad_h), padding_mode="reflect")
        if random.randint(0, 2) == 1:
            rain = TF.adjust_saturation(rain, 1 + (0.2 - 0.4 * random.random()))
            dry = TF.adjust_saturation(dry, 1)
        a, b = TF.to_tensor(rain), TF.to_tensor(dry)
        rows, columns = b.shape[1], b.shape[2]
        top = random.randint(0, rows - side)
        left = random.randint(0, columns - side)
        a = a[:, top : top + side, left : left + side]
        b = b[:, top : top + side, left : left + side]
        turn = random.randint(0, 8)
        if turn == 1:
            a, b = a.flip(1), b.flip(1)
        elif turn == 2:
            a, b = a.flip(2), b.flip(2)
        elif 3 <= turn <= 5:
            k = turn - 2
            a = torch.rot90(a, dims=(1, 2), k=k)
            b = torch.rot90(b, dims=(1, 2), k=k)
        elif turn == 6:
            a = torch.rot90(a.flip(1), dims=(1, 2))
            b = torch.rot90(b.flip(1), dims=(1, 2))
        return b, a, "%04d" % index


def make(files: Files) -> Program:
    rainy = files.photos("rainy", first=40)
    clean = files.photos("clean", first=0 if not files.real else 40)
    return Program(
        Restoration(rainy, clean, 64), dict(batch_size=4, shuffle=True)
    )
