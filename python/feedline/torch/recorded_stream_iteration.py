# SPDX-License-Identifier: Apache-2.0
"""The iterator over batches of a stream that is recorded.

As that over recorded samples, and where a stream is another matter: it says
itself when it ends, and cannot make a sample again. What is found out late (a
damaged image, draws of a collate_fn) makes it begin again, behind what was
delivered (recorded_stream.py).

**Damaged images.** The program sees the error of such a file when it asks for
pixels, and may go on with another one. So once Pillow cannot decode it either,
the stream begins again and opens that file for real. An image that was opened
in an earlier batch, in a shuffle buffer, may have changed what was delivered
since then: that is said in a warning. Behind a few such images the stream makes
all its pixels in Python, until the epoch ends.
"""

from __future__ import annotations

import warnings
from array import array
from typing import Any, Dict, List, Mapping, Optional, Set

from torch.utils.data.dataloader import default_collate, default_convert

import feedline

from ..deferred import key_of
from . import state_dict as saved_states
from .engine_pool import Lease
from .iteration import GIVEN_MAX, CountedIterator
from .native import Plan
from .recorded_batch import Batch
from .recorded_draws import States, TorchDraws
from .recorded_iteration import RecordedIterator, batches_in, same_states
from .recorded_stream import Begin, StreamBatch, StreamRun, StreamSet
from .recorded_stream import carried, keys_of_failed
from .recorded_proof import UNKNOWN_LENGTH
from .sample_errors import failed
from .sampler_kinds import is_stateful, load_state
from .stream_copy import stream_copy
from .worker_info import only_worker

# Times that a stream begins again in an epoch for damaged images.
MOST_AGAIN = 4


class StreamIterator(RecordedIterator):
    """Iterates over one epoch of batches of a recorded stream."""

    _run: Optional[StreamRun] = None

    # ---- Its begin ---------------------------------------------------------

    def _begin(self, loader: Any, plan: Plan) -> None:
        self._owner: StreamSet = plan.recorded
        if self._run is not None:
            self._run.stop()
        self._size = loader.batch_size or 1
        self._drop_last = bool(loader.drop_last)
        self._jumps: Dict[int, States] = {}
        self._failed: Optional[Set[int]] = set()
        self._again = 0
        self._real_from: Optional[int] = None
        self._ended = False
        self._discarded = 0
        # A stream that changes the program's own object is not read ahead.
        in_process = loader.num_workers == 0
        self._by_itself = in_process and bool(self._owner.changes)
        super()._begin(loader, plan)

    def _begin_samples(self) -> None:
        """Before the first batch is pulled."""
        progress = self._progress
        if self._num_workers > 0 and self._working is self._dataset:
            self._working = stream_copy(self._dataset)
        self._pristine = stream_copy(self._working)
        self._at_first = self._draws.at()
        resumed = progress.resumed or {}
        self._owner.damaged.update(progress.damaged)
        progress.damaged = sorted(self._owner.damaged)
        self._real_from = progress.real_from
        self._skip = 0
        self._load: Optional[_Loading] = None
        if progress.batches:
            self._failed = None  # of another iterator
        self._position = 0
        if _saves_itself(resumed, self._working):
            self._load_own(resumed)
        elif self._by_torch and self._draws_itself():
            self._discarded = progress.batches
            progress.batches = progress.samples = 0
        else:
            self._skip = progress.batches

    def _load_own(self, state: Mapping[str, Any]) -> None:
        own = state.get(saved_states.DATASET)
        if self._num_workers > 0 and own is not None:
            load_state(self._working, own)
            self._pristine = stream_copy(self._working)
        self._load = _Loading(state)
        self._position = self._progress.batches * self._size
        names = saved_states.DATASET, saved_states.FETCHER
        self._progress.own_states = {name: state.get(name) for name in names}

    def _draws_itself(self) -> bool:
        """Whether the collate_fn may draw."""
        usual = default_collate, default_convert
        return not any(self._collate_fn is one for one in usual)

    def _new_samples(self, plan: Plan) -> Any:
        self._begin_samples()
        return _Nothing()

    def _begin_engine(self, lease: Lease, position: int) -> None:
        self._begin_run(lease, self._working, self._draws, self._skip)

    def _begin_run(
        self, lease: Lease, dataset: Any, draws: Any, skip: int
    ) -> None:
        info = self._info and only_worker(self._base_seed, dataset)
        begin = Begin(
            dataset=dataset,
            draws=draws,
            info=info,
            size=self._size,
            skip=skip,
            failed=self._failed,
            jumps=self._jumps,
            position=self._position,
            load=self._load,
            real_from=self._real_from,
            pin=self._pin_memory,
        )
        run = self._owner.begin_stream(begin)
        run.collated = self._collate_fn is not default_collate
        # What a former run's workers write to is let go behind begin().
        former, lease.held, self._run = lease.held, run, run
        seed, samples = self._progress.seed, self._progress.samples
        lease.engine.begin(run.number, seed, samples)
        del former

    def _from_anew(self) -> None:
        """Begins again, behind the batches that were delivered."""
        assert self._run is not None
        self._run.stop()
        self._working = stream_copy(self._pristine)
        if self._by_torch:
            draws = TorchDraws(self._progress.seed)
            draws.go_to(self._at_first)
            self._draws = draws
        for place in range(len(self._pending)):
            self._pending[place] = None, StreamBatch(self._size)
        skip = self._progress.batches - self._not_skipped
        self._begin_run(self._leases[0], self._working, self._draws, skip)
        if self._one_at_a_time:
            return
        for place, (_, batch) in enumerate(self._pending):
            self._pending[place] = self._append_batch(batch), batch

    @property
    def _not_skipped(self) -> int:
        """Batches that are behind us, and that this stream never gave."""
        return self._position // self._size

    # ---- Pulling -----------------------------------------------------------

    def _put(self, index: Any) -> None:
        batch = StreamBatch(self._size)
        lease = None if self._one_at_a_time else self._append_batch(batch)
        self._pending.append((lease, batch))

    def _append_batch(self, batch: Batch) -> Lease:
        if not self._leases:
            self._enlarge(self._size)
        lease = self._leases[-1]
        lease.held.append(batch)
        first = self._progress.samples
        lease.engine._append(_numbers(first, self._size))
        return lease

    def _pull_several(self, ahead: int) -> None:
        most = max(self._at_once, self._depth_max)
        enough = min(GIVEN_MAX, ahead, most)
        if self._by_itself:
            enough = 0
        run = self._run
        while len(self._pending) < enough and not (run and run.ended):
            self._pull()

    # ---- Delivering --------------------------------------------------------

    def __next__(self) -> Any:
        return CountedIterator.__next__(self)

    def _next_data(self) -> Any:
        while self._discarded > 0:
            self._discarded -= 1
            try:
                self._next_batch()
            except StopIteration:
                raise
            except Exception:  # as when it was delivered
                pass
        return self._next_batch()

    def _next_batch(self) -> Any:
        if self._ended:
            raise StopIteration
        if not self._pending:
            self._pull()
        self._pull_ahead()
        made = self._receive_made()
        if made.error is None and not self._has_samples(made):
            self._end(made)
            raise StopIteration
        self._pending.popleft()
        self._delivered()
        self._progress.own_states = made.states
        self._depth_max = batches_in(
            self._leases[0].engine.get("memory_budget"), made
        )
        self._pull_ahead()
        try:
            if made.error is not None:
                if self._failed is not None:
                    self._failed.add(self._progress.batches - 1)
                raise made.error
            every = range(len(made.samples))
            data = self._collated(made, [made.finished(n) for n in every])
            made.settle()
        finally:
            if self._by_torch:
                self._follow(made)
        return self._handed_over(data)

    def _has_samples(self, made: StreamBatch) -> bool:
        count = len(made.samples)
        return count == self._size or bool(count and not self._drop_last)

    def _end(self, made: StreamBatch) -> None:
        self._ended = True
        if self._by_torch:
            self._progress.draws = self._draws.at()
        self._close()

    def _receive_made(self) -> StreamBatch:
        """The oldest batch, with all its pixels."""
        while True:
            lease, batch = self._pending[0]
            if lease is None:
                lease = self._append_batch(batch)
                self._pending[0] = lease, batch
            delivered = self._receive(lease.engine)
            try:
                made: StreamBatch = lease.held.take()
                bad: List[int] = []
                if failed(delivered):
                    statuses = enumerate(delivered.sample_status)
                    bad = [n for n, status in statuses if status < 0]
                keys = self._keys_of(made, bad)
            finally:
                delivered.release()
                lease.engine._recycle(delivered)
            if not keys:
                return made
            self._from_anew()

    # ---- Damaged images ----------------------------------------------------

    def _keys_of(self, made: StreamBatch, bad: List[int]) -> List[str]:
        """Of images for which the stream has to begin again."""
        keys, early = list(map(key_of, made.damaged)), False
        for place in bad:
            found = keys_of_failed(made, place)
            if found and self._stands(made, place, bad):
                continue
            keys += found
            early = early or bool(found and carried(made, place))
        if not keys:
            return []
        if not self._owner.repeatable:
            made.error = made.error or feedline.DecodeError(
                "an image of the stream cannot be decoded (%s), and the stream "
                "is another one each time that it begins, so the error cannot "
                "be raised inside of it" % ", ".join(keys)
            )
            return []
        self._note_damaged(made, keys, early)
        return keys

    def _stands(self, made: StreamBatch, place: int, bad: List[int]) -> bool:
        """Whether something else stands for the sample, as on_error says."""
        if self._by_torch:
            return False
        fine = [n for n in range(len(made.samples)) if n not in bad]
        for n in fine:
            made.samples[n], made.leaves[n] = made.finished(n), []
        instead = self._instead(made, place, fine)
        if instead is None:
            return False
        made.samples[place], made.leaves[place] = instead, []
        return True

    def _note_damaged(
        self, made: StreamBatch, keys: List[str], early: bool
    ) -> None:
        self._again += 1
        known = self._owner.damaged
        known.update(keys)
        self._progress.damaged = sorted(known)
        if early:
            warnings.warn(
                "an image that the stream had opened before it gave it cannot "
                "be decoded (%s): where it opened that, torch would have seen "
                "the error, and batches since then may be others"
                % ", ".join(keys),
                feedline.EngineWarning,
                stacklevel=6,
            )
        if self._again > MOST_AGAIN and self._real_from is None:
            self._real_from = self._progress.real_from = made.first + 1

    # ---- Draws of torch's --------------------------------------------------

    def _follow(self, made: Batch) -> None:
        """The stream goes on where this batch has left the generators."""
        truth = made.truth or made.after
        own = self._progress.own_states
        if own is not None:
            self._progress.draws = truth
        if truth is None or same_states(truth, made.after):
            return
        self._jumps[self._progress.batches - 1 - self._not_skipped] = truth
        if self._one_at_a_time:
            self._draws.go_to(truth)
            return
        self._one_at_a_time = True
        if self._leases:
            self._from_anew()


class _Nothing:
    """In place of the samples of an order."""

    def note(self, index: Any) -> None:
        pass


class _Loading:
    """Gives the iterator of a stream the state that it had saved."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        saved = state.get(saved_states.FETCHER) or {}
        self._state = saved.get(saved_states.ITERATOR)
        self.ended = bool(saved.get(saved_states.ENDED))

    def __call__(self, iterator: Any) -> None:
        if self._state is not None:
            load_state(iterator, self._state)


def _saves_itself(state: Mapping[str, Any], dataset: Any) -> bool:
    """Whether a stream goes on by a state of its own."""
    if state.get(saved_states.DATASET) is not None and is_stateful(dataset):
        return True
    return _Loading(state)._state is not None


def _numbers(first: int, count: int) -> "array[int]":
    """What errors and statistics of the engine call the samples."""
    return array("q", [(first + n) % UNKNOWN_LENGTH for n in range(count)])
