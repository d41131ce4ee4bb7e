# SPDX-License-Identifier: Apache-2.0
"""Maker: batches that were asked for, one by one, from wherever.

It owns a loader in the given order, and one thread uses that: what is asked for
while a batch is made is appended behind it, so the workers always have work.
"""

from __future__ import annotations

import queue
import threading
from array import array
from concurrent.futures import Future
from typing import Any, Deque, Dict, Mapping, Optional, Tuple
from collections import deque

from .dataset import Dataset
from .elsewhere import Asked, Made, made_of
from .errors import Timeout
from .loader import Loader
from .pipeline import Pipeline

# Options that say what a batch is, and "isolate", as files are from anywhere
# wherever they are decoded; all others are about where and when it is made.
# Batches of makers that have the same are the same.
OF_BATCHES = (
    "batch_size",
    "dtype",
    "layout",
    "channels",
    "on_error",
    "max_pixels",
    "max_scans",
    "max_file_bytes",
    "max_image_ms",
    "accept_truncated",
    "isolate",
    "checksums",
    "apply_exif",
    "stored_mode",
    "quality",
    "pillow",
    "rounding",
)

# Between two looks for what was asked meanwhile.
_LOOK_S = 0.005

_Job = Tuple[Asked, "Future[Made]"]


def batch_options(loader: Loader) -> Dict[str, Any]:
    """What a Maker needs to make the batches of this loader."""
    config = loader.config
    return {name: config[name] for name in OF_BATCHES}


class Maker:
    """Makes batches; any number of threads may ask."""

    def __init__(
        self,
        dataset: Dataset,
        pipeline: Pipeline,
        options: Mapping[str, Any],
        **own: Any,
    ) -> None:
        """options: of batch_options; own: others, such as workers."""
        self._loader = Loader(
            dataset, pipeline, order="given", **options, **own
        )
        self._asked: "queue.SimpleQueue[Optional[_Job]]" = queue.SimpleQueue()
        self._open: Deque[_Job] = deque()  # appended, in their order
        self._held: Optional[_Job] = None  # of another epoch: it waits
        self._again: Deque[_Job] = deque()  # come before what is asked
        self._stage: Optional[Tuple[int, int]] = None  # epoch and seed
        self._closing = False
        self._thread = threading.Thread(
            target=self._run, name="feedline-maker", daemon=True
        )
        self._thread.start()

    def ask(self, asked: Asked) -> "Future[Made]":
        """The batch, or what next() raises for it. Any thread."""
        future: "Future[Made]" = Future()
        self._asked.put((asked, future))
        return future

    def close(self) -> None:
        """What is being made is dropped."""
        self._closing = True
        self._asked.put(None)
        self._thread.join()
        self._loader.close()

    # ---- Its thread -------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            try:
                self._append_all()
                if self._open:
                    self._finish_one()
            except BaseException as error:
                self._fail(error)

    def _append_all(self) -> None:
        """Waits for something to be asked only if nothing is being made."""
        while not self._closing:
            if self._held is None and self._again:
                self._held = self._again.popleft()
            if self._held is None:
                try:
                    self._held = self._asked.get(block=not self._open)
                except queue.Empty:
                    return
            if self._held is None or not self._append(self._held):
                return
            self._held = None

    def _append(self, job: _Job) -> bool:
        """False: batches of another epoch come first."""
        asked = job[0]
        stage = asked.epoch, asked.seed
        if stage != self._stage:
            if self._open:
                return False
            self._loader.begin(asked.epoch, asked.seed)
            self._stage = stage
        self._open.append(job)
        indices, copies = array("Q"), array("I")
        indices.frombytes(asked.indices)
        copies.frombytes(asked.copies)
        self._loader.append(indices, copies)
        return True

    def _finish_one(self) -> None:
        try:
            batch = self._loader.next(_LOOK_S)
        except Timeout:
            return
        assert batch is not None
        made = made_of(batch)
        self._open.popleft()[1].set_result(made)

    def _fail(self, error: BaseException) -> None:
        """The oldest job failed, and the run with it; the others begin anew."""
        jobs, self._open = list(self._open), deque()
        if self._held is not None:
            jobs.append(self._held)
        self._held = self._stage = None
        if jobs:
            jobs.pop(0)[1].set_exception(error)
        self._again.extendleft(reversed(jobs))
