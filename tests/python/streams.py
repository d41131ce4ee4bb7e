# SPDX-License-Identifier: Apache-2.0
"""What a loader of feedline's delivers, as one number."""

from __future__ import annotations

import hashlib
from typing import Any, Optional

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


def loader_of(data: feedline.Dataset, **options: Any) -> feedline.Loader:
    pipeline = feedline.Pipeline().add(
        "random_resized_crop", width=16, height=16
    )
    options = {"batch_size": 4, "workers": 2, "seed": 3, **options}
    return feedline.Loader(data, pipeline, **options)
