# SPDX-License-Identifier: Apache-2.0
"""A worker_init_fn that seeds, as a partial; noise by numpy's generator."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, List, Tuple

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


def init_worker(worker_id: int, num_workers: int, rank: int, seed: int) -> None:
    worker_seed = num_workers * rank + worker_id + seed
    np.random.seed(worker_seed)
    random.seed(worker_seed)
    torch.manual_seed(worker_seed)


class Seeded(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths
        self.crop = transforms.RandomCrop(48)
        self.to_tensor = transforms.ToTensor()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        image = Image.open(self.paths[index]).convert("RGB")
        if np.random.rand() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        tensor = self.to_tensor(self.crop(image))
        level = np.random.normal(0.0, 0.1, size=3).astype(np.float32)
        return tensor, level


def make(files: Files) -> Program:
    init = partial(init_worker, num_workers=1, rank=2, seed=11)
    return Program(
        Seeded(files.photos()),
        dict(batch_size=6, shuffle=True, worker_init_fn=init),
    )
