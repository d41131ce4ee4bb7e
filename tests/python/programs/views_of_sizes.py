# SPDX-License-Identifier: Apache-2.0
"""Several crops of two sizes from each image, for self-supervised training."""

from __future__ import annotations

import random
from typing import Any, List

from PIL import ImageFilter
from torchvision import transforms
from torchvision.datasets import ImageFolder

from programs.program_files import Files, Program


class SoftBlur:
    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        if random.random() > self.p:
            return img
        radius = random.uniform(0.1, 2.0)
        return img.filter(ImageFilter.GaussianBlur(radius=radius))


class MultiCropFolder(ImageFolder):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        color = transforms.Compose(
            [
                transforms.RandomApply(
                    [transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8
                ),
                transforms.RandomGrayscale(p=0.2),
            ]
        )
        self.trans: List[Any] = []
        for side, low, high, times in ((56, 0.3, 1.0, 2), (24, 0.05, 0.3, 3)):
            chain = transforms.Compose(
                [
                    transforms.RandomResizedCrop(side, scale=(low, high)),
                    transforms.RandomHorizontalFlip(p=0.5),
                    color,
                    SoftBlur(),
                    transforms.ToTensor(),
                    transforms.Normalize([0.485] * 3, [0.228] * 3),
                ]
            )
            self.trans += [chain] * times

    def __getitem__(self, index: int) -> List[Any]:
        path, _ = self.samples[index]
        image = self.loader(path)
        return [chain(image) for chain in self.trans]


def make(files: Files) -> Program:
    data = MultiCropFolder(files.classes())
    return Program(data, dict(batch_size=4, shuffle=True, drop_last=True))
