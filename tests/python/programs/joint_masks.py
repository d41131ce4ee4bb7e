# SPDX-License-Identifier: Apache-2.0
"""Segmentation as reference scripts have it: joint classes, own collate.

The mask is a PNG of indices with a palette; batches are padded to the largest.
"""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

from programs.program_files import Files, Program


class RandomSide:
    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __call__(self, image: Any, target: Any) -> Tuple[Any, Any]:
        size = random.randint(self.low, self.high)
        image = F.resize(image, [size])
        target = F.resize(target, [size], InterpolationMode.NEAREST)
        return image, target


class Flip:
    def __call__(self, image: Any, target: Any) -> Tuple[Any, Any]:
        if random.random() < 0.5:
            image, target = F.hflip(image), F.hflip(target)
        return image, target


class CropBoth:
    def __init__(self, size: int) -> None:
        self.size = size

    def pad(self, img: Any, fill: int) -> Any:
        short = min(img.size)
        if short >= self.size:
            return img
        right = max(0, self.size - img.size[0])
        down = max(0, self.size - img.size[1])
        return F.pad(img, [0, 0, right, down], fill=fill)

    def __call__(self, image: Any, target: Any) -> Tuple[Any, Any]:
        image, target = self.pad(image, 0), self.pad(target, 255)
        box = transforms.RandomCrop.get_params(image, (self.size, self.size))
        return F.crop(image, *box), F.crop(target, *box)


class Tensors:
    def __call__(self, image: Any, target: Any) -> Tuple[Any, Any]:
        image = F.convert_image_dtype(F.pil_to_tensor(image), torch.float)
        image = F.normalize(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        return image, torch.as_tensor(np.array(target), dtype=torch.int64)


class Segmentation(Dataset):
    def __init__(self, images: List[str], masks: List[str]) -> None:
        self.images, self.masks = images, masks
        self.steps = [RandomSide(60, 110), Flip(), CropBoth(64), Tensors()]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        img = Image.open(self.images[index]).convert("RGB")
        target = Image.open(self.masks[index])
        for step in self.steps:
            img, target = step(img, target)
        return img, target


def padded(images: Any, fill: int) -> torch.Tensor:
    largest = tuple(max(s) for s in zip(*[img.shape for img in images]))
    out = images[0].new(len(images), *largest).fill_(fill)
    for img, place in zip(images, out):
        place[..., : img.shape[-2], : img.shape[-1]].copy_(img)
    return out


def collate(batch: Any) -> Tuple[torch.Tensor, torch.Tensor]:
    images, targets = list(zip(*batch))
    return padded(images, 0), padded(targets, 255)


def make(files: Files) -> Program:
    data = Segmentation(files.photos(), files.masks("P"))
    return Program(
        data,
        dict(batch_size=4, shuffle=True, collate_fn=collate, drop_last=True),
    )
