# SPDX-License-Identifier: Apache-2.0
"""state_dict and load_state_dict: an epoch goes on in another loader exactly
where the first one was left."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from torch_cases import SAMPLERS, Ours, assert_same, data, folder, generator
from torch_cases import torch

from feedline.torch import BlockSampler

pytestmark = pytest.mark.filterwarnings(
    "ignore::feedline.torch.FallbackWarning"
)


class Own(data.Dataset):  # type: ignore[misc]
    """Not one for the engine. Notes what was loaded, where that is seen."""

    def __init__(self, samples: int = 24) -> None:
        self.samples = samples
        self.loaded: List[int] = []

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Any:
        self.loaded.append(index)
        return torch.tensor([index]), index


class Every(data.Sampler):  # type: ignore[misc]
    """A sampler that saves its own state, as torchdata's distributed one."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.yielded = 0
        self.start: Optional[int] = None

    def __iter__(self) -> Iterator[int]:
        self.yielded = self.start or 0
        self.start = None
        for index in range(self.yielded, self.samples):
            self.yielded += 1
            yield index

    def __len__(self) -> int:
        return self.samples

    def state_dict(self) -> Dict[str, Any]:
        return {"yielded": self.yielded}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.start = state["yielded"]


class EveryBatch(Every):
    """The same for whole batches."""

    def __iter__(self) -> Iterator[Any]:
        self.yielded = self.start or 0
        self.start = None
        for index in range(self.yielded, self.samples, 4):
            self.yielded += 4
            yield list(range(index, min(index + 4, self.samples)))

    def __len__(self) -> int:
        return -(-self.samples // 4)


class FromGlobal(data.Sampler):  # type: ignore[misc]
    """Draws from the global generator, at once."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(self.samples).tolist())

    def __len__(self) -> int:
        return self.samples


def shared(d: Any) -> Dict[str, Any]:
    g = generator()
    return {"sampler": data.RandomSampler(d, generator=g), "generator": g}


ORDERS: Dict[str, Callable[[Any], Dict[str, Any]]] = {
    **SAMPLERS,
    "shared generator": shared,
    "from global": lambda d: {"sampler": FromGlobal(len(d))},
    "batch sampler": lambda d: {
        "batch_size": 1,
        "batch_sampler": data.BatchSampler(FromGlobal(len(d)), 3, True),
    },
    "stateful": lambda d: {"sampler": Every(len(d))},
    "stateful batches": lambda d: {
        "batch_size": 1,
        "batch_sampler": EveryBatch(len(d)),
    },
}


def through_json(state: Dict[str, Any]) -> Dict[str, Any]:
    again: Dict[str, Any] = json.loads(json.dumps(state))
    assert again == state
    return again


def left(loader: Any, after: int) -> Tuple[Dict[str, Any], List[Any]]:
    """The state behind so many batches of an epoch, and those that follow."""
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    return loader.state_dict(), list(iterator)


def stopped(loader: Any, after: int) -> List[Any]:
    """The first batches of an epoch; the iterator is left."""
    return list(islice(loader, after))


def rest_of(state: Dict[str, Any], loader: Any, seeds: int = 0) -> List[Any]:
    """What a loader in another process would go on with.

    seeds: that it draws from the global generator, and the first one had not.
    """
    torch.manual_seed(987)  # nothing of ours may depend on it
    for _ in range(seeds):
        torch.empty((), dtype=torch.int64).random_()
    before = torch.get_rng_state()
    torch.manual_seed(987)
    loader.load_state_dict(through_json(state))
    found = list(loader)
    assert torch.equal(before, torch.get_rng_state())
    return found


@pytest.mark.parametrize(
    "after,before,resumed", [(0, 2, 2), (1, 2, 1), (1, 1, "auto"), (3, 0, 0)]
)
@pytest.mark.parametrize("name", ORDERS)
def test_the_rest_of_an_epoch(
    drawn: Any, name: str, after: int, before: Any, resumed: Any
) -> None:
    """Order and draws, from the start and the middle."""
    arguments = {"batch_size": 5, **ORDERS[name](drawn)}
    torch.manual_seed(4)
    first = Ours(drawn, num_workers=before, **arguments)
    state, expected = left(first, after)
    arguments.update(ORDERS[name](drawn))
    again = Ours(drawn, num_workers=resumed, **arguments)
    assert_same(rest_of(state, again), expected)
    assert first.native and again.native


@pytest.mark.parametrize("before,resumed", [(0, 0), (0, 2), (2, 0)])
@pytest.mark.parametrize("name", ORDERS)
def test_with_and_without_workers(
    dataset: Any, name: str, before: int, resumed: int
) -> None:
    """Natively and through torch; also the epoch behind it, where its order
    comes from a generator that the state has."""
    for made in (dataset, Own()):
        arguments = {"batch_size": 5, **ORDERS[name](made)}
        torch.manual_seed(4)
        if isinstance(made, Own) and (before, resumed) != (0, 0):
            continue  # the matrix of torch's own workers is below
        first = Ours(made, num_workers=before, **arguments)
        state, expected = left(first, 2)
        behind = list(first)

        arguments.update(ORDERS[name](made))
        again = Ours(made, num_workers=resumed, **arguments)
        assert_same(rest_of(state, again), expected)
        if name in ("sequential", "shared generator", "own generator"):
            assert_same(list(again), behind)


@pytest.mark.parametrize("before,resumed", [(2, 2), (2, 0), (0, 2)])
def test_torchs_own_workers(before: int, resumed: int) -> None:
    for name in ("shuffled", "stateful"):
        made = Own()
        arguments = {"batch_size": 5, **ORDERS[name](made)}
        state, expected = left(Ours(made, num_workers=before, **arguments), 1)
        arguments.update(ORDERS[name](made))
        again = Ours(made, num_workers=resumed, **arguments)
        assert_same(rest_of(state, again), expected)
        assert not again.native


def test_what_was_delivered_is_not_loaded_again() -> None:
    made = Own()
    first = Ours(made, batch_size=4)
    stopped(first, 4)
    state = first.state_dict()
    made.loaded.clear()
    again = Ours(made, batch_size=4)
    assert len(rest_of(state, again)) == 2
    assert made.loaded == list(range(16, 24))


def test_natively_too(drawn: Any) -> None:
    first = Ours(drawn, batch_size=4, num_workers=1)
    stopped(first, 4)
    again = Ours(drawn, batch_size=4, num_workers=1)
    assert len(rest_of(first.state_dict(), again)) == 2
    assert again.engine.stats(flat=True)["feedline/samples"] == 8


# ---- Moments ---------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_of_what_was_returned(drawn: Any, workers: int) -> None:
    """Not of what was prepared."""
    loader = Ours(drawn, batch_size=5, num_workers=workers)
    iterator = iter(loader)
    for number in range(6):
        state = loader.state_dict()
        assert state["_num_yielded"] == min(number, 5)
        assert state["_sampler_iter_yielded"] == min(number, 5)
        samples = state["_index_sampler_state"]["samples_yielded"]
        assert samples == state["samples_yielded_global"] == min(number * 5, 24)
        assert state["_iterator_finished"] is (number > 5)
        next(iterator, None)
    assert loader.state_dict()["_iterator_finished"] is True


@pytest.mark.parametrize("name", ["sequential", "shared generator", "stateful"])
def test_behind_the_end_comes_the_next_epoch(drawn: Any, name: str) -> None:
    arguments = ORDERS[name](drawn)
    first = Ours(drawn, batch_size=5, num_workers=1, **arguments)
    assert len(list(first)) == 5
    state = first.state_dict()
    torch.manual_seed(1)
    expected = list(first)
    again = Ours(drawn, batch_size=5, num_workers=1, **ORDERS[name](drawn))
    again.load_state_dict(through_json(state))
    torch.manual_seed(1)
    assert_same(list(again), expected)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_before_the_first_epoch(dataset: Any, workers: int) -> None:
    """It is that of the epoch that the next iter() begins."""
    first = Ours(dataset, batch_size=5, shuffle=True, num_workers=workers)
    state = first.state_dict()
    again = Ours(dataset, batch_size=5, shuffle=True, num_workers=workers)
    expected = list(first)
    # Without workers the order is drawn by the first next().
    assert_same(rest_of(state, again, 0 if workers else 1), expected)
    assert state["_num_yielded"] == 0


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_the_epoch_behind_draws_the_same(
    drawn: Any, shuffle: bool, persistent: bool, given: bool
) -> None:
    """Order and transforms, from a state alone; what else the process has drawn
    or not changes nothing, and the next epoch draws as many numbers."""

    def loader() -> Any:
        return Ours(
            drawn,
            batch_size=5,
            shuffle=shuffle,
            num_workers=1,
            persistent_workers=persistent,
            generator=generator() if given else None,
        )

    first = loader()
    assert len(list(first)) == 5
    state = through_json(first.state_dict())
    before = torch.get_rng_state()
    expected = list(first)
    behind = torch.get_rng_state()
    again = loader()
    torch.rand(3)
    again.load_state_dict(state)
    torch.rand(5)
    assert_same(list(again), expected)

    torch.set_rng_state(before)
    third = loader()
    third.load_state_dict(state)
    assert_same(list(third), expected)
    assert torch.equal(behind, torch.get_rng_state())


def test_a_seed_of_the_program_counts(drawn: Any) -> None:
    """Scripts that seed each epoch get the order that they ask for."""
    first = Ours(drawn, batch_size=5, shuffle=True, num_workers=1)
    torch.manual_seed(0)
    list(first)
    state = first.state_dict()
    torch.manual_seed(1)
    expected = list(first)
    for seed in (0, 1, 5):
        again = Ours(drawn, batch_size=5, shuffle=True, num_workers=1)
        torch.manual_seed(seed)
        torch.rand(1)
        again.load_state_dict(state)
        torch.manual_seed(1)
        assert_same(list(again), expected)


def test_a_state_that_was_not_used_yet_is_kept(drawn: Any) -> None:
    first = Ours(drawn, batch_size=5, num_workers=1)
    stopped(first, 2)
    state = first.state_dict()
    again = Ours(drawn, batch_size=5, num_workers=1)
    again.load_state_dict(state)
    assert again.state_dict() == state
    again.load_state_dict({})
    assert len(list(again)) == 5


def test_twice_in_one_epoch(drawn: Any) -> None:
    """Resumed, left, resumed: the first batches never come again."""
    torch.manual_seed(3)
    first = Ours(drawn, batch_size=4, shuffle=True, num_workers=2)
    state, expected = left(first, 1)
    second = Ours(drawn, batch_size=4, shuffle=True, num_workers=1)
    second.load_state_dict(state)
    head = stopped(second, 2)
    assert second.state_dict()["_num_yielded"] == 3
    third = Ours(drawn, batch_size=4, shuffle=True, num_workers=2)
    assert_same(head + rest_of(second.state_dict(), third), expected)


def test_samples_that_come_again(drawn: Any) -> None:
    """Each occurrence keeps its own draws in a resumed epoch."""
    order = [3, 3, 3, 7, 3, 7, 3, 3]
    first = Ours(drawn, batch_size=2, sampler=order, num_workers=1)
    state, expected = left(first, 2)
    again = Ours(drawn, batch_size=2, sampler=order, num_workers=2)
    assert_same(rest_of(state, again), expected)


def test_persistent_workers(drawn: Any) -> None:
    def loader() -> Any:
        return Ours(drawn, batch_size=4, num_workers=1, persistent_workers=True)

    first = loader()
    assert len(list(first)) == 6
    state, expected = left(first, 2)
    behind = list(first)
    again = loader()
    assert_same(rest_of(state, again), expected)
    assert_same(list(again), behind)


def test_a_failed_batch_counts(dataset: Any) -> None:
    """It is behind us, and does not come again."""
    order = [0, 1, 99, 2, 3, 4, 5]
    first = Ours(dataset, batch_size=2, sampler=order, num_workers=1)
    iterator = iter(first)
    next(iterator)
    with pytest.raises(IndexError):
        next(iterator)
    state = first.state_dict()
    assert state["_num_yielded"] == 1 and state["_sampler_iter_yielded"] == 2
    again = Ours(dataset, batch_size=2, sampler=order, num_workers=1)
    assert [b[0].shape[0] for b in rest_of(state, again)] == [2, 1]


# ---- Other loaders ---------------------------------------------------------


def test_another_batch_size(drawn: Any) -> None:
    """From the same sample on, with the same draws."""
    torch.manual_seed(1)
    first = Ours(drawn, batch_size=4, shuffle=True, num_workers=2)
    state, rest = left(first, 2)
    expected = torch.cat([batch[0] for batch in rest])
    again = Ours(drawn, batch_size=7, shuffle=True, num_workers=2)
    found = rest_of(state, again)
    assert [len(batch[0]) for batch in found] == [7, 7, 2]
    assert torch.equal(torch.cat([batch[0] for batch in found]), expected)


@pytest.mark.parametrize("then,now", [(1, 2), (2, 1), (2, 4), (3, 2)])
def test_another_number_of_replicas(dataset: Any, then: int, now: int) -> None:
    """All that was left, and each sample once, where numbers divide."""

    def loader(ranks: int, rank: int) -> Any:
        sampler = data.distributed.DistributedSampler(
            dataset, ranks, rank, seed=5
        )
        sampler.set_epoch(2)
        return Ours(dataset, batch_size=12 // then // 2, sampler=sampler)

    def labels(batches: List[Any]) -> List[int]:
        sums = torch.cat([batch[0].float().sum((1, 2, 3)) for batch in batches])
        return [round(x) for x in sums.tolist()]

    seen: List[int] = []
    state: Dict[str, Any] = {}
    for rank in range(then):
        first = loader(then, rank)
        seen += labels(stopped(first, 2))
        state = first.state_dict()
    assert state["samples_yielded_global"] == 12 and state["replicas"] == then
    for rank in range(now):
        again = loader(now, rank)
        again.sampler.set_epoch(0)
        seen += labels(rest_of(state, again))
        assert again.sampler.epoch == 2
    assert sorted(seen) == sorted(labels(list(Ours(dataset, batch_size=24))))


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("order_of", ["random", "sequential", "block"])
def test_ranks_that_come_and_go(order_of: str, drop: bool) -> None:
    """8 ranks, then 6, then 6 anew, 5 and 1: the order stays the same one, and
    each sample comes once. What is padded or dropped at the end is as always.
    """
    count = 101

    def loader(ranks: int, rank: int, batch_size: int = 2) -> Any:
        sampler: Any
        dataset = Own(count)
        shard = dict(num_replicas=ranks, rank=rank, seed=5, drop_last=drop)
        if order_of == "block":
            sampler = BlockSampler(dataset, 4, 3, **shard)
        else:
            sampler = data.distributed.DistributedSampler(
                dataset, shuffle=order_of == "random", **shard
            )
        sampler.set_epoch(2)
        return Ours(dataset, batch_size=batch_size, sampler=sampler)

    order = [int(i) for _, i in loader(1, 0, 1)]
    state: Dict[str, Any] = {}
    seen: List[int] = []
    for ranks, batches, size in [(8, 2, 2), (6, 1, 5), (6, 1, 1), (5, 3, 1)]:
        columns = []
        for rank in range(ranks):
            job = loader(ranks, rank, size)
            if state:
                job.load_state_dict(through_json(state))
            columns.append([int(i) for b in islice(job, batches) for i in b[1]])
            state = job.state_dict() if rank == ranks - 1 else state
        seen += [i for row in zip(*columns) for i in row]
        assert seen == order[: len(seen)]
        assert state["samples_yielded_global"] == len(seen)
    left = {}
    for ranks in (1, 7):
        left[ranks] = [
            [int(i) for b in rest_of(state, loader(ranks, rank)) for i in b[1]]
            for rank in range(ranks)
        ]
    assert left[1] == [order[len(seen) :]]
    last = [i for row in zip(*left[7]) for i in row]
    assert all(len(one) == len(left[7][0]) for one in left[7])
    keep = len(left[1][0]) // 7 * 7 if drop else None
    assert last[: len(left[1][0])] == left[1][0][:keep]


def test_another_data_set(dataset: Any, tmp_path: Any) -> None:
    first = Ours(dataset, batch_size=5, num_workers=1)
    stopped(first, 1)
    state = first.state_dict()
    smaller = folder(tmp_path / "smaller", classes=2)
    other = folder(tmp_path / "other", seed=9)
    other.samples.reverse()
    for wrong in (smaller, other, Own(7)):
        with pytest.raises(ValueError, match="another data set") as error:
            Ours(wrong, batch_size=5).load_state_dict(state)
        assert "ImageFolder of 24 samples" in str(error.value)
    copied = folder(tmp_path / "copied")
    Ours(copied, batch_size=5).load_state_dict(state)  # the same elsewhere


def with_part(value: Any) -> Dict[str, Any]:
    """A damaged copy of a generator."""
    order = Ours(Own()).state_dict()["order"]
    return {"order": {**order, "parts": {"generator": ["torch", value]}}}


@pytest.mark.parametrize(
    "state,words",
    [
        ({"epoch": 1}, "_num_yielded"),
        ({"_num_yielded": 1, "_sampler_iter_yielded": 1}, "version"),
        ([], "takes a dict"),
        (None, "takes a dict"),
        ("state", "takes a dict"),
        ({"_num_yielded": "a"}, "not a state"),
        ({"_num_yielded": []}, "not a state"),
        ({"_num_yielded": -1}, "negative"),
        ({"_sampler_iter_yielded": None}, "not a state"),
        ({"order": None}, "not a state"),
        ({"order": {"parts": {}}}, "not a state"),
        (with_part({"bytes": "eJz"}), "not a state"),
        (with_part({"numbers": 3}), "not a state"),
        ({"next": {"seeds": 3}}, "not a state"),
        ({"replicas": "two"}, "not a state"),
        ({"_index_sampler_state": 7}, "not a state"),
    ],
)
def test_what_is_no_state(dataset: Any, state: Any, words: str) -> None:
    """Or was one, and has a wrong value now. Nothing changes by it."""
    loader = Ours(dataset, batch_size=5)
    next(iter(loader))
    good = loader.state_dict()
    if words in ("not a state", "negative"):
        state = {**good, **state}
    with pytest.raises(ValueError, match=words):
        loader.load_state_dict(state)
    assert loader.state_dict() == good


def test_a_later_version(dataset: Any) -> None:
    state = {**Ours(dataset).state_dict(), "version": 99}
    with pytest.raises(ValueError, match="version 99"):
        Ours(dataset).load_state_dict(state)


def test_a_generator_that_is_missing(dataset: Any) -> None:
    first = Ours(dataset, shuffle=True, generator=generator())
    stopped(first, 2)
    again = Ours(dataset, shuffle=True)
    with pytest.raises(ValueError, match="generator"):
        again.load_state_dict(first.state_dict())


@pytest.mark.parametrize("value", [3, {"bytes": "eJwDAAAAAAE="}, "text"])
def test_a_generator_that_is_damaged(dataset: Any, value: Any) -> None:
    loader = Ours(dataset, shuffle=True, generator=generator())
    state = loader.state_dict()
    state["order"].update(with_part(value)["order"])
    with pytest.raises(ValueError, match="is damaged"):
        Ours(dataset, shuffle=True, generator=generator()).load_state_dict(
            state
        )


def test_what_accelerate_takes_back(drawn: Any) -> None:
    """It has one batch more than it gave out, and says so in these keys."""
    first = Ours(drawn, batch_size=5, num_workers=1)
    head = stopped(first, 3)
    state = first.state_dict()
    state["_sampler_iter_yielded"] -= 1
    state["_num_yielded"] -= 1
    state["_index_sampler_state"]["samples_yielded"] -= 5
    again = Ours(drawn, batch_size=5, num_workers=1)
    found = rest_of(state, again)
    assert len(found) == 3
    assert_same(found[:1], head[2:])


def test_a_stream_is_read_past(dataset: Any) -> None:
    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[int]:
            return iter(range(12))

    first = Ours(Stream(), batch_size=3)
    stopped(first, 2)
    again = Ours(Stream(), batch_size=3)
    found = rest_of(first.state_dict(), again)
    assert [batch.tolist() for batch in found] == [[6, 7, 8], [9, 10, 11]]


def test_the_state_is_small(drawn: Any) -> None:
    loader = Ours(drawn, batch_size=5, shuffle=True, num_workers=1)
    stopped(loader, 2)
    assert len(json.dumps(loader.state_dict())) < 1000


def test_torchdatas_sampler(dataset: Any) -> None:
    """StatefulDistributedSampler, where torchdata is installed."""
    samplers = pytest.importorskip(
        "torchdata.stateful_dataloader.sampler", reason="no torchdata"
    )

    def loader() -> Any:
        sampler = samplers.StatefulDistributedSampler(dataset, 2, 1, seed=3)
        return Ours(dataset, batch_size=2, sampler=sampler, num_workers=1)

    state, expected = left(loader(), 2)
    assert_same(rest_of(state, loader()), expected)
