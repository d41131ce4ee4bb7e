# SPDX-License-Identifier: Apache-2.0
"""What somebody meets who types it for the first time: each error says what to
type instead. And what objects show of themselves at a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Tuple

import pytest

import feedline
from feedline import Dataset, Loader, Pipeline

numpy = pytest.importorskip("numpy")
pytest.importorskip("PIL")

WRONG: Tuple[Tuple[Callable[[], Any], type, str], ...] = (
    (lambda: Dataset.open("folder:/no/such"), FileNotFoundError, "/no/such"),
    (lambda: Dataset.open("foldr:x"), ValueError, "use folder:, list:"),
    (lambda: Dataset.paths("a.jpg"), ValueError, "a list of paths"),
    (lambda: Dataset.memory(["a.jpg"]), ValueError, "Dataset.paths"),
    (lambda: Pipeline("trian"), LookupError, "the closest is 'train'"),
    (lambda: Pipeline().add("resise"), LookupError, "'resize'"),
    (lambda: Pipeline().add("resize", sise=3), LookupError, "'size'"),
    (
        lambda: Dataset.pixels(numpy.zeros((4, 3, 8, 8), "u1")),
        ValueError,
        r"transpose\(0, 2, 3, 1\)",
    ),
    (lambda: Loader("photos"), ValueError, "Dataset.open.'folder:photos'"),
    (lambda: Loader([1, 2]), ValueError, "feedline.torch.DataLoader"),
    (lambda: feedline.watch(3), TypeError, "can be iterated"),
    (lambda: feedline.profile(3), ValueError, r"feedline.watch\(loader\)"),
)


@pytest.mark.parametrize("at", range(len(WRONG)))
def test_it_says_what_to_type_instead(at: int) -> None:
    call, kind, words = WRONG[at]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("batchsize", 4, "the closest is 'batch_size'"),
        ("num_workers", 4, "a feedline.Loader has workers=4"),
        ("pin_memory", True, 'device="cuda:0"'),
        ("batch_size", "four", "not a whole number"),
        ("batch_size", {}, "batch_size={}: an option is"),
        ("batch_size", 0, "1 to 65536"),
        ("dtype", "float32", r"u8\|f32"),
        ("dtype", numpy.float32, "dtype=.*an option is"),
        ("memory_budget", "2 gigs", "2g"),
    ],
)
def test_an_option_says_what_it_takes(
    make: Any, option: str, value: Any, words: str
) -> None:
    with pytest.raises((LookupError, ValueError, TypeError), match=words):
        make(**{option: value})


def test_an_empty_folder_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no class folders"):
        Dataset.open("folder:%s" % tmp_path)
    (tmp_path / "cats").mkdir()
    with pytest.raises(FileNotFoundError, match="have no image: cats"):
        Dataset.open("folder:%s" % tmp_path)


def test_a_loader_out_of_use_says_what_to_do(make: Any) -> None:
    loader = make()
    first = iter(loader)
    next(first)
    iter(loader)
    with pytest.raises(feedline.StateError, match="take two loaders"):
        next(first)
    with pytest.raises(TypeError, match="seconds as a number"):
        for _ in range(2 * len(loader)):  # unless a batch is there at once
            loader.next(timeout="1")
    loader.close()
    with pytest.raises(feedline.StateError, match="make another one"):
        next(iter(loader))


def test_objects_show_what_they_are(make: Any) -> None:
    loader = make()
    batches = iter(loader)
    batch = next(batches)
    for thing, words in (
        (loader.dataset, "24 samples>"),
        (loader.pipeline, "<feedline.Pipeline: resize>"),
        (loader, "batch_size=4, workers=2>"),
        (batches, "<feedline.EpochIterator of <feedline.Loader"),
        (batch, "<feedline.Batch 0 of epoch 0: images [4, 3, 16, 16] float32"),
        (batch.images, "<feedline.Tensor [4, 3, 16, 16] float32 on cpu>"),
        (loader.phase("forward"), "<feedline.Phase 'forward'>"),
        (feedline.profile(loader), ": step 0, none>"),
        (feedline.watch([1, 2]), "<feedline.watch of [1, 2]>"),
        (feedline.option_table()["depth"], "Option(name='depth', kind='int'"),
        (loader.epoch_info, "EpochInfo(samples=24, batches=6"),
    ):
        assert words in repr(thing)
    batch.release()
    assert repr(batch) == "<feedline.Batch, released>"
    loader.close()
    assert repr(loader).endswith(", closed>")
    assert repr(batches).startswith("<feedline.EpochIterator of")
