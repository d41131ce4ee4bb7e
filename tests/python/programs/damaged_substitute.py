# SPDX-License-Identifier: Apache-2.0
"""A file that cannot be read is replaced by the next one that can."""

from __future__ import annotations

from typing import Any, List, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Robust(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(48),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        try:
            image = Image.open(self.paths[index]).convert("RGB")
        except OSError:
            return self[(index + 1) % len(self)]
        return self.transform(image), index


def make(files: Files) -> Program:
    return Program(Robust(files.damaged()), dict(batch_size=5, shuffle=True))
