# SPDX-License-Identifier: Apache-2.0
"""A list of files, opened as torchvision's default_loader does, or by it."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

from PIL import Image
from torch.utils.data import ConcatDataset, Dataset
from torchvision import transforms
from torchvision.datasets.folder import default_loader

from programs.program_files import Files, Program


def pil_loader(path: str) -> Any:
    with open(path, "rb") as f:
        img = Image.open(f)
        return img.convert("RGB")


class FileList(Dataset):
    def __init__(
        self, samples: List[Tuple[str, int]], loader: Callable[[str], Any]
    ) -> None:
        self.samples = samples
        self.loader = loader
        self.transform = transforms.Compose(
            [
                transforms.Resize(60),
                transforms.CenterCrop(56),
                transforms.ColorJitter(0.3, 0.3, 0.3),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        path, target = self.samples[index]
        return self.transform(self.loader(path)), target


def make(files: Files) -> Program:
    samples = [(path, i % 4) for i, path in enumerate(files.photos())]
    half = len(samples) // 2
    both = ConcatDataset(
        [
            FileList(samples[:half], pil_loader),
            FileList(samples[half:], default_loader),
        ]
    )
    return Program(both, dict(batch_size=6, shuffle=True, drop_last=True))
