# SPDX-License-Identifier: Apache-2.0
"""Views of a loader: verdict, plain numbers, a screen of text, HTML.

These functions are behind the methods `stats`, `top`, `verdict` and
`_repr_html_` of `feedline.Loader` and of `feedline.torch.DataLoader`, so both
look the same. Any thread may ask, while another one iterates. The table of
stages is the library's.
"""

from __future__ import annotations

import html
import math
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional
from typing import Protocol, TextIO, Tuple

from . import _c
from ._library import lib

Stats = Mapping[str, Any]  # what Loader.stats() returns


class Observed(Protocol):
    """What is asked of a loader here."""

    def stats(self) -> Dict[str, Any]:
        """All statistics, as docs/profiling.md has them."""

    def table(self) -> str:
        """Stages and phases as lines of text."""


# ---- Verdict ---------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What the numbers mean.

    sentence: what limits the training, with numbers. action: what to do about
    it; "": nothing. code: "FED", "PREP_BOUND_CPU_SATURATED", ...; level: "FED",
    "MINOR", "MODERATE", "HIGH" or "UNKNOWN"; confidence: 0 to 1;
    predicted_gain: what the action would gain, as a fraction of throughput;
    tuner: the action is on options that may change while the loader runs;
    evidence: the numbers that decided.
    """

    code: str
    level: str
    sentence: str
    action: str
    confidence: float
    predicted_gain: float
    tuner: bool
    evidence: Mapping[str, Any]

    def _repr_html_(self) -> str:
        return PAGE % verdict_html(vars(self))

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


def numbers(stats: Mapping[str, Any]) -> Iterator[Tuple[str, Any]]:
    """Names and values of `flat`; some of them texts, or None."""
    wall = stats["stats"]["wall_seconds"]
    for name, rate in rates(stats, None).items():
        if name.endswith("_per_second"):
            yield name, rate
    yield from stats["stats"].items()
    yield "wait_fraction", stats["stall"]["host_fraction"]
    yield "device_idle_fraction", stats["stall"]["device_fraction"]
    for name, seconds in stats["stall"]["buckets"].items():
        yield "wait/" + name, seconds / wall if wall > 0 else None
    for stage in stats["stages"]:
        for name, value in stage.items():
            yield "stage/%s/%s" % (stage["name"], name), value
    for phase in stats["phases"]:
        yield "phase/%s/fraction" % phase["name"], phase["user_fraction"]


def flat(
    stats: Mapping[str, Any], prefix: str = "feedline/"
) -> Dict[str, float]:
    """One level of finite floats, as SummaryWriter.add_scalar and wandb.log
    take them: {"feedline/wait_fraction": 0.03, ...}.

    Every number of the loader and of its stages (docs/statistics.md), from the
    start of the loader or its last reset_stats(). What is not known is left
    out. "wait/..." are shares of the wall time.
    """
    return {
        prefix + name: float(value)
        for name, value in numbers(stats)
        if isinstance(value, (int, float)) and math.isfinite(value)
    }


# ---- Numbers for people ----------------------------------------------------


def duration(seconds: Optional[float]) -> str:
    """ "1.2 ms"; "-" where it is not known."""
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return "%.1f %s" % (seconds / scale, unit)
    return "%.0f ns" % (seconds * 1e9)


def percent(share: Optional[float]) -> str:
    """ "12.50"; "-" where it is not known."""
    return "-" if share is None else "%.2f" % (100 * share)


def size(count: Optional[float]) -> str:
    """ "12.3 MB", in powers of 1000; "-" where it is not known."""
    if count is None:
        return "-"
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return "%.1f %s" % (count / scale, unit)
    return "%.0f B" % count


# ---- Rates and one screen ---------------------------------------------------


def rates(stats: Stats, before: Optional[Stats]) -> Dict[str, float]:
    """What happened between two statistics, or since the first.

    Seconds of wall time, batches, samples and bytes a second, and the shares
    of that time in which the consumer waited. A reset in between counts from
    the reset.
    """
    now = stats["stats"]
    then = before["stats"] if before is not None else {}
    if then and then["wall_seconds"] > now["wall_seconds"]:
        then = {}

    def grown(key: str) -> float:
        return max(0.0, float(now[key] - then.get(key, 0)))

    wall = grown("wall_seconds")
    per = 1 / wall if wall > 0 else 0.0
    return {
        "wall_seconds": wall,
        "batches_per_second": grown("batches") * per,
        "samples_per_second": grown("samples") * per,
        "bytes_per_second": grown("bytes_read") * per,
        "wait_fraction": min(1.0, grown("wait_seconds") * per),
    }


def bar(share: float, width: int = 30) -> str:
    """ "[####......]": a share of 1 as a bar of `width` characters."""
    full = round(max(0.0, min(1.0, share)) * width)
    return "[" + "#" * full + "." * (width - full) + "]"


@lru_cache(maxsize=None)
def bucket_titles() -> Mapping[str, str]:
    """The buckets of the wait, in the words of the library's table."""
    row, titles, index = _c.stat_info(), {}, 0
    while lib.stat_get_info(b"stall", index, row) == _c.OK:
        group, _, name = row.name.decode().partition(".")
        if group == "buckets":
            titles[name] = row.title.decode()
        index += 1
    return titles


def bucket_words(name: str) -> str:
    """A bucket of the wait, for people."""
    return bucket_titles().get(name, name.replace("_", " "))


def largest_buckets(stats: Stats) -> List[Tuple[str, float]]:
    """What most of the waits was for: names and shares, the largest first."""
    waited = stats["stall"]["wait_seconds"]
    if waited <= 0:
        return []
    buckets = stats["stall"]["buckets"].items()
    shares = sorted(((v / waited, k) for k, v in buckets), reverse=True)
    return [(name, share) for share, name in shares[:3] if share >= 0.005]


def screen(
    stats: Stats,
    table: str,
    before: Optional[Stats] = None,
    title: str = "feedline",
) -> str:
    """One screen about a loader; rates since `before`, else since the start."""
    rate = rates(stats, before)
    total = stats["stats"]
    verdict = stats["verdict"]
    lines = [
        "%s: %d workers, %s of memory"
        % (title, total["workers"], size(total["memory_bytes"])),
        "%.1f batches/s  %.1f samples/s  %s/s read"
        % (
            rate["batches_per_second"],
            rate["samples_per_second"],
            size(rate["bytes_per_second"]),
        ),
        "waited %5.1f %% %s"
        % (100 * rate["wait_fraction"], bar(rate["wait_fraction"])),
    ]
    causes = largest_buckets(stats)
    if causes:
        parts = (
            "%s %.0f %%" % (bucket_words(k), 100 * share) for k, share in causes
        )
        lines.append("of all waits: " + ", ".join(parts))
    lines.append(
        "in all %d batches, %d samples, %d failed, in %.1f s"
        % (
            total["batches"],
            total["samples"],
            total["failed_samples"],
            total["wall_seconds"],
        )
    )
    lines += ["", table.rstrip("\n"), ""]
    lines.append("%s: %s" % (verdict["code"], verdict["sentence"]))
    if verdict["action"]:
        lines.append(verdict["action"])
    return "\n".join(lines)


# ---- HTML of a loader -------------------------------------------------------
#
# Notebooks remove style sheets and scripts from what they display, and have
# dark themes that no media query sees; hence inline styles, and not the style
# sheet of loaderbench's pages. Text takes the notebook's colour and tints are
# translucent. Everything from outside is escaped.

# Mid tones that stand out from white and from black alike.
COLOURS = {
    "fetch_queue": "#85b4e0",
    "fetch": "#3b82c4",
    "worker_wait": "#e8b98a",
    "prep": "#d07b2c",
    "transfer_queue": "#bda6e0",
    "transfer": "#8a63c9",
    "not_issued": "#a3cfaa",
    "slot": "#4c9a57",
    "wake": "#c45b7a",
}
OTHER_COLOUR = "#8b8b8b"
# How much a verdict matters; the word is there as well.
LEVELS = {
    "FED": "rgba(76,154,87,0.35)",
    "MINOR": "rgba(133,180,224,0.35)",
    "MODERATE": "rgba(208,123,44,0.4)",
    "HIGH": "rgba(200,60,60,0.4)",
    "UNKNOWN": "rgba(128,128,128,0.35)",
}
PAGE = (
    '<div style="font-family:sans-serif;font-size:90%%;line-height:1.5;'
    'max-width:60em">%s</div>'
)
ABOVE = ' style="margin-top:0.5em"'
CELL = ' style="text-align:right;padding:1px 8px"'
NAME_CELL = ' style="text-align:left;padding:1px 8px"'


def segments(stats: Stats) -> List[Tuple[str, float]]:
    """Causes of waits and their shares of the wall time, above 0.1 %."""
    wall = stats["stats"]["wall_seconds"]
    if wall <= 0:
        return []
    buckets = stats["stall"]["buckets"].items()
    return [(k, v / wall) for k, v in buckets if v / wall > 0.001]


def stall_bar(stats: Stats) -> str:
    """The wall time as a bar: what was waited for, in colour, from the left."""
    parts = [
        '<span title="{0}: {1} %" style="display:inline-block;height:100%;'
        'width:{1}%;background:{2}"></span>'.format(
            html.escape(bucket_words(name)),
            percent(share),
            COLOURS.get(name, OTHER_COLOUR),
        )
        for name, share in segments(stats)
    ]
    said = ", ".join(
        "%s %s %%" % (html.escape(bucket_words(name)), percent(share))
        for name, share in segments(stats)
    )
    return (
        '<div role="img" aria-label="waits: %s" style="width:24em;'
        "max-width:100%%;height:0.9em;overflow:hidden;white-space:nowrap;"
        'font-size:1em;line-height:0;background:rgba(128,128,128,0.25)">%s'
        "</div>" % (said or "none", "".join(parts))
    )


def legend(stats: Stats) -> str:
    """The names of the bar's colours; what is left of it is the program's."""
    return ", ".join(
        '<span style="color:%s">&#9632;</span>&nbsp;%s %s %%'
        % (
            COLOURS.get(name, OTHER_COLOUR),
            html.escape(bucket_words(name)),
            percent(share),
        )
        for name, share in segments(stats)
    )


def stage_line(stage: Mapping[str, Any]) -> str:
    """A row of the table: name, items, seconds busy, median and 99th."""
    cells = (
        str(stage["items"]),
        "%.3f s" % stage["busy_seconds"],
        duration(stage["p50_us"] / 1e6),
        duration(stage["p99_us"] / 1e6),
    )
    return "<tr><td%s>%s</td>%s</tr>" % (
        NAME_CELL,
        html.escape(stage["name"]),
        "".join("<td%s>%s</td>" % (CELL, cell) for cell in cells),
    )


def stage_table(stats: Stats) -> str:
    """The stages that did something, in the order of the path: of a loader that
    is watched that is what its consumer did."""
    titles = ("items", "busy", "p50", "p99")
    head = "<tr><th%s>stage</th>%s</tr>" % (
        NAME_CELL,
        "".join("<th%s>%s</th>" % (CELL, title) for title in titles),
    )
    worked = [stage for stage in stats["stages"] if stage["items"]]
    lines = "".join(stage_line(stage) for stage in worked)
    return '<table style="border-collapse:collapse">%s%s</table>' % (
        head,
        lines,
    )


def verdict_html(verdict: Mapping[str, Any]) -> str:
    """What limits the training, and what to do: the answer, of which all else
    is the evidence."""
    action = html.escape(verdict["action"] or "")
    return (
        '<div><span style="background:%s;border-radius:0.3em;padding:0 0.4em">'
        "%s</span> <b>%s</b></div><div>%s</div>%s"
        % (
            LEVELS.get(verdict["level"], LEVELS["UNKNOWN"]),
            html.escape(verdict["level"]),
            html.escape(verdict["code"]),
            html.escape(verdict["sentence"]),
            "<div>&#8594; <b>%s</b></div>" % action if action else "",
        )
    )


def html_page(stats: Stats, title: str) -> str:
    """All of it, in one <div>; title: plain text, the loader's repr."""
    rate = rates(stats, None)
    numbers = "%.1f samples/s, %s/s read, waited %s %% of %.1f s" % (
        rate["samples_per_second"],
        size(rate["bytes_per_second"]),
        percent(rate["wait_fraction"]),
        stats["stats"]["wall_seconds"],
    )
    measured = (
        "<div%s>%s</div>" % (ABOVE, numbers),
        stall_bar(stats),
        "<div>%s</div>" % legend(stats),
        stage_table(stats),
    )
    parts = (
        verdict_html(stats["verdict"]),
        *(measured if stats["stats"]["batches"] else ()),
        "<div%s>%s</div>" % (ABOVE, html.escape(title)),
    )
    return PAGE % "".join(parts)


def html_message(title: str, text: str) -> str:
    """A loader that has no statistics, and why; both are plain text."""
    words = (html.escape(title), html.escape(text))
    return PAGE % ("<b>%s</b><br>%s" % words)


def repr_html(loader: Observed) -> str:
    """For `_repr_html_`: never raises, as a notebook would hide the rest."""
    title = repr(loader)
    try:
        return html_page(loader.stats(), title)
    except RuntimeError as error:  # closed, forked, no native engine
        return html_message(title, str(error))


# ---- Live view -------------------------------------------------------------

CLEAR = "\x1b[H\x1b[2J"


def notebook_display() -> Optional[Callable[[Dict[str, str]], None]]:
    """Where IPython runs in a notebook: shows texts by their types, such as
    "text/plain", in one place of the cell's output, made at the first of them.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle: Any = None

    def show(texts: Dict[str, str]) -> None:
        nonlocal handle
        if handle is None:
            display = ipython.display.display
            handle = display(texts, raw=True, display_id=True)
        else:
            handle.update(texts, raw=True)

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
    text = screen(stats, loader.table(), None, title)
    if seconds == 0:
        return text
    notebook = notebook_display() if out is None else None
    in_terminal = terminal_display(out or sys.stdout)

    def show(screen: str) -> None:
        if notebook is not None:
            notebook({"text/plain": screen})
        else:
            in_terminal(screen)

    end = math.inf if seconds is None else time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            show(text)
            time.sleep(min(interval, max(0.0, end - time.monotonic())))
            before, stats = stats, loader.stats()
            text = screen(stats, loader.table(), before, title)
    except KeyboardInterrupt:
        pass
    except RuntimeError:  # closed meanwhile
        if seconds is not None:
            raise
    return text
