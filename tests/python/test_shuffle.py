# SPDX-License-Identifier: Apache-2.0
"""shuffle="block": its order, its mixing, its saved positions."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any, List

import pytest

import feedline
from feedline._library import lib
from shard_writers import write_tar


def order(
    count: int, block: int, lanes: int, seed: int = 0, epoch: int = 0
) -> List[int]:
    out = (ctypes.c_uint64 * count)()
    status = lib.block_order(count, block, lanes, seed, epoch, 0, count, out)
    assert status == 0
    return list(out)


@pytest.fixture(name="dataset")
def _dataset(image_folder: Path) -> feedline.Dataset:
    return feedline.Dataset.open("folder:%s" % image_folder)


def loader(dataset: feedline.Dataset, **options: Any) -> feedline.Loader:
    small = feedline.Pipeline().add("resize", width=8, height=8)
    return feedline.Loader(
        dataset, small, batch_size=5, dtype="u8", shuffle="block", **options
    )


def indices(batches: Any) -> List[int]:
    return [i for batch in batches for i in batch.sample_index]


def test_order_is_the_one_that_is_told(dataset: feedline.Dataset) -> None:
    with loader(dataset, block=3, lanes=2, seed=4) as batches:
        for epoch in range(2):
            assert indices(batches) == order(24, 3, 2, 4, epoch)


def test_position_belongs_to_its_blocks(dataset: feedline.Dataset) -> None:
    with loader(dataset, block=3, lanes=2) as batches:
        first = indices([batches.next()])
        state = batches.save()
    with loader(dataset, block=3, lanes=2) as batches:
        batches.restore(state)
        assert first + indices(batches) == order(24, 3, 2)
    with loader(dataset, block=3, lanes=4) as batches:
        with pytest.raises(feedline.InvalidArgument, match="lanes=2, this"):
            batches.restore(state)


def test_mixing(dataset: feedline.Dataset) -> None:
    few = dataset.mixing(block=4, lanes=2, batch_size=4)
    assert (few["block"], few["lanes"], few["batch"]) == (4, 2, 4)
    assert few["variance"] > 1.5 and few["same_block"] > few["same_block_full"]
    full = dataset.mixing(block=4, lanes=6, batch_size=4)
    assert full["variance"] == 1 and math.isnan(full["buffer_variance"])
    with pytest.raises(feedline.UnknownName, match="lane"):
        dataset.mixing(lanez=2)


def test_mixing_of_shards(tmp_path: Path) -> None:
    """A buffer mixes half classes in random order better than whole ones."""
    samples = [
        ("%04d.%s" % (i, kind), content)
        for i in range(800)
        for kind, content in (("jpg", b"x"), ("cls", b"%d" % (i // 100)))
    ]
    for i in range(16):
        write_tar(tmp_path / ("%d.tar" % i), samples[100 * i : 100 * i + 100])
    write_tar(tmp_path / "all.tar", samples)
    several, one = (
        feedline.Dataset.open("tar:%s/%s.tar" % (tmp_path, name)).mixing(
            block=25, lanes=4, batch_size=16
        )
        for name in ("{0..15}", "all")
    )
    assert several["variance"] == one["variance"]  # blocks know no shards
    assert several["buffer"] == one["buffer"] == 100
    assert several["buffer_variance"] < one["buffer_variance"]


def test_the_statistics_have_it(
    dataset: feedline.Dataset, tmp_path: Path
) -> None:
    blocks = dict(shuffle="block", block=4, lanes=2)
    wanted = dataset.mixing(block=4, lanes=2, batch_size=4)["variance"]
    pipeline = feedline.Pipeline("eval")
    metrics = tmp_path / "m.prom"
    for options, found in ((blocks, wanted), ({"shuffle": True}, None)):
        with feedline.Loader(
            dataset, pipeline, batch_size=4, metrics=str(metrics), **options
        ) as loader:
            next(iter(loader))
            assert loader.stats()["stats"]["mixing"] == found
            table = loader.table()
        assert ("labels of a batch vary %.2f" % wanted in table) == bool(found)
        assert ("feedline_mixing_ratio{" in metrics.read_text()) == bool(found)


def test_bounds_of_the_order() -> None:
    out = (ctypes.c_uint64 * 4)()
    for count, block, lanes, first in (
        (0, 1, 1, 0),
        (4, 0, 1, 0),
        (4, 1, 0, 0),
        (4, 1, 1, 1),
        (4, 1, 1, 2**64 - 1),
        (2**48 + 1, 1, 1, 0),
    ):
        assert lib.block_order(count, block, lanes, 0, 0, first, 4, out) < 0
