# SPDX-License-Identifier: Apache-2.0
"""Two digits in memory and whether they are the same, by tensors alone."""

from __future__ import annotations

import random
from typing import Any, Tuple

import torch
from torch.utils.data import Dataset

from programs.digits import arrays
from programs.program_files import Files, Program


class Pairs(Dataset):
    def __init__(self, data: Any) -> None:
        self.data = data.unsqueeze(1).clone()
        self.targets = [i % 5 for i in range(len(data))]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Tuple[Any, Any, Any]:
        alike = index % 2 == 0
        others = [
            i
            for i, label in enumerate(self.targets)
            if (label == self.targets[index]) == alike
        ]
        other = random.choice(others)
        answer = torch.tensor(1 if alike else 0, dtype=torch.float)
        first, second = self.data[index].float(), self.data[other].float()
        return first / 255, second / 255, answer


def make(files: Files) -> Program:
    return Program(Pairs(arrays(files)), dict(batch_size=6, shuffle=True))
