# SPDX-License-Identifier: Apache-2.0
"""The part of a Loader that says how it is doing; see views.py.

Kept apart from the delivery of batches in loader.py. All of it may be called
from any thread, but phases, which are the consumer's own.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable, Dict, Optional, TextIO

from . import views
from ._library import lib
from .errors import RangeError, check, read_text
from .views import Verdict

# ---- Phases -----------------------------------------------------------------
#
# They are in the statistics ("phases"), in the table and in traces, so the time
# outside the loader is explained too. Only the host's clock is read: work
# queued on a GPU shows where the host waits for it.


class Phase:
    """A span of the consumer's thread; begins at `with`, may be used again.

    begin and end raise as the library says: RangeError for a 33rd name or a
    9th level, InvalidArgument for a name above 31 bytes.
    """

    __slots__ = ("_name", "_begin", "_end")

    def __init__(
        self, name: str, begin: Callable[[], object], end: Callable[[], object]
    ) -> None:
        self._name = name
        self._begin = begin
        self._end = end

    def __repr__(self) -> str:
        return "<feedline.Phase %r>" % self._name

    def __enter__(self) -> "Phase":
        self._begin()
        return self

    def __exit__(self, *unused: Any) -> None:
        self._end()


# What a table can be sorted by.
SORT_COLUMNS = tuple("busy items bytes mean p50 p90 p99 max name".split())


class Observable:
    """Statistics, explanations and views of one loader."""

    def _renew_locks(self) -> None:
        """Also after a fork: what another thread held is never released."""
        # Of the library's object: the consumer's calls, and all others.
        self._consumer = threading.RLock()
        self._others = threading.RLock()

    @property
    def handle(self) -> int:
        """The feedline_loader, as an address; StateError if closed."""
        raise NotImplementedError

    def text(self, function: Any, *arguments: Any) -> str:
        """What one of the library's functions for texts says of this loader.

        function, arguments: such as lib.loader_explain, and what it takes
        between the loader and the buffer.
        """
        with self._others:
            return read_text(function, self.handle, *arguments)

    # ---- Numbers ----------------------------------------------------------

    def stats(self, flat: bool = False) -> Dict[str, Any]:
        """All statistics since the start or reset_stats(), with the verdict.

        docs/statistics.md lists them. flat=True: the numbers of the loader, its
        stages and phases in one level of floats, {"feedline/wait_fraction":
        0.03, ...}, for writer.add_scalar and wandb.log.
        """
        found: Dict[str, Any] = json.loads(self.text(lib.loader_stats_json))
        return dict(views.flat(found)) if flat else found

    def metrics_text(self) -> str:
        """The statistics of this moment in Prometheus' text format, as the
        option metrics writes them to its file (docs/live.md)."""
        return self.text(lib.loader_metrics)

    def reset_stats(self) -> None:
        """Resets the statistics; deliveries are not affected."""
        with self._others:
            check(lib.loader_reset_stats(self.handle))

    def table(self, sort_by: Optional[str] = None, row_limit: int = 0) -> str:
        """Stages and phases as lines of text.

        sort_by: "busy", "items", "bytes", "mean", "p50", "p90", "p99", "max",
        "name"; None: processing order. row_limit: 0 is all rows. Raises
        InvalidArgument, which lists the columns, and RangeError.
        """
        column = None if sort_by is None else sort_by.encode()
        if not 0 <= row_limit < 1 << 32:
            raise RangeError("row_limit=%r: 0 to 2**32 - 1" % (row_limit,))
        return self.text(lib.loader_stats_table, column, row_limit)

    # ---- Words ------------------------------------------------------------

    def tuner_text(self) -> str:
        """What the tuner did and why, as lines of text."""
        return self.text(lib.loader_tuner_text)

    def explain(self) -> str:
        """What limits the loader and what to do about it, what each operation
        costs, and what the tuner did, as lines of text."""
        return self.text(lib.loader_explain).rstrip("\n")

    @property
    def verdict(self) -> Verdict:
        """What the statistics mean."""
        return views.verdict(self.stats())

    # ---- Views ------------------------------------------------------------

    def top(
        self,
        seconds: Optional[float] = None,
        interval: float = 1.0,
        out: Optional[TextIO] = None,
    ) -> str:
        """Shows this loader while another thread iterates: rates, waits and
        their causes, stages, verdict. Returns the last screen.

        seconds: how long; None: until Ctrl-C; 0: only returns a screen.
        interval: seconds between two screens. out: a text file, None: the
        notebook's cell, or sys.stdout.

        Raises ValueError for a negative time, StateError where there is nothing
        to tell.
        """
        return views.top(self, seconds, interval, out)

    def _repr_html_(self) -> str:
        return views.repr_html(self)

    # ---- Phases and traces ------------------------------------------------

    def phase(self, name: str) -> Phase:
        """A context that attributes the consumer's time in it to `name`.

        name: such as "forward". Use it on the consumer's thread. Phases nest,
        up to 8 deep. Raises RangeError for a name above 31 bytes or a 33rd
        name.
        """
        encoded = name.encode()

        def begin() -> None:
            with self._consumer:
                check(lib.loader_phase_begin(self.handle, encoded))

        def end() -> None:
            with self._consumer:
                check(lib.loader_phase_end(self.handle))

        return Phase(name, begin, end)

    def trace_save(self, path: "str | os.PathLike[str]") -> None:
        """Writes a trace for ui.perfetto.dev: the last 4096 events of each
        thread.

        path: of the file, which is written completely or not at all. Raises
        ReadError, which names it.
        """
        with self._others:
            check(lib.loader_trace_save(self.handle, os.fsencode(path)))

    def record(self, path: str, since_ns: int) -> None:
        """Begins a recording for feedline.profile. The consumer's thread, as
        the next two.

        path: of the trace. since_ns: what began earlier by CLOCK_MONOTONIC is
        left out.
        """
        with self._consumer:
            check(lib.loader_record(self.handle, os.fsencode(path), since_ns))

    def record_step(self, number: int) -> None:
        """A step of the program ended; number: which."""
        with self._consumer:
            check(lib.loader_record_step(self.handle, number))

    def record_end(self, at_step: bool) -> None:
        """Completes the file; at_step: it ends where the last step did."""
        with self._consumer:
            check(lib.loader_record_end(self.handle, at_step))
