# SPDX-License-Identifier: Apache-2.0
"""Images and captions for contrastive training, with a toy tokenizer."""

from __future__ import annotations

import zlib
from typing import Any, List, Tuple

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms import InterpolationMode

from programs.program_files import Files, Program

WORDS = "a photo of one small red house near the old harbour at night".split()


def tokenize(text: str, length: int = 12) -> torch.Tensor:
    ids = [1] + [2 + zlib.crc32(w.encode()) % 1000 for w in text.split()]
    row = torch.zeros(length, dtype=torch.long)
    row[: min(length, len(ids))] = torch.tensor(ids[:length])
    return row


class CaptionDataset(Dataset):
    def __init__(self, pairs: List[Tuple[str, str]], transform: Any) -> None:
        self.pairs = pairs
        self.transform = transform

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, idx: int) -> Tuple[Any, Any, str]:
        path, caption = self.pairs[idx]
        images = self.transform(Image.open(str(path)))
        return images, tokenize(str(caption)), caption


def to_rgb(image: Any) -> Any:
    return image.convert("RGB")


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(
                56, (0.9, 1.0), interpolation=InterpolationMode.BICUBIC
            ),
            to_rgb,
            transforms.ToTensor(),
            transforms.Normalize(
                (0.48145466, 0.4578275, 0.40821073),
                (0.26862954, 0.26130258, 0.27577711),
            ),
        ]
    )
    pairs = [
        (path, " ".join(WORDS[: 3 + i % 9]))
        for i, path in enumerate(files.photos())
    ]
    data = CaptionDataset(pairs, chain)
    return Program(data, dict(batch_size=5, shuffle=True, drop_last=True))
