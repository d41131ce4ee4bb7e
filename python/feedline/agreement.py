# SPDX-License-Identifier: Apache-2.0
"""Whether the ranks of a job agree on what they load, asked once for each
loader, before its first batch.

Each rank believes that the others read the same samples in the same order and
that it alone is rank r. Where that is wrong nothing fails: samples are seen
twice or never. So the ranks compare what must be equal wherever they can meet
(meeting.py), and all of them raise what is wrong, with both ranks and values.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from itertools import count
from typing import Any, Dict, List, Optional

from . import meeting
from .errors import InvalidArgument, Timeout
from .meeting import Meeting, Note

AGREED = "agreed"
_SECONDS = 600.0  # as long as torch's process groups wait
_NUMBERS = count()  # of the loaders of this process that met


def limit() -> float:
    """Seconds to wait for the other ranks; 0: they are not asked."""
    text = os.environ.get("FEEDLINE_JOB_SECONDS", "")
    try:
        return max(0.0, float(text)) if text else _SECONDS
    except ValueError:
        raise InvalidArgument(
            'FEEDLINE_JOB_SECONDS="%s" is no number of seconds' % text
        ) from None


def words(fingerprint: str) -> Dict[str, str]:
    """Of feedline_loader_fingerprint (feedline/job.h)."""
    return dict(word.split("=", 1) for word in fingerprint.split(" "))


def attend(rank: int, world: int, terms: Dict[str, Any]) -> None:
    """Compares with the other ranks, where there is a place to.

    terms: what must be equal, in the words of a message.

    Raises InvalidArgument if a rank differs, or is there twice; Timeout if not
    all of them came.
    """
    seconds = limit()
    if world < 2 or not seconds:
        return
    place = meeting.find(next(_NUMBERS), world)
    if place is None:
        return
    note = {"rank": rank, "world": world, "terms": terms, **meeting.here()}
    try:
        text = _outcome(place, note, seconds)
    finally:
        place.leave()
    if text != AGREED:
        raise InvalidArgument(text)


def _outcome(place: Meeting, note: Note, seconds: float) -> str:
    end = time.monotonic() + seconds
    collects = place.arrive(note)
    pause = 0.005
    while True:
        text = _collected(place, note["world"]) if collects else None
        if text is not None:
            place.conclude(text)
        text = text or place.conclusion()
        if text is not None:
            return text
        if time.monotonic() > end:
            raise Timeout(_who_is_missing(place, note, seconds))
        time.sleep(pause)
        pause = min(0.25, 1.5 * pause)


def _collected(place: Meeting, world: int) -> Optional[str]:
    """What is to be concluded; None: not all are there, and those agree."""
    notes = place.notes()
    wrong = disagreement(notes)
    if wrong is None and len(notes) >= world:
        return AGREED
    return wrong


def _who_is_missing(place: Meeting, note: Note, seconds: float) -> str:
    there = {one["rank"] for one in place.notes()}
    absent = [r for r in range(note["world"]) if r not in there]
    shown = ", ".join(str(r) for r in absent[:8])
    if len(absent) > 8:
        shown += " and %d more" % (len(absent) - 8)
    if not absent:
        shown = "none, but nobody compared them: what a job left behind?"
    return (
        "rank %d of %d waited %.0f s in %s for all ranks to begin with this "
        "loader; missing: %s (FEEDLINE_JOB_SECONDS: how long; 0: ranks are not "
        "compared)" % (note["rank"], note["world"], seconds, place.where, shown)
    )


# ---- What is wrong -----------------------------------------------------------


def disagreement(notes: List[Note]) -> Optional[str]:
    """A rank that is there twice, or the first thing in which one differs from
    most others; None: neither."""
    ordered = sorted(notes, key=lambda note: int(note["rank"]))
    for first, second in zip(ordered, ordered[1:]):
        if first["rank"] == second["rank"]:
            return "two processes of this job are rank %d: %s, and %s" % (
                first["rank"],
                _process(first),
                _process(second),
            )
    for name in _names(ordered):
        values = Counter(_value(note, name) for note in ordered)
        if len(values) > 1:
            usual = values.most_common(1)[0][0]
            pair = [_first(ordered, name, usual, is_usual=True)]
            pair.append(_first(ordered, name, usual, is_usual=False))
            return "the ranks of this job do not agree: %s, and %s" % tuple(
                "rank %d has %s=%s (%s)"
                % (note["rank"], name, _value(note, name), _process(note))
                for note in sorted(pair, key=lambda note: int(note["rank"]))
            )
    return None


def _names(notes: List[Note]) -> List[str]:
    """The world, then terms as they were first named."""
    names = {"world": None}
    for note in notes:
        names.update(dict.fromkeys(note["terms"]))
    return list(names)


def _value(note: Note, name: str) -> str:
    value = note["world"] if name == "world" else note["terms"].get(name)
    return "nothing" if value is None else str(value)


def _first(notes: List[Note], name: str, usual: str, is_usual: bool) -> Note:
    return next(n for n in notes if (_value(n, name) == usual) == is_usual)


def _process(note: Note) -> str:
    return "process %d on %s" % (note["pid"], note["host"])
