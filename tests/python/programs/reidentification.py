# SPDX-License-Identifier: Apache-2.0
"""Re-identification: pad and crop, erasing, and an identity sampler."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any, Dict, Iterator, List, Tuple

from PIL import Image
from torch.utils.data import Dataset, Sampler
from torchvision import transforms

from programs.program_files import Files, Program


class Persons(Dataset):
    def __init__(self, rows: List[Tuple[str, int, int]]) -> None:
        self.rows = rows
        self.transform = transforms.Compose(
            [
                transforms.Resize((64, 32), interpolation=3),
                transforms.RandomHorizontalFlip(p=0.5),
                transforms.Pad(10),
                transforms.RandomCrop((64, 32)),
                transforms.ToTensor(),
                transforms.Normalize([0.485, 0.456, 0.406], [0.23, 0.22, 0.2]),
                transforms.RandomErasing(p=0.5, value="random"),
            ]
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Dict[str, Any]:
        path, person, camera = self.rows[index]
        image = self.transform(Image.open(path).convert("RGB"))
        return {
            "img": image,
            "pid": person,
            "camid": camera,
            "impath": path,
            "dsetid": 0,
        }


class Identities(Sampler):
    """k images of each person; persons in a drawn order."""

    def __init__(self, rows: List[Tuple[str, int, int]], k: int) -> None:
        self.k = k
        self.of: Dict[int, List[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            self.of[row[1]].append(i)

    def __iter__(self) -> Iterator[int]:
        persons = list(self.of)
        random.shuffle(persons)
        for person in persons:
            yield from random.sample(self.of[person], self.k)

    def __len__(self) -> int:
        return self.k * len(self.of)


def make(files: Files) -> Program:
    rows = [(p, i % 5, i % 2) for i, p in enumerate(files.photos())]
    sampler = Identities(rows, min(4, len(rows) // 5))
    return Program(Persons(rows), dict(batch_size=8, sampler=sampler))
