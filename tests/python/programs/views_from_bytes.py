# SPDX-License-Identifier: Apache-2.0
"""Views of an image from bytes, in a dict; the collate gathers them by kind."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path
from typing import Any, Dict, List, Tuple

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Decoder:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def decode(self) -> Any:
        return Image.open(BytesIO(self.data)).convert(mode="RGB")


def crops(side: int, scale: Any) -> Any:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(
                side,
                scale=scale,
                interpolation=transforms.InterpolationMode.BICUBIC,
            ),
            transforms.RandomHorizontalFlip(p=0.5),
        ]
    )


class ManyViews(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.large, self.small = crops(56, (0.32, 1.0)), crops(28, (0.05, 0.32))
        self.finish = transforms.Compose(
            [
                transforms.ColorJitter(0.4, 0.4, 0.2, 0.1),
                transforms.ToTensor(),
                transforms.Normalize((0.485, 0.456, 0.406), (0.23, 0.22, 0.2)),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Dict[str, Any], Tuple[()]]:
        image = Decoder(Path(self.paths[index]).read_bytes()).decode()
        views = {
            "large": [self.finish(self.large(image)) for _ in range(2)],
            "small": [self.finish(self.small(image)) for _ in range(3)],
        }
        return views, ()


def collate(samples: Any) -> Dict[str, torch.Tensor]:
    found = {}
    for kind in ("large", "small"):
        many = len(samples[0][0][kind])
        rows = [s[0][kind][i] for i in range(many) for s in samples]
        found[kind] = torch.stack(rows)
    cells = len(found["large"]) * 16
    chosen = random.sample(range(cells), cells // 3)
    found["masks"] = torch.zeros(cells, dtype=torch.bool)
    found["masks"][chosen] = True
    return found


def make(files: Files) -> Program:
    return Program(
        ManyViews(files.photos()),
        dict(batch_size=3, shuffle=True, collate_fn=collate, drop_last=True),
    )
