# SPDX-License-Identifier: Apache-2.0
"""Whether chains of a data set may be recorded as wholes.

What the engine draws is not what torch draws, so pixels cannot be compared with
those of the data set. That they are right is chain.py's promise, as for data
sets that are known to the end. Compared is all else: the samples of a proof are
made once more, with whole chains, and have to be what they were call by call,
but for the values that draws decide.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Callable

import torch

from ..deferred.chained import FromPipeline
from .recorded_chains import Chains
from .working_copy import is_plain_object

_DEEPEST = 32


def try_chains(
    chains: Chains, before: Any, again: Callable[[], Any], different: Any
) -> None:
    """Turns `chains` on if that makes no difference to the trial `before`.
    again: the same trial."""
    chains.on = True
    try:
        chains.on = _are_alike(again(), before, different)
    except Exception:
        chains.on = False
        raise
    chains.refuse_touched()


def _are_alike(chained: Any, before: Any, different: Any) -> bool:
    if chained.recorded.keys() != before.recorded.keys():
        return False
    for place, sample in chained.recorded.items():
        other = before.recorded[place]
        both = list(zip(chained.leaves[place], before.leaves[place]))
        wholes = [
            (leaf.result.random, row, former)
            for (leaf, row), (_, former) in both
            if isinstance(leaf, FromPipeline)
        ]
        if any(random for random, _, _ in wholes):
            fixed = [(a, b) for random, a, b in wholes if not random]
            if any(different(a, b) is not None for a, b in fixed):
                return False
            sample, other = outline(sample, 0), outline(other, 0)
        if different(sample, other) is not None:
            return False
    return True


def outline(thing: Any, depth: int) -> Any:
    """What a sample is, without its values."""
    kind = repr(type(thing))
    if isinstance(thing, torch.Tensor):
        return kind, tuple(thing.shape), str(thing.dtype)
    if hasattr(thing, "__array_interface__"):
        return kind, thing.__array_interface__["shape"]
    if depth > _DEEPEST:
        return kind
    if isinstance(thing, MutableMapping):
        return {key: outline(thing[key], depth + 1) for key in thing}
    if isinstance(thing, (list, tuple)):
        return kind, [outline(part, depth + 1) for part in thing]
    if is_plain_object(type(thing)):
        return kind, outline(vars(thing), depth + 1)
    return kind
