# SPDX-License-Identifier: Apache-2.0
"""Readers of what torchvision.transforms.v2 has of its own.

v2 dispatches on the type of what comes in: a transform leaves alone what it is
not for, so ToDtype does nothing to a Pillow image and PILToTensor nothing to a
tensor. The rest is read by chain_v1.
"""
from __future__ import annotations

from typing import Any

from .chain import Builder, Stage, reads
from .chain_v1 import add_random_crop, to_dtype, to_tensor_from_image


@reads("v2", "RandomCrop", "size padding pad_if_needed fill padding_mode")
def random_crop(b: Builder, t: Any) -> None:
    if t.padding is None:
        add_random_crop(b, t, (0, 0, 0, 0))
        return
    found = b.integers("padding", t.padding)
    if len(found) != 4 or min(found) < 0:
        b.fail(f"padding={t.padding!r} is not supported natively")
    left, right, top, bottom = found
    add_random_crop(b, t, (left, top, right, bottom))


@reads("v2", "RGB")
def rgb(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE or b.channels == 1:
        b.to_rgb()


@reads("v2", "ToTensor")
def to_tensor(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE:
        to_tensor_from_image(b)


@reads("v2", "PILToTensor")
@reads("v2", "ToImage")
@reads("v2", "ToImageTensor")
def to_image(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE:
        b.to_bytes()


@reads("v2", "ToPureTensor")
def to_pure_tensor(b: Builder, t: Any) -> None:
    pass  # batches are plain tensors anyway


@reads("v2", "ToDtype", "dtype scale")
def read_to_dtype(b: Builder, t: Any) -> None:
    if isinstance(t.dtype, dict):
        b.fail("dtype as a dict is not supported natively; give a torch.dtype")
    if b.stage == Stage.IMAGE:
        return
    if b.stage == Stage.BYTES and not t.scale and str(t.dtype) != "torch.uint8":
        b.fail("it keeps values of 0 to 255; set scale=True")
    to_dtype(b, t.dtype, "multiply")


@reads("v2", "ConvertImageDtype", "dtype")
def convert_image_dtype(b: Builder, t: Any) -> None:
    to_dtype(b, t.dtype, "multiply")
