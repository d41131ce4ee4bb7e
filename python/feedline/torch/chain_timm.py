# SPDX-License-Identifier: Apache-2.0
"""Readers of timm.data.transforms, as timm's own recipes compose them.

Recipes with keep-ratio resizing are left to torch: its rounding is not that of
an operation here. AutoAugment and RandAugment are in chain_families.py.
"""
from __future__ import annotations

import math
from typing import Any

from .chain import Builder, Stage, reads
from .chain_torchvision import add_random_resized_crop, border, filter_of
from .chain_torchvision import to_tensor_from_image


@reads(
    "timm",
    "RandomResizedCropAndInterpolation",
    "size scale ratio interpolation",
)
def crop_and_interpolation(b: Builder, t: Any) -> None:
    b.draws()
    add_random_resized_crop(b, t, filter_or_random(b, t.interpolation))


def filter_or_random(b: Builder, value: Any) -> str:
    """A filter; of bilinear and bicubic timm draws one."""
    if not isinstance(value, (list, tuple)):
        return filter_of(b, value)
    if sorted(filter_of(b, one) for one in value) != ["bicubic", "bilinear"]:
        b.fail(f"interpolation={value!r} is not supported natively")
    return "random"


@reads(
    "timm",
    "RandomErasing",
    "probability min_area max_area log_aspect_ratio min_count max_count "
    "num_splits mode rand_color per_pixel device",
)
def random_erasing(b: Builder, t: Any) -> None:
    """num_splits leaves a part of a batch alone, and this is an image."""
    b.draws()
    b.expect("min_count", 1)
    if t.max_count not in range(1, 9):
        b.fail(f"max_count={t.max_count!r}; the engine takes 1 to 8")
    if b.stage == Stage.BYTES:
        b.fail("on a tensor of bytes noise is not defined; put it last")
    low, high = b.pair("log_aspect_ratio", t.log_aspect_ratio)
    b.erase(
        p=min(b.number("probability", t.probability), 1.0),
        scale=b.pair("area", (t.min_area, t.max_area)),
        ratio=(math.exp(low), math.exp(high)),
        noise="true" if t.per_pixel else "box" if t.rand_color else "false",
        count=t.max_count,
    )


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
