# SPDX-License-Identifier: Apache-2.0
"""All files are read into memory once; each sample decodes from its bytes."""

from __future__ import annotations

from io import BytesIO
from typing import Any, List, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class InMemory(Dataset):
    def __init__(self, paths: List[str], transform: Any) -> None:
        self.blobs = []
        for path in paths:
            with open(path, "rb") as f:
                self.blobs.append(f.read())
        self.transform = transform

    def __len__(self) -> int:
        return len(self.blobs)

    def __getitem__(self, index: int) -> Tuple[Any, Tuple[()]]:
        with BytesIO(self.blobs[index]) as f:
            image = Image.open(f).convert(mode="RGB")
        return self.transform(image), ()


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.RandomAffine(15, (0.1, 0.1), (0.8, 1.2), 5),
            transforms.Resize(72),
            transforms.RandomCrop(64),
            transforms.RandomVerticalFlip(),
            transforms.ToTensor(),
        ]
    )
    data = InMemory(files.photos(), chain)
    return Program(data, dict(batch_size=6, shuffle=True))
