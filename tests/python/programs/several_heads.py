# SPDX-License-Identifier: Apache-2.0
"""Several heads: a dict of image, label, attributes, and a float."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import torch
from PIL import Image
from torch.utils.data import Dataset

from programs.program_files import Files, Program, need


class Attributes(Dataset):
    def __init__(self, paths: Any, transform: Any) -> None:
        self.paths = [Path(p) for p in paths]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        path = self.paths[index]
        with Image.open(path) as img:
            img = img.convert("RGB")
        width, height = img.size
        bits = [(index >> b) & 1 for b in range(5)]
        return {
            "image": self.transform(img),
            "kind": index % 3,
            "attributes": torch.tensor(bits, dtype=torch.float32),
            "ratio": width / height,
            "name": path.stem,
        }


def make(files: Files) -> Program:
    v2 = need("torchvision.transforms.v2")
    chain = v2.Compose(
        [
            v2.RandomResizedCrop((40, 56), scale=(0.3, 1.0), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.PILToTensor(),
            v2.ConvertImageDtype(torch.float32),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    data = Attributes(files.photos(), chain)
    return Program(data, dict(batch_size=7, shuffle=True))
