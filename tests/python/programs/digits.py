# SPDX-License-Identifier: Apache-2.0
"""Gray digits in memory, as MNIST keeps them: an image from each array."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program, smooth


def arrays(files: Files) -> Any:
    rows = [np.asarray(smooth((28, 28), i, "L")) for i in range(files.count)]
    return torch.from_numpy(np.stack(rows))


class Digits(Dataset):
    def __init__(self, data: Any) -> None:
        self.data = data
        self.targets = torch.arange(len(data)) % 10
        self.transform = transforms.Compose(
            [
                transforms.ToTensor(),
                transforms.Normalize((0.1307,), (0.3081,)),
            ]
        )

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        image = Image.fromarray(self.data[index].numpy())
        return self.transform(image), int(self.targets[index])


def make(files: Files) -> Program:
    return Program(Digits(arrays(files)), dict(batch_size=6, shuffle=True))
