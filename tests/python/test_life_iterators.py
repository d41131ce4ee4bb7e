# SPDX-License-Identifier: Apache-2.0
"""Iterators and handles: begun, left, mixed and dropped in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run_clean

pytest.importorskip("PIL")

PROGRAMS = {
    "each loop is an epoch": """
        loader = make()
        epochs = [[(b.epoch, b.sequence) for b in loader] for i in range(3)]
        assert epochs == [[(e, s) for s in range(6)] for e in range(3)], epochs
    """,
    "a loop that is left and begun again": """
        loader = make()
        for places in range(7):
            for place, batch in enumerate(loader):
                if place == places:
                    break
            counts = [b.count for b in loader]
            assert counts == [4] * 6, (places, counts)
    """,
    # It never sees the end of the epoch, and the next loop is the next one.
    "a loop that takes exactly all batches": """
        import itertools

        for options in ({}, {"shuffle": True}, {"drop_last": True,
                        "batch_size": 5}, {"epochs": 3}):
            loader, other = make(**options), make(**options)
            n = len(loader)
            epochs = [{b.epoch for i, b in zip(range(n), loader)}]
            epochs.append({b.epoch for b in itertools.islice(loader, n)})
            assert loader.position == (2, 0)
            pairs = list(zip(other, loader))  # the second one ends first
            epochs.append({b.epoch for a, b in pairs})
            assert epochs == [{0}, {1}, {2}], (options, epochs)
            assert all(a.epoch == 0 for a, b in pairs)
            pairs = [(a.epoch, b.epoch) for a, b in zip(other, loader)]
            rest = [] if "epochs" in options else [(1, 3)] * n
            assert pairs == rest, (options, pairs)
    """,
    "two loaders in turn and nested": """
        one, two = make(seed=1), make(seed=2)
        pairs = [(a.count, b.count) for a, b in zip(one, two)]
        assert pairs == [(4, 4)] * 6, pairs
        inner = [sum(b.count for b in two) for a in one]
        assert inner == [24] * 6, inner
    """,
    # A second loop over a core Loader takes the stream; the first one, told so,
    # ends with an error rather than with batches of another epoch.
    "a loader is one stream": """
        loader = make()
        first = iter(loader)
        next(first)
        second = iter(loader)
        assert [b.sequence for b in second] == list(range(6))
        refused(feedline.StateError, "one stream", lambda: next(first))
    """,
    "any order of dropping": """
        import itertools

        import numpy as np

        names = ("data", "loader", "epoch", "batch", "tensor", "array")
        orders = itertools.permutations(names)
        for order in itertools.islice(orders, 0, None, 7):  # of all 720
            have = {"data": dataset()}
            have["loader"] = feedline.Loader(
                have["data"], pipeline(), batch_size=4, workers=1
            )
            have["epoch"] = iter(have["loader"])
            have["batch"] = next(have["epoch"])
            have["tensor"] = have["batch"].images
            have["array"] = np.asarray(have["tensor"])
            right = have["array"].copy()
            for name in order:
                del have[name]
                if "array" in have:
                    assert (have["array"] == right).all(), order
    """,
    "closing in any order": """
        import itertools

        for order in itertools.permutations(("data", "loader", "batch")):
            data = dataset()
            loader = feedline.Loader(data, pipeline(), batch_size=4)
            batch = next(iter(loader))
            shut = {
                "data": data.close,
                "loader": loader.close,
                "batch": batch.release,
            }
            for name in order:
                shut[name]()
                shut[name]()  # twice is once
    """,
    "a batch outlives its loader": """
        loader = make()
        batch = next(iter(loader))
        before = batch.images.numpy().copy()
        loader.close()
        del loader
        gc.collect()
        assert (batch.images.numpy() == before).all()
        batch.release()
        refused(feedline.ReleasedError, "released", lambda: batch.images)
    """,
    "cycles are collected": """
        import weakref

        class Trainer:
            def __init__(self):
                self.me, self.loader = self, make()
                self.epoch = iter(self.loader)
                self.batch = next(self.epoch)

        gone = [weakref.ref(Trainer().loader) for i in range(5)]
        gc.collect()
        assert not any(ref() for ref in gone)
        await_end(thread_ids() - {str(os.getpid())})
    """,
    "dropping a loader ends its threads": """
        before = thread_ids()
        loader = make(workers=4)
        next(iter(loader))
        started = thread_ids() - before
        assert len(started) >= 4
        del loader
        gc.collect()
        await_end(started)
    """,
    "an exception in the loop leaves a usable loader": """
        loader = make()
        for round in range(3):
            try:
                for batch in loader:
                    raise LookupError("mine")
            except LookupError:
                pass
        assert sum(batch.count for batch in loader) == 24
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)
