# SPDX-License-Identifier: Apache-2.0
"""A window of a loader's trace: what happened between two moments.

    ring of a thread     ...#########|notes of the window|
                                     ^ opened            ^ closed

A loader's rings hold the last 4096 notes of each thread. They are read when
the window closes, and before where so much was done that a ring could come
round; an event that is read twice is kept once. Times are kept as nanoseconds
of CLOCK_MONOTONIC and become those of the file when it is written.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import time
from typing import Any, Dict, List, Optional, Tuple

RING_NOTES = 4096
NOTES_PER_SAMPLE = 4  # of a worker: read, decode, augment, a custom operation
NOTES_PER_BATCH = 16  # of the consumer
STEP_TRACK = 9000  # above those of the library (profiler/trace/trace_json.c)

Key = Tuple[Any, ...]


class Exact(float):
    """A number of a file that remembers how it was written.

    Microseconds of unix time need one bit more than a float has for their
    nanoseconds, and an event that is read twice must be known again.
    """

    text: str

    def __new__(cls, text: str) -> "Exact":
        made = super().__new__(cls, text)
        made.text = text
        return made

    def thousandths(self) -> int:
        """1.5 is 1500; of numbers that are written without an exponent."""
        whole, _, part = self.text.partition(".")
        return int(whole) * 1000 + int((part + "000")[:3])


def event_key(event: Dict[str, Any], moment: int) -> Key:
    """What tells an event from all others, whichever file it came in."""
    args = event.get("args", {})
    return (
        event["ph"],
        event["name"],
        moment,
        event.get("id"),
        args.get("batch"),
        args.get("sample"),
    )


class TraceWindow:
    """Opens when it is made; one thread."""

    def __init__(self) -> None:
        self.opened_ns = time.monotonic_ns()
        self.closed_ns: Optional[int] = None
        self.complete = True
        self._events: Dict[Key, Tuple[int, Dict[str, Any]]] = {}
        self._names: Dict[Key, Dict[str, Any]] = {}
        self._steps: List[Tuple[int, int, int]] = []
        self._head: Dict[str, Any] = {}
        self._collected_ns = self.opened_ns
        self._steps_collected = 0
        self._step_ns = self.opened_ns

    # ---- Filling ----

    def step(self, engine: Any, number: int) -> None:
        """A step of the consumer's is over; engine None: it has none yet."""
        now = time.monotonic_ns()
        self._steps.append((number, self._step_ns, now))
        self._step_ns = now
        if engine is not None and self._may_overflow(engine):
            self.collect(engine)

    def _may_overflow(self, engine: Any) -> bool:
        batches = len(self._steps) - self._steps_collected
        samples = batches * engine.notes_of_batch()
        return (
            2 * max(batches * NOTES_PER_BATCH, samples * NOTES_PER_SAMPLE)
            > RING_NOTES
            and batches > 1
        )

    def close(self, engine: Any, behind_step: bool) -> None:
        """The window ends: where its last step did, or now."""
        self.closed_ns = self._step_ns if behind_step else time.monotonic_ns()
        self.collect(engine)

    def collect(self, engine: Any) -> None:
        """Takes what the rings hold and was not taken yet."""
        now = time.monotonic_ns()
        with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
            path = os.path.join(folder, "trace.json")
            engine.trace_save(path)
            with open(path, encoding="utf-8") as file:
                self._take(json.load(file, parse_float=Exact))
        self._collected_ns = now
        self._steps_collected = len(self._steps)

    def _take(self, trace: Dict[str, Any]) -> None:
        offset = (
            trace["baseTimeNanoseconds"]
            - trace["feedline"]["monotonic_to_unix_ns"]
        )
        self._head = {k: v for k, v in trace.items() if k != "traceEvents"}
        oldest: Dict[int, List[int]] = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "M":
                self._names[(event["tid"], event["name"])] = event
                continue
            written = event["ts"]
            exact = isinstance(written, Exact)
            moment = offset + (
                written.thousandths() if exact else 1000 * written
            )
            if event["ph"] == "X":
                seen = oldest.setdefault(event["tid"], [moment, 0])
                seen[0] = min(seen[0], moment)
                seen[1] += 1
            if moment >= self.opened_ns:
                self._events[event_key(event, moment)] = (moment, event)
        # A ring that came round since the last time has lost something: it is
        # full, and nothing in it is as old as that.
        for first, count in oldest.values():
            if count >= RING_NOTES // 4 and first > self._collected_ns:
                self.complete = False

    # ---- The result ----

    def _inside(self) -> List[Tuple[int, Dict[str, Any]]]:
        end = self.closed_ns or time.monotonic_ns()
        found = [e for e in self._events.values() if e[0] < end]
        ends: Dict[Any, set[str]] = {}
        for _, event in found:
            if "id" in event:
                ends.setdefault(event["id"], set()).add(event["ph"])
        whole = {key for key, phases in ends.items() if {"s", "f"} <= phases}
        return sorted(
            (
                e
                for e in found
                if e[1].get("id", None) in whole or "id" not in e[1]
            ),
            key=lambda pair: pair[0],
        )

    def _step_events(self, pid: int) -> List[Tuple[int, Dict[str, Any]]]:
        """The consumer's steps, as torch's profiler shows them."""
        return [
            (
                begin,
                {
                    "ph": "X",
                    "pid": pid,
                    "tid": STEP_TRACK,
                    "dur": (end - begin) / 1000,
                    "cat": "user_annotation",
                    "name": "ProfilerStep#%d" % number,
                },
            )
            for number, begin, end in self._steps
        ]

    def events(self) -> List[Dict[str, Any]]:
        """All events, names of tracks first, then by time; "ts" and "dur" in
        microseconds, "ts" of unix time since the file's base."""
        if not self._head:
            return []
        offset = (
            self._head["baseTimeNanoseconds"]
            - self._head["feedline"]["monotonic_to_unix_ns"]
        )
        names = [dict(event) for event in self._names.values()]
        pid = names[0]["pid"] if names else os.getpid()
        if self._steps:
            label = {"name": "steps"}
            names.append(
                {
                    "ph": "M",
                    "pid": pid,
                    "tid": STEP_TRACK,
                    "ts": 0.0,
                    "name": "thread_name",
                    "args": label,
                }
            )
        timed = self._step_events(pid) + self._inside()
        timed.sort(key=lambda pair: pair[0])
        return names + [
            dict(event, ts=(moment - offset) / 1000) for moment, event in timed
        ]

    def write(self, path: str) -> None:
        """The file, whole or not at all; packed where its name ends in .gz."""
        trace = dict(self._head)
        trace["feedline_end"] = {
            "complete": self.complete,
            "steps": len(self._steps),
        }
        trace["traceEvents"] = self.events()
        partial = path + ".partial"
        pack = gzip.open if path.endswith(".gz") else open
        try:
            with pack(partial, "wt", encoding="utf-8") as file:
                json.dump(trace, file, separators=(",", ":"))
            os.replace(partial, path)
        except BaseException:
            if os.path.exists(partial):
                os.unlink(partial)
            raise
