# SPDX-License-Identifier: Apache-2.0
"""Readers of timm.data.transforms, as timm's own recipes compose them.

AutoAugment and RandAugment are in chain_families.py.
"""
from __future__ import annotations

import math
from typing import Any, Dict

from .chain import Builder, Stage, reads
from .chain_torchvision import add_random_resized_crop, border, filter_of
from .chain_torchvision import pil_to_tensor, to_tensor_from_image


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
    width, height = b.side_pair("size", t.size)
    b.add_center_crop(width, height, fill=fill, padding_mode=mode)


@reads("timm", "RandomCropOrPad", "size fill padding_mode")
def random_crop_or_pad(b: Builder, t: Any) -> None:
    b.draws()
    fill, mode = border(b, t, (), True)
    width, height = b.side_pair("size", t.size)
    b.add(
        "random_crop_or_pad",
        width=width,
        height=height,
        fill=fill,
        padding_mode=mode,
    )
    b.size = width, height


@reads("timm", "TrimBorder", "border_size")
def trim_border(b: Builder, t: Any) -> None:
    size = b.integers("border_size", t.border_size)[0]
    b.add("trim_border", size=size)
    if b.size is not None:
        b.size = b.size[0] - 2 * size, b.size[1] - 2 * size


@reads(
    "timm",
    "ResizeKeepRatio",
    "size longest interpolation random_scale_prob random_scale_range "
    "random_scale_area random_aspect_prob random_aspect_range",
)
def resize_keep_ratio(b: Builder, t: Any) -> None:
    b.resamples()
    width, height = b.side_pair("size", t.size)
    longest = b.number("longest", t.longest)
    interpolation = filter_or_random(b, t.interpolation)
    arguments: Dict[str, Any] = {}
    for what in ("scale", "aspect"):
        name = f"random_{what}_prob"
        chance = b.number(name, getattr(t, name))
        if chance > 0:
            arguments[name] = min(chance, 1.0)
            name = f"random_{what}_range"
            arguments[name] = b.pair(name, getattr(t, name))
    if "random_scale_prob" in arguments:
        arguments["random_scale_area"] = bool(t.random_scale_area)
    if arguments or interpolation == "random":
        b.draws()
    b.add(
        "resize_keep_ratio",
        width=width,
        height=height,
        longest=longest,
        interpolation=interpolation,
        **arguments,
    )
    if b.size is None or arguments:
        b.size = None
        return
    w, h = b.size[0] / width, b.size[1] / height
    ratio = max(w, h) * longest + min(w, h) * (1.0 - longest)
    b.size = round(b.size[0] / ratio), round(b.size[1] / ratio)


@reads("timm", "ToNumpy")
def to_numpy(b: Builder, t: Any) -> None:
    pil_to_tensor(b, t)
    b.ended = "ToNumpy"


@reads("timm", "MaybeToTensor")
def maybe_to_tensor(b: Builder, t: Any) -> None:
    if b.stage == Stage.IMAGE:
        to_tensor_from_image(b)
