# SPDX-License-Identifier: Apache-2.0
"""What MixUp and CutMix drew for the images of a batch."""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from . import _c
from ._library import lib
from .errors import check

_KINDS = {_c.MIX_NONE: "none", _c.MIXUP: "mixup", _c.CUTMIX: "cutmix"}


class Mix(NamedTuple):
    """What one image of a batch became.

    kind: "none", "mixup" or "cutmix". share: of its own label in its target.
    partner: the other image, by its place in the batch. box: left, top, right,
    bottom of what is the partner's, with CutMix.
    """

    kind: str
    share: float
    partner: int
    box: Tuple[int, ...]


def targets_of(handle: int) -> _c.batch_targets:
    """Of a feedline_batch. Raises StateError: its pipeline does not mix."""
    found = _c.batch_targets()
    check(lib.batch_get_targets(handle, found))
    return found


def mixes_of(handle: int, count: int) -> List[Mix]:
    """Of each of its images."""
    return [_mix_of(one) for one in targets_of(handle).mixes[:count]]


def _mix_of(one: _c.image_mix) -> Mix:
    return Mix(_KINDS[one.kind], one.share, one.partner, tuple(one.box))
