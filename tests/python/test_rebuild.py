# SPDX-License-Identifier: Apache-2.0
"""What the adapters stand on: a loader made anew, and functions that seed."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Iterator

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch.utils.data as data  # noqa: E402

import training  # noqa: E402
from feedline.integrations.rebuild import rebuild  # noqa: E402
from feedline.torch import DataLoader, FallbackWarning, collated  # noqa: E402
from feedline.torch.arguments import is_auto  # noqa: E402
from feedline.torch.worker_init import only_seeds  # noqa: E402


class Stream(data.IterableDataset):
    """Seven numbers."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(7))


def plain(folder: Path, **arguments: Any) -> Any:
    return data.DataLoader(training.dataset(folder), **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch_size": 5},
        {"batch_size": 5, "drop_last": True},
        {"batch_size": 5, "shuffle": True},
        {"batch_size": 5, "sampler": [3, 1, 20, 7, 9, 2, 0]},
        {"batch_sampler": [[1, 2], [3], [9, 8, 7]]},
    ],
)
def test_same_batches(image_folder: Path, arguments: Any) -> None:
    theirs = plain(image_folder, **arguments)
    ours = rebuild(theirs, num_workers=1)
    assert isinstance(ours, DataLoader) and len(ours) == len(theirs)
    training.assert_equal_epochs(ours, theirs)
    assert training.delivered(ours) > 0


def test_batch_sampler_of_torchs_is_taken_apart(image_folder: Path) -> None:
    sampler = data.RandomSampler(range(24))
    batches = data.BatchSampler(sampler, 5, drop_last=True)
    theirs = plain(image_folder, batch_sampler=batches)
    ours = rebuild(theirs)
    assert ours.batch_size == 5 and ours.drop_last and ours.sampler is sampler
    training.assert_equal_epochs(ours, theirs)


def test_samples_without_batches(image_folder: Path) -> None:
    theirs = plain(image_folder, batch_size=None)
    ours = rebuild(theirs)
    with training.natively():
        labels = [label for _, label in ours]
    assert labels == theirs.dataset.targets


def test_streams_stay_torchs() -> None:
    ours = rebuild(data.DataLoader(Stream(), 3))
    with pytest.warns(FallbackWarning, match="IterableDataset"):
        assert [len(batch) for batch in ours] == [3, 3, 1]


def test_settings_are_kept(image_folder: Path) -> None:
    mixing = collated(lambda images, labels: (images, labels))
    loader = DataLoader(
        training.dataset(image_folder),
        4,
        num_workers="auto",
        collate_fn=mixing,
        on_error="zero",
        seed=3,
    )
    again = rebuild(loader, drop_last=True)
    assert is_auto(again.num_workers)
    assert again.collate_fn is mixing and again.on_error == "zero"
    assert again.seed == 3 and again.drop_last
    assert again.sampler is loader.sampler


def test_settings_of_workers(image_folder: Path) -> None:
    theirs = plain(
        image_folder, num_workers=2, prefetch_factor=3, persistent_workers=True
    )
    ours = rebuild(theirs)
    assert ours.num_workers == 2 and ours.prefetch_factor == 3
    assert ours.persistent_workers
    assert rebuild(plain(image_folder)).num_workers == 0


def test_order_of_another_loader(image_folder: Path) -> None:
    order = plain(image_folder, batch_size=3, sampler=[5, 4, 3, 2])
    loader = DataLoader(training.dataset(image_folder), 8, on_error="skip")
    ours = rebuild(loader, order=order)
    assert ours.on_error == "skip" and ours.batch_size == 3
    with training.natively():
        assert [len(labels) for _, labels in ours] == [3, 1]


def named(module: str, name: str) -> Any:
    """A function that says it is from there."""

    def init(*_: Any, **__: Any) -> None:
        raise AssertionError("native workers call no worker_init_fn")

    init.__module__, init.__qualname__ = module, name
    return init


@pytest.mark.parametrize(
    ("function", "known"),
    [
        (named("transformers.trainer_utils", "seed_worker"), True),
        (named("transformers.trainer_utils", "set_seed"), True),
        (named("timm.data.loader", "_worker_init"), True),
        (named(__name__, "seed_worker"), False),
        (open, False),
        (3, False),
    ],
)
def test_functions_that_only_seed(function: Any, known: bool) -> None:
    assert only_seeds(function) is known
    if callable(function):
        assert only_seeds(functools.partial(function, rank=1)) is known


def test_seeds_by_a_function_of_the_users() -> None:
    init = named("timm.data.loader", "_worker_init")
    for seeding, known in (("all", True), ("part", True), (print, False)):
        partial = functools.partial(init, worker_seeding=seeding)
        assert only_seeds(partial) is known


def test_loader_with_such_a_function_is_native(image_folder: Path) -> None:
    init = named("lightning.fabric.utilities.seed", "pl_worker_init_function")
    loader = DataLoader(
        training.dataset(image_folder),
        4,
        num_workers=1,
        worker_init_fn=functools.partial(init, rank=0),
    )
    with training.natively():
        assert len(list(loader)) == 6
    loader = DataLoader(
        training.dataset(image_folder), 4, worker_init_fn=init_of_the_users
    )
    with pytest.warns(FallbackWarning, match="worker_init_fn"):
        assert len(list(loader)) == 6


def init_of_the_users(worker: int) -> None:
    """Might do anything."""
    open(os.devnull, "rb").close()
