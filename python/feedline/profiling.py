# SPDX-License-Identifier: Apache-2.0
"""Profiling over a schedule, with torch.profiler's interface.

    with feedline.profile(
        loader,
        schedule=feedline.schedule(wait=1, warmup=1, active=3, repeat=2),
        on_trace_ready=feedline.tensorboard_trace_handler("runs/a"),
    ) as prof:
        for images, labels in loader:
            train(images, labels)
            prof.step()
    print(prof.key_averages().table(sort_by="busy", row_limit=5))

What is exact: the statistics are those of the recorded steps, percentiles
too, because they are set to zero when a recording begins; `loader.stats()`
counts from there as well. The trace has every slice that began in a recorded
step, from the rings that a loader always keeps (docs/trace.md); they are read
when a recording ends, and in between where it is long. For recordings of
thousands of batches the option `trace` costs less.

A loader that was not iterated has nothing to profile: one warning says so, and
every question to the profile raises `StateError` with the reason.
"""

from __future__ import annotations

import enum
import os
import time
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type

from . import table_view
from .errors import StateError
from .log_lines import EngineWarning
from .trace_window import TraceWindow


class ProfilerAction(enum.Enum):
    """What a profile does in a step; names as in torch.profiler."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


Schedule = Callable[[int], Any]


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Cycles of `wait` idle, `warmup` and `active` recorded steps.

    The first `skip_first` steps precede the cycles; repeat: number of cycles,
    0: unlimited. Same as torch.profiler.schedule, which may be passed instead.
    """
    for name, value, least in (
        ("wait", wait, 0),
        ("warmup", warmup, 0),
        ("active", active, 1),
        ("repeat", repeat, 0),
        ("skip_first", skip_first, 0),
    ):
        if value < least:
            raise ValueError("%s=%r: at least %d" % (name, value, least))
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("step=%r: steps count from 0" % (step,))
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        last = step == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def always(step: int) -> ProfilerAction:
    """Without a schedule: all is one recording."""
    return ProfilerAction.RECORD


class KeyAverages(Sequence[table_view.Row]):
    """Stages and phases of a recording, in processing order."""

    def __init__(self, stats: Dict[str, Any]) -> None:
        self.stats = stats
        self._rows = table_view.rows_of(stats)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def table(
        self,
        sort_by: Optional[str] = None,
        row_limit: int = 100,
        header: Optional[str] = None,
    ) -> str:
        """Lines of text; see `feedline.table_view.table` for sort_by.

        row_limit: 0, or -1 as torch has it, is all rows.
        """
        text = table_view.table(self._rows, sort_by, max(0, row_limit))
        return text if header is None else header + "\n" + text

    def __str__(self) -> str:
        return self.table()


def engine_of(loader: Any) -> Any:
    """The feedline.Loader that does the work; None where there is none yet.

    A feedline.torch.DataLoader has one while it runs natively, and a Meter
    while torch loads its samples.
    """
    observed = getattr(loader, "_feedline_observed", None)
    if observed is not None:
        return observed()
    return loader if hasattr(loader, "trace_save") else None


def why_no_engine(loader: Any) -> str:
    """In words, for an error."""
    reason = getattr(loader, "fallback_reason", None)
    if reason:
        return "this loader runs without the native engine: %s" % reason
    return "the loader was not iterated, so there is nothing to tell"


class profile:  # named as torch.profiler.profile is
    """A context that records a loader over a schedule.

    loader: feedline.Loader or feedline.torch.DataLoader. schedule: a function
    from the number of a step to its action, such as `feedline.schedule(...)`
    or torch.profiler.schedule(...); None records everything. on_trace_ready:
    called with this object when a recording is complete; if nothing could be
    recorded, an EngineWarning says why instead. Call step() after each batch,
    on the thread that iterates.
    """

    def __init__(
        self,
        loader: Any,
        *,
        schedule: Optional[Schedule] = None,
        on_trace_ready: Optional[Callable[["profile"], Any]] = None,
    ) -> None:
        self.loader = loader
        self.schedule: Schedule = schedule or always
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._action = "NONE"
        self._window: Optional[TraceWindow] = None
        self._done: Optional[TraceWindow] = None
        self._stats: Optional[Dict[str, Any]] = None

    # ---- Life ----

    def start(self) -> None:
        """Starts with step 0."""
        self.step_num = 0
        self._enter(self._ask())

    def stop(self) -> None:
        """Stops, and completes a recording in progress."""
        self._finish(behind_step=False)
        self._action = "NONE"

    def step(self) -> None:
        """Marks the end of a step; call it after the work on a batch."""
        if self._window is not None:
            self._window.step(engine_of(self.loader), self.step_num)
        if self._action == "RECORD_AND_SAVE":
            self._finish(behind_step=True)
        self.step_num += 1
        self._enter(self._ask())

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    def _ask(self) -> str:
        """The name of this step's action, by our schedule or torch's."""
        return str(self.schedule(self.step_num).name)

    def _enter(self, action: str) -> None:
        self._action = action
        recording = action in ("RECORD", "RECORD_AND_SAVE")
        if not recording:
            self._window = None  # a schedule may drop what it began
        elif self._window is None:
            engine = engine_of(self.loader)
            if engine is not None:
                engine.reset_stats()
            self._window = TraceWindow()

    def _finish(self, behind_step: bool) -> None:
        window, self._window = self._window, None
        if window is None:
            return
        engine = engine_of(self.loader)
        if engine is None or engine.closed:
            # Training goes on: who asks for the results gets an error.
            warnings.warn(
                why_no_engine(self.loader), EngineWarning, stacklevel=3
            )
            return
        window.close(engine, behind_step)
        self._stats = engine.stats()
        self._done = window
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- Results, of the last complete recording ----

    def _recorded(self) -> TraceWindow:
        if self._done is None:
            raise StateError(why_no_engine(self.loader))
        return self._done

    @property
    def stats(self) -> Dict[str, Any]:
        """As Loader.stats(), of the recorded steps."""
        self._recorded()
        assert self._stats is not None
        return self._stats

    def key_averages(self) -> KeyAverages:
        """Stages and phases of the recorded steps."""
        return KeyAverages(self.stats)

    def events(self) -> List[Dict[str, Any]]:
        """The events of the trace, as Chrome's JSON has them; copies."""
        return self._recorded().events()

    def export_chrome_trace(self, path: "str | os.PathLike[str]") -> None:
        """Writes the trace for ui.perfetto.dev; ".gz" at the end packs it.

        It lines up with a trace of torch.profiler's of the same process:
        scripts/merge_traces puts both in one file. OSError as open() has it.
        """
        self._recorded().write(os.fspath(path))


def tensorboard_trace_handler(
    dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For on_trace_ready: a file a recording, where TensorBoard looks for it.

    DIR/WORKER.TIME.pt.trace.json, with .gz if use_gzip; worker_name: None is
    host and process, so ranks may share a folder. The folder is made.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or "%s_%d" % (os.uname().nodename, os.getpid())
        name = "%s.%d.pt.trace.json" % (worker, time.time_ns())
        if use_gzip:
            name += ".gz"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler
