# SPDX-License-Identifier: Apache-2.0
"""Transforms that make several views of an image: what they are made of.

Self-supervised recipes keep two or more chains in a class of their own:

    class TwoCropsTransform:
        def __call__(self, x):
            q = self.base_transform(x)
            k = self.base_transform(x)
            return [q, k]

`parts_of` says which transforms such a __call__ applies to its image, view by
view. A rehearsal (rehearsal.py) finds out, with stand-ins for the object, for
the transforms in it and for the image, which note what is called with what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

from ..transforms import Views
from .rehearsal import MOST, Cell, Rehearsal


@dataclass(frozen=True)
class Part:
    """Some views in a row: `count` of them, by these transforms in order."""

    where: str  # for messages: "global_transfo1"
    transforms: Tuple[Any, ...]
    count: int = 1


def parts_of(transform: Any) -> Optional[List[Part]]:
    """The views that `transform` makes; None where it is not one of these."""
    if isinstance(transform, Views):
        return [
            Part("chains[%d]" % i, (chain,), count)
            for i, (chain, count) in enumerate(transform.chains)
        ]
    try:
        made = Rehearsal(helpers=False).of_call(transform)(Cell("image"))
    except Exception:  # of whatever kind: it did something else
        return None
    if type(made) not in (list, tuple) or not 1 <= len(made) <= MOST:
        return None
    if not all(type(view) is Cell and view._steps for view in made):
        return None
    return _merged(made)


def _merged(views: List[Cell]) -> List[Part]:
    """Equal views in a row as one part."""
    parts: List[Part] = []
    for view in views:
        where, _ = view._steps[-1]
        steps = tuple(transform for _, transform in view._steps)
        last = parts[-1] if parts else None
        if last is not None and _same(last.transforms, steps):
            parts[-1] = Part(last.where, last.transforms, last.count + 1)
        else:
            parts.append(Part(where, steps))
    return parts


def _same(a: Tuple[Any, ...], b: Tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))
