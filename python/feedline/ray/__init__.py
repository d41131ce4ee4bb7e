# SPDX-License-Identifier: Apache-2.0
"""Batches made by actors of Ray, on other machines than the trainer's.

    import feedline.ray

    loader = feedline.ray.Loader(
        feedline.Dataset.open("folder:/data/train"), "train_u8",
        actors=feedline.ray.Actors(4, num_cpus=8), dtype="u8", shuffle=True)
    for batch in loader:
        train(batch.images, batch.labels)

The stream is that of a feedline.Loader with the same options, bit for bit, and
so is its saved position. docs/ray.md is the guide.
"""

from __future__ import annotations

from .actors import Actors
from .data_source import read
from .remote_loader import Loader

__all__ = ["Actors", "Loader", "read"]
