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

The statistics, percentiles included, are exactly those of the recorded steps:
they are reset when a recording begins, also for `loader.stats()`. The trace has
every slice that began in a recorded step (docs/trace.md). The library records
it, and step() waits for its recorder where that falls behind.

A loader that was not iterated has nothing to profile: one warning says so, and
every question to the profile raises `StateError` with the reason.
"""

from __future__ import annotations

import enum
import gzip
import json
import os
import tempfile
import time
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from . import _c
from ._library import lib
from .errors import InvalidArgument, StateError
from .log_lines import EngineWarning
from .observable import SORT_COLUMNS


class ProfilerAction(enum.Enum):
    """What a profile does in a step; names as in torch.profiler."""

    NONE = _c.TRACE_NONE
    WARMUP = _c.TRACE_WARMUP
    RECORD = _c.TRACE_RECORD
    RECORD_AND_SAVE = _c.TRACE_RECORD_AND_SAVE


Schedule = Callable[[int], Any]


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
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

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("step=%r: steps count from 0" % (step,))
        return ProfilerAction(
            lib.trace_action(skip_first, wait, warmup, active, repeat, step)
        )

    return action


def always(step: int) -> ProfilerAction:
    """Without a schedule: all is one recording."""
    return ProfilerAction.RECORD


# What PyTorch's table calls its columns, in words of this one.
TORCH_COLUMNS = {
    "count": "items",
    "cpu_time": "mean",
    "cpu_time_total": "busy",
    "self_cpu_time_total": "busy",
}


@dataclass(frozen=True)
class Row:
    """A stage, or a phase of the consumer ("consume/forward").

    busy_seconds: of a phase, without the phases inside it.
    """

    key: str
    count: int
    busy_seconds: float


class KeyAverages(Sequence[Row]):
    """Stages and phases of a recording, in processing order."""

    def __init__(
        self, stats: Dict[str, Any], tables: Dict[Optional[str], str]
    ) -> None:
        """tables: the library's, by the column that each is sorted by."""
        self.stats = stats
        self._tables = tables
        self._rows = [
            Row(stage["name"], stage["items"], stage["busy_seconds"])
            for stage in stats["stages"]
        ] + [
            Row(
                "consume/" + phase["name"],
                phase["count"],
                phase["self_seconds"],
            )
            for phase in stats["phases"]
        ]

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
        """Lines of text, as Loader.table has them.

        sort_by: a column of Loader.table, or PyTorch's "cpu_time_total",
        "cpu_time" or "count". row_limit: 0, or -1 as torch has it, is all rows.
        Raises InvalidArgument, which lists the columns.
        """
        column = TORCH_COLUMNS.get(sort_by or "", sort_by)
        if column not in self._tables:
            raise InvalidArgument(
                "sort_by=%r: the table is sorted by %s"
                % (sort_by, ", ".join(SORT_COLUMNS))
            )
        title, dashes, *rows, total = self._tables[column].split("\n")
        if 0 < row_limit < len(rows):
            rows[row_limit:] = ["%d more rows" % (len(rows) - row_limit)]
        lines = [title, dashes, *rows, total]
        return "\n".join(lines if header is None else [header, *lines])

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


def is_observed(loader: Any) -> bool:
    """Whether it has an engine, or may have one."""
    return hasattr(loader, "_feedline_observed") or hasattr(
        loader, "trace_save"
    )


def why_no_engine(loader: Any) -> str:
    """In words, for an error."""
    reason = getattr(loader, "fallback_reason", None)
    if reason:
        return "this loader runs without the native engine: %s" % reason
    return "the loader was not iterated, so there is nothing to tell"


class Recording(NamedTuple):
    """A complete recording. tables: by the column each is sorted by."""

    trace: bytes
    stats: Dict[str, Any]
    tables: Dict[Optional[str], str]


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
        if not is_observed(loader):
            raise InvalidArgument(
                "feedline.profile takes a feedline.Loader or a "
                "feedline.torch.DataLoader, not %s; any other loader as "
                "feedline.watch(loader)" % type(loader).__name__
            )
        self.loader = loader
        self.schedule: Schedule = schedule or always
        self.on_trace_ready = on_trace_ready
        self.step_num: int = 0
        self._action = "NONE"
        self._begun_ns = 0  # of the recording under way; 0: none is
        self._engine: Any = None  # that records it, once there is one
        self._folder: Any = None  # where it does
        self._done: Optional[Recording] = None

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
        if self._begun_ns and self._find_engine():
            self._engine.record_step(self.step_num)
        if self._action == "RECORD_AND_SAVE":
            self._finish(behind_step=True)
        self.step_num += 1
        self._enter(self._ask())

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *unused: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return "<feedline.profile of %r: step %d, %s>" % (
            self.loader,
            self.step_num,
            self._action.lower(),
        )

    def _ask(self) -> str:
        """The name of this step's action, by our schedule or torch's."""
        return str(self.schedule(self.step_num).name)

    def _enter(self, action: str) -> None:
        self._action = action
        recording = action in ("RECORD", "RECORD_AND_SAVE")
        if not recording:
            self._drop()  # a schedule may drop what it began
        elif not self._begun_ns:
            engine = engine_of(self.loader)
            if engine is not None and not engine.closed:
                engine.reset_stats()
            self._begun_ns = time.monotonic_ns()
            self._find_engine()

    def _find_engine(self) -> bool:
        """Whether an engine records; the rings have what came before it did."""
        engine = engine_of(self.loader)
        if engine is None or engine.closed:
            return False
        if engine is not self._engine:
            self._drop_engine()
            self._folder = tempfile.TemporaryDirectory(prefix="feedline-")
            engine.record(self._path(), self._begun_ns)
            self._engine = engine
        return True

    def _path(self) -> str:
        return os.path.join(self._folder.name, "trace.json")

    def _drop_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None and not engine.closed:
            engine.record_end(False)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _drop(self) -> None:
        self._drop_engine()
        self._begun_ns = 0

    def _finish(self, behind_step: bool) -> None:
        if not self._begun_ns:
            return
        if not self._find_engine():
            self._drop()
            # Training goes on: who asks for the results gets an error.
            warnings.warn(
                why_no_engine(self.loader), EngineWarning, stacklevel=3
            )
            return
        engine, self._engine = self._engine, None
        try:
            engine.record_end(behind_step)
            with open(self._path(), "rb") as file:
                trace = file.read()
        finally:
            self._drop()
        columns = (None, *SORT_COLUMNS)
        tables = {name: engine.table(name).rstrip("\n") for name in columns}
        self._done = Recording(trace, engine.stats(), tables)
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- Results, of the last complete recording ----

    def _recorded(self) -> "Recording":
        if self._done is None:
            raise StateError(why_no_engine(self.loader))
        return self._done

    @property
    def recorded(self) -> bool:
        """Whether there is a complete recording."""
        return self._done is not None

    @property
    def stats(self) -> Dict[str, Any]:
        """As Loader.stats(), of the recorded steps."""
        return self._recorded().stats

    def key_averages(self) -> KeyAverages:
        """Stages and phases of the recorded steps."""
        done = self._recorded()
        return KeyAverages(done.stats, done.tables)

    def events(self) -> List[Dict[str, Any]]:
        """The events of the trace, as Chrome's JSON has them."""
        trace = json.loads(self._recorded().trace)
        found: List[Dict[str, Any]] = trace["traceEvents"]
        return found

    def export_chrome_trace(self, path: "str | os.PathLike[str]") -> None:
        """Writes the trace for ui.perfetto.dev.

        path: of the file, written completely or not at all; ".gz" at its end
        compresses it.

        It lines up with a trace of torch.profiler's of the same process:
        feedline.torch.profile writes both in one file, and
        feedline.merged_traces makes one of two. OSError as open() has it.
        """
        target = os.fspath(path)
        trace = self._recorded().trace
        pack: Any = gzip.open if target.endswith(".gz") else open
        partial = target + ".partial"
        try:
            with pack(partial, "wb") as file:
                file.write(trace)
            os.replace(partial, target)
        except BaseException:
            if os.path.exists(partial):
                os.unlink(partial)
            raise


def tensorboard_trace_handler(
    dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For on_trace_ready: a file a recording, where TensorBoard looks for it.

    dir_name: the folder, which is made. The file is
    WORKER.TIME.pt.trace.json, with .gz if use_gzip=True. worker_name: None is
    host and process, so ranks may share a folder.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or "%s_%d" % (os.uname().nodename, os.getpid())
        name = "%s.%d.pt.trace.json" % (worker, time.time_ns())
        if use_gzip:
            name += ".gz"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler
