# SPDX-License-Identifier: Apache-2.0
"""Anchor, positive and negative, each opened and augmented alone."""

from __future__ import annotations

import random
from typing import Any, List, Tuple

import numpy as np
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class Triplets(Dataset):
    def __init__(self, paths: List[str], labels: List[int]) -> None:
        self.paths = paths
        self.labels = np.array(labels)
        self.transform = transforms.Compose(
            [
                transforms.Resize((48, 48)),
                transforms.RandomRotation(10),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]).convert("RGB"))

    def __getitem__(self, index: int) -> Tuple[Tuple[Any, Any, Any], int]:
        label = self.labels[index]
        same = np.flatnonzero(self.labels == label)
        positive = int(np.random.choice(same[same != index]))
        negative = random.choice(np.flatnonzero(self.labels != label).tolist())
        images = self.read(index), self.read(positive), self.read(negative)
        return images, int(label)


def make(files: Files) -> Program:
    paths = files.photos()
    data = Triplets(paths, [i % 4 for i in range(len(paths))])
    return Program(data, dict(batch_size=4, shuffle=True))
