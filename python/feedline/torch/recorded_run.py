# SPDX-License-Identifier: Apache-2.0
"""Samples as the program's own Python makes them, with their pixels deferred.

    reading thread    run.record: dataset[index] -> steps of its images, memory
    worker            the pixels, into that memory
    consumer          run.take, batch.finished

The engine calls `record` for one sample at a time, in the order in which
batches were appended, and with the first one of a batch all are made. What
draws or counts in the data set sees its samples in the order in which a worker
of torch's would.

`truly` makes a sample without deferring anything: one that failed, whose error
or substitute is then the program's own; or one to compare with.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from functools import partial
from operator import getitem
from typing import Any, Iterator, List, NamedTuple, Optional
from typing import Tuple, Union
from weakref import WeakValueDictionary

from torch.utils.data import Subset

import feedline

from ..deferred import Recorder
from .recorded_batch import Batch
from .recorded_chains import Chains
from .recorded_draws import SeededDraws, States, TorchDraws
from .recorded_foresight import Foresight
from .recorded_helper_count import Helping
from .recorded_leaves import Copies
from .recorded_memory import Memory
from .recorded_queue import BatchQueue
from .recorded_told import Told, told_of
from .worker_info import as_worker

Draws = Union[SeededDraws, TorchDraws]


class Failed(NamedTuple):
    """In place of a sample."""

    error: BaseException


class RecordedSet:
    """What the engine has in place of a data set, for all epochs of a loader.

    lock: of the data set, which no two threads use at a time.
    """

    def __init__(self, count: int, name: str) -> None:
        self.recorder = Recorder()
        self.lock = threading.RLock()
        self.memory = Memory()
        self.chains = self.recorder.chains = Chains()
        self.helping = Helping()
        # CPU time of a sample that the data set makes by itself, where one
        # was tried.
        self.itself_s: Optional[float] = None
        self._runs: "WeakValueDictionary[int, Run]" = WeakValueDictionary()
        self._numbers = itertools.count()
        runs = self._runs

        def record(call: Any, address: int) -> int:
            run = runs.get(call.epoch)
            if run is None:
                raise feedline.StateError("the epoch has ended")
            return run.record(call, address)

        self.dataset = feedline.Dataset.recorded(
            record, count, name=name, in_order=True
        )

    def took(self, seconds: float, n: int) -> None:
        """So many samples, by themselves. The first ones take longer."""
        each = seconds / n
        self.itself_s = min(each, self.itself_s or each)

    def begin(self, *arguments: Any) -> "Run":
        """A run of its own number, which is the engine's epoch."""
        run = Run(self, next(self._numbers), *arguments)
        self._runs[run.number] = run
        self.chains.forget()
        return run


class Run(BatchQueue[Batch]):
    """Batches that one engine makes, from begin() on."""

    collated = False  # by a function of the program's, if at all

    def __init__(
        self,
        owner: RecordedSet,
        number: int,
        dataset: Any,
        draws: Draws,
        info: Any,
        batched: bool = True,
        pin: bool = False,
        helpers: Any = None,
    ) -> None:
        super().__init__()
        self.number = number
        self._helpers = helpers
        self._owner = owner
        self._recorder = owner.recorder
        self.dataset = dataset
        self.many: Any = many_of(dataset) if batched else None
        self.draws = draws
        self._info = info
        self._pin = pin
        self.foresight = Foresight()

    def append(self, batch: Batch) -> None:
        super().append(batch)
        self.foresight.ahead(self.dataset, batch.indices)
        if self._helpers is not None:
            self._helpers.submit(batch)

    @contextmanager
    def _as_worker(self) -> Iterator[None]:
        with self._owner.lock, as_worker(self._info):
            yield

    # ---- On the reading thread ---------------------------------------------

    def record(self, call: Any, address: int) -> int:
        """One sample, for the engine: its status. All of a batch are made with
        the first one."""
        (number, batch), place = self.asked(call), call.place
        if batch.told is None:
            batch.told = self._told_of(batch)
        try:
            return batch.told.tell(address, place)
        finally:
            if batch.told.done == len(batch.indices):
                self.recorded(number)

    def _told_of(self, batch: Batch) -> Told:
        """It is recorded here, or by a helper process."""
        if self._helpers is None:
            self.record_all(batch)
        else:
            self._helpers.record(batch, self.record_all)
        if batch.made is not None:
            memory = self._owner.memory
            told: Told = batch.made.give_memory(batch, memory, self._pin)
            return told
        recorded, batch.recorded = batch.recorded, {}
        return told_of(recorded, len(batch.indices))

    def record_all(self, batch: Batch) -> None:
        """Fills batch.recorded: what failed has an exception there.

        As in a worker of torch's, which makes a batch before it sends it: what
        several samples have is one object, as the last of them left it.
        """
        try:
            with self._as_worker():
                try:
                    made, opened = self._recorder.run(self._made, batch)
                finally:
                    batch.after = self.draws.at()
                self._isolate_all(batch, made)
        except BaseException as error:
            batch.recorded = dict.fromkeys(range(len(batch.indices)), error)
            return
        found = [one for one in batch.recorded.values() if type(one) is tuple]
        every = [leaf for leaves, _ in found for leaf in leaves]
        batch.recorded.update(self._recorder.unfinished(every, opened))
        batch.unfinished = frozenset(
            place
            for place, one in batch.recorded.items()
            if isinstance(one, BaseException)
        )

    def guessed_wrong(self, count: int) -> None:
        """So many samples failed that had an answer about pixels."""
        self._recorder.guesses -= count

    def _made(self, batch: Batch) -> Tuple[List[Any], List[int]]:
        """Samples or what they raised, and how many images had been opened
        behind each of them."""
        begin, key = self._owner.chains.begin, self.draws.key
        if self.many is not None:
            begin(key, batch.indices, batch.copies)
            try:
                made = self.draws.run(self.many, batch.indices, batch.copies[0])
            except BaseException as error:
                self._recorder.failed(error)
                raise
            if type(made) is not list or len(made) != len(batch.indices):
                raise TypeError("__getitems__ returned no list of the samples")
            return made, [self._recorder.opened()]
        get = partial(getitem, self.dataset)
        made, opened = [], []
        foresees = False
        for index, copy in zip(batch.indices, batch.copies):
            if len(made) % 8 == 0:
                foresees = self.foresight.wants
            begin(key, (index,), (copy,))
            try:
                made.append(self.draws.run(get, index, copy))
            except BaseException as error:
                self._recorder.failed(error)
                made.append(Failed(error))
            opened.append(self._recorder.opened())
            if foresees:
                self._foresee(batch, index, opened)
        return made, opened

    def _foresee(self, batch: Batch, index: Any, opened: List[int]) -> None:
        """Learns from a sample where paths come from; with that, looks at all
        samples that are waiting already."""
        first = opened[-2] if len(opened) > 1 else 0
        sources = self._recorder.sources(first)
        if self.foresight.seen(self.dataset, index, sources):
            rest = batch.indices[len(opened) :]
            self.foresight.ahead(self.dataset, rest)
            for waiting in self.waiting():
                self.foresight.ahead(self.dataset, waiting.indices)

    def _isolate_all(self, batch: Batch, made: List[Any]) -> None:
        copies = self._isolated(batch, made, Copies())
        if self.collated:
            known = copies.views.copies()
            if known:
                batch.begin_again()
                copies = self._isolated(batch, made, Copies(known))
        batch.shares, batch.here = copies.shared, copies.here
        batch.marked = copies.marked

    def _isolated(
        self, batch: Batch, made: List[Any], copies: Copies
    ) -> Copies:
        memory, pin = self._owner.memory, self._pin
        for place, sample in enumerate(made):
            if isinstance(sample, Failed):
                batch.recorded[place] = sample.error
                continue
            batch.isolate(place, sample, copies, memory, pin)
        return copies

    # ---- On any other ------------------------------------------------------

    def truly(self, batch: Batch, place: int) -> Any:
        """A sample as torch would make it, with the draws that it had."""
        with self._as_worker():
            return self.draws.run(
                partial(getitem, self.dataset),
                batch.indices[place],
                batch.copies[place],
            )

    def all_truly(self, batch: Batch) -> Any:
        """All samples by __getitems__, whatever it returns."""
        with self._as_worker():
            return self.draws.run(self.many, batch.indices, batch.copies[0])

    def replayed(self, before: Optional[States]) -> "Run":
        """A run by itself, with generators that are where these were."""
        draws = self.draws.again(before)
        return Run(self._owner, -1, self.dataset, draws, self._info)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Samples are made again inside, and the next ones go on as if they
        were not."""
        with self._owner.lock:
            ahead = self.draws.at()
            try:
                yield
            finally:
                self.draws.go_to(ahead)

    def skip(self, batch: Batch, place: int) -> None:
        """Only draws what a sample draws, and may fail as it did before."""
        get = partial(getitem, self.dataset)
        with self._as_worker():
            try:
                self.draws.run(
                    lambda index: self._recorder.run(get, index),
                    batch.indices[place],
                )
            except Exception:
                pass


def many_of(dataset: Any) -> Optional[Any]:
    """What makes the samples of a batch together, where the data set has it.

    A Subset has it for its data set's sake: without one there, its samples are
    made one by one.
    """
    many = getattr(dataset, "__getitems__", None)
    inner = dataset
    while type(inner) is Subset:
        inner = inner.dataset
        if not getattr(inner, "__getitems__", None):
            return None
    return many or None
