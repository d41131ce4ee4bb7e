# SPDX-License-Identifier: Apache-2.0
"""Functions that draw, which a data set has kept from before they were
replaced."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, List

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from feedline import thread_draws  # noqa: E402
from feedline.torch.working_copy import working_copy  # noqa: E402


def original(function: Any) -> Any:
    return getattr(function, "__wrapped__", function)


class Keeper:
    def __init__(self) -> None:
        thread_draws.install()
        self.rand = original(torch.rand)
        self.uniform = partial(original(torch.Tensor.uniform_), to=5)
        self.choices = [original(random.random), original(random.gauss)]
        self.table = {"normal": original(torch.Tensor.normal_)}
        self.numpys = [original(numpy.random.rand)]
        self.own = random.Random(3).random

    def draws(self) -> List[float]:
        found = [float(self.rand(())), float(self.uniform(torch.empty(())))]
        found += [self.numpys[0](), self.choices[0](), self.choices[1](0, 1)]
        return found + [float(self.table["normal"](torch.empty(())))]


def drawn(keeper: Keeper, seed: int) -> List[float]:
    return thread_draws.run(lambda _: keeper.draws(), None, lambda: seed)


def test_they_draw_as_a_worker_does() -> None:
    copy = working_copy(Keeper(), True)
    before = torch.get_rng_state(), random.getstate()
    first = drawn(copy, 3)
    assert first == drawn(copy, 3) and first != drawn(copy, 4)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert copy.own.__self__ is not thread_draws.library("random")


def test_those_of_the_programs_own_object_do_not() -> None:
    """Without workers it is that object which makes the samples."""
    for keeper in (Keeper(), working_copy(Keeper())):
        before = torch.get_rng_state()
        drawn(keeper, 3)
        assert not torch.equal(before, torch.get_rng_state())
