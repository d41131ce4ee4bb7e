# SPDX-License-Identifier: Apache-2.0
"""The iterator over batches of a data set that is recorded.

Sampler, engine and order are those of any native iterator (iteration.py). Here
a batch is what the run has recorded for it, and becomes in next(): real images
and tensors in the samples, and what the collate_fn makes of those, in the
consumer's thread.

**Failures.** A sample that failed in the engine is made by the calls that were
recorded. Where that is an error, too, or it had failed in Python, it is made
once more by the data set, with the same random numbers and nothing deferred: it
raises its own error, or gives its own substitute.

**draws="torch"** lets one set of generators run on from sample to sample, and
batches are recorded ahead. Where it turns out late that a batch leaves the
generators elsewhere (a sample failed, a collate_fn drew), those behind it are
recorded anew from there; a collate_fn that has drawn once is waited for.
"""

from __future__ import annotations

import copy
import weakref
from array import array
from time import perf_counter
from typing import Any, Dict, List, Optional

from torch.utils.data.dataloader import default_collate, default_convert

import feedline

from .. import thread_draws
from . import _compat
from .arguments import DEPTH_MAX
from .collated import seed_of_batch
from .engine_pool import Lease
from .global_draws import same
from .iteration import NativeIterator
from .native import Plan
from .recorded_batch import Batch
from .recorded_draws import (
    ENGINE,
    KeptGenerators,
    SeededDraws,
    States,
    TorchDraws,
)
from .recorded_draws import number_of
from .recorded_helper_use import Use, work_of
from .recorded_helpers_child import said
from .recorded_leaves import with_zeros
from .recorded_run import Run
from .recorded_stack import MOST_CALLS, Stacked
from .sample_errors import failed
from .worker_info import as_worker, only_worker
from .working_copy import working_copy

# Batches that are made ahead of a tuned depth's, whatever memory they take.
AHEAD_AT_LEAST = 2


class Indices:
    """What a sampler gives, as batches of samples; see Samples."""

    def __init__(self, length: int, single: bool) -> None:
        self._length = length
        self._single = single
        self._seen: Dict[Any, int] = {}

    def of(self, index: Any) -> Optional[Batch]:
        """None where it is no list of indices."""
        try:
            indices = [index] if self._single else list(index)
        except TypeError:
            return None
        if not indices:
            return None
        return Batch(indices, [self._copy(i) for i in indices])

    def numbers(self, batch: Batch) -> "array[int]":
        """What errors and statistics of the engine call them."""
        length = self._length
        found = array("q")
        for index in map(number_of, batch.indices):
            known = type(index) is int and -length <= index < length
            found.append(index % length if known else 0)
        return found

    def note(self, index: Any) -> None:
        """Counts what an earlier run delivered."""
        several = isinstance(index, (list, tuple)) and not self._single
        for one in index if several else [index]:
            self._copy(one)

    def _copy(self, index: Any) -> int:
        index = number_of(index)
        try:
            copy = self._seen.get(index, 0)
            self._seen[index] = copy + 1
        except TypeError:  # not hashable
            return 0
        return copy


class RecordedIterator(NativeIterator):
    """Iterates over one epoch of batches of recorded samples."""

    _working: Any = None  # the data set of this epoch
    _draws: Any = None
    _follows = False  # batches begin where those before left generators
    _use: Any = None  # of helper processes
    _waited_s = 0.0  # for the last batch
    _calls_much = False  # its collate_fn calls torch more than MOST_CALLS times

    def _begin(self, loader: Any, plan: Plan) -> None:
        given = loader._feedline.given
        goes_on = self._working is not None and self._persistent_workers
        if not goes_on:
            self._working = self._dataset
            self._collate_fn = loader.collate_fn
            if self._num_workers > 0:
                # Together, as each may have the other or share its objects.
                both = [self._dataset, loader.collate_fn]
                self._working, self._collate_fn = working_copy(both, True)
            if self._use is not None:
                self._use.close()
                self._use = None
        self._decide_chains(plan.recorded.chains)
        self._by_torch = given.draws != ENGINE
        self._one_at_a_time = False
        self._info = None
        if self._num_workers > 0:
            self._info = only_worker(self._base_seed, self._working)
        self._draws = self._new_draws(
            given.seed, loader.worker_init_fn, goes_on
        )
        self._begin_helpers(loader, plan)
        super()._begin(loader, plan)
        self._fetcher = _compat.MapFetcher(
            self._working, self._auto_collation, self._collate_fn, False
        )

    def _decide_chains(self, chains: Any) -> None:
        """A resumed epoch draws as it did, whatever samples were tried now."""
        if self._progress.chains is not None:
            chains.decide(self._progress.chains)
        self._progress.chains = chains.decided()

    def _begin_helpers(self, loader: Any, plan: Plan) -> None:
        if self._use is None:
            work = work_of(
                loader,
                plan.recorded,
                self._working,
                self._collate_fn,
                self._base_seed,
            )
            self._use = Use(loader, plan.recorded, work)
            # Before engines are given back, which wait for the reading thread.
            ending = weakref.finalize(self, self._use.close)
            ending.atexit = False
        self._use.begin(self._draws.key)

    def _new_draws(self, seed: Optional[int], init: Any, goes_on: bool) -> Any:
        progress, known = self._progress, self._progress.draws
        kept = KeptGenerators(self._working)
        self._follows = self._by_torch or bool(kept)
        if not self._by_torch:
            key = progress.seed, progress.round
            if seed is not None:
                key = seed, progress.epoch
            seeded = SeededDraws(*key, kept)
            seeded.go_to(known)
            progress.draws = seeded.at()
            return seeded
        if known is None and goes_on:
            known = self._draws.at()
        draws = TorchDraws(progress.seed, kept)
        draws.go_to(known)
        if known is None and init is not None:
            with as_worker(self._info):
                draws.run(init, 0)
        progress.draws = draws.at()
        return draws

    def _new_samples(self, plan: Plan) -> Any:
        return Indices(len(plan.dataset), not self._auto_collation)

    # ---- Pulling indices ---------------------------------------------------

    def _put(self, index: Any) -> None:
        batch = self._samples.of(index)
        if batch is None:
            self._pending.append((None, index))
        elif self._one_at_a_time:
            self._pending.append((None, batch))
        else:
            self._pending.append((self._append_batch(batch), batch))

    def _append_batch(self, batch: Batch) -> Lease:
        numbers = self._samples.numbers(batch)
        if len(numbers) > self._capacity:
            self._enlarge(len(numbers))
        lease = self._leases[-1]
        lease.held.append(batch)
        lease.engine._append(numbers)
        return lease

    def _begin_engine(self, lease: Lease, position: int) -> None:
        recorded = self._settings.plan.recorded
        run = recorded.begin(
            self._working,
            self._draws,
            self._info,
            self._auto_collation,
            self._pin_memory,
            self._use.helpers,
        )
        usual = self._collate_fn is default_collate
        run.collated = not (usual and self._auto_collation)
        # What a former run's workers write to is let go behind begin().
        former, lease.held = lease.held, run
        lease.engine.begin(run.number, self._progress.seed, position)
        del former

    def _end_order(self) -> None:
        if not self._one_at_a_time:
            super()._end_order()

    def _fetch(self, index: Any) -> Any:
        if not isinstance(index, Batch):
            return super()._fetch(index)
        self._append_waiting()
        return self._next_data()

    def _append_waiting(self) -> None:
        """The oldest batch that the engine does not have yet."""
        for place, (lease, batch) in enumerate(self._pending):
            if lease is None and isinstance(batch, Batch):
                self._pending[place] = self._append_batch(batch), batch
                return

    # ---- Delivering batches ------------------------------------------------

    def _receive(self, engine: feedline.Loader) -> feedline.Batch:
        began = perf_counter()
        try:
            return super()._receive(engine)
        finally:
            self._waited_s = perf_counter() - began

    def _data_of(
        self, engine: feedline.Loader, batch: feedline.Batch, number: int
    ) -> Any:
        run: Run = self._leases[0].held
        made = run.take()
        self._use.delivered(len(made.indices), self._waited_s)
        self._depth_max = batches_in(engine.get("memory_budget"), made)
        try:
            data = self._collated_by_helper(run, made, batch)
            if data is None:
                data = self._collated(made, self._samples_of(run, made, batch))
                made.settle()
        finally:
            if self._follows:
                self._follow(made)
        if self._num_workers > 0:
            for tensor in made.marked:
                vars(tensor).clear()
        return self._handed_over(data)

    def _handed_over(self, data: Any) -> Any:
        """What the program gets: pinned, on its device, of its type."""
        finish = self._finish_fetched
        if finish.device:
            return finish(self._pinned(data))
        return self._pinned(finish(data) if finish else data)

    def _collated_by_helper(
        self, run: Run, made: Batch, batch: feedline.Batch
    ) -> Any:
        """None: the samples are there, to be collated here."""
        if made.made is None:
            return None
        try:
            if not failed(batch):
                data = made.made.collated(made)
                if data is not None:
                    return data
            made.made.load(made)
            return None
        except Exception as error:  # of a class that cannot be unpickled
            self._use.refuse(said(error))
        every = range(len(made.indices))
        if run.many is not None:
            return self._collated(made, run.all_truly(made))
        return self._collated(made, [run.truly(made, n) for n in every])

    def _samples_of(self, run: Run, made: Batch, batch: feedline.Batch) -> Any:
        """The samples of a batch, with real images."""
        every = range(len(made.indices))
        if not failed(batch):
            return [made.finished(place) for place in every]
        bad = [n for n, status in enumerate(batch.sample_status) if status < 0]
        run.guessed_wrong(sum(map(made.expects, bad)))
        bad = [n for n in bad if not made.made_as_recorded(n)]
        if not bad:
            return [made.finished(place) for place in every]
        if self._by_torch:
            with run.aside():
                return self._samples_replayed(run, made, bad[0])
        if not self._follows:
            return self._samples_again(run, made, bad)
        with run.aside():
            run.draws.go_to(self._progress.draws)
            return self._samples_again(run, made, bad)

    def _samples_again(self, run: Run, made: Batch, bad: List[int]) -> Any:
        """The samples of a batch, of which some have failed."""
        every = range(len(made.indices))
        if run.many is not None:
            return run.all_truly(made)
        if made.shares:
            bad = list(every)  # of which one may have the image of another
        samples = {n: made.finished(n) for n in every if n not in bad}
        fine = list(samples)
        for place in bad:
            try:
                samples[place] = run.truly(made, place)
            except Exception:
                instead = self._instead(made, place, fine)
                if instead is None:
                    raise
                samples[place] = made.samples[place] = instead
        return [samples[place] for place in every]

    def _samples_replayed(self, run: Run, made: Batch, bad: int) -> Any:
        """The samples of a batch, made truly from the first one that failed:
        that may have drawn otherwise than while it was recorded."""
        replay = run.replayed(self._progress.draws)
        try:
            if run.many is not None:
                return replay.all_truly(made)
            samples = [made.finished(place) for place in range(bad)]
            for place in range(bad):
                replay.skip(made, place)
            for place in range(bad, len(made.indices)):
                samples.append(replay.truly(made, place))
            return samples
        finally:
            made.truth = replay.draws.at()

    def _instead(self, made: Batch, place: int, fine: List[int]) -> Any:
        """What stands for a sample that cannot be made; None: its error."""
        on_error = self._settings.on_error
        if on_error == "raise" or not (fine or made.samples[place]):
            return None
        if on_error == "zero" and made.samples[place] is not None:
            return made.zeroed(place)
        if not fine:
            return None
        chosen = self._draws.seed_of(made.indices[place], 0) % len(fine)
        other = made.samples[fine[chosen]]
        return with_zeros(other) if on_error == "zero" else copy.deepcopy(other)

    # ---- The collate_fn ----------------------------------------------------

    def _collated(self, made: Batch, samples: Any) -> Any:
        collate = self._collate_fn
        if not self._auto_collation:
            return self._drawing(made, collate, samples[0])
        if collate is default_collate:
            return made.collated(samples)
        return self._drawing(made, collate, samples)

    def _drawing(self, made: Batch, collate: Any, samples: Any) -> Any:
        """collate(samples), with the draws of where torch would call it."""
        if collate is default_convert:  # which draws nothing
            return collate(samples)  # type: ignore[no-untyped-call]
        if self._calls_much:
            return self._drawn(made, collate, samples)
        made.stacked = Stacked(self._settings.plan.recorded.memory, made)
        try:
            with made.stacked:
                return self._drawn(made, collate, samples)
        finally:
            self._calls_much = made.stacked.calls > MOST_CALLS

    def _drawn(self, made: Batch, collate: Any, samples: Any) -> Any:
        if self._by_torch:
            draws = TorchDraws(0)
            draws.go_to(made.truth or made.after)
            try:
                return draws.run(collate, samples)
            finally:
                made.truth = draws.at()
        if self._num_workers == 0:
            return collate(samples)
        seed = seed_of_batch(self._progress.seed, self._progress.batches - 1)
        return thread_draws.run(collate, samples, lambda: seed)

    # ---- Draws of torch's --------------------------------------------------

    def _follow(self, made: Batch) -> None:
        """The next batch begins where this one has left the generators."""
        truth = made.truth or made.after
        self._progress.draws = truth
        if truth is not None and not same_states(truth, made.after):
            self._record_anew(truth)
        elif self._one_at_a_time:
            self._append_waiting()

    def _record_anew(self, states: States) -> None:
        """All batches that are pending, from these states on, one by one."""
        self._one_at_a_time = True
        self._draws = self._draws.again(states)
        for place, (_, batch) in enumerate(self._pending):
            if isinstance(batch, Batch):
                fresh = Batch(batch.indices, batch.copies)
                self._pending[place] = None, fresh
        while len(self._leases) > 1:
            self._leases.pop(0).give_back()
        if self._leases:
            self._begin_engine(self._leases[0], self._progress.samples)
        self._append_waiting()

    # ---- The end

    def _close(self) -> None:
        if self._use is not None and not self._persistent_workers:
            self._use.close()
        super()._close()

    # ---- Memory ------------------------------------------------------------

    _depth_max = DEPTH_MAX

    def _pull_several(self, ahead: int) -> None:
        # The tuner does not know what these batches take.
        most = max(self._at_once, self._depth_max)
        super()._pull_several(min(ahead, most))


def batches_in(budget: int, made: Batch) -> int:
    each = made.nbytes
    most = budget // each if each and budget else DEPTH_MAX
    return max(AHEAD_AT_LEAST, min(DEPTH_MAX, most))


def same_states(a: Optional[States], b: Optional[States]) -> bool:
    """Of generators, by name."""
    if a is b or a is None or b is None:
        return a is b
    return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
