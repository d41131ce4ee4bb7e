# SPDX-License-Identifier: Apache-2.0
"""Two views of an image by the same chain, for contrastive training."""

from __future__ import annotations

import random
from typing import Any, List

from PIL import ImageFilter
from torchvision import datasets, transforms

from programs.program_files import Files, Program


class Blur:
    def __init__(self, sigma: Any = (0.1, 2.0)) -> None:
        self.sigma = sigma

    def __call__(self, x: Any) -> Any:
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        return x.filter(ImageFilter.GaussianBlur(radius=sigma))


class Twice:
    def __init__(self, chain: Any) -> None:
        self.chain = chain

    def __call__(self, x: Any) -> List[Any]:
        return [self.chain(x), self.chain(x)]


def make(files: Files) -> Program:
    jitter = transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(56, scale=(0.2, 1.0)),
            transforms.RandomApply([jitter], p=0.8),
            transforms.RandomGrayscale(p=0.2),
            transforms.RandomApply([Blur()], p=0.5),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    data = datasets.ImageFolder(files.classes(), Twice(chain))
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
