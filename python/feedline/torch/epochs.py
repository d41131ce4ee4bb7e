# SPDX-License-Identifier: Apache-2.0
"""The epochs of a DataLoader: begun, resumed, and where the current one stands.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Any, Dict, Iterator, Optional, Union

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

import feedline

from ..meter import Meter
from . import dataset_states, state_dict as states, torch_iterators
from .arguments import AutoInt, is_auto
from .engine_pool import EnginePool
from .iteration import NativeIterator
from .native import Plan, plan as plan_of
from .not_native import NotNative
from .order_trace import TracedSampler, global_state
from .state_dict import Fingerprint, Progress, Saved


class Epochs:
    """Of one loader, which is an argument of each method.

    engines: that its iterators borrow. largest_batch: samples of the largest
    one so far. progress: of the iterator that was made last. saved: a state
    that the next iterator begins from. waiting: an iterator that was made for
    its state, and is the next iter()'s. meter: counts what torch loads.
    by_torch: it made the last iterator.
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

    def next_round(self, iterator: Any) -> None:
        """A persistent iterator keeps its seed; its rounds are numbered."""
        former = iterator._progress
        former.traced.forget()
        self.progress = iterator._progress = Progress(
            former.traced,
            epoch=self.begun,
            round=former.round + 1,
            seed=former.seed,
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
        if plan is not None or loader.num_workers == 0:
            dataset_states.load_dataset(loader.dataset, saved.state)
        if saved.finished:
            return self._begin_behind(loader, plan, saved)
        if loader._dataset_kind == _DatasetKind.Iterable:
            return self._resume_stream(loader, saved)
        with global_state(torch.get_rng_state()):
            return self._resume(loader, plan, saved)

    def _begin(self, loader: Any, plan: Optional[Plan]) -> _BaseDataLoaderIter:
        """A new epoch."""
        traced = TracedSampler(loader._index_sampler, loader)
        progress = Progress(traced, epoch=self.begun)
        return self._make(loader, plan, progress, None)

    def _begin_behind(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The epoch behind a finished one, as if that had been made here."""
        states.apply_finished(saved, loader)
        coming = saved.next
        if coming is None or saved.loaded.seeded_since():
            return self._begin(loader, plan)
        traced = TracedSampler(loader._index_sampler, loader)
        traced.sampler_seed = coming.sampler_seed
        progress = Progress(traced, epoch=self.begun, round=coming.round)
        with _no_draw(loader) if coming.round else nullcontext():
            return self._make(loader, plan, progress, coming.seed)

    def _resume(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The rest of an epoch, which draws nothing from torch's global
        generator: what it needs was drawn when the epoch began."""
        traced = TracedSampler(loader._index_sampler, loader, saved.resume)
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        progress.yielded = saved.yielded
        progress.batches = saved.batches
        progress.samples = saved.samples
        iterator = self._make(loader, plan, progress, saved.seed)
        iterator._num_yielded = saved.yielded
        return iterator

    def _resume_stream(self, loader: Any, saved: Saved) -> _BaseDataLoaderIter:
        """By a state of its own, which may be that of a generator; or by
        reading past what was delivered."""
        traced = TracedSampler(loader._index_sampler, loader)
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        with global_state(torch.get_rng_state()):
            iterator = self._make(loader, None, progress, saved.seed)
        if dataset_states.load_iterator(progress.fetcher, saved.state):
            iterator._num_yielded = progress.yielded = saved.yielded
            progress.batches = saved.batches
            return iterator
        with global_state(torch.get_rng_state()):
            for _ in range(saved.batches):
                next(iterator, None)
        return iterator

    def _make(
        self,
        loader: Any,
        plan: Optional[Plan],
        progress: Progress,
        saved_seed: Optional[int],
    ) -> _BaseDataLoaderIter:
        self.begun = progress.epoch + 1
        progress.in_workers = plan is None and loader.num_workers > 0
        iterator: _BaseDataLoaderIter
        if plan is not None:
            iterator = NativeIterator(loader, plan, progress, saved_seed)
            self._show_tuned(loader)
        else:
            loader.check_worker_number_rationality()
            meter = self._meter_of(loader)
            iterator = torch_iterators.make(loader, progress, meter, saved_seed)
        self.by_torch = plan is None
        self.progress = progress
        return iterator

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
        if not isinstance(state, dict) or state:
            saved = states.read(state, loader._index_sampler)
            states.check_dataset(_fingerprint(loader), state)
            states.apply_epoch(saved, loader._index_sampler)
            self.begun = saved.epoch + 1 if saved.finished else saved.epoch
        loader._iterator = None
        self.waiting = None
        self.progress = None
        self.saved = saved

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
    if loader._dataset_kind == _DatasetKind.Map:
        try:
            fingerprint = plan_of(dataset).fingerprint
        except NotNative:
            pass
    return Fingerprint(type(dataset).__name__, _length(dataset), fingerprint)
