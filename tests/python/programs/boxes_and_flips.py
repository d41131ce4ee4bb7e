# SPDX-License-Identifier: Apache-2.0
"""Detection: images keep their sizes, boxes are flipped by hand."""

from __future__ import annotations

import random
from typing import Any, Dict, List, Tuple

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision.transforms import functional as F

from programs.program_files import Files, Program


class Boxes(Dataset):
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, idx: int) -> Tuple[Any, Dict[str, Any]]:
        image = Image.open(self.paths[idx]).convert("RGB")
        w, h = image.size
        n = 1 + idx % 3
        corner = torch.tensor([[3.0 + i, 5.0 + 2 * i] for i in range(n)])
        boxes = torch.cat([corner, corner + torch.tensor([20.0, 30.0])], dim=1)
        boxes[:, 0::2].clamp_(min=0, max=w)
        boxes[:, 1::2].clamp_(min=0, max=h)
        target = {
            "boxes": boxes,
            "labels": torch.arange(1, n + 1),
            "image_id": idx,
            "area": (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0]),
            "iscrowd": torch.zeros((n,), dtype=torch.int64),
        }
        tensor = F.to_tensor(image)
        if random.random() < 0.5:
            tensor = tensor.flip(-1)
            flipped = boxes.clone()
            flipped[:, [0, 2]] = w - boxes[:, [2, 0]]
            target["boxes"] = flipped
        return tensor, target


def collate(batch: Any) -> Tuple[Any, ...]:
    return tuple(zip(*batch))


def make(files: Files) -> Program:
    arguments = dict(batch_size=3, shuffle=True, collate_fn=collate)
    return Program(Boxes(files.photos()), arguments)
