# SPDX-License-Identifier: Apache-2.0
"""Native or not: whether the engine can make the batches of a DataLoader.

Decided anew at each iter(), from data set, transforms and arguments as they are
then. The reason why not is a sentence for the user.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, Iterator, List, Optional, Tuple

import torch
from torch.utils.data.dataloader import default_collate, default_convert

import feedline

from ._compat import collates, is_stream
from .arguments import Given, dtype_name
from .chain import NotNative, Reasons
from .collated import Collated, reason_in_switches, seeded
from .iteration import BATCH_MAX, known_batch_size
from .known_sets import is_known_stream
from .known_wrapped import is_wrapped
from .mixing import is_mixing, mix_of, recognised
from .moving import reasons_in_loader
from .native import Head, Plan, head_of, plan as plan_of
from .recorded_draws import ENGINE
from .recorded_proof import Recording
from .recorded_stream_proof import StreamProof
from .worker_init import only_seeds, rehearsed


_TOLD_FROM_S = 0.1
# Of a reason why torch loads the samples, where the engine helps.
IN_PART = "; the engine makes the images up to there, in torch's workers"


NO_IMAGES = (
    "samples of the data set have no images that Pillow or torchvision opens, "
    "so there is nothing that the engine could make"
)


class FallbackWarning(UserWarning):
    """A DataLoader that torch runs, and why the engine cannot."""


class Decision:
    """Of one loader: what was decided last, and what was said about it."""

    def __init__(self) -> None:
        self._refused: Optional[NotNative] = None
        self.made = False
        # What the engine does in torch's workers, where they load the samples.
        self.head: Optional[Head] = None
        # The sampler of a stream that the engine runs.
        self.order: Any = None
        # The data set that runs in Python, where one does.
        self.recorded: Any = None
        self._took = 0.0  # seconds, of the decision that took longest
        self._warned = False
        self._told_of_init = False
        # The plan whose first sample was looked at, with batch_size=None.
        self._plain_samples: Optional[Plan] = None
        # The last plan with mixed batches, and what it was made of.
        self._mixed: Optional[Tuple[Plan, Plan]] = None
        self._recording = Recording()
        self._streams = StreamProof()

    def reason(self, loader: Any) -> Optional[str]:
        """Why torch loads the samples; None where the engine does. As at the
        last iter(); before the first, as it would be now."""
        if not self.made:
            self.decide(loader)
        return None if self._refused is None else self._refused.reason

    def reasons(self, loader: Any) -> List[str]:
        """The same, one by one."""
        if not self.made:
            self.decide(loader)
        return [] if self._refused is None else list(self._refused.reasons)

    def in_part(self, loader: Any) -> bool:
        """Whether the engine works inside of torch's loader; when as above."""
        return self.reason(loader) is not None and self.head is not None

    def decide(self, loader: Any) -> Optional[Plan]:
        """The plan of the epoch that begins; None for torch's iterators."""
        began = time.monotonic()
        self.order = self.head = self.recorded = None
        try:
            plan: Optional[Plan] = self.plan_now(loader)
            self._refused = None
            self.recorded = None if plan is None else plan.recorded
        except NotNative as no:
            plan, self._refused = None, no.with_traceback(None)
            self.head = _head_now(loader)
        self.made = True
        self._took = max(self._took, time.monotonic() - began)
        return plan

    def words(self) -> str:
        """What no account of waits has, as there is none yet; "" if little."""
        if self._took < _TOLD_FROM_S:
            return ""
        return (
            "Before its first epoch %.1f s went into finding out what the "
            "engine can make of this data set; the waits leave that out."
            % self._took
        )

    def plan_now(self, loader: Any) -> Plan:
        """How the engine makes this loader's batches; NotNative with all that
        stands in the way."""
        given = loader._feedline.given
        recording = self._streams if is_stream(loader) else self._recording
        if given.backend == "torch":
            raise NotNative('backend="torch" asks for that')
        if given.draws != ENGINE:
            Reasons(_reasons_in_arguments(loader)).check()
            try:
                return recording.plan(loader)
            except NotNative as no:
                raise NotNative(*no.reasons or [NO_IMAGES]) from None
        try:
            return self._known(loader)
        except NotNative as no:
            if list(_reasons_in_arguments(loader)):
                raise
            refused = no.with_traceback(None)
        try:
            return recording.plan(loader)
        except NotNative as no:
            raise NotNative(*no.reasons, *refused.reasons) from None

    def _known(self, loader: Any) -> Plan:
        """Where data set and transforms are known, and it needs no Python."""
        found, plan = Reasons(_reasons_in_arguments(loader)), None
        if is_stream(loader) and not is_known_stream(loader.dataset):
            found.append(
                "the data set is an IterableDataset; a list of files and "
                "labels runs natively as feedline.torch.ImageList(samples, "
                "transform), and shards as feedline.torch.Images"
            )
        else:
            with found.noted():
                plan = plan_of(loader.dataset)
        if is_wrapped(loader.dataset):
            found += reasons_in_loader(loader)
            found.check()
            assert plan is not None
            return plan
        with found.noted():
            _check_collate(loader, plan)
            if plan is not None:
                plan = self._with_mix(loader, plan)
        if plan is not None:
            with found.noted():
                self._check_samples(loader, plan)
        found.check()
        assert plan is not None
        return plan

    def _check_samples(self, loader: Any, plan: Plan) -> None:
        """Raises NotNative for samples that are none for this loader."""
        if plan.keys is not None and not _is_default(loader):
            raise NotNative(
                "samples are dicts, which the engine has as default_collate "
                "makes batches of them; feedline.torch.Images(ds, transform) "
                "gives pairs of image and label"
            )
        if plan.views > 0:
            self._check_views(loader, plan)
        if plan.stream is not None:
            self.order = plan.stream.sampler(loader, len(plan))
        elif not collates(loader):
            self._check_type_of_samples(loader.dataset, plan)

    def _check_views(self, loader: Any, plan: Plan) -> None:
        if plan.output is not None or not collates(loader):
            raise NotNative(
                "samples are lists of views, which the engine has as pairs of "
                "views and label, in batches"
            )
        if known_batch_size(loader) * plan.views > BATCH_MAX:
            raise NotNative("batches have more than %d images" % BATCH_MAX)

    def _with_mix(self, loader: Any, plan: Plan) -> Plan:
        """The plan with what the collate_fn does, where the engine can."""
        if not collates(loader) or plan.stream is not None:
            return plan
        collate = recognised(loader.collate_fn)
        dtype = dtype_name(loader._feedline.given.dtype)
        mix = mix_of(collate, dtype or plan.options.get("dtype") or "f32")
        if mix is None or not plan.of_pairs:
            if is_mixing(collate):
                raise NotNative(
                    "collate_fn is timm's FastCollateMixup, in a mode or for "
                    "images or labels that the engine does not mix"
                )
            return plan
        if self._mixed and self._mixed[0] is plan and self._mixed[1].mix == mix:
            return self._mixed[1]
        try:
            made = plan.mixed(mix)
        except feedline.Error as error:
            raise NotNative(f"collate_fn: {error}") from None
        self._mixed = (plan, made)
        return made

    def _check_type_of_samples(self, dataset: Any, plan: Plan) -> None:
        """default_collate makes plain tensors of all kinds of images and of
        labels; without it they come as they are. One look at the first tells.
        """
        if self._plain_samples is plan:
            return
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
        if plan.targets is None and type(label) is not int:
            raise NotNative(
                "with batch_size=None labels come as they are, and they are "
                "%s; make them ints" % type(label).__name__
            )
        self._plain_samples = plan

    def tell_of_init(self, loader: Any) -> None:
        """The engine loads the samples: one warning, if a worker_init_fn would
        have said something."""
        init = loader.worker_init_fn
        if init is None or self._told_of_init:
            return
        self._told_of_init = True
        if rehearsed(init, loader.num_workers).speaks:
            warnings.warn(
                "worker_init_fn only seeds generators, which the engine has "
                "none of, so it is not called; what it prints, logs or warns "
                "of does not appear",
                UserWarning,
                stacklevel=4,
            )

    def fall_back(self, loader: Any) -> None:
        """torch loads the samples: one warning, if that was not asked for.

        Called by the loader's _get_iterator. NotNative with backend="native".
        """
        given: Given = loader._feedline.given
        if given.backend == "native":
            assert self._refused is not None
            raise NotNative(*self._refused.reasons)
        if given.backend == "torch" or self._warned:
            return
        self._warned = True
        ignored = _ignored(given, self.head is not None)
        if given.draws != ENGINE and loader.num_workers == 0:
            ignored += (
                "; without workers its random numbers are those of the "
                "program's generators; num_workers=1 has those that "
                'draws="torch" asks for'
            )
        elif given.draws != ENGINE and loader.num_workers > 1:
            ignored += '; one process does, as draws="torch" has its numbers'
        warnings.warn(
            "torch loads the samples of this DataLoader, as %s%s%s"
            % (self._refused, IN_PART if self.head else "", ignored),
            FallbackWarning,
            stacklevel=4,
        )


# Of the engine's arguments, those that nothing else goes by.
_OF_THE_ENGINE = (
    "tuner_profile memory_budget device_memory_budget reader affinity options"
).split()


def _ignored(given: Given, in_part: bool) -> str:
    """Which arguments torch's loader cannot follow; "" if it can."""
    names = [
        name for name in _OF_THE_ENGINE if getattr(given, name) is not None
    ]
    if given.on_error != "raise":
        names.append("on_error")
    if given.quality == "fast" and not in_part:
        names.append("quality")
    if not names:
        return ""
    told = " and ".join("%s=%r" % (one, getattr(given, one)) for one in names)
    return "; %s %s no effect there" % (
        told,
        "has" if len(names) == 1 else "have",
    )


def _head_now(loader: Any) -> Optional[Head]:
    """What the engine can do in torch's workers; None where that is nothing or
    would be noticed."""
    given = loader._feedline.given
    if given.backend == "torch" or not collates(loader):
        return None
    if given.draws != ENGINE:
        return None  # it would draw as the engine does
    init = loader.worker_init_fn
    if init is not None and not only_seeds(init, loader.num_workers):
        return None
    try:
        head = None if is_stream(loader) else head_of(loader.dataset)
    except NotNative:
        return None
    if head is None or head.idle:
        return None
    return head if _labels_are_exact(loader, head.plan) else None


def _labels_are_exact(loader: Any, plan: Plan) -> bool:
    """Whether labels have the types that the data set gives them, which a
    collate_fn may see. Integers of other libraries are ints in a plan."""
    if _is_default(loader):
        return True
    first = 0 if plan.indices is None else plan.indices[0]
    mine = plan.targets.of([first])[0] if plan.targets is not None else 0
    try:
        with seeded(0):
            label = loader.dataset[0][1]
    except Exception:
        return True  # a bad sample: it is reported where it comes
    return type(label) is type(mine)


def _is_default(loader: Any) -> bool:
    return recognised(loader.collate_fn) is default_collate


def _check_collate(loader: Any, plan: Optional[Plan]) -> None:
    """Raises NotNative for a function of samples, which may do anything.
    plan: None where the samples are not known."""
    collate = recognised(loader.collate_fn)
    if not collates(loader):
        if collate is not default_convert:
            raise NotNative(
                "collate_fn is one of your own, for samples without batches; "
                "leave it out"
            )
        return
    if collate is default_collate:
        return
    if plan is not None and plan.output is not None:
        raise NotNative(
            "collate_fn is one of your own, and samples have fields, of which "
            "the engine makes batches as default_collate does; leave it out"
        )
    if not isinstance(collate, Collated) and not is_mixing(collate):
        raise NotNative(
            "collate_fn is one of your own; it runs natively as "
            "feedline.torch.collated(fn, samples=True), and one that begins "
            "with default_collate faster, as collated(fn) of its batch"
        )


def _reasons_in_arguments(loader: Any) -> Iterator[str]:
    """What no data set is native with."""
    switches = reason_in_switches() if collates(loader) else None
    if switches is not None:
        yield switches
    if known_batch_size(loader) > BATCH_MAX:
        yield "batches have more than %d images; make them smaller" % BATCH_MAX
    init = loader.worker_init_fn
    other = rehearsed(init, loader.num_workers).other if init else ""
    if other:
        yield (
            f"worker_init_fn does more than seed generators ({other}), and the "
            "engine has no processes to do it in; leave it out, or only seed"
        )
