# SPDX-License-Identifier: Apache-2.0
"""collate_fns that mix batches, known by what they are.

    lambda samples: mixup(*default_collate(samples))    as collated(mixup)
    lambda samples: default_collate(samples)            default_collate
    v2.MixUp, v2.CutMix, v2.RandomChoice of the two     the operation mix
    timm's FastCollateMixup                             the operation mix

A function is one of the first if its instructions are; it is not called. The
objects are looked at for each epoch, as `mixup_enabled` may change. Draws are
then the engine's: the same for any number of workers and in a resumed epoch.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterator, Optional, Tuple

import torch
from torch.utils.data.dataloader import default_collate

from .collated import Collated
from .compiled import MISSING, Forms, Known, in_the_end

Arguments = Dict[str, Any]

_COLLATED = (
    "collate_(b_)",
    "torch_.utils.data.default_collate(b_)",
    "torch_.utils.data.dataloader.default_collate(b_)",
)
# Parameters, the name of the mix, and where it is written.
_WHERE = (
    ("b_", "mix_", "{f}"),
    ("b_", "mix_", "def o(mix_):\n {f}\n return f\nf = o(0)"),
    ("b_, mix_", "mix_", "{f}"),
    ("mix_, b_", "mix_", "{f}"),
    ("self_, b_", "self_.mix_", "{f}"),
)
# A sample that is missing is never None here, it is raised.
_WITHOUT_NONE = (
    "b_ = [s_ for s_ in b_ if s_ is not None]\n",
    "b_ = list_(filter_(lambda s_: s_ is not None, b_))\n",
)


def _sources() -> Iterator[Tuple[str, bool]]:
    """Whether something is done to default_collate's batch."""
    for batch in _COLLATED:
        for before in ("", *_WITHOUT_NONE):
            for given in ("b_", "self_, b_"):
                yield f"def f({given}):\n {before} return {batch}", False
        for given, mix, where in _WHERE:
            for body in (
                f"return {mix}(*{batch})",
                f"r_ = {batch}\n  return {mix}(*r_)",
                f"i_, l_ = {batch}\n  return {mix}(i_, l_)",
            ):
                yield where.format(f=f"def f({given}):\n  {body}"), True


_FORMS = Forms(
    _sources,
    {"torch_": "torch", "list_": "builtins:list", "filter_": "builtins:filter"},
)


def recognised(collate_fn: Any) -> Any:
    """A function that does what default_collate does as that, one that applies
    another to its batch as `collated`, and anything else as it is."""
    if in_the_end(collate_fn) is default_collate:
        return default_collate
    for found in _FORMS.known(collate_fn):
        if "collate_" in found.names:
            if found.value("collate_") is not default_collate:
                continue
        if not found.meaning:
            return default_collate
        mix = _mix_in(found)
        if callable(mix) and mix is not MISSING:
            return Collated(mix)
    return collate_fn


def _mix_in(found: Known[bool]) -> Any:
    of_object = "self_" in found.names
    return (found.attribute if of_object else found.value)("mix_")


def is_mixing(collate_fn: Any) -> bool:
    """Whether it is timm's, which takes samples and makes the batch."""
    timm = sys.modules.get("timm.data.mixup")
    return timm is not None and type(collate_fn) is timm.FastCollateMixup


def mix_of(collate_fn: Any, dtype: str) -> Optional[Arguments]:
    """The arguments of the operation that does the same to batches of this
    dtype; None where there is none."""
    if isinstance(collate_fn, Collated):
        collate_fn = collate_fn.fn
    if is_mixing(collate_fn):
        return _of_timm(collate_fn) if dtype == "u8" else None
    v2 = sys.modules.get("torchvision.transforms.v2")
    if v2 is None or not hasattr(v2, "MixUp"):
        return None
    found = _of_torchvision(v2, collate_fn)
    # torchvision refuses to mix bytes.
    if found is None or (dtype != "f32" and found.get("mixup_alpha", 0)):
        return None
    return found


# ---- torchvision ------------------------------------------------------------


def _of_torchvision(v2: Any, transform: Any) -> Optional[Arguments]:
    if type(transform) is not v2.RandomChoice:
        return _of_one(v2, transform)
    transforms = transform.transforms
    if len(transforms) != 2 or not _is_usual(
        transform, v2.RandomChoice(transforms)
    ):
        return None
    found = [_of_one(v2, one) for one in transforms]
    kinds = [type(one) for one in transforms]
    if None in found or set(kinds) != {v2.MixUp, v2.CutMix}:
        return None
    first, second = found
    assert first is not None and second is not None
    if first["num_classes"] != second["num_classes"]:
        return None
    p = transform.p or [1, 1]
    return {
        **first,
        **second,
        "switch_prob": p[kinds.index(v2.CutMix)] / sum(p),
    }


def _of_one(v2: Any, transform: Any) -> Optional[Arguments]:
    """Of MixUp or CutMix."""
    kind = type(transform)
    if kind not in (v2.MixUp, v2.CutMix) or not transform.num_classes:
        return None
    alpha, classes = transform.alpha, transform.num_classes
    usual = kind(alpha=alpha, num_classes=classes)
    if (
        not _is_usual(transform, usual)
        or transform._labels_getter is not usual._labels_getter
        or float(transform._dist.concentration1) != float(torch.tensor(alpha))
    ):
        return None
    name = "mixup_alpha" if kind is v2.MixUp else "cutmix_alpha"
    return {name: alpha, "num_classes": classes}


def _is_usual(transform: Any, usual: Any) -> bool:
    """Nobody gave this module a method or a hook of its own."""
    return set(vars(transform)) == set(vars(usual)) and not any(
        value
        for name, value in vars(transform).items()
        if name.endswith("_hooks")
    )


# ---- timm -------------------------------------------------------------------


def _of_timm(mixup: Any) -> Optional[Arguments]:
    usual = type(mixup)()
    if set(vars(mixup)) != set(vars(usual)) or mixup.mode not in (
        "batch",
        "pair",
        "elem",
    ):
        return None
    if getattr(mixup, "multi_label", False):
        return None
    low, high = mixup.cutmix_minmax or (0, 0)
    return {
        "like": "timm",
        "mode": mixup.mode,
        "mixup_alpha": mixup.mixup_alpha,
        "cutmix_alpha": mixup.cutmix_alpha,
        "p": mixup.mix_prob if mixup.mixup_enabled else 0,
        "switch_prob": mixup.switch_prob,
        "cutmix_min": low,
        "cutmix_max": high,
        "correct_lam": mixup.correct_lam,
        "label_smoothing": mixup.label_smoothing,
        "num_classes": mixup.num_classes,
    }
