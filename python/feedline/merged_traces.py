#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts traces on one time line: feedline's, torch.profiler's, and others in
Chrome's JSON.

    python -m feedline.merged_traces -o both.json.gz torch.json feedline.json

Each file says when its times began: "baseTimeNanoseconds" (feedline, and torch
since 2.2), or its times are microseconds since 1970 (torch before). A file that
says neither needs --start FILE=NANOSECONDS, the unix time of its ts 0. Process
numbers and ids of flows that more than one file uses are changed in the later
ones, so nothing is mixed up and nothing is lost. Names that end in .gz are
compressed. In a checkout it is scripts/merge_traces, too, and needs nothing
but Python.
"""

from __future__ import annotations

import argparse
import decimal
import gzip
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Set, TextIO, Tuple

Event = Dict[str, Any]
Document = Dict[str, Any]

# libkineto's: times count from a multiple of this, so that a double holds them.
QUARTER_NS = 7889238 * 10**9

# Times since 1970 in microseconds are above this from September 2001 on.
UNIX_US = 10**15

# Events whose "id" ties them to others.
TIED = frozenset("stfbneSTpFNOD")


class Fault(Exception):
    """One line for the user."""


def read_text(path: str) -> str:
    opener: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            return str(file.read())
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Fault(f"{path}: {reason}") from None


def parse(text: str) -> Any:
    return json.loads(text, parse_float=decimal.Decimal)


def repaired(text: str) -> Any:
    """What can be had of a file whose end is missing: events up to the last
    whole line; None: nothing."""
    end = len(text)
    for _ in range(100):
        end = text.rfind("}", 0, end)
        if end < 0:
            return None
        for tail in ("]}", "]"):
            try:
                return parse(text[: end + 1] + tail)
            except ValueError:
                pass
    return None


def load(path: str) -> Tuple[Document, List[Event]]:
    """The document and its events."""
    text = read_text(path)
    try:
        document = parse(text)
    except ValueError as error:
        document = repaired(text)
        if document is None:
            raise Fault(f"{path}: no JSON: {error}") from None
        sys.stderr.write(
            f"merge_traces: {path}: its end is missing; using what is whole\n"
        )
    if isinstance(document, list):
        document = {"traceEvents": document}
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list) or not all(
        isinstance(event, dict) for event in events
    ):
        raise Fault(f'{path}: no trace: it has no list "traceEvents"')
    return document, events


def nanoseconds(path: str, event: Event, key: str) -> int:
    value = event[key]
    if isinstance(value, str):
        try:
            value = decimal.Decimal(value)
        except decimal.InvalidOperation:
            value = None
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        raise Fault(
            f"{path}: {key} of an event is no number: " f"{event[key]!r}"
        )
    return int((decimal.Decimal(value) * 1000).to_integral_value())


def has_time(event: Event) -> bool:
    return event.get("ph") != "M" and "ts" in event


def base_of(
    path: str, document: Document, events: List[Event], start: Optional[int]
) -> int:
    """Unix time of ts 0, ns."""
    if start is not None:
        return start
    base = document.get("baseTimeNanoseconds")
    if isinstance(base, int) and not isinstance(base, bool):
        return base
    if base is not None:
        raise Fault(f"{path}: baseTimeNanoseconds is no whole number: {base!r}")
    times = [nanoseconds(path, e, "ts") for e in events if has_time(e)]
    if not times or min(times) >= UNIX_US * 1000:
        return 0
    raise Fault(
        f"{path}: does not say when its times began: it has no "
        "baseTimeNanoseconds, and its times are not since 1970; add "
        f"--start {path}=NANOSECONDS"
    )


class Numbers:
    """Numbers that are used once, over all files."""

    def __init__(self) -> None:
        self.used: Set[Any] = set()
        self.top = 0

    def take(self, wanted: Any) -> int:
        """wanted, or a new one if an earlier file has it."""
        if wanted in self.used or not isinstance(wanted, int):
            wanted = self.top + 1
        number = int(wanted)
        self.used.add(number)
        self.top = max(self.top, number)
        return number


class File:
    def __init__(self, path: str, start: Optional[int]) -> None:
        self.path = path
        self.document, self.events = load(path)
        self.base = base_of(path, self.document, self.events, start)
        self.pids: Dict[Any, int] = {}
        self.ids: Dict[Any, int] = {}

    def first(self) -> Optional[int]:
        """Unix time of the first event; None: there is none."""
        times = [
            nanoseconds(self.path, e, "ts") for e in self.events if has_time(e)
        ]
        return min(times) + self.base if times else None

    def renumber(self, event: Event, pids: Numbers, ids: Numbers) -> None:
        if "pid" in event:
            pid = event["pid"]
            if pid not in self.pids:
                self.pids[pid] = pids.take(pid)
            event["pid"] = self.pids[pid]
        if "id" in event and event.get("ph") in TIED:
            ident = event["id"]
            if ident not in self.ids:
                self.ids[ident] = ids.take(ident)
            event["id"] = self.ids[ident]

    def names(self) -> Iterator[Event]:
        """Processes that were words, and are numbers now, get their words."""
        for pid, number in self.pids.items():
            if isinstance(pid, str):
                yield {
                    "ph": "M",
                    "name": "process_name",
                    "pid": number,
                    "tid": 0,
                    "args": {"name": pid},
                }


def text_of(event: Event, shift: int) -> str:
    """One event. Times are written digit by digit: as doubles they would lose
    nanoseconds, and slices would no longer nest."""
    times = ""
    for key, add in (("ts", shift), ("dur", 0)):
        if key in event and event.get("ph") != "M":
            ns = nanoseconds("", event, key) + add
            times += ',"%s":%d.%03d' % (key, ns // 1000, ns % 1000)
            del event[key]
    rest = json.dumps(event, default=float, separators=(",", ":"))
    if not times:
        return rest
    return rest[:-1] + (times if len(rest) > 2 else times[1:]) + "}"


def write(out: TextIO, files: List[File]) -> None:
    begins = (f.first() for f in files)
    first = min((t for t in begins if t is not None), default=0)
    base = first // QUARTER_NS * QUARTER_NS
    pids, ids = Numbers(), Numbers()
    head: Document = {}
    for file in reversed(files):
        head.update(file.document)
    del head["traceEvents"]
    head["baseTimeNanoseconds"] = base
    head["displayTimeUnit"] = "ms"
    head["mergedFrom"] = [os.path.basename(f.path) for f in files]
    out.write(json.dumps(head, default=float, separators=(",", ":"))[:-1])
    out.write(',"traceEvents":[')
    comma = "\n"
    for file in files:
        for event in file.events:
            file.renumber(event, pids, ids)
            out.write(comma + text_of(event, file.base - base))
            comma = ",\n"
        for event in file.names():
            out.write(comma + text_of(event, 0))
            comma = ",\n"
    out.write("\n]}\n")


def merge(paths: List[str], starts: Dict[str, int], target: str) -> List[File]:
    """Writes one trace of several; the files that went into it. Raises Fault.

    starts: unix times of ts 0, in nanoseconds, of files that do not say.
    """
    for path in starts:
        if path not in paths:
            raise Fault(f"--start {path}: not among the files")
    files = [File(path, starts.get(path)) for path in paths]
    opener: Any = gzip.open if target.endswith(".gz") else open
    partial = target + ".partial"
    if target.endswith(".gz"):
        partial += ".gz"
    try:
        with opener(partial, "wt", encoding="utf-8") as out:
            write(out, files)
        os.replace(partial, target)
    except OSError as error:
        raise Fault(f"{target}: {error.strerror or error}") from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return files


def start_of(text: str) -> Tuple[str, int]:
    path, equals, ns = text.rpartition("=")
    if not equals or not ns.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE=NANOSECONDS")
    return path, int(ns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="a new file, .json or .json.gz",
    )
    parser.add_argument(
        "--start",
        action="append",
        default=[],
        type=start_of,
        metavar="FILE=NANOSECONDS",
        help="unix time of ts 0 of a file that does not say",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    args = parser.parse_args()
    try:
        files = merge(args.files, dict(args.start), args.output)
    except Fault as fault:
        sys.exit(f"merge_traces: {fault}")
    parts = ", ".join(f"{len(f.events)} events of {f.path}" for f in files)
    sys.stdout.write(f"{args.output}: {parts}\n")


if __name__ == "__main__":
    main()
