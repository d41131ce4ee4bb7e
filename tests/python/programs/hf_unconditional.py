# SPDX-License-Identifier: Apache-2.0
"""Diffusers' unconditional script: a dict of images, the default collate."""

from __future__ import annotations

from typing import Any, Dict

from torchvision import transforms

from programs.program_files import Files, Program, need

chain = transforms.Compose(
    [
        transforms.Resize(64, transforms.InterpolationMode.BILINEAR),
        transforms.CenterCrop(64),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.5], [0.5]),
    ]
)


def transform_images(examples: Dict[str, Any]) -> Dict[str, Any]:
    images = [chain(image.convert("RGB")) for image in examples["image"]]
    return {"input": images}


def make(files: Files) -> Program:
    datasets = need("datasets")
    data = datasets.Dataset.from_dict({"image": files.photos()})
    data = data.cast_column("image", datasets.Image())
    data.set_transform(transform_images)
    return Program(data, dict(batch_size=4, shuffle=True))
