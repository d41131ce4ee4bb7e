# SPDX-License-Identifier: Apache-2.0
"""The collate draws masks for the batch; the data set subclasses a folder."""

from __future__ import annotations

from typing import Any, List, Tuple

import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder

from programs.program_files import Files, Program


class Folder(ImageFolder):
    def __getitem__(self, index: int) -> Tuple[Any, int]:
        path, target = self.samples[index]
        img = self.loader(path)
        if self.transform is not None:
            img = self.transform(img)
        return img, target


class MaskCollator:
    def __init__(self, cells: int = 4) -> None:
        self.cells = cells
        self.step = -1

    def __call__(self, batch: Any) -> Tuple[Any, List[Any]]:
        self.step += 1
        g = torch.Generator().manual_seed(self.step)
        images = torch.utils.data.default_collate(batch)
        masks = []
        for _ in batch:
            order = torch.randperm(self.cells * self.cells, generator=g)
            masks.append(order[: self.cells])
        return images, torch.utils.data.default_collate(masks)


def make(files: Files) -> Program:
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(56, scale=(0.3, 1.0)),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.22, 0.224, 0.225)),
        ]
    )
    return Program(
        Folder(files.classes(), chain),
        dict(batch_size=5, shuffle=True, collate_fn=MaskCollator()),
        "the collate counts its calls: each of torch's workers has a copy",
        resumes=False,
    )
