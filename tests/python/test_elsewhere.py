# SPDX-License-Identifier: Apache-2.0
"""Batches made elsewhere, without anybody else: makers of this process, and the
rule by which they are shared out."""

from __future__ import annotations

import random
from array import array
from pathlib import Path
from typing import Any, Iterator, List

import pytest

pytest.importorskip("numpy", reason="no numpy")

import feedline  # noqa: E402
from feedline.elsewhere import Asked, Plan, bring, expect, fail  # noqa: E402
from feedline.maker import Maker, batch_options  # noqa: E402

OPTIONS = dict(batch_size=5, dtype="u8", shuffle=True, seed=3)


def pipeline() -> feedline.Pipeline:
    return (
        feedline.Pipeline()
        .add("random_resized_crop", size=24)
        .add("color_jitter", brightness=0.4)
    )


@pytest.fixture
def data(image_folder: Path) -> feedline.Dataset:
    return feedline.Dataset.open("folder:%s" % image_folder)


@pytest.fixture
def maker(data: feedline.Dataset) -> Iterator[Maker]:
    with feedline.Loader(data, pipeline(), **OPTIONS) as loader:
        options = batch_options(loader)
    made = Maker(data, pipeline(), options, workers=2)
    yield made
    made.close()


def asked_of(plan: Plan, seed: int = 3) -> Asked:
    found = plan.take()
    return Asked(found.epoch, seed, found.indices, found.copies)


def contents(batch: Any) -> Any:
    return (
        batch.images.numpy().tobytes(),
        batch.labels.tolist(),
        batch.sample_index,
        batch.sample_status,
    )


def contents_made(made: Any) -> Any:
    columns = (made.labels, made.index, made.status)
    return (made.images.tobytes(), *(column.tolist() for column in columns))


def test_made_as_planned(data: feedline.Dataset, maker: Maker) -> None:
    """Over the ends of epochs, whatever is asked first."""
    with feedline.Loader(data, pipeline(), **OPTIONS) as loader:
        plan = Plan(loader, 1, 10)
        asked = [asked_of(plan) for _ in range(12)]
        order = list(range(12))
        random.Random(5).shuffle(order)
        answers = {i: maker.ask(asked[i]) for i in order}
        loader.seek(1, 10)
        batches = [b for _ in range(3) for b in loader][:12]
        for i, batch in enumerate(batches):
            assert contents(batch) == contents_made(answers[i].result())


def test_a_plan_tells_what_comes(data: feedline.Dataset) -> None:
    with feedline.Loader(data, pipeline(), world=2, rank=1, **OPTIONS) as own:
        plan = Plan(own, 0, 0)
        assert plan.peek() == plan.peek()
        for batch in own:
            found = plan.take()
            assert (found.epoch, found.sequence) == (0, batch.sequence)
            assert (found.position, found.place) == (
                batch.position,
                batch.place,
            )
            indices = array("Q")
            indices.frombytes(found.indices)
            assert indices.tolist() == batch.sample_index
        assert found.last
        assert plan.peek().epoch == 1


def test_brought_in_between(data: feedline.Dataset, maker: Maker) -> None:
    """Every other batch is brought, the last ones first."""
    given = {k: OPTIONS[k] for k in ("batch_size", "dtype")}
    with feedline.Loader(data, pipeline(), **OPTIONS) as own:
        plan = Plan(own, 0, 0)
        asked = [asked_of(plan) for _ in range(len(own))]
        wanted = [contents(batch) for batch in own]
    with feedline.Loader(
        data, pipeline(), order="given", depth=8, **given
    ) as loader:
        loader.begin(0, 3)
        tickets: List[Any] = []
        for i, one in enumerate(asked):
            if i % 2:
                tickets.append((expect(loader, len(one.indices) // 8), one))
            else:
                indices = array("Q")
                indices.frombytes(one.indices)
                loader.append(indices)
        loader.end()
        for ticket, one in reversed(tickets):
            assert bring(loader, ticket, maker.ask(one).result())
        assert [contents(batch) for batch in loader] == wanted


def test_an_error_is_raised_in_its_place(data: feedline.Dataset) -> None:
    with feedline.Loader(
        data, pipeline(), order="given", batch_size=2
    ) as loader:
        loader.begin(0)
        loader.append([1, 2])
        ticket = expect(loader, 2)
        assert fail(loader, ticket, feedline.NotFound("node 7:\nno file"))
        loader.next()
        with pytest.raises(feedline.NotFound, match="node 7: no file"):
            loader.next()


def test_an_error_costs_no_other_batch(
    image_folder: Path, tmp_path: Path
) -> None:
    """The run of a maker ends with an error, and what it was making besides is
    made again."""
    good = sorted(image_folder.rglob("*.jpg"))[:6]
    bad = tmp_path / "damaged.jpg"
    bad.write_bytes(b"no image")
    data = feedline.Dataset.paths([*good, bad])
    options = {"batch_size": 1, "on_error": "raise"}
    with feedline.Loader(data, pipeline(), **options) as loader:
        plan = Plan(loader, 0, 0)
        asked = [asked_of(plan, 0) for _ in range(7)]
        made = Maker(data, pipeline(), batch_options(loader))
        wanted = [contents(loader.next()) for _ in range(6)]
    answers = [made.ask(asked[i]) for i in (0, 1, 6, 2, 3, 6, 4, 5)]
    for i in (2, 5):
        with pytest.raises(feedline.DecodeError, match="damaged.jpg"):
            answers[i].result()
    rest = [answers[i].result() for i in (0, 1, 3, 4, 6, 7)]
    assert [contents_made(one) for one in rest] == wanted
    made.close()
