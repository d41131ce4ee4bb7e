# SPDX-License-Identifier: Apache-2.0
"""Readers of timm.data.transforms, as timm's own recipes compose them.

Recipes with random interpolation, AutoAugment or keep-ratio resizing are left
to torch: their draws or their rounding are not those of an operation here.
"""
from __future__ import annotations

from typing import Any

from .chain import Builder, Stage, reads
from .chain_torchvision import border, random_resized_crop
from .chain_torchvision import to_tensor_from_image


@reads(
    "timm",
    "RandomResizedCropAndInterpolation",
    "size scale ratio interpolation",
)
def crop_and_interpolation(b: Builder, t: Any) -> None:
    b.draws()
    if isinstance(t.interpolation, (list, tuple)):
        b.fail(
            "interpolation='random' is not supported natively; choose "
            "'bilinear' or 'bicubic' (--train-interpolation)"
        )
    random_resized_crop(b, t)


@reads("timm", "CenterCropOrPad", "size fill padding_mode")
def center_crop_or_pad(b: Builder, t: Any) -> None:
    fill, mode = border(b, t, (), True)
    if mode != "constant" or any(fill):
        b.fail("its border is black in the engine; use fill=0")
    width, height = b.side_pair("size", t.size)
    b.add_center_crop(width, height)


@reads("timm", "ToNumpy")
def to_numpy(b: Builder, t: Any) -> None:
    to_bytes(b, t)
    b.ended = "ToNumpy"


@reads("timm", "MaybePILToTensor")
def to_bytes(b: Builder, t: Any) -> None:
    if b.stage != Stage.IMAGE:
        b.fail("it takes images, and this is a tensor already; leave it out")
    b.to_bytes()


@reads("timm", "MaybeToTensor")
def maybe_to_tensor(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE:
        to_tensor_from_image(b)
