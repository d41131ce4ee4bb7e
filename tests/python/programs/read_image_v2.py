# SPDX-License-Identifier: Apache-2.0
"""torchvision.io.read_image and v2 on tensors."""

from __future__ import annotations

from typing import Any, List, Tuple

import torch
from torch.utils.data import Dataset
from torchvision.io import ImageReadMode, read_image

from programs.program_files import Files, Program, need


class Tensors(Dataset):
    def __init__(self, paths: List[str], transform: Any) -> None:
        self.paths, self.transform = paths, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, idx: int) -> Tuple[Any, int]:
        image = read_image(self.paths[idx], mode=ImageReadMode.RGB)
        return self.transform(image), idx % 10


def make(files: Files) -> Program:
    v2 = need("torchvision.transforms.v2")
    chain = v2.Compose(
        [
            v2.RandomResizedCrop(size=(48, 48), antialias=True),
            v2.RandomHorizontalFlip(p=0.5),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.2, 0.2, 0.2]),
        ]
    )
    data = Tensors(files.photos(), chain)
    return Program(data, dict(batch_size=6, shuffle=True))
