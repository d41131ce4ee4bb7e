# SPDX-License-Identifier: Apache-2.0
"""Classification from a CSV: path and label, and torchvision's usual chain."""

from __future__ import annotations

import csv
import os
from typing import Any, Tuple

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms

from programs.program_files import Files, Program


class CsvDataset(Dataset):
    def __init__(self, table: str, root: str, transform: Any) -> None:
        with open(table, newline="") as f:
            self.rows = list(csv.DictReader(f))
        self.root = root
        self.transform = transform

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, idx: int) -> Tuple[Any, int]:
        row = self.rows[idx]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        if self.transform:
            image = self.transform(image)
        return image, int(row["label"])


def make(files: Files) -> Program:
    paths = files.photos()
    table = files.root / "train.csv"
    with open(table, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["file", "label"])
        for i, path in enumerate(paths):
            out.writerow([os.path.basename(path), i % 3])
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(48),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    dataset = CsvDataset(str(table), os.path.dirname(paths[0]), chain)
    return Program(dataset, dict(batch_size=6, shuffle=True))
