# SPDX-License-Identifier: Apache-2.0
"""The epochs of a DataLoader: begun, resumed, and where the current one stands.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from . import state_dict as states, torch_iterators
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
    its state, and is the next iter()'s.
    """

    def __init__(self) -> None:
        self.engines = EnginePool()
        self.largest_batch: Dict[str, int] = {}
        self.begun = 0
        self.progress: Optional[Progress] = None
        self.saved: Optional[Saved] = None
        self.waiting: Optional[_BaseDataLoaderIter] = None

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
        if saved is not None and saved.finished:
            states.apply_finished(saved, loader)
            saved = None
        if saved is None:
            return self._begin(loader, plan)
        with global_state(torch.get_rng_state()):
            return self._resume(loader, plan, saved)

    def _begin(self, loader: Any, plan: Optional[Plan]) -> _BaseDataLoaderIter:
        """A new epoch."""
        traced = TracedSampler(loader._index_sampler, loader)
        progress = Progress(traced, epoch=self.begun)
        return self._make(loader, plan, progress, None)

    def _resume(
        self, loader: Any, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The rest of an epoch, which draws nothing from torch's global
        generator: what it needs was drawn when the epoch began."""
        iterable = loader._dataset_kind == _DatasetKind.Iterable
        traced = TracedSampler(
            loader._index_sampler, loader, None if iterable else saved.resume
        )
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        if not iterable:
            progress.yielded = saved.yielded
            progress.batches = saved.batches
            progress.samples = saved.samples
        iterator = self._make(loader, plan, progress, saved.seed)
        if iterable:
            for _ in range(saved.batches):  # there is no other way
                next(iterator, None)
        else:
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
        iterator: _BaseDataLoaderIter
        if plan is not None:
            iterator = NativeIterator(loader, plan, progress, saved_seed)
            self._show_tuned(loader)
        else:
            loader.check_worker_number_rationality()
            iterator = torch_iterators.make(loader, progress, saved_seed)
        self.progress = progress
        return iterator

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
        return states.save(self.progress, self._dataset_of_epoch(loader))

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
