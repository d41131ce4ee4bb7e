# SPDX-License-Identifier: Apache-2.0
"""Readers of the AutoAugment family: torchvision's of both versions, timm's.

timm builds objects from a text such as "rand-m9-mstd0.5-inc1"; they are read
back into one. Every object in them is compared with what such a text makes, so
that a list, level or function of the user's own is noticed.
"""

from __future__ import annotations

import zlib
from typing import Any, Dict, List, Tuple

from .chain import Builder, reads
from .chain_timm import filter_or_random
from .chain_torchvision import filter_of

_FILTERS = ("nearest", "bilinear", "bicubic")

# ---- torchvision ------------------------------------------------------------


def family(b: Builder, t: Any, op: str, **arguments: Any) -> None:
    b.need_image()
    b.draws()
    interpolation = filter_of(b, t.interpolation)
    if interpolation not in _FILTERS:
        b.fail(
            f"interpolation={t.interpolation!r}; Pillow maps with nearest, "
            "bilinear or bicubic"
        )
    v2 = type(t).__module__.startswith("torchvision.transforms.v2.")
    b.add(
        op,
        interpolation=interpolation,
        fill=b.fill(t),
        version="v2" if v2 else "v1",
        **arguments,
    )


def whole(b: Builder, t: Any, name: str, low: int, high: int) -> int:
    """An attribute that the engine takes between these."""
    found = b.integers(name, getattr(t, name))
    if len(found) != 1 or not low <= found[0] <= high:
        b.fail(f"{name}={getattr(t, name)!r}; the engine takes {low} to {high}")
    return found[0]


@reads("v1 v2", "TrivialAugmentWide", "num_magnitude_bins interpolation fill")
def trivial_augment_wide(b: Builder, t: Any) -> None:
    bins = whole(b, t, "num_magnitude_bins", 2, 256)
    family(b, t, "trivial_augment_wide", num_magnitude_bins=bins)


@reads(
    "v1 v2",
    "RandAugment",
    "num_ops magnitude num_magnitude_bins interpolation fill",
)
def rand_augment(b: Builder, t: Any) -> None:
    bins = whole(b, t, "num_magnitude_bins", 2, 256)
    family(
        b,
        t,
        "rand_augment",
        num_ops=whole(b, t, "num_ops", 0, 16),
        magnitude=whole(b, t, "magnitude", 0, bins - 1),
        num_magnitude_bins=bins,
    )


@reads("v1 v2", "AutoAugment", "policy interpolation fill policies")
def auto_augment(b: Builder, t: Any) -> None:
    policy = getattr(t.policy, "value", None)
    kept = getattr(t, "policies", getattr(t, "_policies", None))
    if policy not in ("imagenet", "cifar10", "svhn"):
        b.fail(f"policy={t.policy!r} is not one that feedline has")
    if kept != t._get_policies(t.policy):
        b.fail("its policies were changed")
    family(b, t, "auto_augment", policy=policy)


# ---- timm -------------------------------------------------------------------

_USUAL = (
    "AutoContrast Equalize Invert Rotate Posterize Solarize SolarizeAdd Color "
    "Contrast Brightness Sharpness ShearX ShearY TranslateXRel TranslateYRel"
).split()
_OF_MIX = (
    "AutoContrast ColorIncreasing ContrastIncreasing BrightnessIncreasing "
    "SharpnessIncreasing Equalize Rotate PosterizeIncreasing "
    "SolarizeIncreasing ShearX ShearY TranslateXRel TranslateYRel"
).split()
_INCREASING = frozenset(
    "Posterize Solarize Color Contrast Brightness Sharpness".split()
)
_SETS: Dict[Tuple[str, ...], str] = {
    tuple(_USUAL): "-inc0",
    tuple(
        name + "Increasing" * (name in _INCREASING) for name in _USUAL
    ): "-inc1",
    ("SolarizeIncreasing", "Desaturate", "GaussianBlur"): "-t3a",
}
_WEIGHTS = {
    "-tweights": "Rotate 3 ShearX 2 ShearY 2 TranslateXRel 1 TranslateYRel 1 "
    "ColorIncreasing .25 SharpnessIncreasing .25 AutoContrast .25 "
    "SolarizeIncreasing .05 SolarizeAdd .05 ContrastIncreasing .05 "
    "BrightnessIncreasing .05 Equalize .05 PosterizeIncreasing .05 Invert .05",
    "-t3aw": "SolarizeIncreasing 6 Desaturate 6 GaussianBlur 6 Rotate 3 "
    "ShearX 2 ShearY 2 PosterizeIncreasing 1 AutoContrast 1 ColorIncreasing 1 "
    "SharpnessIncreasing 1 ContrastIncreasing 1 BrightnessIncreasing 1 "
    "Equalize 1 Invert 1",
}
# CRC-32 of what _rows() has of each policy.
_POLICIES = {
    0xCBEE54E6: "original",
    0x3011345F: "originalr",
    0xB7E00853: "v0",
    0xCF41FDE6: "v0r",
    0x38F3A48B: "3a",
}


def _checked(b: Builder, ops: List[Any]) -> Any:
    """One of these operations, which are alike but for what they do."""
    from timm.data import auto_augment as timm

    if not ops:
        b.fail("it has no operations")
    for op in ops:
        if (
            type(op) is not timm.AugmentOp
            or op.name not in timm.NAME_TO_OP
            or op.aug_fn is not timm.NAME_TO_OP[op.name]
            or op.level_fn is not timm.LEVEL_TO_ARG[op.name]
        ):
            b.fail(f"{op!r} is not one of timm's own operations")
        if (op.kwargs, op.hparams, op.magnitude_std, op.magnitude_max) != (
            ops[0].kwargs,
            ops[0].hparams,
            ops[0].magnitude_std,
            ops[0].magnitude_max,
        ):
            b.fail("its operations have different parameters")
    return ops[0]


def _add(b: Builder, config: str, op: Any) -> None:
    b.need_image()
    b.draws()
    if "e-" in config:
        b.fail("a probability or deviation is too small for timm's grammar")
    fill = b.integers("fillcolor", op.kwargs.get("fillcolor"))
    if len(fill) not in (1, b.channels):
        b.fail(f"img_mean={fill!r} for images of {b.channels} channels")
    interpolation = filter_or_random(b, op.kwargs.get("resample"))
    if interpolation not in (*_FILTERS, "random"):
        b.fail(f"interpolation={interpolation!r}; Pillow cannot map with it")
    b.add(
        "timm_augment",
        config=config,
        interpolation=interpolation,
        fill=fill,
        translate_pct=op.hparams.get("translate_pct", 0.45),
    )


def _weighted(b: Builder, names: Tuple[str, ...], weights: List[float]) -> str:
    for section, text in _WEIGHTS.items():
        words = text.split()
        known = [float(w) for w in words[1::2]]
        if tuple(words[::2]) == names and all(
            abs(k / sum(known) - w) < 1e-9 for k, w in zip(known, weights)
        ):
            return section
    b.fail("its operations and weights are not a set of timm's")


@reads("timm", "RandAugment", "ops num_layers choice_weights")
def timm_rand_augment(b: Builder, t: Any) -> None:
    op = _checked(b, t.ops)
    names = tuple(o.name for o in t.ops)
    if t.choice_weights is not None:
        section = _weighted(b, names, list(t.choice_weights))
    elif names in _SETS:
        section = _SETS[names]
    else:
        b.fail("its operations are not a set of timm's")
    if any((o.prob, o.magnitude) != (op.prob, op.magnitude) for o in t.ops):
        b.fail("its operations have different parameters")
    magnitude = whole(b, op, "magnitude", 0, 1000)
    layers = whole(b, t, "num_layers", 0, 16)
    prob = min(b.number("prob", op.prob), 1.0)
    deviation = min(op.magnitude_std, 101)  # above 100 it means evenly
    config = f"rand-m{magnitude}-n{layers}-p{prob!r}-mstd{deviation!r}"
    if op.magnitude_max is not None:
        config += f"-mmax{whole(b, op, 'magnitude_max', 0, 1000)}"
    _add(b, config + section, op)


def _rows(policy: Any) -> int:
    """A fingerprint of what a policy holds."""
    rows = [[(op.name, op.prob, op.magnitude) for op in p] for p in policy]
    return zlib.crc32(repr(rows).encode())


@reads("timm", "AutoAugment", "policy")
def timm_auto_augment(b: Builder, t: Any) -> None:
    op = _checked(b, [op for pair in t.policy for op in pair])
    name = _POLICIES.get(_rows(t.policy))
    if name is None:
        b.fail("its policy is not one that feedline has of timm's")
    if op.magnitude_max is not None or op.magnitude_std == float("inf"):
        b.fail("only mstd can be set for a policy")
    _add(b, f"{name}-mstd{b.number('mstd', op.magnitude_std)!r}", op)


@reads("timm", "AugMixAugment", "ops alpha width depth blended")
def timm_aug_mix(b: Builder, t: Any) -> None:
    op = _checked(b, t.ops)
    if [o.name for o in t.ops] != _OF_MIX:
        b.fail("its operations are not those of timm's AugMix")
    if any((o.prob, o.magnitude) != (1.0, op.magnitude) for o in t.ops):
        b.fail("its operations have different parameters")
    if t.alpha != 1 or t.blended or op.magnitude_max is not None:
        b.fail("only m, w, d and mstd can be set for AugMix")
    magnitude = whole(b, op, "magnitude", 0, 1000)
    config = f"augmix-m{magnitude}-w{whole(b, t, 'width', 1, 16)}"
    if t.depth > 0:
        config += f"-d{whole(b, t, 'depth', 1, 16)}"
    if op.magnitude_std != float("inf"):
        config += f"-mstd{op.magnitude_std!r}"
    _add(b, config, op)
