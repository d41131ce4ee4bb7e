# SPDX-License-Identifier: Apache-2.0
"""The epochs of a DataLoader: begun, resumed, and where the current one stands.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Dict, Iterator, Optional, Type, Union

import torch

import feedline

from ..watching import Meter, samples_of
from . import rank_terms
from . import state_dict as states
from ._compat import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
from ._compat import _SingleProcessDataLoaderIter, batch_is_there
from ._compat import index_sampler_of, is_stream
from .arguments import AutoInt, Given, cores, is_auto
from .chain import NotNative
from .engine_pool import EnginePool
from .global_draws import TORCH
from .handover import Finish
from .iteration import CountedIterator, NativeIterator
from .native import Head, Plan, plan as plan_of
from .order_trace import TracedSampler, global_state, parts_of
from .partial import Partial
from .process_count import Processes, Waits
from .recorded_draws import ENGINE
from .recorded_iteration import RecordedIterator
from .recorded_stream import StreamSet
from .recorded_stream_iteration import StreamIterator
from .sampler_kinds import epoch_of, waits_for_epoch
from .state_dict import Fingerprint, Progress, Saved

# ---- torch's iterators ------------------------------------------------------
#
# They are torch's own, with what this DataLoader promises for every data set:
# their state can be saved and restored without loading what was delivered, and
# `device`, `dtype` and `layout` are honoured.


class MeteredIterator(CountedIterator):
    """Its waits are counted, as an engine's would be.

    The base class sets `_dataset` in its constructor; it is a property, so that
    an engine may make a part of each sample.
    """

    _meter: Meter
    _theirs: str  # the class of torch's, which tools look for in a profile

    def __init__(
        self, loader: Any, progress: Progress, saved_seed: Optional[int] = None
    ) -> None:
        self._progress = progress
        self._saved_seed = saved_seed
        self._head: Optional[Head] = loader._feedline.decision.head
        given: Given = loader._feedline.given
        self._quality = given.quality
        self._finish = Finish(given)
        super().__init__(loader)
        self._profile_name = "enumerate(DataLoader)#%s.__next__" % self._theirs

    @property
    def _dataset(self) -> Any:
        return self._shown

    @_dataset.setter
    def _dataset(self, dataset: Any) -> None:
        if self._head is not None:
            dataset = Partial(
                dataset, self._head, self._progress, self._quality
            )
        self._shown = dataset

    def __next__(self) -> Any:
        return self._meter.call(super().__next__, samples_of)


class SingleProcessIterator(MeteredIterator, _SingleProcessDataLoaderIter):
    """torch's with num_workers=0."""

    _theirs = _SingleProcessDataLoaderIter.__name__

    def __init__(
        self, loader: Any, progress: Progress, saved_seed: Optional[int] = None
    ) -> None:
        super().__init__(loader, progress, saved_seed)
        progress.fetcher = self._dataset_fetcher

    def _next_data(self) -> Any:
        try:
            data = super()._next_data()  # type: ignore[no-untyped-call]
        finally:
            self._delivered()
        return self._finish(data) if self._finish else data


class MultiProcessIterator(MeteredIterator, _MultiProcessingDataLoaderIter):
    """torch's with worker processes."""

    _theirs = _MultiProcessingDataLoaderIter.__name__
    _waits: Optional[Waits] = None  # where their number is tuned

    def __next__(self) -> Any:
        if self._waits is None:
            return super().__next__()
        return self._waits.of(super().__next__, batch_is_there(self))

    def _try_put_index(self) -> None:
        if not self._progress.traced.waits:
            super()._try_put_index()

    def _next_data(self) -> Any:
        if self._progress.traced.waits:
            self._progress.traced.waits = False
            for _ in range(self._prefetch_factor * self._num_workers):
                self._try_put_index()
        return super()._next_data()  # type: ignore[no-untyped-call]

    def _process_data(self, data: Any, *more: Any) -> Any:
        # torch pulls the next index in there, and raises what a worker raised.
        self._delivered()
        data = super()._process_data(  # type: ignore[no-untyped-call]
            data, *more
        )
        return self._finish(data) if self._finish else data


class OneWorker:
    """A loader as torch's iterators see it, with one worker process: only its
    random numbers are promised, whatever num_workers says."""

    num_workers = 1

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def native_kind(plan: Optional[Plan]) -> Optional[Type[NativeIterator]]:
    """The iterator for a plan; None: torch's."""
    if plan is None:
        return None
    if isinstance(plan.recorded, StreamSet):
        return StreamIterator
    return NativeIterator if plan.recorded is None else RecordedIterator


class Epochs:
    """Of one loader, which is an argument of each method.

    engines: that its iterators borrow. largest_batch: samples of the largest
    one so far. progress: of the iterator that was made last. saved: a state
    that the next iterator begins from. waiting: an iterator that was made for
    its state, and is the next iter()'s. meter: counts what torch loads.
    by_torch: it made the last iterator. processes: of torch's, where their
    number is tuned.
    """

    def __init__(self) -> None:
        self.engines = EnginePool()
        self.largest_batch: Dict[str, int] = {}
        self.begun = 0
        self.progress: Optional[Progress] = None
        self.saved: Optional[Saved] = None
        self.waiting: Optional[_BaseDataLoaderIter] = None
        self.meter: Optional[Meter] = None
        self.by_torch = False
        self.processes: Optional[Processes] = None
        self.compared = False  # with the other ranks of the job
        # Told the number of the epoch that comes, when a state is loaded.
        self.on_load: Optional[Callable[[int], None]] = None

    def remember(self, loader: Any) -> None:
        """What a sampler is made of before it is iterated: what changes from
        then on belongs to a state."""
        if not is_stream(loader):
            parts_of(index_sampler_of(loader), loader)

    def compare_ranks(self, loader: Any) -> None:
        """Whether the other ranks of the job load the same, once."""
        if not self.compared:
            self.compared = True
            rank_terms.compare(loader, _fingerprint, self.saved)

    def next_round(self, iterator: Any) -> None:
        """A persistent iterator keeps its seed; its rounds are numbered."""
        former = iterator._progress
        former.traced.forget()
        self.progress = iterator._progress = Progress(
            former.traced,
            epoch=self.begun,
            round=former.round + 1,
            seed=former.seed,
            in_workers=former.in_workers,
        )
        self.begun += 1

    def iterator(
        self, loader: Any, plan: Optional[Plan]
    ) -> _BaseDataLoaderIter:
        """For the epoch that begins, or goes on from a state. plan: how the
        engine makes it; None for torch's iterators."""
        saved, self.saved = self.saved, None
        if saved is None:
            return self._begin(loader, plan)
        stream = is_stream(loader)
        if (plan is not None and not stream) or loader.num_workers == 0:
            states.load_dataset(loader.dataset, saved.state)
        if saved.finished:
            return self._begin_behind(loader, plan, saved)
        if stream:
            return self._resume_stream(loader, plan, saved)
        return self._resume(loader, plan, saved)

    def _begin(self, loader: Any, plan: Optional[Plan]) -> _BaseDataLoaderIter:
        """A new epoch.

        Frameworks may tell the epoch to a DistributedSampler between iter()
        and next(): it is asked for nothing before.
        """
        traced = TracedSampler(index_sampler_of(loader), loader)
        traced.waits = waits_for_epoch(traced.sampler)
        progress = Progress(traced, epoch=self.begun)
        return self._make(loader, plan, progress, None)

    def _begin_behind(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The epoch behind a finished one, as if that had been made here. Its
        sampler waits for the first next(), too, whatever its class."""
        traced = TracedSampler(index_sampler_of(loader), loader)
        coming, behind = saved.next, saved.behind
        known = behind is not None and not behind.draws_from
        traced.waits = known and epoch_of(traced.sampler) is not None
        if coming is None or saved.loaded.seeded_since():
            progress = Progress(traced, epoch=self.begun)
            progress.chains = saved.chains
            return self._make(loader, plan, progress, None)
        seed = coming.seed
        if behind is not None:
            traced.noted, traced.marks = behind.draws_from, behind.marks
            if TORCH in behind.draws_from:
                seed = None  # is drawn between the sampler's numbers
        traced.sampler_seed = coming.sampler_seed
        progress = Progress(traced, epoch=self.begun, round=coming.round)
        progress.chains = saved.chains
        if coming.round:
            progress.draws = saved.draws
        quiet = _no_draw(loader) if coming.round else nullcontext()
        with quiet, traced.own_draws():
            return self._make(loader, plan, progress, seed)

    def _resume(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The rest of an epoch, which draws nothing from torch's global
        generator: what it needs was drawn when the epoch began."""
        traced = saved.traced
        if traced is None or not traced.is_untouched(index_sampler_of(loader)):
            traced = self._traced(loader, saved)
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        progress.yielded = saved.yielded
        progress.batches = saved.batches
        progress.samples = saved.samples
        progress.shift = saved.shift
        progress.draws = saved.draws
        progress.chains = saved.chains
        with _no_draw(loader):
            iterator = self._make(loader, plan, progress, saved.seed)
        iterator._num_yielded = saved.yielded
        return iterator

    def _traced(self, loader: Any, saved: Saved) -> TracedSampler:
        """The sampler as a state has it, so that what was delivered is behind
        it. ValueError if it is another one."""
        sampler = index_sampler_of(loader)
        states.apply_epoch(saved, sampler)
        traced = TracedSampler(sampler, loader, saved.resume)
        if saved.resume is None:
            states.begin_behind(saved, traced)
            return traced
        resume = saved.resume
        before = {**resume.origin.at_pull, **resume.origin.parts}
        own = resume.sampler_state
        if own is not None and resume.batches == 0:
            traced.parts.restore(before)
            if not states.has_more(traced, own, before):
                resume.sampler_state = None
        if resume.pulled.batches or saved.finished:
            traced.parts.restore(before)
            order = iter(traced)
            if saved.finished:  # by somebody who has changed the state
                deque(order, maxlen=0)
            return traced
        traced.parts.restore_anew(before)
        return traced

    def _resume_stream(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """By a state of its own, which may be that of a generator; or by
        reading past what was delivered."""
        traced = TracedSampler(index_sampler_of(loader), loader)
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        if plan is not None:
            return self._resume_recorded(loader, plan, saved, progress)
        with global_state(torch.get_rng_state()):
            iterator = self._make(loader, None, progress, saved.seed)
        if states.load_iterator(progress.fetcher, saved.state):
            iterator._num_yielded = progress.yielded = saved.yielded
            progress.batches = saved.batches
            return iterator
        with global_state(torch.get_rng_state()):
            for _ in range(saved.batches):
                next(iterator, None)
        return iterator

    def _resume_recorded(
        self, loader: Any, plan: Plan, saved: Saved, progress: Progress
    ) -> _BaseDataLoaderIter:
        """A stream that is recorded reads past it without pixels."""
        progress.yielded = saved.yielded
        progress.batches = saved.batches
        progress.samples = saved.samples
        progress.draws = saved.draws
        progress.chains = saved.chains
        progress.damaged = list(saved.state.get("damaged") or [])
        progress.real_from = saved.state.get("real_from")
        progress.resumed = saved.state
        with global_state(torch.get_rng_state()), _no_draw(loader):
            iterator = self._make(loader, plan, progress, saved.seed)
        iterator._num_yielded = saved.yielded
        return iterator

    def _make(
        self,
        loader: Any,
        plan: Optional[Plan],
        progress: Progress,
        saved_seed: Optional[int],
    ) -> _BaseDataLoaderIter:
        self.begun = progress.epoch + 1
        own = plan is None or plan.recorded is not None
        progress.in_workers = own and loader.num_workers > 0
        made: _BaseDataLoaderIter
        kind = native_kind(plan)
        if plan is not None and kind is not None:
            made = kind(loader, plan, progress, saved_seed)
            self._show_tuned(loader)
        else:
            made = self._torch_iterator(loader, progress, saved_seed)
        self.by_torch = plan is None
        self.progress = progress
        return made

    def _torch_iterator(
        self, loader: Any, progress: Progress, saved_seed: Optional[int]
    ) -> MeteredIterator:
        """The one that torch would make for this loader."""
        given = loader._feedline.given
        if given.draws != ENGINE and given.backend != "torch":
            if loader.num_workers > 1:
                loader = OneWorker(loader)
        waits = None
        if type(loader) is not OneWorker:
            if is_auto(loader.num_workers) and not is_stream(loader):
                waits = self._tune(loader)
            loader.check_worker_number_rationality()
        meter = self._meter_of(loader)
        kind: Type[MeteredIterator] = MultiProcessIterator
        if loader.num_workers == 0:
            kind = SingleProcessIterator
        made = meter.iterator(
            loader, lambda: kind(loader, progress, saved_seed)
        )
        made._meter = meter
        if isinstance(made, MultiProcessIterator):
            made._waits = waits
        return made

    def _tune(self, loader: Any) -> Waits:
        """num_workers="auto" becomes as many as the last epoch needed, and
        the account begins anew where that is another number."""
        if self.processes is None:
            self.processes = Processes(cores())
        waits = self.processes.epoch(loader.prefetch_factor)
        if loader.num_workers != self.processes.count:
            loader.num_workers = AutoInt(self.processes.count)
            self.meter = None
        return waits

    def _meter_of(self, loader: Any) -> Meter:
        """Counts what torch's iterators keep the program waiting for."""
        if self.meter is None:
            self.meter = Meter(
                "torch's workers" if loader.num_workers else "torch",
                loader.num_workers,
                loader.batch_size or 0,
                "num_workers",
            )
        return self.meter

    def observed(self) -> Union[feedline.Loader, Meter, None]:
        """Who counts the batches of the iterator that was made last."""
        return self.meter if self.by_torch else self.engines.engine

    def _show_tuned(self, loader: Any) -> None:
        """num_workers="auto" reads as what the engine has."""
        engine = self.engines.engine
        if engine is not None and is_auto(loader.num_workers):
            loader.num_workers = AutoInt(max(1, engine.get("workers")))

    # ---- State ------------------------------------------------------------

    def state(self, loader: Any) -> Dict[str, Any]:
        """See DataLoader.state_dict."""
        if self.saved is not None:
            return dict(self.saved.state)
        if self.progress is None:
            self.waiting = iter(loader)
        assert self.progress is not None
        dataset = self._dataset_of_epoch(loader)
        return states.save(self.progress, loader, dataset)

    def load(self, loader: Any, state: Any) -> None:
        """See DataLoader.load_state_dict."""
        saved = None
        if is_stream(loader):  # natively, perhaps
            loader._feedline.decision.decide(loader)
        if not isinstance(state, dict) or state:
            saved = states.read(state, index_sampler_of(loader))
            states.check_dataset(_fingerprint(loader), state)
            if not is_stream(loader):
                saved.traced = self._traced(loader, saved)
            self.begun = saved.epoch + 1 if saved.finished else saved.epoch
        loader._iterator = None
        self.waiting = None
        self.progress = None
        self.saved = saved
        if saved is not None and self.on_load is not None:
            self.on_load(self.begun)

    def _dataset_of_epoch(self, loader: Any) -> Fingerprint:
        """The data set as it is in this epoch. To look it through takes
        milliseconds, and accelerate wants a state with every batch."""
        assert self.progress is not None
        known = self.progress.dataset
        if known is None or known.samples != _length(loader.dataset):
            known = self.progress.dataset = _fingerprint(loader)
        return known


@contextmanager
def _no_draw(loader: Any) -> Iterator[None]:
    """An iterator that is made inside leaves all generators alone: the workers
    that it stands for had drawn their seed before."""
    former, loader.generator = loader.generator, torch.Generator()
    try:
        yield
    finally:
        loader.generator = former


def _length(dataset: Any) -> Optional[int]:
    try:
        return len(dataset)
    except TypeError:
        return None


def _fingerprint(loader: Any) -> Fingerprint:
    dataset = loader.dataset
    fingerprint = None
    if not is_stream(loader):
        try:
            fingerprint = plan_of(dataset).fingerprint
        except NotNative:
            pass
    return Fingerprint(type(dataset).__name__, _length(dataset), fingerprint)
