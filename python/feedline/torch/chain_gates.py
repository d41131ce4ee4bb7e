# SPDX-License-Identifier: Apache-2.0
"""Readers of torchvision's transforms that draw what is done of others, and of
its blur. v1 and v2 are alike here."""

from __future__ import annotations

from typing import Any

from .chain import PILLOW_FIRST, Builder, Stage, reads

_WEIGHTS = 4  # that the engine takes
_KERNEL, _SIGMA = 255, (0.01, 1000)  # its largest, and its range


@reads("v1 v2", "RandomApply", "transforms p")
def random_apply(b: Builder, t: Any) -> None:
    b.decide("random_apply", [list(t.transforms)], p=b.number("p", t.p))


@reads("v1 v2", "RandomOrder", "transforms")
def random_order(b: Builder, t: Any) -> None:
    parts = [[one] for one in t.transforms]
    if parts:
        b.decide("random_order", parts)


@reads("v1 v2", "RandomChoice", "transforms p")
def random_choice(b: Builder, t: Any) -> None:
    parts = [[one] for one in t.transforms]
    if not parts:
        b.fail("it has nothing to choose from")
    weights = [1.0] if t.p is None else b.numbers("p", t.p)
    if len(weights) not in (1, len(parts)):
        b.fail(f"p={t.p!r} for {len(parts)} transforms")
    if len(set(weights)) == 1:
        b.decide("random_choice", parts)
    elif len(weights) > _WEIGHTS:
        b.fail(
            f"p has {len(weights)} different weights, and the engine takes "
            f"{_WEIGHTS}; nest one RandomChoice in another"
        )
    else:
        b.decide("random_choice", parts, weights=tuple(weights))


@reads("v1 v2", "GaussianBlur", "kernel_size sigma")
def gaussian_blur(b: Builder, t: Any) -> None:
    """On tensors of bytes it is what it is on images."""
    if b.stage > Stage.BYTES:
        b.fail(PILLOW_FIRST)
    b.draws()
    width, height = b.integers("kernel_size", t.kernel_size)
    if max(width, height) > _KERNEL:
        b.fail(f"kernel_size={t.kernel_size!r}; the engine has up to {_KERNEL}")
    if b.size and (b.size[0] <= width // 2 or b.size[1] <= height // 2):
        b.fail(f"images of {b.size[0]}x{b.size[1]} are too small for it")
    sigma = b.pair("sigma", t.sigma)
    if sigma[0] < _SIGMA[0] or sigma[1] > _SIGMA[1]:
        b.fail(f"sigma={t.sigma!r}; the engine has {_SIGMA[0]} to {_SIGMA[1]}")
    b.add("gaussian_blur", kernel_size=(width, height), sigma=sigma)
