# SPDX-License-Identifier: Apache-2.0
"""Whether a stream can be recorded: its first samples are, and are compared.

Two copies of the stream give their first samples with the same random numbers:
one with its pixels deferred, the other as torch runs it. A stream that is
another one each time (it seeds itself by the clock) has nothing to be compared
with: of that the images are, each with what Pillow and torchvision make of it.
"""

from __future__ import annotations

from typing import Any, List, Optional

import torch
from torch.utils.data import IterDataPipe

from ..deferred.pillow_steps import image_of
from .chain import NotNative
from .native import Plan
from .recorded_draws import SeededDraws
from .recorded_proof import UNKNOWN_LENGTH, Recording, Trial
from .recorded_proof import as_they_are, different, facts_of
from .recorded_stream import Begin, StreamBatch, StreamSet, keys_of_failed
from .stream_copy import kept_iterator, stream_copy
from .worker_info import as_worker

_SEED = 0x5EED


class StreamProof(Recording):
    """Of one loader: what was found out about its stream."""

    def _facts_of(self, loader: Any) -> List[Any]:
        """Without numbers, which a stream may count in."""
        facts = facts_of(loader.dataset)
        return [one for one in facts if not isinstance(one, (int, float))]

    def _new_set(self, dataset: Any) -> Any:
        if isinstance(dataset, IterDataPipe):
            raise NotNative(
                "the data set is an IterDataPipe, which has one iterator at a "
                "time; torch's"
            )
        kept = kept_iterator(dataset)
        if kept is not None:
            raise NotNative(
                "the stream keeps an iterator (%s), which cannot be copied; "
                "make it in __iter__" % type(kept).__name__
            )
        return StreamSet(UNKNOWN_LENGTH, type(dataset).__name__)

    def _trial(self, loader: Any, plan: Plan, count: int) -> Trial:
        return StreamTrial(loader, plan, count)


class StreamTrial(Trial):
    """The first samples of a stream, until the first one that is damaged."""

    drawing = "the stream draws"
    of = "the stream"
    late = (
        "no sample of the stream came within %g s; a larger timeout waits "
        "longer"
    )

    def _own(self) -> Begin:
        dataset = stream_copy(self._dataset)
        return Begin(dataset, SeededDraws(_SEED, 0), self._info(dataset))

    def _record(self) -> None:
        begin, self._made = self._own(), StreamBatch(self._count)
        run = self._owner.begin_stream(begin)
        failed = self._failed(run, self._made, list(range(self._count)))
        self.deferred = any(self._made.leaves)
        self.error = self._made.error
        where = different(vars(begin.dataset), vars(self._dataset))
        self._owner.changes = where or ""
        # Where even Pillow cannot, the program sees an error.
        bad = {n for n in failed if keys_of_failed(self._made, n)}
        self._sound = min(bad, default=len(self._made.samples))
        self.leaves = dict(enumerate(self._made.leaves[: self._sound]))
        self.recorded = {
            place: self._made.finished(place) for place in range(self._sound)
        }

    def is_pointless(self) -> bool:
        recorder = self._owner.recorder
        real = self._made.samples and recorder.real_images
        return bool(recorder.images or real)

    def difference(self) -> Optional[str]:
        plain = self._plain()
        self._check_generators()
        where = self._first(list(self.recorded.values()), plain)
        if where is None:
            return None
        if self._first(self._plain(), plain) is None:
            return where
        self._owner.repeatable = False
        return self._of_images()

    def _first(self, found: List[Any], plain: List[Any]) -> Optional[str]:
        """The first difference."""
        for place, (a, b) in enumerate(zip(found, plain)):
            where = different(a, b)
            if where is not None:
                return "sample %d%s" % (place, where)
        whole = self._sound == len(self._made.samples)
        if whole and len(found) != len(plain) and self.error is None:
            return "%d samples, not %d" % (len(found), len(plain))
        return None

    def _plain(self) -> List[Any]:
        """The samples that the stream gives, until it fails."""
        begin = self._own()
        draws = begin.draws
        samples: List[Any] = []
        with self._owner.lock, as_worker(begin.info):
            try:
                iterator = draws.run(lambda _: iter(begin.dataset), -1)
                for position in range(self._count):
                    samples.append(
                        draws.run(lambda _: next(iterator), position)
                    )
            except StopIteration:
                pass
            except Exception:
                pass
        return as_they_are(samples)

    def _of_images(self) -> Optional[str]:
        """Where an image is not what Pillow and torchvision make of it."""
        for place in range(self._sound):
            for leaf, memory in self._made.leaves[place]:
                if leaf.dtype is None:
                    real: Any = image_of(leaf.source, leaf.steps)
                    same = real.tobytes() == bytes(memory)
                else:
                    real = leaf.real().as_subclass(torch.Tensor)
                    found = memory[0] if leaf.dim else memory
                    same = different(found, real) is None
                if not same:
                    return "sample %d, an image of it" % place
        return None
