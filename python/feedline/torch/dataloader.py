# SPDX-License-Identifier: Apache-2.0
"""DataLoader: torch's, using this engine wherever possible.

    from feedline.torch import DataLoader      # the one import that changes

It takes every argument of torch's DataLoader and validates it as torch does. At
each iter() it checks whether the engine can make exactly the batches that torch
would make from the current data set, transforms and arguments:

    native      data set and transforms are recognised (native.py), the samples
                are collated as by default (or by a `collated` function), and a
                worker_init_fn only seeds generators. Threads instead of
                processes.
    recorded    the program's own Python makes the samples, and the engine
                their pixels (recorded_*.py).
    otherwise   torch's own iterators; `fallback_reason` says why, as does one
                FallbackWarning. Where a part of the transforms is known, an
                engine in each worker does that (partial.py).

**The same either way.** The order comes from the sampler object, which is read
when torch would read it, so the random numbers it draws, the loader's own seed,
and torch's generators after the epoch are those of torch. Natively, the draws
of random transforms follow from that seed, the sample, and how often it
occurred; with `seed`, from that and the epoch; with draws="torch" they are
those of torch's first worker. Batches are always in order,
also with in_order=False, which permits another order but does not require it.

**Without meaning natively.** multiprocessing_context is validated and kept, but
only helpers of a data set that is recorded are processes to start.
get_worker_info() is None, but for such a data set.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator
from typing import List, Mapping, Optional, TypeVar, Union

import torch
import torch.utils.data

import feedline

from ..observable import Observable
from ._compat import _BaseDataLoaderIter
from .arguments import OURS_ALONE, THEIRS, TORCH_PREFETCH, AutoInt, Given
from .arguments import as_number, blocks, check_ours, cores, for_torch, is_auto
from .decision import Decision, FallbackWarning
from .epochs import Epochs, native_kind
from .handover import Into
from .iteration import NativeIterator
from .lightning_order import warn_of_lost_state
from .observing import Observing, readable
from .recorded_proof import cost_of, words_about

if TYPE_CHECKING:
    from torch.utils.data import Dataset, Sampler

T = TypeVar("T", covariant=True)
Number = Union[int, str]


class Private:
    """All that a DataLoader of ours has beside torch's attributes: of one name,
    so that a user's subclass may have any other."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.decision: Decision = Decision()
        self.epochs: Epochs = Epochs()
        # What accelerate was told; None until it has asked.
        self.prepared: Optional[bool] = None


class DataLoader(Observing, torch.utils.data.DataLoader[T]):
    """torch.utils.data.DataLoader on the feedline engine.

    As in torch, by keyword and position: dataset, batch_size, sampler,
    batch_sampler, collate_fn, pin_memory, drop_last, timeout, worker_init_fn,
    multiprocessing_context, generator, persistent_workers, pin_memory_device,
    in_order: see torch.utils.data.DataLoader. And:

    shuffle: also "block", for slow disks (docs/shuffle.md): a BlockSampler, by
        the options block and lanes.
    num_workers: threads. "auto": the tuner finds the number (the attribute
        reads as the number it has). 0, the default: the same, natively; in
        torch's own loader samples are loaded inside next().
    prefetch_factor: batches prepared ahead for each worker, or "auto".
    device: where batches are delivered: None or "cpu", "cuda", "cuda:N", a
        torch.device. On a GPU as torch's tensors, copied on the current stream.
    dtype: "f32", "f16", "bf16" (of float images), "u8", or torch's; None: as
        the transforms make them.
    layout: "nchw" or "nhwc" (torch.contiguous_format, torch.channels_last): the
        order in memory; the shape of images stays [N, C, H, W].
    on_error: "raise" in place of the failed sample's batch, after which the
        epoch may continue; "skip": another sample in its place; "zero": zeros.
        Natively only.
    tuner: "auto", "observe" or "off". tuner_profile: a file of an earlier run.
    memory_budget, device_memory_budget: bytes, or "2g". reader: "auto",
        "uring", "pread", "memory". quality: "exact" or "fast". affinity:
        "auto", "none" or CPUs as "0-15". Options of the engine
        (docs/options.md); None: its default. Where torch loads the samples
        quality holds for what the engine makes in its workers, and a
        FallbackWarning says which of the others have no effect.
    seed: of random transforms, with the epoch; None: the seed that torch draws
        for each iterator.
    options: any other options of the engine, by name.
    backend: "auto": native if possible, else torch with a FallbackWarning.
        "native": raises NotNative if impossible. "torch": always torch's own
        loader, without a warning; with num_workers=0 also with its draws from
        the global generators.
    draws: "engine": random numbers of a sample follow from seed, epoch, sample
        and how often it occurred. "torch": batches are those of torch's own
        DataLoader with num_workers=1, to the bit, for any number of ours. Where
        torch loads the samples it does that with one process, if with any.
    verify: samples of an own data set that are also made by the data set alone,
        before its first epoch, and compared.
    helpers: processes that run an own data set beside this one, where Python is
        the limit, each with a copy of it; "auto" finds the number.
    snapshot_every_n_steps: accepted for code written for torchdata's
        StatefulDataLoader; a state is always that of the last batch returned.

    Raises what torch raises, and for our arguments a ValueError that says what
    is allowed.
    """

    num_workers: int
    prefetch_factor: Optional[int]

    def __init__(
        self,
        dataset: "Dataset[T]",
        batch_size: Optional[int] = 1,
        shuffle: Union[bool, str, None] = None,
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
        device_memory_budget: Union[None, int, str] = None,
        reader: Optional[str] = None,
        quality: Optional[str] = None,
        affinity: Optional[str] = None,
        seed: Optional[int] = None,
        options: Optional[Mapping[str, Any]] = None,
        backend: str = "auto",
        snapshot_every_n_steps: int = 1,
        draws: str = "engine",
        verify: int = 2,
        helpers: Union[int, str] = "auto",
    ) -> None:
        given = dict(locals())  # the arguments, and no other name so far
        self._feedline = Private(Given(**{n: given[n] for n in OURS_ALONE}))
        _show_given(self)
        self.in_order = in_order
        tuned = is_auto(num_workers)
        theirs = {name: given[name] for name in THEIRS}
        theirs["num_workers"] = as_number(num_workers, cores())
        theirs["prefetch_factor"] = as_number(prefetch_factor, TORCH_PREFETCH)
        if isinstance(shuffle, str):
            theirs.update(blocks(given))
        super().__init__(**for_torch(theirs))
        if tuned and prefetch_factor is None:
            self.prefetch_factor = AutoInt(TORCH_PREFETCH)
        check_ours(self._feedline.given)
        self._feedline.epochs.remember(self)

    # ---- Native or not ----------------------------------------------------

    @readable
    def fallback_reason(self) -> Optional[str]:
        """Why torch loads the samples, all that stands in the way and what to
        do about it; None when the engine does.

        As at the last iter(); before the first, as it would be now.
        """
        return self._feedline.decision.reason(self)

    @readable
    def fallback_reasons(self) -> List[str]:
        """The same, one by one; empty when the engine loads the samples."""
        return self._feedline.decision.reasons(self)

    @readable
    def native(self) -> bool:
        """Whether the engine makes the batches."""
        return self._feedline.decision.reason(self) is None

    @readable
    def recorded(self) -> bool:
        """Whether the program's own Python makes the samples, and the engine
        their pixels."""
        return self.native and self._feedline.decision.recorded is not None

    @readable
    def partly_native(self) -> bool:
        """Whether torch's workers load the samples, and the engine makes their
        images up to the transform or argument that fallback_reason names."""
        return self._feedline.decision.in_part(self)

    @readable
    def engine(self) -> Optional[feedline.Loader]:
        """The engine that was used last, while there is one."""
        return self._feedline.epochs.engines.engine

    def _feedline_observed(self) -> Optional[Observable]:
        return self._feedline.epochs.observed()

    def _feedline_delivered(self) -> int:
        """Batches of a saved epoch, with which the next iter() goes on."""
        saved = self._feedline.epochs.saved
        return 0 if saved is None or saved.finished else saved.yielded

    def _feedline_about_python(self) -> str:
        decision, epochs = self._feedline.decision, self._feedline.epochs
        recorded = decision.recorded
        words = [decision.words()]
        if recorded is not None:
            observed = self._feedline_observed()
            words.append(words_about(recorded))
            if observed is not None:
                words.append(cost_of(recorded, observed.stats()))
            words.append(recorded.helping.words())
        elif epochs.by_torch and epochs.processes:
            words.append(epochs.processes.words())
        return "".join("\n" + one for one in words if one)

    @property
    def _is_accelerate_prepared(self) -> bool:
        """accelerate asks for this, and takes the loader apart if it is False.

        What it makes of the pieces is torch's own loader: one warning, unless
        feedline's adapter is at work, which has set it.
        """
        if self._feedline.prepared is None:
            self._feedline.prepared = False
            warnings.warn(
                "Accelerator.prepare() makes a plain torch loader of this one; "
                "feedline.integrations.accelerate.prepare_loader(loader, "
                "accelerator) keeps it native",
                FallbackWarning,
                stacklevel=2,
            )
        return self._feedline.prepared

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, prepared: bool) -> None:
        self._feedline.prepared = prepared

    # ---- Iterating --------------------------------------------------------

    def __iter__(self) -> _BaseDataLoaderIter:
        warn_of_lost_state()
        epochs = self._feedline.epochs
        epochs.compare_ranks(self)
        waiting, epochs.waiting = epochs.waiting, None
        if waiting is not None:
            return waiting
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        old = self._iterator
        if old is not None and epochs.saved is None and _goes_on(self, old):
            epochs.next_round(old)
            old._reset(self)
        else:
            self._iterator = self._get_iterator()
        assert self._iterator is not None
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if _refused_by_torch(self):
            return super()._get_iterator()
        mine = self._feedline
        plan = mine.decision.decide(self)
        if plan is None:
            mine.decision.fall_back(self)
        else:
            mine.decision.tell_of_init(self)
        return mine.epochs.iterator(self, plan)

    def into(
        self, images: torch.Tensor, labels: torch.Tensor
    ) -> Iterator[List[torch.Tensor]]:
        """One epoch, each batch of which is written into these tensors: those
        that a captured CUDA graph reads.

        Yields [images, labels], for a short batch the first of them. On a GPU
        they are written on torch's current stream, behind all that it has
        queued there; without a copy in between if they have the device, dtype
        and memory format of the batches, else by torch's copy_.

            for _ in loader.into(images, labels):
                graph.replay()

        images: [N, C, H, W], with room for a full batch. labels: [N] of int64.

        ValueError: a batch does not fit. TypeError: it is no images and labels.
        """
        tensors = Into(images, labels)
        batches = iter(self)
        if isinstance(batches, NativeIterator):
            batches.into = tensors
        for data in batches:
            yield tensors.filled(data)

    def check_worker_number_rationality(self) -> None:
        """torch's warning about too many processes, if there will be any.

        torch also calls it in its constructor, when that is not known yet.
        """
        if self._feedline.decision.made and self.fallback_reason is not None:
            super().check_worker_number_rationality()

    # ---- State ------------------------------------------------------------

    def state_dict(self) -> Dict[str, Any]:
        """The position in the current epoch, after the last batch returned.

        JSON-serialisable and small, except for what stateful samplers save.
        Before the first epoch it begins that epoch, and the next iter()
        continues it.
        """
        return self._feedline.epochs.state(self)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """The next iter() continues from there; after a finished epoch it is
        the next one.

        state_dict: what state_dict() returned, here or in an earlier run; {}
        starts over.

        Raises ValueError for the state of another data set, or an invalid
        one.
        """
        self._feedline.epochs.load(self, state_dict)

    # ---- Copies -----------------------------------------------------------

    def __getstate__(self) -> Dict[str, Any]:
        """The configuration: no engine, no iterator, no place in an epoch."""
        state = dict(self.__dict__)
        state["_feedline"] = self._feedline.given
        state["_iterator"] = None
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._feedline = Private(state["_feedline"])

    def __repr__(self) -> str:
        parts = [type(self.dataset).__name__]
        for name, value in (
            ("batch_size", self.batch_size),
            ("num_workers", self.num_workers),
            ("device", self._feedline.given.device),
        ):
            if value is not None:
                parts.append("%s=%r" % (name, value))
        decision = self._feedline.decision
        if decision.made:
            reason = decision.reason(self)
            parts.append("native" if reason is None else "torch's: " + reason)
        return "<feedline.torch.DataLoader of %s>" % ", ".join(parts)


def _show_given(loader: Any) -> None:
    """Frameworks read arguments back from attributes of their names: from
    copies, for a subclass may have an attribute of such a name itself."""
    for name, value in vars(loader._feedline.given).items():
        if name not in loader.__dict__ and not hasattr(type(loader), name):
            loader.__dict__[name] = value


def _goes_on(loader: Any, iterator: _BaseDataLoaderIter) -> bool:
    """Whether a persistent iterator can make the next epoch, too."""
    kind = native_kind(loader._feedline.decision.decide(loader))
    if kind is None:
        return not isinstance(iterator, NativeIterator)
    return type(iterator) is kind


def _refused_by_torch(loader: Any) -> bool:
    """Whether torch's iterators refuse the arguments only now."""
    if loader.num_workers == 0:
        return bool(loader.timeout != 0)
    return loader.prefetch_factor is None or loader.prefetch_factor <= 0
