# SPDX-License-Identifier: Apache-2.0
"""A random split whose parts get chains of their own by a wrapper."""

from __future__ import annotations

from typing import Any, Tuple

import torch
from torch.utils.data import Dataset, random_split
from torchvision import transforms
from torchvision.datasets import ImageFolder

from programs.program_files import Files, Program


class Transformed(Dataset):
    def __init__(self, subset: Any, transform: Any = None) -> None:
        self.subset, self.transform = subset, transform

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        x, y = self.subset[index]
        if self.transform:
            x = self.transform(x)
        return x, y

    def __len__(self) -> int:
        return len(self.subset)


def make(files: Files) -> Program:
    whole = ImageFolder(files.classes())
    held = len(whole) // 5
    train, _ = random_split(
        whole,
        [len(whole) - held, held],
        generator=torch.Generator().manual_seed(3),
    )
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(56),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.49, 0.48, 0.45], [0.25, 0.24, 0.26]),
        ]
    )
    data = Transformed(train, chain)
    return Program(data, dict(batch_size=6, shuffle=True, drop_last=True))
