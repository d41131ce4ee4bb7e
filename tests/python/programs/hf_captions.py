# SPDX-License-Identifier: Apache-2.0
"""Diffusers' text-to-image script: pixels and token ids by set_transform."""

from __future__ import annotations

from typing import Any, Dict

import torch
from torchvision import transforms

from programs.image_and_text import WORDS, tokenize
from programs.program_files import Files, Program, need

chain = transforms.Compose(
    [
        transforms.Resize(64, transforms.InterpolationMode.BILINEAR),
        transforms.RandomCrop(64),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.5], [0.5]),
    ]
)


def preprocess_train(examples: Dict[str, Any]) -> Dict[str, Any]:
    images = [image.convert("RGB") for image in examples["image"]]
    examples["pixel_values"] = [chain(image) for image in images]
    examples["input_ids"] = [tokenize(text) for text in examples["text"]]
    return examples


def collate_fn(examples: Any) -> Dict[str, torch.Tensor]:
    pixels = torch.stack([example["pixel_values"] for example in examples])
    pixels = pixels.to(memory_format=torch.contiguous_format).float()
    ids = torch.stack([example["input_ids"] for example in examples])
    return {"pixel_values": pixels, "input_ids": ids}


def make(files: Files) -> Program:
    datasets = need("datasets")
    paths = files.photos()
    texts = [" ".join(WORDS[: 2 + i % 7]) for i in range(len(paths))]
    data = datasets.Dataset.from_dict({"image": paths, "text": texts})
    data = data.cast_column("image", datasets.Image())
    data.set_transform(preprocess_train)
    return Program(
        data, dict(batch_size=4, shuffle=True, collate_fn=collate_fn)
    )
