# SPDX-License-Identifier: Apache-2.0
"""A square cut by numpy, an image again, resized, flipped, scaled by hand."""

from __future__ import annotations

import random
from typing import Any, Dict, List

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.image_and_text import tokenize
from programs.program_files import Files, Program


class Concept(Dataset):
    def __init__(self, paths: List[str], size: int = 64) -> None:
        self.paths, self.size = paths, size
        self.flip = transforms.RandomHorizontalFlip(p=0.5)

    def __len__(self) -> int:
        return 2 * len(self.paths)

    def __getitem__(self, i: int) -> Dict[str, Any]:
        image = Image.open(self.paths[i % len(self.paths)])
        if not image.mode == "RGB":
            image = image.convert("RGB")
        text = random.choice(["a photo of {}", "the {} at night"])
        pixels = np.array(image).astype(np.uint8)
        side = min(pixels.shape[0], pixels.shape[1])
        top = (pixels.shape[0] - side) // 2
        left = (pixels.shape[1] - side) // 2
        pixels = pixels[top : top + side, left : left + side]
        image = Image.fromarray(pixels)
        image = image.resize((self.size, self.size), resample=Image.BICUBIC)
        image = self.flip(image)
        pixels = np.array(image).astype(np.uint8)
        pixels = (pixels / 127.5 - 1.0).astype(np.float32)
        return {
            "input_ids": tokenize(text.format("one")),
            "pixel_values": torch.from_numpy(pixels).permute(2, 0, 1),
        }


def make(files: Files) -> Program:
    return Program(Concept(files.photos()), dict(batch_size=4, shuffle=True))
