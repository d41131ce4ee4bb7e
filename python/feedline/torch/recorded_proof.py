# SPDX-License-Identifier: Apache-2.0
"""Whether a data set can be recorded: its first samples are, and are compared
with those that it makes itself.

    copy of the data set --- pixels deferred --> engine --.
    copy of the data set --- as torch runs it ------------+--> equal, to the bit

Both have the same random numbers, and copies of the generators that the data
set keeps. A difference is reported once, and torch loads the samples. So it
does where no image of a sample stays deferred, for then there is nothing that
the engine could do.
"""

from __future__ import annotations

import os
import time
import traceback
import warnings
from typing import Any, Dict, List, Optional, Set, Tuple

import torch

import feedline

from .. import thread_draws
from ._compat import collates
from ..deferred.recording import Unexpected
from ..deferred.tensor import POSSIBLE, WANTED
from .chain import NotNative
from .global_draws import drawn, set_states, states
from .native import Plan
from .recorded_batch import Batch
from .recorded_chain_proof import try_chains
from .recorded_draws import SeededDraws
from .recorded_leaves import Copies
from .recorded_run import RecordedSet, Run
from .worker_info import install, only_worker
from .working_copy import is_plain_object, working_copy

# Samples that are tried before a data set counts as one without any.
TRIED = 8
# Of a data set that does not say how many samples it has, or more than anybody
# has: the engine has a number for each.
UNKNOWN_LENGTH = 1 << 20
MOST_SAMPLES = 1 << 22
# What the trial waits for its samples, where the loader has no timeout. They
# are made on another thread: the program may hold a lock that they need.
PATIENCE_S = 60.0
_SEED = 0x5EED
Pairs = Set[Tuple[int, int]]


class Recording:
    """Of one loader: what was found out about its data set."""

    def __init__(self) -> None:
        self._facts: Optional[List[Any]] = None
        self._plan: Optional[Plan] = None
        self._refused: Optional[NotNative] = None
        self._warned = False

    def plan(self, loader: Any) -> Plan:
        """How the engine makes the samples of this loader. NotNative, perhaps
        without a reason: it has no images."""
        try:
            facts = [os.getpid(), *self._facts_of(loader)]
        except Exception:
            facts = [os.getpid(), loader.dataset]
        if self._facts is None or not _are_same(facts, self._facts):
            self._facts = self._plan = self._refused = None
            try:
                self._plan = self._made(loader)
            except NotNative as no:
                self._refused = no.with_traceback(None)
            except Warning:
                raise  # of ours, where the program makes errors of them
            except Exception as error:
                self._refused = NotNative(
                    "the data set could not be tried (%s)" % _words_of(error)
                )
            self._facts = facts
        if self._refused is not None:
            raise NotNative(*self._refused.reasons)
        assert self._plan is not None
        return self._plan

    def _facts_of(self, loader: Any) -> List[Any]:
        return facts_of(loader.dataset)

    def _made(self, loader: Any) -> Plan:
        if not POSSIBLE:
            raise NotNative("samples of other data sets need " + WANTED)
        recorded = self._new_set(loader.dataset)
        install()
        thread_draws.install()
        plan = plan_of_recorded(recorded)
        self._prove(loader, plan)
        return plan

    def _new_set(self, dataset: Any) -> Any:
        """NotNative for one that is none."""
        try:
            count = len(dataset)
        except Exception:
            count = UNKNOWN_LENGTH  # a sampler may do without
        count = count if count <= MOST_SAMPLES else UNKNOWN_LENGTH
        if count == 0:
            raise NotNative()
        return RecordedSet(count, type(dataset).__name__)

    def _prove(self, loader: Any, plan: Plan) -> None:
        wanted = loader._feedline.given.verify
        recorder = plan.recorded.recorder
        counts = sorted({max(1, wanted), max(TRIED, wanted)})
        for count in (*counts, counts[-1]):
            before = recorder.guesses
            trial = self._trial(loader, plan, count)
            if trial.guessed_wrong:
                recorder.guesses = 0
            if trial.deferred or trial.is_pointless():
                break
            if count == counts[-1] and recorder.guesses == before:
                break
        if not trial.deferred:
            raise NotNative(*trial.nothing_deferred())
        where = trial.difference() if wanted else None
        if where is not None:
            self._refuse(where)
        try_chains(
            plan.recorded.chains,
            trial,
            lambda: self._trial(loader, plan, count),
            different,
        )

    def _trial(self, loader: Any, plan: Plan, count: int) -> "Trial":
        return SamplesTrial(loader, plan, count)

    def _refuse(self, where: str) -> None:
        """NotNative, and one warning."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                "a sample that was recorded differs from the one that the data "
                "set makes, so torch loads the samples: %s" % where,
                feedline.EngineWarning,
                stacklevel=2,
            )
        raise NotNative("a recorded sample differs: %s" % where)


def plan_of_recorded(recorded: RecordedSet) -> Plan:
    return Plan(
        dataset=recorded.dataset,
        indices=None,
        pipeline=feedline.Pipeline("none"),
        options={},
        random=True,
        shape=(3, 0, 0),
        views=0,
        targets=None,
        keys=None,
        output=None,
        stream=None,
        _digest=lambda: "",
        recorded=recorded,
    )


def is_wrong_answer(error: Optional[BaseException]) -> bool:
    """Whether an error is of deferred/expected.py, or the engine's of it."""
    return isinstance(error, Unexpected) or "EXPECT" in str(error)


def _spread(length: int, count: int) -> List[int]:
    """Positions in a data set, from the first one on."""
    count = min(count, length)
    return [n * length // count for n in range(count)]


def _words_of(error: BaseException) -> str:
    """ "KeyError: 3", whatever its str() does."""
    return traceback.format_exception_only(type(error), error)[-1].strip()


# ---- A few samples, made in both ways --------------------------------------


class Trial:
    """So many samples of a data set, by an engine of their own; and truly.

    deferred: some image of theirs was. error: why a sample was not made, if
    one was not. guessed_wrong: it was an answer about pixels that turned out to
    be wrong. recorded, leaves: those that were, by place.
    """

    # Who draws from the program's generator, and what no sample came from.
    drawing = "a sample draws"
    of = "the data set"
    late = (
        "no sample came within %g s from another thread, where __getitem__ "
        "waits, perhaps for a lock that the program holds while it asks for "
        "batches; a larger timeout waits longer"
    )

    def __init__(self, loader: Any, plan: Plan, count: int) -> None:
        self.deferred = self.guessed_wrong = False
        self.error: Optional[BaseException] = None
        self.recorded: Dict[int, Any] = {}
        self.leaves: Dict[int, Any] = {}
        self._plan = plan
        self._owner = plan.recorded
        self._dataset = loader.dataset
        self._in_worker = loader.num_workers > 0
        self._patience = loader.timeout or PATIENCE_S
        self._batched = collates(loader)
        self._count = count
        self._before = states()
        self._record()

    def _record(self) -> None:
        """Fills in what is said above."""
        raise NotImplementedError

    def is_pointless(self) -> bool:
        """Whether more samples would show no more."""
        recorder = self._owner.recorder
        return bool(self.recorded) and not (
            recorder.images or recorder.real_images
        )

    def difference(self) -> Optional[str]:
        """Where a sample differs from that of the data set; None: nowhere."""
        raise NotImplementedError

    def _info(self, dataset: Any) -> Any:
        return only_worker(_SEED, dataset) if self._in_worker else None

    def _failed(
        self, run: Any, batch: Any, numbers: List[int]
    ) -> Dict[int, Optional[BaseException]]:
        """The errors of the batch that an engine makes of this run, by place.
        numbers: what it calls the samples."""
        options: Dict[str, Any] = {
            "order": "given",
            "batch_size": len(numbers),
            "workers": 1,
            "on_error": "zero",
            "tuner": "off",
        }
        engine = feedline.Loader(
            self._plan.dataset, self._plan.pipeline, **options
        )
        try:
            engine.begin(run.number)
            run.append(batch)
            engine.append(numbers)
            engine.end()
            made = engine.next(self._patience)
            assert made is not None
            found: Dict[int, Optional[BaseException]] = {
                place: engine.error_of(run.number, made.sample_index[place])
                for place, status in enumerate(made.sample_status)
                if status != 0
            }
            made.release()
            self.guessed_wrong |= any(map(is_wrong_answer, found.values()))
            return found
        except feedline.Timeout:
            raise NotNative(self.late % self._patience) from None
        finally:
            engine._end()  # nobody waits for a thread that waits

    def _check_generators(self) -> None:
        """What was made truly has left those of the program alone."""
        moved = drawn(self._before, states())
        if moved:
            set_states(self._before)
            raise NotNative(
                "%s from the program's own generator of %s, where no thread "
                "has one of its own (torch.default_generator, dropout, "
                "numpy.random.mtrand, scipy.stats)"
                % (self.drawing, ", ".join(moved))
            )

    def nothing_deferred(self) -> List[str]:
        """Why nothing was, in words; none: there are no images."""
        if self.error is not None and not self.recorded:
            return [
                "no sample of %s could be made (%s)"
                % (self.of, _words_of(self.error))
            ]
        lines = touch_lines(self._owner.recorder)
        if not lines:
            return []
        return [
            "the pixels of its images are used in Python, where the engine has "
            "not made them yet: %s" % "; ".join(lines)
        ]


class SamplesTrial(Trial):
    """Of a data set that is asked for its samples by their index."""

    def _run(self) -> Run:
        dataset = working_copy(self._dataset, self._in_worker)
        draws = SeededDraws(_SEED, 0)
        made: Run = self._owner.begin(
            dataset, draws, self._info(dataset), self._batched
        )
        return made

    def _record(self) -> None:
        self.positions = _spread(len(self._plan.dataset), self._count)
        run, batch = self._run(), Batch(list(self.positions), None)
        errors = self._failed(run, batch, self.positions)
        for place in range(len(self.positions)):
            if place in errors:
                self.error = errors[place]
                continue
            self.leaves[place] = batch.leaves[place]
            self.recorded[place] = batch.finished(place)
        self.deferred = any(self.leaves.values())

    def difference(self) -> Optional[str]:
        plain = self._plain()
        self._check_generators()
        for place, sample in self.recorded.items():
            if place not in plain:
                continue
            where = different(sample, plain[place])
            if where is None:
                continue
            other = different(self._plain().get(place), plain[place])
            name = "sample %d" % self.positions[place]
            if other is not None:
                return (
                    "%s%s is another each time that it is made with the same "
                    "random numbers" % (name, other)
                )
            return name + where
        return None

    def _plain(self) -> Dict[int, Any]:
        """The samples that the data set makes, without those that fail. Notes
        what one takes."""
        run, batch = self._run(), Batch(list(self.positions), None)
        made, n = {}, len(self.positions)
        began = time.process_time()
        try:
            if run.many is not None:
                made = dict(enumerate(run.all_truly(batch)))
                self._owner.took(time.process_time() - began, n)
        except Exception:
            return {}
        for place in range(n if run.many is None else 0):
            began = time.process_time()
            try:
                made[place] = run.truly(batch, place)
                self._owner.took(time.process_time() - began, 1)
            except Exception:
                pass
        return dict(zip(made, as_they_are(list(made.values()))))


def as_they_are(samples: List[Any]) -> List[Any]:
    """Copies, whatever a data set does with its samples later."""
    copies = Copies()
    return [copies.of(sample, lambda leaf: leaf.real()) for sample in samples]


def different(a: Any, b: Any) -> Optional[str]:
    """Where two samples differ, such as "[0]['mask']"; None: nowhere."""
    return _different(a, b, "", set())


def _different(a: Any, b: Any, where: str, seen: Pairs) -> Optional[str]:
    if type(a) is not type(b):
        kinds = type(a).__name__, type(b).__name__
        return "%s (%s, not %s)" % (where, *kinds)
    if (id(a), id(b)) in seen:
        return None  # compared, or just about to be
    seen.add((id(a), id(b)))
    if isinstance(a, torch.Tensor):
        return None if _same_tensors(a, b) else where + _about(a, b)
    if hasattr(a, "__array_interface__") and hasattr(a, "tobytes"):
        same = _about_pixels(a) == _about_pixels(b)
        return None if same else where + " (pixels)"
    if isinstance(a, dict):
        if list(a) != list(b):
            return where + " (keys)"
        named = ((a[k], b[k], "%s[%r]" % (where, k)) for k in a)
        return _first(named, seen)
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return where + " (length)"
        parts = enumerate(zip(a, b))
        return _first(((*ab, f"{where}[{n}]") for n, ab in parts), seen)
    if is_plain_object(type(a)) or _is_by_identity(a):
        return _different(vars(a), vars(b), where, seen)
    try:
        return None if bool(a == b) or a != a else where + " (value)"
    except Exception:
        return None  # it cannot be compared


def _is_by_identity(thing: Any) -> bool:
    """Whether == says nothing of what it has, as of OpenMMLab's boxes."""
    equals: Any = type(thing).__eq__
    return equals is object.__eq__ and bool(getattr(thing, "__dict__", None))


def _about_pixels(array: Any) -> Any:
    """Of an array or an image of Pillow's: all that it is."""
    palette = array.getpalette() if hasattr(array, "getpalette") else None
    interface = array.__array_interface__
    kind = interface["shape"], interface["typestr"]
    return kind, getattr(array, "mode", None), palette, array.tobytes()


def _first(parts: Any, seen: Pairs) -> Optional[str]:
    for a, b, where in parts:
        found = _different(a, b, where, seen)
        if found is not None:
            return found
    return None


def _same_tensors(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = (x.detach().as_subclass(torch.Tensor) for x in (a, b))
    if a.layout != torch.strided or a.device.type != "cpu":
        return True
    a, b = a.contiguous(), b.contiguous()
    return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())


def _about(a: torch.Tensor, b: torch.Tensor) -> str:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        one, other = ((list(x.shape), x.dtype) for x in (a, b))
        return " (%s of %s, not %s of %s)" % (*one, *other)
    return " (%d of its %d numbers)" % (int((a != b).sum()), a.numel())


# ---- Facts: another proof where they change ---------------------------------


def facts_of(dataset: Any) -> List[Any]:
    """What a data set and its transforms are made of, to a small depth."""
    found: List[Any] = [dataset]
    _collect(dataset, found, 0)
    return found


def _collect(thing: Any, found: List[Any], depth: int) -> None:
    if isinstance(thing, (list, tuple)):
        parts: List[Any] = list(thing[:64])
    elif is_plain_object(type(thing)):
        parts = list(vars(thing).values())
    else:
        return
    found.extend(parts)
    for part in parts if depth < 4 else ():
        _collect(part, found, depth + 1)


def _are_same(a: List[Any], b: List[Any]) -> bool:
    return len(a) == len(b) and all(map(_is_same, a, b))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in _VALUES and a == b)


_VALUES = (int, float, str, bytes)

# ---- In words ---------------------------------------------------------------


def _place(touch: Any) -> str:
    if not touch.file:  # the program's own lines are not on the stack
        return "in a library"
    return "%s:%d in %s" % (touch.file, touch.line, touch.function)


def touch_lines(recorder: Any) -> List[str]:
    """Where the program used pixels, the most expensive first."""
    order = sorted(recorder.touches, key=lambda touch: -touch.ns)
    return [
        "%s, by %s (%d times; to make the pixels for it took %.1f ms each; the "
        "function's own work is not in that)"
        % (
            _place(touch),
            touch.asked,
            touch.count,
            touch.ns / touch.count / 1e6,
        )
        for touch in order[:8]
    ]


# Samples from which on costs are told; and how much dearer is worth a word.
_TOLD_FROM, _DEARER = 64, 1.25


def cost_of(recorded: RecordedSet, stats: Dict[str, Any]) -> str:
    """What a sample takes, and what it took without the engine; "" where that
    is not known."""
    n, itself = stats["reader"]["samples"], recorded.itself_s
    if itself is None or n < _TOLD_FROM or recorded.helping.alive:
        return ""
    python = stats["reader"]["cpu_seconds"] / n
    pixels = sum(one["cpu_seconds"] for one in stats["operations"]) / n
    words = (
        "- a sample takes %.2f ms of a core: %.2f in its Python, %.2f for "
        "pixels; without the engine it took %.2f when the data set was tried"
    ) % tuple(1e3 * s for s in (python + pixels, python, pixels, itself))
    if python + pixels < itself * _DEARER:
        return words
    return words + (
        '. So putting pixels off costs more than it saves: backend="torch" '
        "leaves these samples to torch's workers. It pays for larger images, "
        "and for fewer calls of each"
    )


def words_about(recorded: RecordedSet) -> str:
    """What is deferred, and what is not: lines of explain()."""
    recorder = recorded.recorder
    lines = [
        "Your data set runs in Python, and the engine makes the pixels of its "
        "images: %d so far." % recorder.images
    ]
    if recorded.chains.count:
        lines.append(
            "- %d times the engine did, and drew for, a whole chain of "
            "transforms" % recorded.chains.count
        )
    for reason, count in recorder.real_images.items():
        lines.append("- %d images were opened by Pillow: %s" % (count, reason))
    for line in touch_lines(recorder):
        lines.append("- pixels were made in Python for %s" % line)
    return "\n".join(lines)
