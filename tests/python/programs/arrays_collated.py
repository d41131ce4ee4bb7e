# SPDX-License-Identifier: Apache-2.0
"""Images become uint8 tensors by numpy; the collate stacks, the GPU scales."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from PIL import Image, ImageOps
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


def read_image(path: str) -> Any:
    with open(path, "rb") as f:
        image = Image.open(f)
        image = ImageOps.exif_transpose(image)
        return image.convert("RGB")


class ToTensor255:
    def __call__(self, pic: Any) -> torch.Tensor:
        array = np.array(pic, dtype=np.uint8, copy=True)
        return torch.from_numpy(array.transpose(2, 0, 1)).float()


class Items(Dataset):
    def __init__(self, items: List[Tuple[str, int, int]]) -> None:
        self.items = items
        self.transform = transforms.Compose(
            [
                transforms.Resize((64, 32), interpolation=3),
                transforms.RandomHorizontalFlip(),
                transforms.Pad(6, padding_mode="reflect"),
                transforms.RandomCrop((64, 32)),
                ToTensor255(),
            ]
        )

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        path, person, camera = self.items[index]
        img = self.transform(read_image(path))
        return {"images": img, "targets": person, "camids": camera}


def collate(samples: Any) -> Dict[str, Any]:
    return {
        key: torch.stack([s[key] for s in samples])
        if isinstance(samples[0][key], torch.Tensor)
        else torch.tensor([s[key] for s in samples])
        for key in samples[0]
    }


def make(files: Files) -> Program:
    items = [(p, i % 5, i % 2) for i, p in enumerate(files.photos())]
    return Program(
        Items(items), dict(batch_size=5, shuffle=True, collate_fn=collate)
    )
