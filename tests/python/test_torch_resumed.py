# SPDX-License-Identifier: Apache-2.0
"""Samplers whose state is hard to see: an epoch goes on exactly in a new
process, or the state is refused when it is loaded.

resume_matrix.py does the same behind every batch, with all libraries' samplers.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any, Dict, Iterator, List

import numpy
import pytest

pytest.importorskip("torch", reason="no torch")

from sampler_cases import (  # noqa: E402
    OWN,
    TORCH,
    MadeLate,
    Own,
    PerBatch,
    generator,
)
from torch_cases import Ours, data, torch  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::feedline.torch.FallbackWarning"
)


class Numbers(data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 18

    def __getitem__(self, index: int) -> int:
        return index


def seeded(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def global_ones() -> Any:
    return (
        torch.get_rng_state(),
        random.getstate(),
        numpy.random.get_state(),
    )


def put_back(saved: Any) -> None:
    torch.set_rng_state(saved[0])
    random.setstate(saved[1])
    numpy.random.set_state(saved[2])


def loader(arguments: Dict[str, Any]) -> Any:
    return Ours(Numbers(), **{"batch_size": 4, **arguments})


def begin(made: Any, epoch: int) -> Any:
    """As scripts do it, for samplers that want to know."""
    if hasattr(made.sampler, "set_epoch"):
        made.sampler.set_epoch(epoch)
    return iter(made)


def lists(batches: Any) -> List[Any]:
    return [torch.as_tensor(batch).tolist() for batch in batches]


CASES = {**TORCH, **OWN}


@pytest.mark.parametrize("after", [0, 2, -1])
@pytest.mark.parametrize("name", CASES)
def test_goes_on_exactly(name: str, after: int) -> None:
    """In the second epoch; the rest of it and the next one."""
    seeded(1)
    first = loader(CASES[name](Numbers()))
    list(begin(first, 0))
    batches = begin(first, 1)
    expected = []
    for _ in range(after):
        next(batches)
    if after < 0:
        list(batches)
        state, drawn = json.dumps(first.state_dict()), global_ones()
        expected = [lists(begin(first, epoch)) for epoch in (2, 3)]
    else:
        state, drawn = json.dumps(first.state_dict()), global_ones()
        expected = [lists(batches), lists(begin(first, 2))]

    for restores in (True, False):
        seeded(1)
        again = loader(CASES[name](Numbers()))
        again.load_state_dict(json.loads(state))
        if restores:
            put_back(drawn)
        epoch = 1 if after >= 0 else 2
        # Before the first batch what is told counts, and this was told.
        batches = begin(again, epoch) if after else iter(again)
        assert lists(batches) == expected[0]
        if restores:
            assert lists(begin(again, epoch + 1)) == expected[1]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sampler_with_a_state_begins_anew(workers: int) -> None:
    """Saved when workers had been given batches, and none had come."""
    arguments = {"num_workers": workers, **OWN["saves itself"](Numbers())}
    first = loader(arguments)
    list(first)
    batches = iter(first)
    state = first.state_dict()
    expected = lists(batches)
    again = loader({**arguments, **OWN["saves itself"](Numbers())})
    again.load_state_dict(state)
    assert lists(again) == expected


@pytest.mark.parametrize("name", ["made late", "in place", "late object"])
def test_back_in_the_same_process(name: str) -> None:
    """To a state of an epoch before, when less had come into being."""
    made = loader(CASES[name](Numbers()))
    batches = iter(made)
    next(batches)
    state = json.dumps(made.state_dict())
    expected = lists(batches)
    following = lists(made)
    list(made)
    made.load_state_dict(json.loads(state))
    assert lists(made) == expected
    assert lists(made) == following


def test_an_epoch_that_is_told_late() -> None:
    """Behind a finished one, and between iter() and the first batch: as
    Lightning does it. Workers ask for nothing before that."""
    for workers in (0, 2):
        arguments = TORCH["distributed"](Numbers())
        made = loader({"num_workers": workers, **arguments})
        list(begin(made, 0))
        state = made.state_dict()
        expected = lists(begin(made, 1))
        again = loader(
            {"num_workers": workers, **TORCH["distributed"](range(18))}
        )
        again.load_state_dict(state)
        batches = iter(again)
        again.sampler.set_epoch(1)
        assert lists(batches) == expected


# ---- What is refused --------------------------------------------------------


class Generator(Own):
    """Takes its samples from a Python generator, epoch after epoch."""

    order: Any = None

    def __iter__(self) -> Iterator[int]:
        if self.order is None:
            self.order = self.forever()
        for _ in range(self.count):
            yield next(self.order)

    def forever(self) -> Iterator[int]:
        drawn = random.Random(3)
        while True:
            yield drawn.randrange(self.count)


class OfSeed(Own):
    """Of a seed of its own in each process."""

    def __init__(self, count: int, seed: int) -> None:
        super().__init__(count)
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        drawn = generator(self.seed)
        return iter(torch.randperm(self.count, generator=drawn).tolist())


def test_a_generator_of_one_epoch() -> None:
    """It is there in the first epoch again."""
    first = loader({"sampler": Generator(18)})
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    again = loader({"sampler": Generator(18)})
    again.load_state_dict(state)
    assert lists(again) == lists(batches)
    assert lists(again) == lists(first)


class Opened(Own):
    """Has changed something of a kind that no copy is made of."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.step = Decimal(1)

    def __iter__(self) -> Iterator[int]:
        self.step += 1
        return iter([(i * int(self.step)) % self.count for i in range(18)])


@pytest.mark.parametrize("kind", [Generator, Opened])
@pytest.mark.parametrize("after", [0, 2, -1])
def test_a_part_that_cannot_be_copied(kind: Any, after: int) -> None:
    """Over epochs: of a generator, or of a kind that no copy is made of."""
    first = loader({"sampler": kind(18)})
    list(first)
    batches = iter(first)
    for _ in range(after):
        next(batches)
    if after < 0:
        list(batches)
    state = first.state_dict()
    with pytest.raises(ValueError, match="order cannot be found again"):
        loader({"sampler": kind(18)}).load_state_dict(state)


def test_another_order() -> None:
    first = loader({"sampler": OfSeed(18, 1)})
    next(iter(first))
    with pytest.raises(ValueError, match="gives other samples"):
        loader({"sampler": OfSeed(18, 2)}).load_state_dict(first.state_dict())


def test_draws_between_those_of_the_sampler() -> None:
    """Of the program's, from the same generator."""
    first = loader({"batch_size": 1, "batch_sampler": PerBatch(60, 3)})
    for _ in zip(range(8), first):
        numpy.random.rand()
    again = loader({"batch_size": 1, "batch_sampler": PerBatch(60, 3)})
    with pytest.raises(ValueError, match="global generator that the program"):
        again.load_state_dict(first.state_dict())


def test_a_state_without_the_part() -> None:
    first = loader({"sampler": MadeLate(18)})
    list(first)
    next(iter(first))
    again = loader({"sampler": OfSeed(18, 1)})
    with pytest.raises(ValueError, match="generator at sampler/sampler"):
        again.load_state_dict(first.state_dict())


def test_one_generator_in_two_places() -> None:
    first = loader(OWN["shared by three"](Numbers()))
    state = first.state_dict()
    arguments = {**OWN["shared by two"](Numbers()), "generator": generator()}
    with pytest.raises(ValueError, match="one generator is in two places"):
        loader(arguments).load_state_dict(state)
