# SPDX-License-Identifier: Apache-2.0
"""Global and local views by chains that differ: blur, solarize, two sizes."""

from __future__ import annotations

import random
from typing import Any, List

from PIL import Image, ImageFilter, ImageOps
from torchvision import datasets, transforms

from programs.program_files import Files, Program


class MaybeBlur:
    def __init__(self, p: float) -> None:
        self.prob = p

    def __call__(self, img: Any) -> Any:
        if random.random() > self.prob:
            return img
        radius = random.uniform(0.1, 2.0)
        return img.filter(ImageFilter.GaussianBlur(radius=radius))


class MaybeSolarize:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return ImageOps.solarize(img) if random.random() < self.p else img


def chain(side: int, scale: Any, blur: float, solarize: float) -> Any:
    jitter = transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(
                side, scale=scale, interpolation=Image.BICUBIC
            ),
            transforms.RandomHorizontalFlip(p=0.5),
            transforms.RandomApply([jitter], p=0.8),
            transforms.RandomGrayscale(p=0.2),
            MaybeBlur(blur),
            MaybeSolarize(solarize),
            transforms.ToTensor(),
            transforms.Normalize((0.48, 0.45, 0.4), (0.23, 0.22, 0.225)),
        ]
    )


class Views:
    def __init__(self, local: int = 3) -> None:
        self.first = chain(56, (0.4, 1.0), 1.0, 0.0)
        self.second = chain(56, (0.4, 1.0), 0.1, 0.2)
        self.small = chain(24, (0.05, 0.4), 0.5, 0.0)
        self.local = local

    def __call__(self, image: Any) -> List[Any]:
        views = [self.first(image), self.second(image)]
        return views + [self.small(image) for _ in range(self.local)]


def make(files: Files) -> Program:
    data = datasets.ImageFolder(files.classes(), Views())
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
