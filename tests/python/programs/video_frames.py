# SPDX-License-Identifier: Apache-2.0
"""Clips of frames in a folder: one crop and one flip for all, then stacked."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms import functional as F

from programs.program_files import Files, Program


class Clips(Dataset):
    def __init__(self, frames: List[str], length: int = 4) -> None:
        self.frames, self.length = frames, length

    def __len__(self) -> int:
        return len(self.frames) - self.length + 1

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        paths = self.frames[index : index + self.length]
        images = [Image.open(p).convert("RGB") for p in paths]
        images = [F.resize(img, [72, 80]) for img in images]
        i, j, h, w = transforms.RandomCrop.get_params(images[0], (64, 64))
        mirror = random.random() < 0.5
        clip = []
        for img in images:
            img = F.crop(img, i, j, h, w)
            if mirror:
                img = F.hflip(img)
            clip.append(F.normalize(F.to_tensor(img), [0.45] * 3, [0.225] * 3))
        return torch.stack(clip, dim=1), index % 6


def make(files: Files) -> Program:
    return Program(Clips(files.photos()), dict(batch_size=3, shuffle=True))
