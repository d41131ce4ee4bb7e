# SPDX-License-Identifier: Apache-2.0
"""Text recognition: gray images from bytes; the collate resizes and pads."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, List, Tuple

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Lines(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.records = [(Path(p).read_bytes(), Path(p).stem) for p in paths]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Tuple[Any, str]:
        data, label = self.records[index]
        buffer = io.BytesIO()
        buffer.write(data)
        buffer.seek(0)
        try:
            img = Image.open(buffer).convert("L")
        except IOError:
            img = Image.new("L", (100, 32))
            label = "[unreadable]"
        return img, label


class KeepAspect:
    def __init__(self, height: int = 32, width: int = 100) -> None:
        self.height, self.width = height, width
        self.to_tensor = transforms.ToTensor()

    def padded(self, image: Any) -> torch.Tensor:
        img = self.to_tensor(image)
        img.sub_(0.5).div_(0.5)
        _, _, w = img.size()
        out = torch.FloatTensor(1, self.height, self.width).fill_(0)
        out[:, :, :w] = img
        if self.width != w:
            last = img[:, :, w - 1].unsqueeze(2)
            out[:, :, w:] = last.expand(1, self.height, self.width - w)
        return out

    def __call__(self, batch: Any) -> Tuple[torch.Tensor, Tuple[str, ...]]:
        images, labels = zip(*batch)
        rows = []
        for image in images:
            w, h = image.size
            wide = min(self.width, math.ceil(self.height * w / float(h)))
            small = image.resize((wide, self.height), Image.BICUBIC)
            rows.append(self.padded(small))
        return torch.cat([r.unsqueeze(0) for r in rows], 0), labels


def make(files: Files) -> Program:
    arguments = dict(batch_size=5, shuffle=True, collate_fn=KeepAspect())
    return Program(Lines(files.photos()), arguments)
