# SPDX-License-Identifier: Apache-2.0
"""Who records, and what was touched.

A `Recorder` runs a function with deferral on: on this thread, until it returns.
Each deferred object knows its run, and records only while that run goes on:
whoever uses it later (a cache in the data set, another thread) gets real
pixels, which are then kept by whoever kept the object.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from bisect import bisect_right
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional
from typing import Sequence, Set, Tuple

from . import hooks
from .description import NO_DRAWS
from .image_source import Source, lock
from .steps import MOST_STEPS

__all__ = ["Recorder", "Run", "Touch", "lock", "state"]

# Packages whose lines are not the program's.
_LIBRARIES = ("feedline", "PIL", "torch", "torchvision", "numpy")
# Files of a sample that are kept open until it is done.
MOST_OPEN = 32


class Touch(NamedTuple):
    """A line of the program that asked for pixels, and how often it did."""

    file: str
    line: int
    function: str
    asked: str
    count: int  # type: ignore[assignment]  # of NamedTuple: tuple.count
    ns: int


class Unexpected(ValueError):
    """An answer about pixels was wrong: see expected.py."""


class Unsure(NamedTuple):
    """An answer about the pixels of an image, by its number in the run: the
    steps behind which it is about them, the step that looks whether it was
    right; a call that makes the real array, and what says of that whether it
    was."""

    image: int
    behind: Any
    step: Any
    call: Any
    test: Callable[[Any], bool]


# Of a recorder: images, those that were real, touches.
Counts = Tuple[int, Dict[str, int], Dict[Tuple[str, int, str, str], List[int]]]


class Run:
    """One call of Recorder.run: what its images have in common."""

    __slots__ = ("recorder", "sources", "has_arrays", "unsure", "grays")

    adopts = True  # arrays of earlier runs
    guesses = True  # answers that are all but certain: see expected.py

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder
        self.sources: List[Source] = []
        self.has_arrays = False
        self.unsure: List[Unsure] = []
        self.grays: Set[Tuple[int, ...]] = set()  # shapes of gray arrays

    def add(self, source: Source) -> None:
        """An image that was opened. No more than some files stay open."""
        if len(self.sources) >= MOST_OPEN:
            source.forget()
        self.sources.append(source)

    def refuses(self, source: Source) -> str:
        """Why an image is not deferred, though it could be."""
        return ""


class _State(threading.local):
    run: Optional[Run] = None
    last: Optional[Run] = None  # the one that ended last


state = _State()


@contextmanager
def no_run() -> Iterator[None]:
    """What is made meanwhile, on this thread, is real."""
    run, state.run = state.run, None
    try:
        yield
    finally:
        state.run = run


class Recorder:
    """Runs functions with deferral on, and counts. Any thread."""

    def __init__(self) -> None:
        self._touches: Dict[Tuple[str, int, str, str], List[int]] = {}
        self._lock = threading.Lock()
        # chains(transform, image): the deferred tensor of a chain that is
        # recorded as a whole, or None.
        self.chains: Optional[Callable[[Any, Any], Any]] = None
        self.arrays = True  # are deferred, too
        self.kept: Any = None  # see kept_arrays.py
        self.guesses = 8  # that may still turn out to be wrong
        self.images = 0  # that were deferred
        self.real_images: Dict[str, int] = {}  # why not, how many

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn(*args); the images that it opens are deferred."""
        if state.run is not None:
            return fn(*args)
        hooks.install()
        run = state.run = Run(self)
        try:
            return fn(*args)
        finally:
            state.run, state.last = None, run
            self.images += len(run.sources)
            for source in run.sources:
                source.forget()

    def opened(self) -> int:
        """Images that this thread's run has opened so far."""
        return 0 if state.run is None else len(state.run.sources)

    def sources(self, first: int) -> Sequence[Source]:
        """Those from that number on."""
        return () if state.run is None else state.run.sources[first:]

    def unfinished(
        self, leaves: List[Any], parts: Sequence[int]
    ) -> Iterator[Tuple[int, Exception]]:
        """Loads the images of this thread's last run whose pixels the program
        asked for and that are in none of its leaves, so that no error is lost.

        parts: opened() behind each part of the run. Gives (part, error), also
        of answers that were wrong.
        """
        unsure = [] if state.last is None else _alone(state.last, leaves)
        for n in _wrong_ones(unsure):
            self.guesses -= 1
            for part in range(bisect_right(parts, n), len(parts)):
                yield part, Unexpected("an answer about pixels was wrong")
        used = {id(leaf.source) for leaf in leaves}
        sources = [] if state.last is None else state.last.sources
        for n, source in enumerate(sources):
            if source.wanted and not source.sound and id(source) not in used:
                try:
                    source.pixels()
                except Exception as error:
                    yield bisect_right(parts, n), error
                source.forget()

    def failed(self, error: BaseException) -> None:
        """What a sample raised in this thread's run, which foreign code may
        have that was given a deferred array and is no error of the file's:
        no others, then."""
        run = state.run
        if run is not None and run.has_arrays:
            self.arrays = self.arrays and isinstance(error, OSError)

    @property
    def touches(self) -> List[Touch]:
        """Those of most time first."""
        with self._lock:
            found = [Touch(*key, *n) for key, n in self._touches.items()]
        return sorted(found, key=lambda touch: -touch.ns)

    def count(self, asked: str, began: int) -> None:
        """A touch that began at that time."""
        taken = time.monotonic_ns() - began
        frame, inner = _line_of_program()
        key = ("", 0, "", asked or inner)
        if frame is not None:
            code = frame.f_code
            key = (code.co_filename, frame.f_lineno, code.co_name, key[3])
        with self._lock:
            seen = self._touches.setdefault(key, [0, 0])
            seen[0] += 1
            seen[1] += taken

    def taken(self) -> Counts:
        """What was counted since the last call, to be added elsewhere."""
        with self._lock:
            found = self.images, self.real_images, self._touches
            self.images, self.real_images, self._touches = 0, {}, {}
        return found

    def add(self, counts: Counts) -> None:
        """What another recorder has taken."""
        images, real, touches = counts
        with self._lock:
            self.images += images
            for why, n in real.items():
                self.real_images[why] = self.real_images.get(why, 0) + n
            for key, (count, ns) in touches.items():
                seen = self._touches.setdefault(key, [0, 0])
                seen[0] += count
                seen[1] += ns

    def count_real(self, why: str) -> None:
        with self._lock:
            self.real_images[why] = self.real_images.get(why, 0) + 1


def _alone(run: Run, leaves: List[Any]) -> List[Unsure]:
    """Answers that the engine will not look at, as they are about nothing that
    it makes."""
    if not run.unsure:
        return []
    seen = {id(step) for leaf in leaves for step in leaf.steps}
    return [
        one
        for one in run.unsure
        if id(one.step) not in seen
        and not _goes_along(one, run.sources[one.image], leaves)
    ]


def _goes_along(one: Unsure, source: Source, leaves: List[Any]) -> bool:
    """About an array that is gone, as of `(image > 1).any()`: what is made of
    the same pixels has them on its way."""
    n = len(one.behind)
    for leaf in leaves:
        steps = leaf.steps
        if leaf.source is source and steps[:n] == one.behind:
            if len(steps) < MOST_STEPS and leaf.draws is NO_DRAWS:
                leaf.steps = (*steps[:n], one.step, *steps[n:])
                return True
    return False


def _wrong_ones(unsure: Sequence[Unsure]) -> Iterator[int]:
    """Images of answers that were wrong."""
    for one in unsure:
        with no_run():
            try:
                right = one.test(one.call.again())
            except Exception:  # whose it is, is seen elsewhere
                right = False
        if not right:
            yield one.image


def _line_of_program() -> Tuple[Optional[FrameType], str]:
    """The nearest frame outside of the libraries, and the name of the function
    that it called."""
    folders = [
        os.path.dirname(getattr(sys.modules.get(name), "__file__", "")) + os.sep
        for name in _LIBRARIES
        if name in sys.modules
    ]
    frame: Optional[FrameType] = sys._getframe(1)
    inner = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(tuple(folders)):
            return frame, inner
        if not file.startswith(folders[0]):
            inner = frame.f_code.co_name
        frame = frame.f_back
    return None, inner
