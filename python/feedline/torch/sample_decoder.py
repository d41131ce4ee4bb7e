# SPDX-License-Identifier: Apache-2.0
"""Single samples from the engine, for frameworks that build the loader.

torch's own DataLoader asks a data set for the samples of a batch at once
(`__getitems__`) where it can. Here they go through the engine as one batch, so
that decoding runs on all cores in one process, or on one thread in each of
torch's worker processes. A fork copies the object but not the engine's threads:
each process makes an engine of its own.
"""
from __future__ import annotations

import os
import threading
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch.utils.data import get_worker_info
from torch.utils.dlpack import from_dlpack

import feedline

from .native import Plan

Sample = Tuple[torch.Tensor, Any]

LARGEST_BATCH = 65536  # the most that option batch_size takes


class SampleDecoder:
    """An engine for one plan, made when the first sample is wanted."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._engine: Optional[feedline.Loader] = None
        self._room = 0  # samples of the engine's batches
        self._process = 0
        self._lock = threading.Lock()

    def samples(
        self, indices: Sequence[int], epoch: int, seed: int
    ) -> List[Sample]:
        """Images [C, H, W] with their labels, in the order of `indices`.

        indices: positions in the torch data set, not negative. What is drawn
        for a sample follows from seed, epoch and index. Raises the error of
        the first sample that cannot be used.
        """
        found: List[Sample] = []
        with self._lock:
            for first in range(0, len(indices), LARGEST_BATCH):
                part = indices[first : first + LARGEST_BATCH]
                found.extend(self._batch(part, epoch, seed))
        return found

    def _batch(
        self, indices: Sequence[int], epoch: int, seed: int
    ) -> List[Sample]:
        engine = self._engine_for(len(indices))
        places = self.plan.indices
        if places is not None:
            indices = [places[i] for i in indices]
        engine.begin(epoch, seed=seed)
        engine.append(indices)
        engine.end()
        batch = engine.next()
        assert batch is not None
        # A sample that is kept must not keep the memory of its whole batch.
        images = [image.clone() for image in from_dlpack(batch.images)]
        labels = from_dlpack(batch.labels).tolist()
        batch.release()
        if self.plan.targets is not None:
            labels = list(self.plan.targets.of(labels))
        return list(zip(images, labels))

    def _engine_for(self, count: int) -> feedline.Loader:
        engine = self._engine
        if self._process != os.getpid():
            engine = None  # of the process that this one was forked from
        if engine is None or count > self._room:
            if engine is not None:
                engine.close()
            self._room = 1 << (count - 1).bit_length()
            self._engine = engine = self._make(self._room)
            self._process = os.getpid()
        return engine

    def _make(self, room: int) -> feedline.Loader:
        shared = get_worker_info() is not None
        return feedline.Loader(
            self.plan.dataset,
            self.plan.pipeline,
            batch_size=room,
            workers=1 if shared else "auto",
            depth=1,
            tuner="off",
            order="given",
            on_error="raise",
            **self.plan.options,
        )
