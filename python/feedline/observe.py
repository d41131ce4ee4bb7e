# SPDX-License-Identifier: Apache-2.0
"""What a loader says about itself: statistics, verdict, reasons, a live view.

These functions are behind the methods `stats`, `top`, `verdict` and
`_repr_html_` of `feedline.Loader` and of `feedline.torch.DataLoader`, so both
say the same in the same words. They need no more of a loader than the
method of `Observed`. Any thread may ask, while another one iterates.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Protocol
from typing import TextIO, Tuple

from . import html_view, table_view


class Observed(Protocol):
    """What is asked of a loader here."""

    def stats(self) -> Dict[str, Any]:
        """All statistics, as docs/profiling.md has them."""


# ---- Verdict ---------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What the numbers mean.

    code: "FED", "PREP_BOUND_CPU_SATURATED", ...; level: "FED", "MINOR",
    "MODERATE", "HIGH" or "UNKNOWN"; confidence: 0 to 1; predicted_gain: what
    the action would gain, as a fraction of throughput; tuner: the action is on
    options that may change while the loader runs; evidence: the numbers that
    decided.
    """

    code: str
    level: str
    sentence: str
    action: str
    confidence: float
    predicted_gain: float
    tuner: bool
    evidence: Mapping[str, Any]

    def __str__(self) -> str:
        words = "%s: %s" % (self.code, self.sentence)
        return words + "\n" + self.action if self.action else words


def verdict(stats: Mapping[str, Any]) -> Verdict:
    """The verdict in what `Loader.stats()` returned."""
    found = stats["verdict"]
    return Verdict(
        code=found["code"],
        level=found["level"],
        sentence=found["sentence"],
        action=found["action"] or "",
        confidence=found["confidence"],
        predicted_gain=found["predicted_gain"] or 0.0,
        tuner=bool(found["tuner"]),
        evidence=found["evidence"],
    )


# ---- Statistics as plain numbers -------------------------------------------

COUNTERS = (
    "batches",
    "samples",
    "failed_samples",
    "truncated_samples",
    "workers",
    "memory_bytes",
    "bytes_read",
)
RATES = ("batches_per_second", "samples_per_second", "bytes_per_second")
STAGE_NUMBERS = ("p50_us", "p99_us", "busy_seconds")


def numbers(stats: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    """Names and values of `flat`, with None where something is not known."""
    totals = stats["stats"]
    rate = table_view.rates(stats, None)
    wall = totals["wall_seconds"]
    yield "wait_fraction", stats["stall"]["host_fraction"]
    yield "device_idle_fraction", stats["stall"]["device_fraction"]
    for name in RATES:
        yield name, rate[name]
    for name in COUNTERS:
        yield name, totals[name]
    for name, seconds in stats["stall"]["buckets"].items():
        yield "wait/" + name, seconds / wall if wall > 0 else None
    for stage in stats["stages"]:
        for name in STAGE_NUMBERS:
            yield "stage/%s/%s" % (stage["name"], name), stage[name]
    for phase in stats["phases"]:
        yield "phase/%s/fraction" % phase["name"], phase["user_fraction"]


def flat(
    stats: Mapping[str, Any], prefix: str = "feedline/"
) -> Dict[str, float]:
    """One level of finite floats, as SummaryWriter.add_scalar and wandb.log
    take them: {"feedline/wait_fraction": 0.03, ...}.

    All count from the start of the loader or its last reset_stats(). What is
    not known is left out. "wait/..." are shares of the wall time.
    """
    return {
        prefix + name: float(value)
        for name, value in numbers(stats)
        if value is not None and math.isfinite(value)
    }


# ---- HTML ------------------------------------------------------------------


def repr_html(loader: Observed) -> str:
    """For `_repr_html_`: never raises, as a notebook would hide the rest."""
    title = repr(loader)
    try:
        return html_view.page(loader.stats(), title)
    except RuntimeError as error:  # closed, forked, no native engine
        return html_view.message(title, str(error))


# ---- Live view -------------------------------------------------------------

CLEAR = "\x1b[H\x1b[2J"


def notebook_display() -> Optional[Callable[[str], None]]:
    """Where IPython runs in a notebook: shows a text, in one place."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None

    def as_mime(text: str) -> Dict[str, str]:
        return {"text/plain": text}

    handle = ipython.display.display(as_mime(""), raw=True, display_id=True)

    def show(text: str) -> None:
        handle.update(as_mime(text), raw=True)

    return show


def terminal_display(out: TextIO) -> Callable[[str], None]:
    """Shows a text in place of the last one; below it where out is a file."""
    clear = CLEAR if out.isatty() else ""

    def show(text: str) -> None:
        out.write(clear + text + "\n")
        out.flush()

    return show


def top(
    loader: Observed,
    seconds: Optional[float] = None,
    interval: float = 1.0,
    out: Optional[TextIO] = None,
    title: str = "feedline",
) -> str:
    """A view of a loader that is iterated on another thread.

    Shows one screen every `interval` seconds, for so many `seconds`, None:
    until Ctrl-C or the loader is closed; in a notebook's cell, else on `out`
    (None: sys.stdout). Rates are of the last interval. With seconds=0 nothing
    is shown. Returns the last screen.
    """
    if seconds is not None and seconds < 0:
        raise ValueError("seconds=%r: 0 or more, or None" % (seconds,))
    if not interval > 0:
        raise ValueError("interval=%r: above 0" % (interval,))
    stats = loader.stats()
    text = table_view.screen(stats, None, title)
    if seconds == 0:
        return text
    show = notebook_display() if out is None else None
    show = show or terminal_display(out or sys.stdout)
    end = math.inf if seconds is None else time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            show(text)
            time.sleep(min(interval, max(0.0, end - time.monotonic())))
            before, stats = stats, loader.stats()
            text = table_view.screen(stats, before, title)
    except KeyboardInterrupt:
        pass
    except RuntimeError:  # closed meanwhile
        if seconds is not None:
            raise
    return text
