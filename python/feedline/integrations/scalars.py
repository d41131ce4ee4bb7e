# SPDX-License-Identifier: Apache-2.0
"""A loader's numbers where a training's numbers are looked at already.

    scalars = Scalars(loader, SummaryWriter("runs/a"))
    for step, (images, labels) in enumerate(loader):
        train(images, labels)
        scalars.step(step)

The sink is TensorBoard's SummaryWriter, a run of Weights & Biases, mlflow, an
Accelerator, a logger of Lightning's, or a function(values, step=step). What
comes is of the steps since the last time, not since the start; docs/metrics.md
lists the names. No framework is needed, nor imported.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any, Callable, Dict, Mapping, Optional

from .. import views
from ..log_lines import EngineWarning
from ..metric_families import families
from ..profiling import engine_of

Values = Dict[str, float]

# What the consumer waited for, in few words: buckets of docs/statistics.md. The
# rest of the wait is "other".
CAUSES = {
    "reading": ("fetch_queue", "fetch"),
    "preparing": ("worker_wait", "prep"),
    "copying": ("transfer_queue", "transfer"),
}
LEVELS = ("FED", "MINOR", "MODERATE", "HIGH")


class Scalars:
    """Sends a loader's numbers to a sink, every so many steps.

    loader: a feedline.torch.DataLoader, a feedline.Loader, a feedline.watch, or
    what accelerate made of the first. every: steps between two times. prefix:
    in front of each name; two loaders need two. every_rank: by default the
    first rank of a job sends; True: each does, to a sink of its own.

    Raises TypeError for a sink that takes nothing.
    """

    def __init__(
        self,
        loader: Any,
        sink: Any,
        *,
        every: int = 50,
        prefix: str = "feedline/",
        every_rank: bool = False,
    ) -> None:
        if every < 1:
            raise ValueError("every=%r: at least 1" % (every,))
        self._send = sender(sink)
        self._intervals = Intervals(loader)
        self._every = every
        self._prefix = prefix
        self._every_rank = every_rank
        self._due: Optional[int] = None

    def step(self, step: int) -> None:
        """Behind each step of training: sends at each multiple of `every`.
        step: of the training, as the sink counts them, from 0 or 1."""
        if self._due is None:
            self._due = max(1, -(-step // self._every)) * self._every
        if step >= self._due:
            self._due = (step // self._every + 1) * self._every
            self.send(step)

    def send(self, step: int) -> None:
        """Sends what there is since the last time, if a batch came."""
        if not self._every_rank and self._intervals.rank() != 0:
            return
        values = self._intervals.read(self._prefix)
        if values:
            self._send(values, step)


def sender(sink: Any) -> Callable[[Values, int], None]:
    """How values are given to a sink."""
    if hasattr(sink, "add_scalar"):

        def write(values: Values, step: int) -> None:
            for name, value in values.items():
                sink.add_scalar(name, value, step)

        return write
    # mlflow and Lightning's loggers; wandb and Accelerator.
    for name in ("log_metrics", "log"):
        if hasattr(sink, name):
            sink = getattr(sink, name)
            break
    if not callable(sink):
        raise TypeError(
            "%s has no add_scalar, log_metrics or log, and is no function"
            % type(sink).__name__
        )
    function = sink

    def call(values: Values, step: int) -> None:
        function(values, step=step)

    return call


# ---- Numbers of an interval --------------------------------------------------


class Intervals:
    """What happened in a loader between two readings of it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._engine: Callable[[], Any] = _none
        self._rank = 0
        self._before: Optional[Mapping[str, Any]] = None
        self._warned = False

    def rank(self) -> int:
        """Which process of its job this is, as the library found out."""
        self._find()
        return self._rank

    def read(self, prefix: str) -> Values:
        """Since the last call, or the start; {}: no batch came."""
        engine = self._find()
        if engine is None:
            return {}
        stats = engine.stats()
        before, self._before = self._before, stats
        return {prefix + k: v for k, v in of_interval(stats, before).items()}

    def _find(self) -> Any:
        """A DataLoader has an engine once it is iterated, and may get a new
        one."""
        engine = engine_of(self._loader)
        if engine is None or engine.closed:
            self._warn()
            return None
        if engine is not self._engine():
            self._engine = weakref.ref(engine)
            self._before = None
            first = families([engine.metrics_text()])[0].samples[0]
            self._rank = int(first.labels["rank"])
        return engine

    def _warn(self) -> None:
        """A loader of ours that was not iterated yet says nothing."""
        if self._warned or hasattr(self._loader, "explain"):
            return
        self._warned = True
        warnings.warn(
            "%s is no loader of feedline's, so there are no scalars: take "
            "feedline.torch.DataLoader, or feedline.watch(loader)"
            % type(self._loader).__name__,
            EngineWarning,
            stacklevel=4,
        )


def _none() -> None:
    return None


def of_interval(
    stats: Mapping[str, Any], before: Optional[Mapping[str, Any]]
) -> Values:
    """The numbers of docs/metrics.md; {}: no batch came."""
    rates, total = views.rates(stats, before), stats["stats"]
    wall = rates.pop("wall_seconds")
    if wall <= 0 or not rates["batches_per_second"]:
        return {}
    if (
        before
        and before["stats"]["wall_seconds"] > stats["stats"]["wall_seconds"]
    ):
        before = None  # the statistics were reset
    found = {**rates, **_waits(stats, before, wall, rates["wait_fraction"])}
    idle = _device_idle(stats, before)
    if idle is not None:
        found["device_idle_fraction"] = idle
    verdict = stats["verdict"]
    found["workers"] = float(total["workers"])
    found["memory_bytes"] = float(total["memory_bytes"])
    found["failed_samples"] = _grown(stats, before, "stats", "failed_samples")
    if verdict["level"] in LEVELS:
        found["verdict_level"] = float(LEVELS.index(verdict["level"]))
        found["predicted_gain"] = float(verdict["predicted_gain"] or 0)
    return found


def _grown(
    stats: Mapping[str, Any],
    before: Optional[Mapping[str, Any]],
    part: str,
    name: str,
) -> float:
    then = before[part][name] if before and before[part] else 0
    return max(0.0, float(stats[part][name] - then))


def _waits(
    stats: Mapping[str, Any],
    before: Optional[Mapping[str, Any]],
    wall: float,
    waited: float,
) -> Values:
    """Shares of the time by what was waited for; they add up to `waited`."""
    now = stats["stall"]["buckets"]
    then = before["stall"]["buckets"] if before else {}
    shares = {
        "wait/" + cause: sum(now[k] - then.get(k, 0) for k in buckets) / wall
        for cause, buckets in CAUSES.items()
    }
    shares["wait/other"] = max(0.0, waited - sum(shares.values()))
    return shares


def _device_idle(
    stats: Mapping[str, Any], before: Optional[Mapping[str, Any]]
) -> Optional[float]:
    """The share of time in which the GPU had no batch to work on."""
    if not stats["transfer"]:
        return None
    span = _grown(stats, before, "transfer", "span_seconds")
    idle = _grown(stats, before, "transfer", "idle_seconds")
    return min(1.0, idle / span) if span > 0 else None
