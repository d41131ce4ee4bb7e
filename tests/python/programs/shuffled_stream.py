# SPDX-License-Identifier: Apache-2.0
"""An IterableDataset that shards by worker and shuffles in a buffer."""

from __future__ import annotations

import random
from typing import Any, Iterator, List, Tuple

from PIL import Image
from torch.utils.data import IterableDataset, get_worker_info
from torchvision import transforms

from programs.program_files import Files, Program


class Stream(IterableDataset):
    def __init__(self, paths: List[str], buffer: int = 6) -> None:
        self.paths, self.buffer = paths, buffer
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(48),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
            ]
        )

    def read(self) -> Iterator[Tuple[str, int]]:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, len(self.paths), step):
            yield self.paths[i], i

    def shuffled(self) -> Iterator[Tuple[str, int]]:
        held: List[Tuple[str, int]] = []
        for item in self.read():
            if len(held) < self.buffer:
                held.append(item)
                continue
            place = random.randrange(self.buffer)
            out, held[place] = held[place], item
            yield out
        random.shuffle(held)
        yield from held

    def __iter__(self) -> Iterator[Tuple[Any, int]]:
        for path, number in self.shuffled():
            image = Image.open(path).convert("RGB")
            yield self.transform(image), number


def make(files: Files) -> Program:
    return Program(Stream(files.photos()), dict(batch_size=6))
