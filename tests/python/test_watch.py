# SPDX-License-Identifier: Apache-2.0
"""feedline.watch changes nothing and counts everything. Waits are compared with
this test's own clock, read inside of what is watched."""

from __future__ import annotations

import json
import pickle
import threading
import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest

feedline = pytest.importorskip("feedline")

import forks  # noqa: E402
from feedline.watching import samples_of  # noqa: E402


class Planted:
    """Says how long it kept its consumer waiting."""

    def __init__(self, waits: List[float]) -> None:
        self.waits = waits
        self.truth = 0.0
        self.other = "attribute"

    def __len__(self) -> int:
        return len(self.waits)

    def __iter__(self) -> Iterator[int]:
        began = time.perf_counter()
        for number, wait in enumerate(self.waits):
            if wait:
                time.sleep(wait)
            self.truth += time.perf_counter() - began
            yield number
            began = time.perf_counter()
        self.truth += time.perf_counter() - began


# ---- It changes nothing ----------------------------------------------------


def test_the_same_objects_come_out() -> None:
    batches = [object() for _ in range(7)]
    watched = feedline.watch(batches)
    for _ in range(2):
        assert all(a is b for a, b in zip(watched, batches))
        assert list(watched) == batches
    assert len(watched) == 7
    assert watched
    assert not feedline.watch([])


def test_attributes_are_the_inner_ones() -> None:
    watched = feedline.watch(Planted([0.0]))
    assert watched.other == "attribute"
    with pytest.raises(AttributeError, match="nowhere"):
        watched.nowhere
    assert "Planted" in repr(watched)


def test_an_iterator_stays_one() -> None:
    watched = feedline.watch(iter([1, 2]))
    assert next(watched) == 1
    assert list(watched) == [2]
    with pytest.raises(TypeError):
        len(watched)
    with pytest.raises(StopIteration):
        next(watched)
    assert watched
    assert watched.stats()["stats"]["batches"] == 2


def test_exceptions_pass_through() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise KeyError("mine")

    watched = feedline.watch(broken())
    taken = []
    with pytest.raises(KeyError, match="mine"):
        for batch in watched:
            taken.append(batch)
    assert taken == [1]
    assert watched.stats()["stats"]["batches"] == 1


def test_an_iterable_that_raises_in_iter() -> None:
    class Refuses:
        def __iter__(self) -> Any:
            raise OSError("not today")

    watched = feedline.watch(Refuses())
    with pytest.raises(OSError, match="not today"):
        iter(watched)
    assert list(feedline.watch([1])) == [1]


def test_generators_are_closed() -> None:
    closed = []

    def numbers() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    iterator = iter(feedline.watch(numbers()))
    next(iterator)
    iterator.close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_a_sequence_without_iter() -> None:
    class Old:
        def __getitem__(self, index: int) -> int:
            if index == 3:
                raise IndexError
            return index

    assert list(feedline.watch(Old())) == [0, 1, 2]


def test_what_cannot_be_iterated_is_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        feedline.watch(3)
    with pytest.raises(feedline.UnknownName):
        feedline.watch([], no_such_option=1)


def test_pickle_and_fork() -> None:
    watched = feedline.watch([1, 2, 3], name="three")
    assert list(watched) == [1, 2, 3]
    copy = pickle.loads(pickle.dumps(watched))
    assert list(copy) == [1, 2, 3]
    assert copy.stats()["stats"]["batches"] == 3

    def use() -> None:
        assert list(watched) == [1, 2, 3]

    assert forks.run(use) == 0
    assert watched.stats()["stats"]["batches"] == 3


def test_closed_it_goes_on_uncounted() -> None:
    with feedline.watch([1, 2]) as watched:
        assert list(watched) == [1, 2]
    assert watched.closed
    assert list(watched) == [1, 2]
    with pytest.raises(feedline.StateError, match="closed"):
        watched.stats()
    watched.close()


def test_two_threads_lose_nothing() -> None:
    watched = feedline.watch(range(500))
    sums: List[int] = []

    def take() -> None:
        sums.append(sum(watched))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        watched.stats()
    for thread in threads:
        thread.join()
    assert sums == [sum(range(500))] * 4
    assert 1 <= watched.stats()["stats"]["batches"] <= 2000


# ---- It counts everything --------------------------------------------------


def test_waits_are_those_of_another_clock() -> None:
    """The clock in the iterable misses only what the call itself costs."""
    planted = Planted([0.01] * 60)
    watched = feedline.watch(planted)
    own = 0.0
    for _ in watched:
        began = time.perf_counter()
        time.sleep(0.002)
        own += time.perf_counter() - began
    found = watched.stats()["stats"]
    assert found["batches"] == 60
    assert found["wait_seconds"] >= planted.truth
    assert found["user_seconds"] >= own
    total = sum(found[k] for k in ("wait_seconds", "user_seconds"))
    assert abs(total + found["api_seconds"] - found["wall_seconds"]) < 1e-6


def test_the_program_is_the_limit() -> None:
    watched = feedline.watch(Planted([0.0] * 80))
    for _ in watched:
        time.sleep(0.015)
    stats = watched.stats()
    share = stats["stats"]["wait_seconds"] / stats["stats"]["wall_seconds"]
    # Under load even an empty wait may take long: the words fit the numbers.
    assert (watched.verdict.level == "FED") == (share < 0.01)
    # It is the program's pauses where others kept it off its core for long.
    if share < 0.01:
        assert watched.verdict.code in ("FED", "CONSUMER_HOST_BOUND")


def test_a_starved_program_is_told_who() -> None:
    watched = feedline.watch(Planted([0.02] * 70), name="my reader")
    for _ in watched:
        pass
    assert watched.verdict.level == "HIGH"
    assert "my reader" in watched.explain()
    assert watched.verdict.predicted_gain > 1


def test_long_waits_have_a_period() -> None:
    planted = [0.1 if i % 10 == 9 else 0.0 for i in range(200)]
    watched = feedline.watch(Planted(planted))
    for _ in watched:
        pass
    assert watched.stats()["gaps"]["stall_period"] % 10 == 0
    assert watched.stats()["outliers"]["count"] > 0


def test_samples_are_counted() -> None:
    class Array:
        shape = (12, 3)

    batches = [(Array(), [1]), {"x": Array()}, Array()]
    watched = feedline.watch(batches)
    list(watched)
    assert watched.stats()["stats"]["samples"] == 36
    watched = feedline.watch([["a", "b"]] * 3, batch_size=2)
    list(watched)
    assert watched.stats()["stats"]["samples"] == 6
    assert samples_of("text") == samples_of(3) == samples_of(None) == 0


def test_phases_table_and_trace(tmp_path: Path) -> None:
    watched = feedline.watch(range(20))
    for _ in watched:
        with watched.phase("train"):
            pass
    assert "consume/train" in watched.table()
    watched.trace_save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events].count("train") == 20
    watched.reset_stats()
    assert watched.stats()["stats"]["batches"] == 0


def test_the_log_of_statistics(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with feedline.watch([1, 2, 3], stats_log=str(log)) as watched:
        list(watched)
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["stats"]["batches"] == 3
    assert last["watch"]["name"] == "list"


# ---- Around loaders --------------------------------------------------------


def test_it_agrees_with_our_ledger(image_folder: Path) -> None:
    """Around a loader of ours: the wait outside is the one inside and what the
    call costs; what both say of it is of one level."""
    dataset = feedline.Dataset.open("folder:%s" % image_folder)
    with feedline.Loader(dataset, "train", batch_size=4, workers=1) as loader:
        loader.start()
        watched = feedline.watch(loader)
        for _ in range(30):
            for batch in watched:
                batch.release()
        inside, outside = loader.stats(), watched.stats()
        assert outside["stats"]["batches"] == inside["stats"]["batches"]
        assert outside["stats"]["samples"] == inside["stats"]["samples"]
        assert (
            outside["stats"]["wait_seconds"] >= inside["stats"]["wait_seconds"]
        )


def test_torchs_loader_with_processes() -> None:
    torch = pytest.importorskip("torch")

    class Set(torch.utils.data.Dataset):  # type: ignore
        def __len__(self) -> int:
            return 21

        def __getitem__(self, index: int) -> Any:
            return torch.full((3,), float(index)), index

    loader = torch.utils.data.DataLoader(Set(), batch_size=4, num_workers=2)
    watched = feedline.watch(loader)
    for _ in range(2):
        for (x, y), (u, v) in zip(watched, loader):
            assert torch.equal(x, u) and torch.equal(y, v)
    stats = watched.stats()
    assert stats["stats"]["samples"] == 42
    assert stats["stats"]["workers"] == 2
    assert stats["watch"]["option"] == "num_workers"
    assert watched.dataset is loader.dataset
    assert "num_workers=2" in watched.explain()
