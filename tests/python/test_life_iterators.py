# SPDX-License-Identifier: Apache-2.0
"""Iterators and handles: begun, left, mixed and dropped in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run_clean

pytest.importorskip("PIL")


def test_each_loop_is_an_epoch(image_folder: Path) -> None:
    run_clean(
        """
        loader = make()
        epochs = [[(b.epoch, b.sequence) for b in loader] for i in range(3)]
        assert epochs == [[(e, s) for s in range(6)] for e in range(3)], epochs
        print("done")
        """,
        image_folder,
    )


def test_a_loop_that_is_left_and_begun_again(image_folder: Path) -> None:
    run_clean(
        """
        loader = make()
        for places in range(7):
            for place, batch in enumerate(loader):
                if place == places:
                    break
            counts = [b.count for b in loader]
            assert counts == [4] * 6, (places, counts)
        print("done")
        """,
        image_folder,
    )


def test_inside_enumerate_zip_and_islice(image_folder: Path) -> None:
    run_clean(
        """
        import itertools

        loader = make()
        assert [i for i, batch in enumerate(loader)] == list(range(6))
        assert [i for i, batch in zip(range(99), loader)] == list(range(6))
        assert len(list(itertools.islice(loader, 2))) == 2
        assert sum(1 for batch in loader) == 6
        assert len(loader) == 6
        print("done")
        """,
        image_folder,
    )


def test_a_loop_that_takes_exactly_all_batches(image_folder: Path) -> None:
    """It never sees the end of the epoch, and the next loop is the next one."""
    run_clean(
        """
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
        print("done")
        """,
        image_folder,
    )


def test_two_loaders_in_turn_and_nested(image_folder: Path) -> None:
    run_clean(
        """
        one, two = make(seed=1), make(seed=2)
        pairs = [(a.count, b.count) for a, b in zip(one, two)]
        assert pairs == [(4, 4)] * 6, pairs
        inner = [sum(b.count for b in two) for a in one]
        assert inner == [24] * 6, inner
        print("done")
        """,
        image_folder,
    )


def test_a_loader_is_one_stream(image_folder: Path) -> None:
    """A second loop over a core Loader takes the stream; the first one, told
    so, ends with an error rather than with batches of another epoch."""
    run_clean(
        """
        loader = make()
        first = iter(loader)
        next(first)
        second = iter(loader)
        assert [b.sequence for b in second] == list(range(6))
        try:
            next(first)
        except feedline.StateError as error:
            assert str(error)
        else:
            raise AssertionError("the first iterator went on")
        print("done")
        """,
        image_folder,
    )


def test_any_order_of_dropping(image_folder: Path) -> None:
    pytest.importorskip("numpy")
    run_clean(
        """
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
        print("done")
        """,
        image_folder,
    )


def test_closing_in_any_order(image_folder: Path) -> None:
    run_clean(
        """
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
        print("done")
        """,
        image_folder,
    )


def test_a_batch_outlives_its_loader(image_folder: Path) -> None:
    pytest.importorskip("numpy")
    run_clean(
        """
        loader = make()
        batch = next(iter(loader))
        before = batch.images.numpy().copy()
        loader.close()
        del loader
        gc.collect()
        assert (batch.images.numpy() == before).all()
        batch.release()
        try:
            batch.images
        except feedline.ReleasedError:
            print("done")
        """,
        image_folder,
    )


def test_a_closed_loader_says_so(image_folder: Path) -> None:
    run_clean(
        """
        loader = make()
        epoch = iter(loader)
        next(epoch)
        loader.close()
        for use in (loader.next, loader.stats, lambda: next(epoch)):
            try:
                use()
            except feedline.Error as error:
                assert "closed" in str(error), error
            else:
                raise AssertionError("worked")
        assert "closed" in repr(loader), repr(loader)
        print("done")
        """,
        image_folder,
    )


def test_cycles_are_collected(image_folder: Path) -> None:
    run_clean(
        """
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
        print("done")
        """,
        image_folder,
    )


def test_dropping_a_loader_ends_its_threads(image_folder: Path) -> None:
    run_clean(
        """
        before = thread_ids()
        loader = make(workers=4)
        next(iter(loader))
        started = thread_ids() - before
        assert len(started) >= 4
        del loader
        gc.collect()
        await_end(started)
        print("done")
        """,
        image_folder,
    )


def test_an_exception_in_the_loop_leaves_a_usable_loader(
    image_folder: Path,
) -> None:
    run_clean(
        """
        loader = make()
        for round in range(3):
            try:
                for batch in loader:
                    raise LookupError("mine")
            except LookupError:
                pass
        print(sum(batch.count for batch in loader))
        """,
        image_folder,
        "24",
    )
