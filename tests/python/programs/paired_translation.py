# SPDX-License-Identifier: Apache-2.0
"""Paired translation: input and target side by side in one file, cut in two.

One draw of position and flip moves both, by methods of Pillow.
"""

from __future__ import annotations

import random
from typing import Any, Dict, List, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program

LOAD, CROP = 70, 64


def crop_at(img: Any, pos: Tuple[int, int], size: int) -> Any:
    ow, oh = img.size
    x1, y1 = pos
    if ow > size or oh > size:
        return img.crop((x1, y1, x1 + size, y1 + size))
    return img


def flip_if(img: Any, flip: bool) -> Any:
    if flip:
        return img.transpose(Image.FLIP_LEFT_RIGHT)
    return img


def chain(pos: Tuple[int, int], flip: bool, gray: bool) -> Any:
    steps: List[Any] = [transforms.Grayscale(1)] if gray else []
    steps += [
        transforms.Lambda(lambda i: i.resize((LOAD, LOAD), Image.BICUBIC)),
        transforms.Lambda(lambda i: crop_at(i, pos, CROP)),
        transforms.Lambda(lambda i: flip_if(i, flip)),
        transforms.ToTensor(),
    ]
    mean = (0.5,) if gray else (0.5, 0.5, 0.5)
    return transforms.Compose(steps + [transforms.Normalize(mean, mean)])


class SideBySide(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        path = self.paths[index]
        ab = Image.open(path).convert("RGB")
        w, h = ab.size
        half = int(w / 2)
        a = ab.crop((0, 0, half, h))
        b = ab.crop((half, 0, w, h))
        x = random.randint(0, max(0, LOAD - CROP))
        y = random.randint(0, max(0, LOAD - CROP))
        flip = random.random() > 0.5
        a = chain((x, y), flip, gray=True)(a)
        b = chain((x, y), flip, gray=False)(b)
        return {"A": a, "B": b, "A_paths": path, "B_paths": path}


def make(files: Files) -> Program:
    return Program(SideBySide(files.photos()), dict(batch_size=4, shuffle=True))
