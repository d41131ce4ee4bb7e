# SPDX-License-Identifier: Apache-2.0
"""Super-resolution of the luminance: the first band of YCbCr, and its copy."""

from __future__ import annotations

from typing import Any, List, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

from programs.program_files import Files, Program


class Luminance(Dataset):
    def __init__(self, paths: List[str], side: int = 48) -> None:
        self.paths = paths
        self.small = Compose([CenterCrop(side), Resize(side // 2), ToTensor()])
        self.whole = Compose([CenterCrop(side), ToTensor()])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        first, _, _ = Image.open(self.paths[index]).convert("YCbCr").split()
        target = first.copy()
        return self.small(first), self.whole(target)


def make(files: Files) -> Program:
    return Program(Luminance(files.photos()), dict(batch_size=4, shuffle=True))
