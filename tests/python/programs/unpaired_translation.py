# SPDX-License-Identifier: Apache-2.0
"""Unpaired translation: a second image by a random index, two chains."""

from __future__ import annotations

import os
import random
from typing import Any, Dict, List

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms import InterpolationMode

from programs.program_files import Files, Program


def chain(load: int, crop: int) -> Any:
    return transforms.Compose(
        [
            transforms.Resize([load, load], InterpolationMode.BICUBIC),
            transforms.RandomCrop(crop),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        ]
    )


class TwoFolders(Dataset):
    def __init__(self, a: List[str], b: List[str]) -> None:
        self.a_paths, self.b_paths = sorted(a), sorted(b)
        self.transform_a = chain(72, 64)
        self.transform_b = chain(72, 64)

    def __len__(self) -> int:
        return max(len(self.a_paths), len(self.b_paths))

    def __getitem__(self, index: int) -> Dict[str, Any]:
        a_path = self.a_paths[index % len(self.a_paths)]
        index_b = random.randint(0, len(self.b_paths) - 1)
        b_path = self.b_paths[index_b]
        a = self.transform_a(Image.open(a_path).convert("RGB"))
        b = self.transform_b(Image.open(b_path).convert("RGB"))
        names = os.path.basename(a_path), os.path.basename(b_path)
        return {"A": a, "B": b, "A_paths": names[0], "B_paths": names[1]}


def make(files: Files) -> Program:
    data = TwoFolders(files.photos("a"), files.photos("b", first=100)[:-3])
    return Program(data, dict(batch_size=1, shuffle=True))
