# SPDX-License-Identifier: Apache-2.0
"""Decoded images are kept: read at the first use, augmented at each."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Cached(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.kept: Dict[int, Any] = {}
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(40, pad_if_needed=True),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        if index not in self.kept:
            image = Image.open(self.paths[index]).convert("RGB")
            self.kept[index] = image.resize((56, 56), Image.BILINEAR)
        return self.transform(self.kept[index]), index % 2


def make(files: Files) -> Program:
    return Program(Cached(files.photos()), dict(batch_size=8, shuffle=True))
