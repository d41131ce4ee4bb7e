# SPDX-License-Identifier: Apache-2.0
"""What a loader of feedline's delivers, as one number."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, Optional, Sequence

import pytest

import feedline

pytest.importorskip("numpy")


def stream_hash(
    data: feedline.Dataset,
    epochs: int = 2,
    position: Optional[str] = None,
    **options: Any,
) -> str:
    """Of positions, labels and pixels of some epochs.

    position: a saved one, where the first of them goes on.
    """
    found = hashlib.blake2b(digest_size=8)
    with loader_of(data, **options) as loader:
        if position is not None:
            loader.restore(position)
        for _ in range(epochs):
            for batch in loader:
                found.update(repr(batch.sample_index).encode())
                found.update(repr(batch.labels.tolist()).encode())
                found.update(batch.images.numpy().tobytes())
    return found.hexdigest()


ORDERS: Sequence[Dict[str, Any]] = (
    {"shuffle": True},
    {"shuffle": True, "world": 2, "rank": 1},
)


def assert_same(ours: feedline.Dataset, theirs: feedline.Dataset) -> None:
    """The same of all, of a rank, and behind a position in mid-epoch."""
    for options in ORDERS:
        assert stream_hash(ours, **options) == stream_hash(theirs, **options)
    assert resumed(ours) == resumed(theirs)


def resumed(data: feedline.Dataset, **options: Any) -> str:
    """The stream that follows a position in mid-epoch."""
    options = {"shuffle": True, **options}
    with loader_of(data, **options) as loader:
        loader.next(), loader.next()
        state = loader.save()
    return stream_hash(data, position=state, **options)


def loader_of(data: feedline.Dataset, **options: Any) -> feedline.Loader:
    pipeline = feedline.Pipeline().add(
        "random_resized_crop", width=16, height=16
    )
    options = {"batch_size": 4, "workers": 2, "seed": 3, **options}
    return feedline.Loader(data, pipeline, **options)


def pipeline_of(operations: Sequence[str]) -> feedline.Pipeline:
    """Each is a text, such as "resize size=9 interpolation=box"."""
    pipeline = feedline.Pipeline()
    for text in operations:
        name, *words = text.split()
        pipeline.add(name, **dict(word.split("=") for word in words))
    return pipeline
