# SPDX-License-Identifier: Apache-2.0
"""Transformers' classification script: with_transform and its own collate."""

from __future__ import annotations

from typing import Any, Dict

import torch
from torchvision import transforms

from programs.program_files import Files, Program, need

normalize = transforms.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
train_chain = transforms.Compose(
    [
        transforms.RandomResizedCrop(48),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        normalize,
    ]
)


def train_transforms(batch: Dict[str, Any]) -> Dict[str, Any]:
    """One chain over the images of a batch."""
    batch["pixel_values"] = [
        train_chain(img.convert("RGB")) for img in batch["image"]
    ]
    return batch


def collate_fn(examples: Any) -> Dict[str, torch.Tensor]:
    pixel_values = torch.stack([e["pixel_values"] for e in examples])
    labels = torch.tensor([e["label"] for e in examples])
    return {"pixel_values": pixel_values, "labels": labels}


def make(files: Files) -> Program:
    datasets = need("datasets")
    paths = files.photos()
    table = {"image": paths, "label": [i % 3 for i in range(len(paths))]}
    data = datasets.Dataset.from_dict(table)
    data = data.cast_column("image", datasets.Image())
    data = data.with_transform(train_transforms)
    return Program(
        data, dict(batch_size=6, shuffle=True, collate_fn=collate_fn)
    )
