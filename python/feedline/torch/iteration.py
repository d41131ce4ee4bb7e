# SPDX-License-Identifier: Apache-2.0
"""The native iterator: torch's protocol, the engine's batches.

It is one of torch's iterators to everybody who asks (`_BaseDataLoaderIter`).
With workers it pulls from the sampler exactly when those do: num_workers x
prefetch_factor batches of indices at iter() and one for each batch that is
delivered. With num_workers=0 torch pulls one in each next(); here the first
next() pulls as many as the engine prepares ahead. Samplers where nobody can
tell the difference (`batches_known_ahead`) are asked for several batches at a
time, one next() in AT_ONCE, so the others need neither the sampler nor the
engine's order; with num_workers=0 all others are pulled one at a time. What
is pulled goes to the engine as the next batch of an order that is given.

    pull index --> engine.append(samples)     pending: engine, engine, ...
    next()     --> engine.next() --> tensors that share the batch's memory

Such tensors are made together, too, of batches that are complete already. A
batch is delivered, counted and finished in its own next() all the same: until
then tensors are all that there is of it.

Two kinds of batches take another way, each at its own place in the order. One
that is larger than any before gets a larger engine, behind the batches that the
former one still has. One whose indices name no samples (out of range, another
type) is left to torch's own fetcher, which raises what it raises or loads it.
"""

from __future__ import annotations

import sys
import weakref
from array import array
from collections import deque
from functools import partial
from itertools import islice
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils.data.dataloader import default_collate, default_convert

import feedline

from .. import torch_ranges
from ..lifetime import Aside, interrupt_behind_finalizers
from ..python_op import in_callback
from ..worker_functions import function_named
from . import _compat
from ._compat import _BaseDataLoaderIter
from .arguments import DEPTH_MAX, engine_options, is_auto
from .collated import Collated, seed_of_batch, seeded
from .engine_pool import EnginePool, Lease, fitting_engine
from .handover import HOST, LABELS, TARGETS
from .handover import Finish, Into, PinnedMemory, Take, check_dtype
from .handover import current_stream, shared, shared_of, shared_views
from .handover import targets_of, to_device, views_pinned, views_to_device
from .mixing import recognised
from .moving import samples_of
from .native import Plan
from .order_trace import TracedSampler
from .outputs import of_batch
from .sample_errors import failed, mended, put
from .sampler_kinds import ALL, batches_known_ahead, repeats
from .state_dict import Progress
from .targets import moved

# Batches that may wait to be made (FEEDLINE_GIVEN_MAX in order.h).
GIVEN_MAX = 1024
# Images that a batch of the engine's may have (option batch_size).
BATCH_MAX = 65536
# Options about the pixels of a batch, which a recorded one does not have.
OF_PIXELS = ("device", "dtype", "layout")
# Batches that are pulled together, or whose tensors are made. After a pause in
# which the caches went cold the first takes some 100 us, most of which the ones
# behind it save.
AT_ONCE = 8
# Batches between two looks at a tuned depth, which changes rarely.
DEPTH_EVERY = 8


class CountedIterator(_BaseDataLoaderIter):
    """What native and torch's own iterators have in common here: the sampler is
    traced and what is delivered is counted, for the state of the loader.

    The base class sets `_index_sampler` and `_base_seed` in its constructor;
    they are properties, so that it gets the traced sampler and a resumed epoch
    the seed that it had.
    """

    _progress: Progress
    _saved_seed: Optional[int] = None

    @property
    def _index_sampler(self) -> TracedSampler:
        return self._progress.traced

    @_index_sampler.setter
    def _index_sampler(self, sampler: Any) -> None:
        pass  # it is in _progress already

    @property
    def _base_seed(self) -> int:
        return self._progress.seed

    @_base_seed.setter
    def _base_seed(self, seed: int) -> None:
        saved = self._saved_seed
        self._progress.seed = seed if saved is None else saved

    def _delivered(self) -> None:
        """The oldest pulled batch has reached the consumer, or its error."""
        pulled = self._progress.traced.pulled
        if pulled:
            self._progress.delivered(pulled.popleft())

    def __next__(self) -> Any:
        try:
            data = super().__next__()
        except StopIteration:
            self._progress.finished = True
            raise
        self._progress.yielded = self._num_yielded
        return data


class Samples:
    """Indices of the torch data set as samples of the engine's."""

    def __init__(self, plan: Plan, single: bool, may_repeat: bool) -> None:
        self.indices = plan.indices
        self.length = len(plan)
        self.single = single
        self.seen: Optional[Dict[int, int]] = {} if may_repeat else None

    def of(self, index: Any) -> Optional["array[int]"]:
        """The samples; None if some index is none, as a list would have it."""
        try:
            found = array("q", (index,) if self.single else index)
        except (TypeError, OverflowError):
            return None
        if not found:
            return None
        length = self.length
        lowest = min(found)
        if lowest < 0:
            found = array("q", [i + length if i < 0 else i for i in found])
        if lowest + length < 0 or max(found) >= length:
            return None
        if self.indices is not None:
            indices = self.indices
            found = array("q", [indices[i] for i in found])
        return found

    def note(self, index: Any) -> None:
        """Counts what an earlier run delivered."""
        if self.seen is None:
            return
        whole = self.single or not hasattr(index, "__len__")
        found = self.of(index if self.single or not whole else [index])
        if found is not None:
            self.copies(found)

    def copies(self, samples: "array[int]") -> Optional[List[int]]:
        """Which occurrence in this epoch each one is, from 0: so that a sample
        that comes again is drawn for again, whatever rank or worker."""
        seen = self.seen
        if seen is None:
            return None
        found = []
        for sample in samples:
            copy = seen.get(sample, 0)
            seen[sample] = copy + 1
            found.append(copy)
        return found if any(found) else None


# ---- The iterator ----------------------------------------------------------


class Settings:
    """What an iterator needs to know of its loader, and keeps when the loader
    changes or goes: how engines are made, and for how large batches."""

    def __init__(self, loader: Any, plan: Plan, looks_ahead: bool) -> None:
        mine = loader._feedline
        self.pool: EnginePool = mine.epochs.engines
        self.plan = plan
        self.on_error: str = mine.given.on_error
        self.seed: Optional[int] = mine.given.seed
        self.largest: Dict[str, int] = mine.epochs.largest_batch
        options = engine_options(loader, plan.options, 1, looks_ahead)
        if plan.recorded is not None:
            options = {k: v for k, v in options.items() if k not in OF_PIXELS}
            options["on_error"] = "zero"
        self.nhwc = options.get("layout") == "nhwc"
        self.on_host = options.get("device") in (None, "host")
        self.options = options
        self.known_size = known_batch_size(loader)
        if plan.recorded is None:
            check_dtype(options.get("dtype"), plan.options.get("dtype"))

    def borrow(self, at_least: int) -> Tuple[Lease, int]:
        """An engine for batches of so many samples, and how many it takes."""
        size = max(self.known_size, self.largest.get("samples", 0))
        plan = self.plan
        images = max(1, plan.views)
        if at_least > size:
            # Not one more engine for each batch that is one sample larger.
            size = max(at_least, min(BATCH_MAX // images, size + size // 2))
        self.largest["samples"] = size
        options = {**self.options, "batch_size": size * images}
        key = (
            id(plan.dataset),
            id(plan.pipeline),
            tuple(sorted((k, str(v)) for k, v in options.items())),
        )
        lease = self.pool.borrow(key, lambda: fitting_engine(plan, options))
        return lease, size


def known_batch_size(loader: Any) -> int:
    """The most samples of a batch, where loader or batch sampler say so."""
    if loader.batch_sampler is None:
        return 1
    for owner in (loader, loader.batch_sampler):
        size = getattr(owner, "batch_size", None)
        if isinstance(size, int) and size > 0:
            return min(size, _samples_of(loader.batch_sampler))
    return 1


def _samples_of(batch_sampler: Any) -> int:
    """The samples of an epoch; a large number where that is not known."""
    try:
        return max(1, len(batch_sampler.sampler))
    except (AttributeError, TypeError, NotImplementedError):
        return sys.maxsize


class NativeIterator(CountedIterator):
    """Iterates over one epoch of batches that the engine makes."""

    def __init__(
        self,
        loader: Any,
        plan: Plan,
        progress: Progress,
        saved_seed: Optional[int] = None,
    ) -> None:
        self._workers: List[Any] = []
        self._lists = False  # batches of a stream's own, see outputs.py
        self._pin_memory_thread = None
        self._leases: List[Lease] = []
        self._progress = progress
        self._saved_seed = saved_seed
        self._pending: Deque[Tuple[Optional[Lease], Any]] = deque()
        super().__init__(loader)
        self._finalizer = weakref.finalize(self, _forget, self._leases)
        self._finalizer.atexit = False
        if self._num_workers > 0:
            super()._reset(loader, True)
        self._begin(loader, plan)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """The next epoch of a loader with persistent workers."""
        self._close()
        super()._reset(loader, first_iter)
        self._begin(loader, loader._feedline.decision.plan_now(loader))

    def _begin(self, loader: Any, plan: Plan) -> None:
        if plan.stream is not None and not self._auto_collation:
            # It makes batches itself, as default_collate would.
            self._auto_collation, self._collate_fn = True, default_collate
            self._lists = True
        self._collate_fn = recognised(self._collate_fn)
        collate = self._collate_fn
        self._hander = function_named(
            collate.fn if isinstance(collate, Collated) else collate
        )
        sampler = self._progress.traced.sampler
        self._unnoticed = batches_known_ahead(sampler)
        self._known_ahead = self._unnoticed if self._num_workers == 0 else ALL
        self._settings = Settings(loader, plan, self._known_ahead > 0)
        # What a function makes of a batch is pinned behind it.
        mixed = plan.mix is not None
        made = isinstance(self._collate_fn, Collated) and not mixed
        self._second = TARGETS if mixed else LABELS
        self._pins = (
            self._pin_memory
            and not made
            and plan.moving is None
            and plan.recorded is None
            and self._settings.on_host
        )
        self._pinned_memory: Dict[Lease, PinnedMemory] = {}
        # Tensors of batches to come, the next ones that are pending, behind
        # their handles, which no other batch can have while those are alive.
        self._made: Deque[Tuple[int, Any, List[torch.Tensor]]] = deque()
        self._made_by: feedline.Loader
        # Images and labels are the batch, as they are.
        self._is_plain = plan.of_pairs and self._auto_collation and not made
        self.into: Optional[Into] = None  # set before the first batch
        # Known with the first batch: how they are taken, and their device.
        self._take: Optional[Take] = None
        self._device: Optional[str] = None
        self._finish_fetched = Finish(loader._feedline.given)
        self._samples = self._new_samples(plan)
        self._progress.traced.on_skip = self._samples.note
        self._fetcher = _compat.MapFetcher(
            self._dataset, self._auto_collation, self._collate_fn, False
        )
        self._capacity = 0
        self._depth = 0  # if tuned
        self._at_once = 0  # batches that torch would have pulled ahead
        self._exhausted = False
        self._tuned_depth = (
            self._num_workers == 0
            or is_auto(loader.num_workers)
            or is_auto(loader.prefetch_factor)
        )
        if self._num_workers > 0:
            at_once = loader.num_workers * loader.prefetch_factor
            self._at_once = min(GIVEN_MAX, at_once)
        if not self._progress.traced.waits:
            while len(self._pending) < self._at_once and self._pull():
                pass

    def _new_samples(self, plan: Plan) -> Any:
        sampler = self._progress.traced.sampler
        return Samples(
            plan, not self._auto_collation, plan.random and repeats(sampler)
        )

    # ---- Pulling indices --------------------------------------------------

    def _pull(self) -> bool:
        """Takes one batch of indices from the sampler; False at its end."""
        if self._exhausted:
            return False
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            self._exhausted = True
            self._end_order()
            return False
        self._put(index)
        return True

    def _end_order(self) -> None:
        if self._leases:
            self._leases[-1].engine.end()

    def _put(self, index: Any) -> None:
        """What the sampler gave, as the next batch."""
        samples = self._samples.of(index)
        if samples is None:
            self._pending.append((None, index))
        else:
            self._append(samples)

    def _append(self, samples: "array[int]") -> None:
        if len(samples) > self._capacity:
            self._enlarge(len(samples))
        lease = self._leases[-1]
        copies = self._samples.copies(samples)
        if copies is None:
            lease.engine._append(samples)
        else:
            lease.engine.append(samples, copies)
        self._pending.append((lease, None))

    def _enlarge(self, count: int) -> None:
        """An engine for batches of `count` samples takes over from here."""
        if self._leases:
            self._leases[-1].engine.end()
        lease, self._capacity = self._settings.borrow(count)
        self._leases.append(lease)
        progress = self._progress
        waiting = sum(p.samples for p in list(progress.traced.pulled)[:-1])
        self._begin_engine(lease, progress.samples + waiting)
        if self._pins and self._settings.plan.views == 0:
            self._pinned_memory[lease] = PinnedMemory(lease.engine)

    def _begin_engine(self, lease: Lease, position: int) -> None:
        progress = self._progress
        seed, epoch = progress.seed, progress.round
        if self._settings.seed is not None:
            seed, epoch = self._settings.seed, progress.epoch
        lease.engine.begin(epoch, seed, position)

    def _pull_ahead(self) -> None:
        """As many as torch would have ahead, or a tuned depth."""
        if self._tuned_depth and self._leases:
            if self._depth == 0 or self._progress.batches % DEPTH_EVERY == 0:
                depth = self._leases[-1].engine._depth()
                self._depth = min(depth, DEPTH_MAX)
        ahead = max(self._at_once, self._depth)
        if len(self._pending) < ahead:
            self._pull_several(ahead)

    def _pull_several(self, ahead: int) -> None:
        """Up to `ahead`, and some more where nobody notices."""
        enough = min(GIVEN_MAX, ahead + AT_ONCE - 1)
        while len(self._pending) < enough:
            short = len(self._pending) < ahead
            last = self._known_ahead if short else self._unnoticed
            if self._pulls() >= last or not self._pull():
                break

    def _pulls(self) -> int:
        """Batches of this epoch that were pulled, and delivered or not."""
        return self._progress.batches + len(self._progress.traced.pulled)

    # ---- Delivering batches -----------------------------------------------

    def __next__(self) -> Any:
        if torch_ranges.flags[torch_ranges.FLAG] and torch_ranges.active():
            return super().__next__()  # the base class has a range of its own
        # Without a profiler that range is the larger part of what is left.
        progress = self._progress
        try:
            data = self._next_made() if self._made else None
            if data is None:
                data = self._next_data()
        except StopIteration:
            progress.finished = True
            raise
        progress.yielded = self._num_yielded = self._num_yielded + 1
        return data

    def _next_data(self) -> Any:
        if not self._pending and not self._exhausted:
            if self._pull():
                self._pull_ahead()
        if not self._pending:
            self._close()
            raise StopIteration
        lease, index = self._pending[0]
        if lease is None:
            return self._fetch(index)
        engine = lease.engine
        try:
            batch = self._receive(engine)
        except feedline.DeviceError:
            lease.spoil()
            raise
        number = self._progress.batches
        self._pending.popleft()
        self._delivered()
        if lease is not self._leases[0]:
            former = self._leases.pop(0)
            former.give_back()
            self._pinned_memory.pop(former, None)
        try:
            self._pull_ahead()
            return self._data_of(engine, batch, number)
        except feedline.DeviceError:
            lease.spoil()
            raise
        finally:
            batch.release()
            engine._recycle(batch)
            if not self._is_plain:
                engine._handed_over(self._hander)
            if self._exhausted and not self._pending:
                # Who knows the length never asks for the end, and would begin
                # the next epoch while this one still has its engine.
                self._close()

    def _data_of(
        self, engine: feedline.Loader, batch: feedline.Batch, number: int
    ) -> Any:
        """What the program gets of a batch that was delivered."""
        data = self._made_of(batch)
        if data is None:
            if self._may_miss(engine) and failed(batch):
                return self._mended(engine, batch, number)
            data = self._hand_over(batch)
            self._make_ahead(engine)
        return data if self._is_plain else self._finished(data, number, batch)

    def _next_made(self) -> Optional[List[torch.Tensor]]:
        """The next batch, if its tensors are all of it. With few functions on
        the way: behind a pause each takes 5 us."""
        _, delivery, data = self._made[0]
        if not self._is_plain or not self._made_by._deliver(delivery):
            return None
        self._made.popleft()
        self._pending.popleft()
        progress = self._progress
        progress.delivered(progress.traced.pulled.popleft())
        if self._tuned_depth or len(self._pending) < self._at_once:
            self._pull_ahead()
        if self._exhausted and not self._pending:
            self._close()
        return data

    def _made_of(self, batch: feedline.Batch) -> Optional[List[torch.Tensor]]:
        """The tensors of a batch that was delivered, if they exist."""
        if self._made and self._made[0][0] == batch.handle:
            return self._made.popleft()[2]
        self._made.clear()
        return None

    def _hand_over(self, batch: feedline.Batch) -> List[torch.Tensor]:
        """Images [N, C, H, W] and labels."""
        take = self._take or self._way_of(batch)
        if torch_ranges.active():
            with torch_ranges.span(torch_ranges.HAND_OVER):
                data = take(batch)
        else:
            data = take(batch)
        if self._second == TARGETS:
            data[1] = targets_of(batch, self._pins)
        return self._as_nchw(data)

    def _may_miss(self, engine: feedline.Loader) -> bool:
        """Whether a batch may miss samples that the data set has to make."""
        return self._settings.on_error == "raise" and engine._has_failures()

    def _make_ahead(self, engine: feedline.Loader) -> None:
        """Tensors of the next batches, as far as those are complete."""
        # Tensors of inference mode cannot be trained with, and a profiler shows
        # what each next() does.
        if (
            self._take is not shared
            or torch.is_inference_mode_enabled()
            or torch_ranges.active()
        ):
            return
        self._made_by = engine
        for ahead, (lease, _) in enumerate(islice(self._pending, AT_ONCE)):
            if lease is None or lease.engine is not engine:
                break
            handle = engine._peek(ahead)
            # In this order: who is complete has reported what it misses.
            if handle is None or self._may_miss(engine):
                break
            made = self._as_nchw(shared_of(handle, self._second))
            self._made.append((handle, engine._delivery(handle), made))

    def _as_nchw(self, data: List[Any]) -> List[Any]:
        if self._settings.nhwc and self._settings.plan.views > 0:
            data[0] = [view.permute(0, 3, 1, 2) for view in data[0]]
        elif self._settings.nhwc:
            data[0] = data[0].permute(0, 3, 1, 2)
        return data

    def _way_of(self, batch: feedline.Batch) -> Take:
        """For this one and all that follow."""
        take: Take
        moving = self._settings.plan.moving
        if moving is not None:
            take = partial(samples_of, moving=moving[0], pair=moving[1])
            self._take = take
            return take
        views = self._settings.plan.views > 0
        take = shared_views if views else shared
        if batch.device != HOST:
            self._device = batch.device
            take = views_to_device if views else to_device
        elif self._pins:
            take = views_pinned if views else self._from_pinned
        if self.into is not None and self._is_plain and not self._pins:
            take = self.into.instead_of(take, self._settings.nhwc)
        self._take = take
        return take

    def _from_pinned(self, batch: feedline.Batch) -> List[torch.Tensor]:
        return self._pinned_memory[self._leases[0]].tensors(batch)

    def _mended(
        self, engine: feedline.Loader, batch: feedline.Batch, number: int
    ) -> Any:
        """A batch that misses samples: the data set makes those, or raises."""
        seed = seed_of_batch(self._progress.seed, number)
        with seeded(seed):
            made = mended(engine, batch, self._image_of)
        if self._second == TARGETS:  # zeros were mixed into other images
            return self._mixed_by_torch(batch.sample_index, seed)
        data = self._hand_over(batch)
        views = self._settings.plan.views
        for place, image, error in made:
            sample = batch.sample_index[place]
            position = partial(self._position_of, sample)
            if self._settings.plan.moving is not None:
                data[place] = image
            elif views == 0:
                put(image, data[0][place], error, position)
            elif place % views == 0:
                for view, one in zip(data[0], image):
                    put(one, view[place // views], error, position)
        return self._finished(data, number, batch, [m[0] for m in made])

    def _mixed_by_torch(self, samples: List[int], seed: int) -> Any:
        positions = [self._position_of(sample) for sample in samples]
        with seeded(seed):
            data = self._fetcher.fetch(positions)
        finish = self._finish_fetched
        return finish(data) if finish else self._pinned(data)

    def _position_of(self, sample: int) -> int:
        """Of a sample of the engine's in the data set."""
        indices = self._samples.indices
        return sample if indices is None else indices.index(sample)

    def _image_of(self, sample: int) -> Any:
        """What the data set makes of a sample of the engine's."""
        position = self._position_of(sample)
        plan = self._settings.plan
        if plan.stream is not None:
            return plan.stream.image(plan.dataset, position)
        made = self._dataset[position]
        if plan.moving is not None:
            return made
        if plan.output is not None:
            return made[plan.output.index("image")]
        return made[0 if plan.keys is None else plan.keys[0]]

    def _receive(self, engine: feedline.Loader) -> feedline.Batch:
        timeout = self._timeout if self._timeout > 0 else None
        if engine._gpu is not None:
            engine.set_stream(current_stream(engine._gpu))
        try:
            batch = engine.next(timeout)
        except feedline.Timeout as error:
            raise RuntimeError(
                "DataLoader timed out after %s seconds" % self._timeout
            ) from error
        assert batch is not None
        return batch

    def _fetch(self, index: Any) -> Any:
        """What the data set itself makes of these indices, or raises."""
        self._pending.popleft()
        self._delivered()
        self._pull_ahead()
        finish = self._finish_fetched
        finish.device = self._device or finish.device
        data = self._fetcher.fetch(index)
        if finish:
            data = finish(data)
        return data if finish.device else self._pinned(data)

    def _pinned(self, data: Any) -> Any:
        """What is in host memory, if the program wants that pinned."""
        if self._pin_memory and self._device is None:
            data = _compat.pin_memory(data, self._pin_memory_device)
        return data

    def _finished(
        self,
        data: List[Any],
        number: int,
        batch: feedline.Batch,
        missed: Sequence[int] = (),
    ) -> Any:
        """Images and labels in the form that the collate_fn gives them."""
        collate = self._collate_fn
        # Without workers torch draws from the global generators, as here.
        seed = None
        if self._num_workers > 0:
            seed = seed_of_batch(self._progress.seed, number)
        if self._settings.plan.moving is not None:
            return self._arranged(data, seed)
        if self._settings.plan.targets is not None:
            step = max(1, self._settings.plan.views)
            data[1] = self._targets_of(batch.sample_index[::step], seed)
        plan = self._settings.plan
        if plan.output is not None:
            made = of_batch(
                plan.output, data, batch, missed, plan.dataset, self._lists
            )
            return self._pinned(made) if self._pins else made
        if self._settings.plan.keys is not None:
            return dict(zip(self._settings.plan.keys, data))
        if plan.mix is not None:
            return tuple(data)
        if not self._auto_collation:
            return [data[0][0], self._single_label(data[1])]
        if not isinstance(collate, Collated):
            return data
        return self._pinned(collate.of_batch(data, seed))

    def _arranged(self, samples: List[Any], seed: Optional[int]) -> Any:
        """What the collate_fn makes of samples whose targets moved."""
        collate = self._collate_fn
        collate = collate.fn if isinstance(collate, Collated) else collate
        if seed is None:
            return self._pinned(collate(samples))
        with seeded(seed):
            return self._pinned(collate(samples))

    def _targets_of(self, positions: List[int], seed: Optional[int]) -> Any:
        """The labels of a batch that the engine has by their positions."""
        targets = self._settings.plan.targets
        assert targets is not None
        collate = self._collate_fn
        each = isinstance(collate, Collated) and collate.samples
        if self._auto_collation and not each and targets.column is not None:
            rows = targets.column.index_select(0, torch.tensor(positions))
            return self._placed(rows)
        values: Any  # a tuple, whose text default_collate leaves one
        if targets.transform is None or seed is None:
            values = targets.of(positions)
        else:
            with seeded(seed):
                values = targets.of(positions)
        if not self._auto_collation:
            return values[0]
        return values if each else self._placed(default_collate(values))

    def _placed(self, labels: Any) -> Any:
        """Collated labels where the images are."""
        if self._device is not None:
            return moved(labels, self._device)
        made = isinstance(self._collate_fn, Collated)
        return labels if made else self._pinned(labels)

    def _single_label(self, label: Any) -> Any:
        """Of a sample that is in no batch."""
        if self._settings.plan.targets is None:
            return int(label)
        return default_convert(label)

    # ---- The end ----------------------------------------------------------

    def _close(self) -> None:
        """Gives the engines back; work under way ends."""
        self._pending.clear()
        self._made.clear()
        _give_back(self._leases)
        self._pinned_memory.clear()


def _give_back(leases: List[Lease]) -> None:
    while leases:
        try:
            lease = leases.pop()
        except IndexError:  # another thread was faster
            return
        lease.give_back()


def _forget(leases: List[Lease]) -> None:
    """Of an iterator that nobody has any more. The garbage collector may run on
    one of the engine's threads, which cannot wait for itself."""
    if in_callback():
        Aside(lambda: _give_back(leases))
        return
    try:
        _give_back(leases)
    except KeyboardInterrupt:
        interrupt_behind_finalizers()
