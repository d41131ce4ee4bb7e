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

import feedline

from ..deferred.pillow_steps import image_of
from ..deferred.tensor import POSSIBLE, WANTED
from .chain import NotNative
from .global_draws import drawn, set_states, states
from .native import Plan
from .recorded_chain_proof import try_chains
from .recorded_draws import SeededDraws
from .recorded_leaves import Copies
from .recorded_proof import PATIENCE_S, TRIED, UNKNOWN_LENGTH, Recording
from .recorded_proof import different, facts_of, plan_of_recorded, touch_lines
from .recorded_stream import Begin, StreamBatch, StreamSet, keys_of_failed
from .sample_errors import failed
from .stream_copy import kept_iterator, stream_copy
from .worker_info import as_worker, install, only_worker

_SEED = 0x5EED


class StreamProof(Recording):
    """Of one loader: what was found out about its stream."""

    def _facts_of(self, loader: Any) -> List[Any]:
        """Without numbers, which a stream may count in."""
        facts = facts_of(loader.dataset)
        return [one for one in facts if not isinstance(one, (int, float))]

    def _made(self, loader: Any) -> Plan:
        if not POSSIBLE:
            raise NotNative("samples of other data sets need " + WANTED)
        dataset = loader.dataset
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
        install()
        recorded = StreamSet(UNKNOWN_LENGTH, type(dataset).__name__)
        plan = plan_of_recorded(recorded)
        self._prove_stream(loader, plan)
        return plan

    def _prove_stream(self, loader: Any, plan: Plan) -> None:
        wanted = loader._feedline.given.verify
        recorded: StreamSet = plan.recorded
        for count in sorted({max(1, wanted), max(TRIED, wanted)}):
            trial = StreamTrial(loader, plan, count)
            if trial.deferred or trial.is_pointless():
                break
        if not trial.deferred:
            raise NotNative(*trial.nothing_deferred())
        recorded.changes = trial.changes
        where = trial.difference() if wanted else None
        if where is not None:
            self._refuse(where)
        try_chains(
            recorded.chains,
            trial,
            lambda: StreamTrial(loader, plan, count),
            different,
        )


class StreamTrial:
    """The first samples of a stream, made in both ways.

    deferred: some image of theirs was. recorded, leaves: by place, until the
    first one that is damaged. changes: what of the stream itself an iteration
    changes.
    """

    def __init__(self, loader: Any, plan: Plan, count: int) -> None:
        self.deferred = False
        self._plan = plan
        self._owner: StreamSet = plan.recorded
        self._loader = loader
        self._count = count
        self._patience = loader.timeout or PATIENCE_S
        self._before = states()
        self._record()

    def _own(self) -> Begin:
        dataset = stream_copy(self._loader.dataset)
        info = None
        if self._loader.num_workers > 0:
            info = only_worker(_SEED, dataset)
        return Begin(dataset, SeededDraws(_SEED, 0), info)

    def _record(self) -> None:
        options = {
            "order": "given",
            "batch_size": self._count,
            "workers": 1,
            "on_error": "zero",
            "tuner": "off",
        }
        plan, begin = self._plan, self._own()
        run = self._owner.begin_stream(begin)
        self._made = StreamBatch(self._count)
        engine = feedline.Loader(plan.dataset, plan.pipeline, **options)
        try:
            engine.begin(run.number)
            run.append(self._made)
            engine.append(range(self._count))
            engine.end()
            delivered = engine.next(self._patience)
            assert delivered is not None
            self._bad = [
                n
                for n, status in enumerate(delivered.sample_status)
                if status < 0 and failed(delivered)
            ]
            delivered.release()
        except feedline.Timeout:
            raise NotNative(
                "no sample of the stream came within %g s; a larger timeout "
                "waits longer" % self._patience
            ) from None
        finally:
            engine._end()  # nobody waits for a thread that waits
        self.deferred = any(self._made.leaves)
        where = different(vars(begin.dataset), vars(self._loader.dataset))
        self.changes = where or ""
        # Where even Pillow cannot, the program sees an error.
        bad = {n for n in self._bad if keys_of_failed(self._made, n)}
        self._sound = min(bad, default=len(self._made.samples))
        self.leaves = dict(enumerate(self._made.leaves[: self._sound]))
        self.recorded = {
            place: self._made.finished(place) for place in range(self._sound)
        }

    def is_pointless(self) -> bool:
        """Whether more samples would show no more."""
        recorder = self._owner.recorder
        real = self._made.samples and recorder.real_images
        return bool(recorder.images or real)

    def nothing_deferred(self) -> List[str]:
        error = self._made.error
        if error is not None:
            return [
                "no sample of the stream could be made (%s: %s)"
                % (type(error).__name__, error)
            ]
        lines = touch_lines(self._owner.recorder)
        if not lines:
            return []
        return [
            "the pixels of its images are used in Python, where the engine has "
            "not made them yet: %s" % "; ".join(lines)
        ]

    def difference(self) -> Optional[str]:
        """Where a sample differs from that of the stream; None: nowhere."""
        plain = self._plain()
        self._check_generators()
        where = self._first(list(self.recorded.values()), plain)
        if where is None:
            return None
        if self._first(self._plain(), plain) is None:
            return where
        self._owner.repeatable = False
        return self._of_images()

    def _check_generators(self) -> None:
        moved = drawn(self._before, states())
        if moved:
            set_states(self._before)
            raise NotNative(
                "the stream draws from the program's own generator of %s, "
                "where no thread has one of its own (torch.default_generator, "
                "dropout, numpy.random.mtrand, scipy.stats)" % ", ".join(moved)
            )

    def _first(self, found: List[Any], plain: List[Any]) -> Optional[str]:
        """The first difference."""
        for place, (a, b) in enumerate(zip(found, plain)):
            where = different(a, b)
            if where is not None:
                return "sample %d%s" % (place, where)
        whole = self._sound == len(self._made.samples)
        if whole and len(found) != len(plain) and self._made.error is None:
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
        copies = Copies()
        return [
            copies.of(sample, lambda leaf: leaf.real()) for sample in samples
        ]

    def _of_images(self) -> Optional[str]:
        """Where an image is not what Pillow and torchvision make of it."""
        for place in range(self._sound):
            for leaf, memory in self._made.leaves[place]:
                if leaf.dtype is None:
                    real: Any = image_of(leaf.source, leaf.steps)
                    same = real.tobytes() == bytes(memory)
                else:
                    real = leaf.real().as_subclass(torch.Tensor)
                    same = different(memory, real) is None
                if not same:
                    return "sample %d, an image of it" % place
        return None
