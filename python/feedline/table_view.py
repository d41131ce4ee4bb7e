# SPDX-License-Identifier: Apache-2.0
"""Statistics as text for people: a table of stages, one screen of a loader.

Everything here takes the dictionary that `Loader.stats()` returns and asks no
loader anything, so what was measured in a window can be shown, sorted and cut
after that window is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence
from typing import Tuple

from . import _c
from ._library import lib

Stats = Mapping[str, Any]

# What PyTorch's table calls its columns, in words of this one.
TORCH_COLUMNS = {
    "count": "items",
    "cpu_time": "mean",
    "cpu_time_total": "busy",
    "self_cpu_time_total": "busy",
}


@dataclass(frozen=True)
class Row:
    """One stage, or one phase of the consumer's ("consume/forward").

    Times are seconds; None is not known. A share is of the time that the
    threads of a stage had, that of a phase of the consumer's own time.
    """

    key: str
    count: int
    busy_seconds: float
    busy_share: Optional[float]
    starved_share: Optional[float]
    blocked_share: Optional[float]
    mean_seconds: Optional[float]
    p50_seconds: Optional[float]
    p90_seconds: Optional[float]
    p99_seconds: Optional[float]
    max_seconds: Optional[float]
    bytes_per_second: Optional[float]


def ratio(part: float, whole: float) -> Optional[float]:
    """part / whole; None where there is nothing to divide by."""
    return part / whole if whole > 0 else None


def stage_row(stage: Mapping[str, Any], wall: float) -> Row:
    """The row of one of stats["stages"]; wall: seconds they cover."""
    busy = stage["busy_seconds"]
    spent = busy + stage["starved_seconds"] + stage["blocked_seconds"]
    return Row(
        key=stage["name"],
        count=stage["items"],
        busy_seconds=busy,
        busy_share=ratio(busy, spent),
        starved_share=ratio(stage["starved_seconds"], spent),
        blocked_share=ratio(stage["blocked_seconds"], spent),
        mean_seconds=ratio(busy, stage["items"]),
        p50_seconds=stage["p50_us"] / 1e6,
        p90_seconds=stage["p90_us"] / 1e6,
        p99_seconds=stage["p99_us"] / 1e6,
        max_seconds=stage["max_us"] / 1e6,
        bytes_per_second=ratio(stage["bytes"], wall),
    )


def phase_row(phase: Mapping[str, Any]) -> Row:
    """The row of one of stats["phases"]."""
    total = phase["total_seconds"]
    return Row(
        key="consume/" + phase["name"],
        count=phase["count"],
        busy_seconds=total,
        busy_share=phase["user_fraction"],
        starved_share=None,
        blocked_share=None,
        mean_seconds=ratio(total, phase["count"]),
        p50_seconds=None,
        p90_seconds=None,
        p99_seconds=None,
        max_seconds=phase["max_seconds"] or None,
        bytes_per_second=None,
    )


def rows_of(stats: Stats) -> List[Row]:
    """Stages in the order of the path, the consumer's phases behind them."""
    wall = stats["stats"]["wall_seconds"]
    rows = [stage_row(stage, wall) for stage in stats["stages"]]
    phases = [p for p in stats["phases"] if p["total_seconds"] > 0]
    if [p for p in phases if p["count"]]:
        rows += [phase_row(phase) for phase in phases]
    return rows


# ---- Numbers for people ----------------------------------------------------


def duration(seconds: Optional[float], digits: int = 3) -> str:
    """ "1.234ms", or "1.2 ms" with fewer digits; "-" where it is not known."""
    space = "" if digits == 3 else " "
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return "%.*f%s%s" % (digits, seconds / scale, space, unit)
    return "%.0f%sns" % (seconds * 1e9, space)


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


# ---- The table -------------------------------------------------------------

# Title, cell, and the name that sort_by knows the column by ("" for none).
Column = Tuple[str, Callable[[Row], str], str]
COLUMNS: Sequence[Column] = (
    ("Name", lambda r: r.key, "name"),
    ("Items", lambda r: str(r.count), "items"),
    ("Busy s", lambda r: "%.3f" % r.busy_seconds, "busy"),
    ("Busy %", lambda r: percent(r.busy_share), ""),
    ("Starved %", lambda r: percent(r.starved_share), ""),
    ("Blocked %", lambda r: percent(r.blocked_share), ""),
    ("Mean", lambda r: duration(r.mean_seconds), "mean"),
    ("p50", lambda r: duration(r.p50_seconds), "p50"),
    ("p90", lambda r: duration(r.p90_seconds), "p90"),
    ("p99", lambda r: duration(r.p99_seconds), "p99"),
    ("Max", lambda r: duration(r.max_seconds), "max"),
    ("Bytes/s", lambda r: size(r.bytes_per_second), "bytes"),
)

SORT_KEYS: Dict[str, Callable[[Row], float]] = {
    "busy": lambda r: r.busy_seconds,
    "items": lambda r: r.count,
    "bytes": lambda r: r.bytes_per_second or 0,
    "mean": lambda r: r.mean_seconds or 0,
    "p50": lambda r: r.p50_seconds or 0,
    "p90": lambda r: r.p90_seconds or 0,
    "p99": lambda r: r.p99_seconds or 0,
    "max": lambda r: r.max_seconds or 0,
}


def sort_rows(rows: Sequence[Row], sort_by: Optional[str]) -> List[Row]:
    """The largest first, names from a to z; None keeps the order.

    ValueError names the columns where sort_by is none of them.
    """
    if sort_by is None:
        return list(rows)
    column = TORCH_COLUMNS.get(sort_by, sort_by)
    if column == "name":
        return sorted(rows, key=lambda row: row.key)
    if column not in SORT_KEYS:
        raise ValueError(
            "sort_by=%r is no column; these are: name, %s"
            % (sort_by, ", ".join(SORT_KEYS))
        )
    return sorted(rows, key=SORT_KEYS[column], reverse=True)


def lay_out(lines: Sequence[Sequence[str]]) -> str:
    """Cells in columns, the first to the left, all others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = (c.rjust(w) for c, w in zip(cells[1:], widths[1:]))
        return "  ".join((first, *rest)).rstrip()

    return "\n".join(line(cells) for cells in lines)


def table(
    rows: Sequence[Row], sort_by: Optional[str] = None, row_limit: int = 0
) -> str:
    """Rows as lines of text.

    sort_by: "busy", "items", "bytes", "mean", "p50", "p90", "p99", "max" or
    "name", or PyTorch's "cpu_time_total", "cpu_time" or "count"; None keeps
    the order of the path. row_limit: at most so many rows; 0, or less as
    torch has it, is all.
    """
    chosen = sort_rows(rows, sort_by)
    if row_limit > 0:
        chosen = chosen[:row_limit]
    titles = [title for title, _, _ in COLUMNS]
    lines = [titles, ["-" * len(title) for title in titles]]
    lines += [[cell(row) for _, cell, _ in COLUMNS] for row in chosen]
    return lay_out(lines)


# ---- One screen ------------------------------------------------------------


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


def largest_buckets(stats: Stats, n: int = 3) -> List[Tuple[str, float]]:
    """What the waits were spent on: names and shares, the largest first."""
    waited = stats["stall"]["wait_seconds"]
    if waited <= 0:
        return []
    buckets = stats["stall"]["buckets"].items()
    shares = sorted(((v / waited, k) for k, v in buckets), reverse=True)
    return [(name, share) for share, name in shares[:n] if share >= 0.005]


def screen(
    stats: Stats, before: Optional[Stats] = None, title: str = "feedline"
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
    lines += ["", table(rows_of(stats)), ""]
    lines.append("%s: %s" % (verdict["code"], verdict["sentence"]))
    if verdict["action"]:
        lines.append(verdict["action"])
    return "\n".join(lines)
