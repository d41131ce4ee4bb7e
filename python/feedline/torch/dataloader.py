# SPDX-License-Identifier: Apache-2.0
"""DataLoader: torch's, with this engine behind it where it can be.

    from feedline.torch import DataLoader      # the one import that changes

It takes every argument of torch's DataLoader and judges it as torch does. At
each iter() it looks whether the engine can make the very batches that torch
would make, from data set, transforms and arguments as they are then:

    native      data set and transforms are recognised (native.py), the samples
                are collated as by default (or by a `collated` function) and
                there is no worker_init_fn. Threads instead of processes.
    otherwise   torch's own iterators; `fallback_reason` says why, one
                FallbackWarning too.

**The same either way.** The order comes from the sampler object, which is
asked when torch would ask it, so the random numbers it draws, the draw of the
loader's own seed, and torch's generators after the epoch are those of torch.
What random transforms draw natively follows from that seed, the sample, and how
often it came; with `seed` from that and the epoch. Batches are always in order,
also with in_order=False, which allows but does not ask for another.

**What has no meaning natively.** multiprocessing_context is checked and kept,
and there are no processes that it could start. get_worker_info() is None.
"""

from __future__ import annotations

import warnings
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

import torch
import torch.utils.data
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    default_collate,
    default_convert,
)

import feedline

from . import state_dict as states, torch_iterators
from .arguments import (
    TORCH_PREFETCH,
    AutoInt,
    as_number,
    check_ours,
    cores,
    for_torch,
    is_auto,
)
from .collate_switches import reason_in_switches
from .collated import Collated, seeded
from .engine_pool import EnginePool
from .iteration import BATCH_MAX, NativeIterator, known_batch_size
from .native import Plan, plan as plan_of
from .not_native import NotNative
from .observing import Observing
from .order_trace import TracedSampler, global_state
from .state_dict import Fingerprint, Progress, Saved
from .worker_init import only_seeds

if TYPE_CHECKING:
    from torch.utils.data import Dataset, Sampler

T = TypeVar("T", covariant=True)
Number = Union[int, str]


class FallbackWarning(UserWarning):
    """A DataLoader that torch runs, and why the engine cannot."""


class DataLoader(Observing, torch.utils.data.DataLoader[T]):
    """torch.utils.data.DataLoader on the feedline engine.

    All of torch's arguments, by name and place. And:

    num_workers: threads, or "auto": what keeps the consumer fed (the attribute
        is then the number that the tuner has). 0: batches are made inside
        next(), and nothing is prepared ahead.
    prefetch_factor: batches prepared ahead for each worker, or "auto".
    device: where batches come: None or "cpu", "cuda", "cuda:N", a torch.device.
        On a GPU they are tensors of torch's, copied by the current stream.
    dtype: "f32", "f16", "bf16" (of float images), "u8", or torch's; None: as
        the transforms make them.
    layout: "nchw" or "nhwc" (torch.contiguous_format, torch.channels_last): the
        order in memory; the shape of images stays [N, C, H, W].
    on_error: "raise" at the bad sample's batch, after which one may go on;
        "skip": another sample in its place; "zero": zeros. Natively.
    tuner, tuner_profile, memory_budget, reader, quality: options of the engine
        (docs/options.md).
    seed: what random transforms draw from, with the epoch; None: the seed that
        torch draws for each iterator.
    options: any other options of the engine, by name.
    snapshot_every_n_steps: for code that had torchdata's StatefulDataLoader;
        a state here is that of the last batch returned, whatever it says.

    Raises what torch raises; ValueError for ours, with what is allowed.
    """

    num_workers: int
    prefetch_factor: Optional[int]

    def __init__(
        self,
        dataset: "Dataset[T]",
        batch_size: Optional[int] = 1,
        shuffle: Optional[bool] = None,
        sampler: Union["Sampler[Any]", Iterable[Any], None] = None,
        batch_sampler: Union[
            "Sampler[List[Any]]", Iterable[List[Any]], None
        ] = None,
        num_workers: Number = 0,
        collate_fn: Optional[Callable[[List[Any]], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Optional[torch.Generator] = None,
        *,
        prefetch_factor: Union[int, str, None] = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        device: Union[None, str, int, torch.device] = None,
        dtype: Union[None, str, torch.dtype] = None,
        layout: Union[None, str, torch.memory_format] = None,
        on_error: str = "raise",
        tuner: Optional[str] = None,
        tuner_profile: Optional[str] = None,
        memory_budget: Union[None, int, str] = None,
        reader: Optional[str] = None,
        quality: Optional[str] = None,
        seed: Optional[int] = None,
        options: Optional[Mapping[str, Any]] = None,
        snapshot_every_n_steps: int = 1,
    ) -> None:
        # Frameworks read each argument back from an attribute of its name.
        self.device = device
        self.dtype = dtype
        self.layout = layout
        self.on_error = on_error
        self.tuner = tuner
        self.tuner_profile = tuner_profile
        self.memory_budget = memory_budget
        self.reader = reader
        self.quality = quality
        self.seed = seed
        self.options = options
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self.in_order = in_order
        self._reset_state()
        tuned = is_auto(num_workers)
        super().__init__(
            **for_torch(
                {
                    "dataset": dataset,
                    "batch_size": batch_size,
                    "shuffle": shuffle,
                    "sampler": sampler,
                    "batch_sampler": batch_sampler,
                    "num_workers": as_number(num_workers, cores()),
                    "collate_fn": collate_fn,
                    "pin_memory": pin_memory,
                    "drop_last": drop_last,
                    "timeout": timeout,
                    "worker_init_fn": worker_init_fn,
                    "multiprocessing_context": multiprocessing_context,
                    "generator": generator,
                    "prefetch_factor": as_number(
                        prefetch_factor, TORCH_PREFETCH
                    ),
                    "persistent_workers": persistent_workers,
                    "pin_memory_device": pin_memory_device,
                    "in_order": in_order,
                }
            )
        )
        if tuned and prefetch_factor is None:
            self.prefetch_factor = AutoInt(TORCH_PREFETCH)
        check_ours(self)

    def _reset_state(self) -> None:
        """What a loader has beside its configuration, of a new one."""
        self._engines = EnginePool()
        self._largest_batch: Dict[str, int] = {}
        self._plain_samples: Optional[Plan] = None
        self._epochs = 0
        self._progress: Optional[Progress] = None
        self._saved: Optional[Saved] = None
        self._waiting: Optional[_BaseDataLoaderIter] = None
        self._reason: Optional[str] = None
        self._decided = False
        self._warned = False
        self._prepared: Optional[bool] = None

    # ---- Native or not ----------------------------------------------------

    @property
    def fallback_reason(self) -> Optional[str]:
        """Why torch loads the samples; None when the engine does.

        As at the last iter(); before the first, as it would be now.
        """
        if not self._decided:
            self._decide()
        return self._reason

    @property
    def native(self) -> bool:
        """Whether the engine makes the batches."""
        return self.fallback_reason is None

    @property
    def engine(self) -> Optional[feedline.Loader]:
        """The engine that was used last, while there is one."""
        return self._engines.engine

    def _plan_now(self) -> Plan:
        """How the engine makes this loader's batches; NotNative why not."""
        reason = self._reason_in_arguments()
        if reason is not None:
            raise NotNative(reason)
        plan = plan_of(self.dataset)
        if plan.random and self.num_workers == 0:
            raise NotNative(
                "with num_workers=0 random transforms draw from the global "
                "generators; use num_workers=1 or more"
            )
        if not self._auto_collation:
            self._check_type_of_samples(plan)
        return plan

    def _check_type_of_samples(self, plan: Plan) -> None:
        """default_collate makes plain tensors of all kinds of images and of
        labels; without it they come as they are. One look at the first tells.
        """
        if self._plain_samples is plan:
            return
        dataset: Any = self.dataset
        try:
            with seeded(0):
                image, label = dataset[0]
        except Exception:
            return  # a bad sample: it is reported where it comes
        if type(image) is not torch.Tensor:
            raise NotNative(
                "with batch_size=None images come as the %s that the "
                "transforms make; end them with ToPureTensor"
                % type(image).__name__
            )
        if type(label) is not int:
            raise NotNative(
                "with batch_size=None labels come as they are, and they are "
                "%s; make them ints" % type(label).__name__
            )
        self._plain_samples = plan

    def _reason_in_arguments(self) -> Optional[str]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return "the data set is an IterableDataset"
        collate = self.collate_fn
        if self._auto_collation:
            if collate is not default_collate and not isinstance(
                collate, Collated
            ):
                return (
                    "collate_fn is one of your own; if it begins with "
                    "default_collate, use feedline.torch.collated"
                )
            reason = reason_in_switches()
            if reason is not None:
                return reason
        elif collate is not default_convert:
            return "collate_fn is one of your own, for samples without batches"
        if known_batch_size(self) > BATCH_MAX:
            return "batches have more than %d images" % BATCH_MAX
        init = self.worker_init_fn
        if init is not None and not only_seeds(init):
            return "worker_init_fn is given, and the engine has no processes"
        return None

    def _decide(self) -> Optional[Plan]:
        """The plan of the epoch that begins; None for torch's iterators."""
        try:
            plan: Optional[Plan] = self._plan_now()
            self._reason = None
        except NotNative as no:
            plan, self._reason = None, no.reason
        self._decided = True
        return plan

    def _warn(self) -> None:
        """Once for each loader that is torch's."""
        if self._warned:
            return
        self._warned = True
        ignored = ""
        if self.on_error != "raise":
            ignored = "; on_error=%r has no effect there" % self.on_error
        warnings.warn(
            "torch loads the samples of this DataLoader, as %s%s"
            % (self._reason, ignored),
            FallbackWarning,
            stacklevel=4,
        )

    @property
    def _is_accelerate_prepared(self) -> bool:
        """accelerate asks for this, and takes the loader apart if it is False.

        What it makes of the pieces is torch's own loader: one warning, unless
        feedline's adapter is at work, which has set it.
        """
        if self._prepared is None:
            self._prepared = False
            warnings.warn(
                "Accelerator.prepare() makes a plain torch loader of this one; "
                "feedline.integrations.accelerate.prepare_loader(loader, "
                "accelerator) keeps it native",
                FallbackWarning,
                stacklevel=2,
            )
        return self._prepared

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, prepared: bool) -> None:
        self._prepared = prepared

    # ---- Iterating --------------------------------------------------------

    def __iter__(self) -> _BaseDataLoaderIter:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            return waiting
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        old = self._iterator
        if old is not None and self._saved is None and self._same_kind(old):
            self._next_round(old)
            old._reset(self)
        else:
            self._iterator = self._get_iterator()
        assert self._iterator is not None
        return self._iterator

    def _same_kind(self, iterator: _BaseDataLoaderIter) -> bool:
        """Whether a persistent iterator can make the next epoch, too."""
        plan = self._decide()
        return isinstance(iterator, NativeIterator) == (plan is not None)

    def _next_round(self, iterator: Any) -> None:
        """A persistent iterator keeps its seed; its rounds are numbered."""
        former = iterator._progress
        former.traced.forget()
        self._progress = iterator._progress = Progress(
            former.traced,
            epoch=self._epochs,
            round=former.round + 1,
            seed=former.seed,
        )
        self._epochs += 1

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self._refused_by_torch():
            return super()._get_iterator()
        plan = self._decide()
        if plan is None:
            self._warn()
        saved, self._saved = self._saved, None
        if saved is not None and saved.finished:
            states.apply_finished(saved, self)
            saved = None
        if saved is None:
            return self._begin(plan)
        with global_state(torch.get_rng_state()):
            return self._resume(plan, saved)

    def _refused_by_torch(self) -> bool:
        """Whether torch's iterators refuse the arguments only now."""
        if self.num_workers == 0:
            return self.timeout != 0
        return self.prefetch_factor is None or self.prefetch_factor <= 0

    def _begin(self, plan: Optional[Plan]) -> _BaseDataLoaderIter:
        """A new epoch."""
        traced = TracedSampler(self._index_sampler, self)
        progress = Progress(traced, epoch=self._epochs)
        return self._make(plan, progress, None)

    def _resume(
        self, plan: Optional[Plan], saved: Saved
    ) -> _BaseDataLoaderIter:
        """The rest of an epoch, which draws nothing from torch's global
        generator: what it needs was drawn when the epoch began."""
        iterable = self._dataset_kind == _DatasetKind.Iterable
        traced = TracedSampler(
            self._index_sampler, self, None if iterable else saved.resume
        )
        progress = Progress(traced, epoch=saved.epoch, round=saved.round)
        if not iterable:
            progress.yielded = saved.yielded
            progress.batches = saved.batches
            progress.samples = saved.samples
        iterator = self._make(plan, progress, saved.seed)
        if iterable:
            for _ in range(saved.batches):  # there is no other way
                next(iterator, None)
        else:
            iterator._num_yielded = saved.yielded
        return iterator

    def _make(
        self,
        plan: Optional[Plan],
        progress: Progress,
        saved_seed: Optional[int],
    ) -> _BaseDataLoaderIter:
        self._epochs = progress.epoch + 1
        iterator: _BaseDataLoaderIter
        if plan is not None:
            iterator = NativeIterator(self, plan, progress, saved_seed)
            self._show_tuned()
        else:
            self.check_worker_number_rationality()
            iterator = torch_iterators.make(self, progress, saved_seed)
        self._progress = progress
        return iterator

    def _show_tuned(self) -> None:
        """num_workers="auto" reads as what the engine has."""
        engine = self.engine
        if engine is not None and is_auto(self.num_workers):
            self.num_workers = AutoInt(max(1, engine.get("workers")))

    # ---- State ------------------------------------------------------------

    def state_dict(self) -> Dict[str, Any]:
        """Where the current epoch stands, behind the last batch returned.

        JSON-serialisable and small, but for what stateful samplers save. Before
        the first epoch it begins that, and the next iter() goes on with it.
        """
        if self._saved is not None:
            return dict(self._saved.state)
        if self._progress is None:
            self._waiting = iter(self)
        assert self._progress is not None
        return states.save(self._progress, self._dataset_of_epoch())

    def _dataset_of_epoch(self) -> Fingerprint:
        """The data set as it is in this epoch. To look it through takes
        milliseconds, and accelerate wants a state with every batch."""
        assert self._progress is not None
        known = self._progress.dataset
        if known is None or known.samples != self._length_of_dataset():
            known = self._progress.dataset = self._fingerprint()
        return known

    def _length_of_dataset(self) -> Optional[int]:
        dataset: Any = self.dataset
        try:
            return len(dataset)
        except TypeError:
            return None

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """The next iter() goes on from there; behind a finished epoch it is
        the next one. {} begins anew.

        Raises ValueError for the state of another data set, or none at all.
        """
        saved = None
        if state_dict:
            saved = states.read(state_dict, self._index_sampler)
            states.check_dataset(self._fingerprint(), state_dict)
            states.apply_epoch(saved, self._index_sampler)
            self._epochs = saved.epoch + 1 if saved.finished else saved.epoch
        self._iterator = None
        self._waiting = None
        self._progress = None
        self._saved = saved

    def _fingerprint(self) -> Fingerprint:
        dataset = self.dataset
        samples = self._length_of_dataset()
        fingerprint = None
        if self._dataset_kind == _DatasetKind.Map:
            try:
                fingerprint = plan_of(dataset).fingerprint
            except NotNative:
                pass
        return Fingerprint(type(dataset).__name__, samples, fingerprint)

    # ---- Copies -----------------------------------------------------------

    def __getstate__(self) -> Dict[str, Any]:
        """The configuration: no engine, no iterator, no place in an epoch."""
        state = dict(self.__dict__)
        for name in OF_ONE_LOADER:
            state.pop(name, None)
        state["_iterator"] = None
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset_state()

    def __repr__(self) -> str:
        parts = [type(self.dataset).__name__]
        for name in ("batch_size", "num_workers", "device"):
            value = getattr(self, name)
            if value is not None:
                parts.append("%s=%r" % (name, value))
        if self._decided:
            parts.append(
                "native" if self._reason is None else "torch's: " + self._reason
            )
        return "<feedline.torch.DataLoader of %s>" % ", ".join(parts)


# Attributes that are not configuration.
OF_ONE_LOADER: Sequence[str] = (
    "_engines",
    "_largest_batch",
    "_plain_samples",
    "_epochs",
    "_progress",
    "_saved",
    "_waiting",
    "_reason",
    "_decided",
    "_warned",
    "_prepared",
)
