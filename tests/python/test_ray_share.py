# SPDX-License-Identifier: Apache-2.0
"""The rule by which batches are made here or elsewhere, on consumers and
workers that are mere rates."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, List

import pytest

import feedline


def share_of(*fixed: float) -> Any:
    """The module alone: its package needs Ray."""
    path = Path(feedline.__file__).with_name("ray") / "share.py"
    spec = importlib.util.spec_from_file_location("share", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Share(*fixed)


def places(share: Any, n: int) -> List[bool]:
    found = []
    for _ in range(n):
        found.append(share.wants())
        share.place(found[-1])
    return found


@pytest.mark.parametrize(
    "value, part", [(0.0, 0), (0.25, 25), (0.5, 50), (0.9, 90), (1.0, 100)]
)
def test_fixed(value: float, part: int) -> None:
    share = share_of(value)
    assert abs(sum(places(share, 100)) - part) <= 1
    for _ in range(100):
        share.see(False, 1.0, 1.0)
    assert share.value == value


def settled(consumer: float, here: float, there: float) -> float:
    """The share after a while, with these rates of batches per second."""
    share = share_of()
    shares = []
    for _ in range(400):
        s = share.value
        rate = consumer
        if s < 1:
            rate = min(rate, here / (1 - s))
        if s > 0:
            rate = min(rate, there / s)
        waited = 1 / rate - 1 / consumer
        behind_here = s == 0 or here / (1 - s) < there / s
        for _ in range(16):
            share.see(not behind_here, waited, 1 / rate)
        shares.append(share.value)
    return sum(shares[-50:]) / 50


def test_nothing_where_this_process_suffices() -> None:
    assert settled(consumer=10, here=12, there=100) == 0


def test_only_what_lacks() -> None:
    """Of 10, 4 are made here: six tenths are not."""
    assert settled(consumer=10, here=4, there=100) == pytest.approx(
        0.6, abs=0.05
    )


def test_both_at_their_limits() -> None:
    """What they can do together, 4 and 2, in that ratio."""
    assert settled(consumer=100, here=4, there=2) == pytest.approx(
        1 / 3, abs=0.06
    )


def test_no_debt_where_elsewhere_has_no_room() -> None:
    share = share_of(0.5)
    for _ in range(20):
        share.place(False)
    assert sum(places(share, 10)) <= 6
