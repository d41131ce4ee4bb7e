# SPDX-License-Identifier: Apache-2.0
"""Label maps to photos: nearest for the map, times 255 again, one draw."""

from __future__ import annotations

import random
from typing import Any, Dict, List

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


def at_width(img: Any, width: int, method: Any) -> Any:
    ow, oh = img.size
    if ow == width:
        return img
    return img.resize((width, int(width * oh / ow)), method)


def cut(img: Any, x: int, y: int, side: int) -> Any:
    return img.crop((x, y, x + side, y + side))


class Maps(Dataset):
    def __init__(self, maps: List[str], photos: List[str]) -> None:
        self.maps, self.photos = maps, photos

    def __len__(self) -> int:
        return len(self.maps)

    def chain(self, x: int, y: int, flip: bool, label: bool) -> Any:
        method = Image.NEAREST if label else Image.BICUBIC
        steps: List[Any] = [
            transforms.Lambda(lambda i: at_width(i, 72, method)),
            transforms.Lambda(lambda i: cut(i, x, y, 32)),
        ]
        if flip:
            side = Image.FLIP_LEFT_RIGHT
            steps.append(transforms.Lambda(lambda i: i.transpose(side)))
        steps.append(transforms.ToTensor())
        if not label:
            steps.append(transforms.Normalize((0.5,) * 3, (0.5,) * 3))
        return transforms.Compose(steps)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        x, y = random.randint(0, 39), random.randint(0, 2)
        flip = random.random() > 0.5
        label = Image.open(self.maps[index])
        label = self.chain(x, y, flip, True)(label) * 255.0
        photo = Image.open(self.photos[index]).convert("RGB")
        photo = self.chain(x, y, flip, False)(photo)
        return {"label": label, "inst": 0, "image": photo, "feat": 0}


def make(files: Files) -> Program:
    data = Maps(files.masks("L"), files.photos())
    return Program(data, dict(batch_size=4, shuffle=True))
