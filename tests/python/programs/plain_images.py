# SPDX-License-Identifier: Apache-2.0
"""Images alone, for diffusion: every file below a folder, no labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image
from torch import nn
from torch.utils.data import Dataset
from torchvision import transforms as T

from programs.program_files import Files, Program


def in_mode(mode: str, image: Any) -> Any:
    return image.convert(mode) if image.mode != mode else image


class Images(Dataset):
    def __init__(self, folder: Path, side: int) -> None:
        super().__init__()
        self.paths = sorted(
            p for e in ("jpg", "JPEG", "png") for p in folder.glob("**/*." + e)
        )
        self.transform = T.Compose(
            [
                T.Lambda(lambda image: in_mode("RGB", image)),
                T.Resize(side),
                T.RandomHorizontalFlip() if side > 0 else nn.Identity(),
                T.CenterCrop(side),
                T.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]))


def make(files: Files) -> Program:
    files.photos()
    data = Images(files.folder("photos"), 64)
    return Program(data, dict(batch_size=5, shuffle=True))
