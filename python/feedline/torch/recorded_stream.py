# SPDX-License-Identifier: Apache-2.0
"""A stream as the program's own Python gives it, with its pixels deferred.

    reading thread    next(), so often as a batch has samples -> their images
    worker            the pixels, into the batch's memory
    consumer          the batch

One thread iterates over one iterator, in order: what torch's only worker would
do. Between two batches the stream's own frames rest, with the deferred images
that they hold (deferred/stream_recording.py).

A stream cannot make one sample again. Where that is needed (a file turned out
to be damaged, a collate_fn has drawn random numbers), it begins again from a
copy, with the same random numbers, and what was delivered is skipped: without
its pixels, which is what costs. A resumed epoch does the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ..deferred import Source, StreamRecording, key_of
from ..deferred.canvas import sources_of
from .recorded_batch import Batch, put_real
from .recorded_draws import States
from .recorded_leaves import Copies
from .recorded_queue import BatchQueue
from .recorded_run import Draws, RecordedSet
from .recorded_told import told_of
from .sampler_kinds import is_stateful, state_of
from .state_dict import DATASET, FETCHER, ITERATOR, ENDED
from .worker_info import as_worker

Pixels = Tuple[List[Any], List[int]]


class StreamBatch(Batch):
    """samples: fewer than were asked for at the end of the stream, perhaps
    none. error: what the stream raised. damaged: images that the program has
    dropped and that cannot be decoded. first: the position of its first sample.
    states: those that the stream saves of itself, behind this batch.
    """

    def __init__(self, count: int) -> None:
        super().__init__([0] * count)
        self.asked = count
        self.error: Optional[Exception] = None
        self.damaged: List[Source] = []
        self.first = 0
        self.states: Optional[Dict[str, Any]] = None

    def hold(self, count: int) -> None:
        """It has so many samples."""
        self.indices = list(range(self.first, self.first + count))
        self.samples = [None] * count
        self.leaves = [[] for _ in range(count)]


@dataclass
class Begin:
    """How a stream begins.

    dataset: its own. skip: batches of this size that were delivered. failed:
    those of them that were errors; None where that is not known. jumps: where
    the generators went behind a batch, by its number. position: of the
    first sample, where the stream goes on by a state of its own. load: gives
    its iterator that state.
    """

    dataset: Any
    draws: Draws
    info: Any
    size: int = 1
    skip: int = 0
    failed: Optional[Set[int]] = None
    jumps: Dict[int, States] = field(default_factory=dict)
    position: int = 0
    load: Any = None
    real_from: Optional[int] = None
    pin: bool = False


class StreamSet(RecordedSet):
    """What the engine has in place of a stream, for all epochs of a loader.

    repeatable: it gives the same again with the same random numbers. changes:
    what an iteration changes of the data set itself; "": nothing. damaged: keys
    of images that the engine could not decode, and Pillow neither.
    """

    def __init__(self, count: int, name: str) -> None:
        super().__init__(count, name)
        self.repeatable = True
        self.changes = ""
        self.damaged: Set[str] = set()

    def begin_stream(self, begin: Begin) -> "StreamRun":
        run = StreamRun(self, next(self._numbers), begin)
        self._runs[run.number] = run  # type: ignore[assignment]
        self.chains.forget()
        return run


class StreamRun(BatchQueue[StreamBatch]):
    """Batches that one engine makes of one iterator, from begin() on."""

    collated = False  # by a function of the program's, if at all

    def __init__(self, owner: StreamSet, number: int, begin: Begin) -> None:
        super().__init__()
        self.number = number
        self.draws = begin.draws
        self.ended = begin.load is not None and begin.load.ended
        self._owner = owner
        self._begin = begin
        self._dataset = begin.dataset
        self._iterator: Any = None
        self._stopped = False
        damaged = owner.damaged
        self._recording = StreamRecording(
            owner.recorder, damaged, begin.real_from
        )
        self._recording.position = begin.position

    def stop(self) -> None:
        """Nothing more is asked of the stream, from when this returns."""
        self._stopped = True
        with self._owner.lock:
            pass

    @contextmanager
    def _as_worker(self) -> Iterator[None]:
        with self._owner.lock, as_worker(self._begin.info):
            yield

    # ---- On the reading thread ---------------------------------------------

    def record(self, call: Any, address: int) -> int:
        """One sample, for the engine: its status. All of a batch are made with
        the first one."""
        (number, batch), place = self.asked(call), call.place
        if batch.told is None:
            self._fill(batch)
            recorded, batch.recorded = batch.recorded, {}
            batch.told = told_of(recorded, batch.asked)
        status = batch.told.tell(address, place)
        if batch.told.done == batch.asked:
            self.recorded(number)
        return status

    def _fill(self, batch: StreamBatch) -> None:
        batch.hold(0)
        with self._as_worker():
            if self._stopped or self.ended:
                return
            try:
                self._begin_once()
                self._record(batch)
            except Exception as error:
                batch.hold(0)
                batch.recorded.clear()
                batch.error = error
                batch.damaged = self._recording.settle(())
            batch.after = self.draws.at()
            batch.states = self._states()

    def _record(self, batch: StreamBatch) -> None:
        recording = self._recording
        batch.first = recording.position
        samples = recording.call(self._several, batch.asked)
        batch.hold(len(samples))
        copies = Copies()
        used = self._isolated(batch, samples, copies)
        known = copies.views.copies() if self.collated else None
        if known:
            batch.begin_again()
            used |= self._isolated(batch, samples, Copies(known))
        batch.damaged = recording.settle(used)

    def _isolated(
        self, batch: StreamBatch, samples: List[Any], copies: Copies
    ) -> Set[int]:
        """Keeps copies; the sources of their images, by id."""
        memory, pin = self._owner.memory, self._begin.pin
        used: Set[int] = set()
        for place, sample in enumerate(samples):
            leaves = batch.isolate(place, sample, copies, memory, pin)
            used.update(id(leaf.source) for leaf in leaves)
        return used

    def _several(self, count: int) -> List[Any]:
        """So many samples; fewer at the end."""
        samples: List[Any] = []
        chains, key = self._owner.chains, self.draws.key
        try:
            if self.draws.follows:
                chains.begin(key, (), ())
                self.draws.run(self._next_into, (samples, count))
            while len(samples) < count and not self.ended:
                position = self._recording.position
                chains.begin(key, (position,), (0,))
                self.draws.run(
                    lambda _: self._next_into((samples, 1)), position
                )
        except Exception:
            samples.clear()  # which the error would keep
            raise
        return samples

    def _next_into(self, wanted: Tuple[List[Any], int]) -> None:
        samples, count = wanted
        recording = self._recording
        for _ in range(count):
            recording.position += 1
            try:
                samples.append(next(self._iterator))
            except StopIteration:
                self.ended = True
                return

    # ---- Its begin ---------------------------------------------------------

    def _begin_once(self) -> None:
        if self._iterator is not None:
            return
        begin = self._begin
        self._iterator = self._recording.call(
            self.draws.run, lambda _: iter(self._dataset), -1
        )
        if begin.load is not None:
            begin.load(self._iterator)
        unseen: Optional[Exception] = None
        for number in range(begin.skip):
            error = self._skip(begin.size)
            known = begin.failed is None or number in begin.failed
            unseen = unseen if known else unseen or error
            if number in begin.jumps:
                self.draws.go_to(begin.jumps[number])
        if unseen is not None:
            raise unseen

    def _skip(self, count: int) -> Optional[Exception]:
        """A batch that was delivered: what it raises now."""
        found = None
        try:
            self._recording.call(self._several, count)
        except Exception as error:
            found = error
        self._recording.settle((), check=False)
        return found

    def _states(self) -> Optional[Dict[str, Any]]:
        """What data set and iterator save of themselves, as torch's."""
        both = self._dataset, self._iterator
        if not any(map(is_stateful, both)):
            return None
        same = self._iterator is self._dataset
        return {
            DATASET: None if same else state_of(self._dataset),
            FETCHER: {
                ITERATOR: state_of(self._iterator),
                ENDED: self.ended,
            },
        }


def keys_of_failed(batch: StreamBatch, place: int) -> List[str]:
    """Makes a sample's images by Pillow and torch, where the engine could not.
    Of those that they cannot make either: their keys."""
    failed: List[str] = []
    for leaf, memory in batch.leaves[place]:
        try:
            put_real(leaf, memory, leaf.real())
        except Exception:
            parts = leaf.parts or (leaf,)
            bad = [part for part in parts if not _can_be_made(part)] or parts
            for part in bad:
                failed += _keys_of_bad(sources_of(part.source))
    return failed


def _keys_of_bad(files: List[Source]) -> List[str]:
    """Of those that cannot be decoded; of all, if each of them can."""
    bad = []
    for file in files:
        try:
            file.pixels()
        except Exception:
            bad.append(file)
        file.forget()
    return sorted({key_of(file) for file in bad or files})


def _can_be_made(part: Any) -> bool:
    try:
        part.real()
    except Exception:
        return False
    return True


def carried(batch: StreamBatch, place: int) -> bool:
    """Whether an image of the sample was opened before its batch."""
    leaves = batch.leaves[place]
    return any(leaf.source.born <= batch.first for leaf, _ in leaves)
