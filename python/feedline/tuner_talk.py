# SPDX-License-Identifier: Apache-2.0
"""What tuners of ranks on several machines tell each other (docs/tuner.md), by
way of a folder that all of them see, or torchrun's store.

Ranks of one machine need none of this: they find each other's live pages. Here
a thread for each loader leaves a note from time to time. Rank 0 makes one of
all of them, and each rank takes that, so a job of N ranks costs N notes and N
looks.
Nothing waits for this thread. A rank that dies leaves a note that does not
change, which is passed over; without rank 0, or without the place, what was
heard is forgotten after a minute, and each rank is alone again.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import uuid
import weakref
from itertools import count
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from . import agreement, meeting
from ._library import lib
from .errors import read_text

_LOG = logging.getLogger("feedline")
_NUMBERS = count()  # of the loaders of this process that talk
_TALKING: Dict[threading.Thread, Any] = {}  # and the events that end them
_UNCHANGED = 5  # rounds, after which a note is of a rank that is gone


class Place:
    """Where notes are left. Each is its number, which grows, and a text."""

    def put(self, rank: int, text: str) -> None:
        raise NotImplementedError

    def notes(self) -> Dict[int, str]:
        """Of all ranks that left one, by rank."""
        raise NotImplementedError

    def put_all(self, text: str) -> None:
        raise NotImplementedError

    def all(self) -> str:
        """What rank 0 put last; "": nothing yet."""
        raise NotImplementedError

    def leave(self, rank: int) -> None:
        """Nothing more will come of this rank."""


class FolderPlace(Place):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, rank: int, text: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._write("rank-%d" % rank, text)

    def notes(self) -> Dict[int, str]:
        found = {}
        for file in self._folder.glob("rank-*"):
            with contextlib.suppress(OSError, ValueError):
                found[int(file.name[5:])] = file.read_text()
        return found

    def put_all(self, text: str) -> None:
        self._write("all", text)

    def all(self) -> str:
        try:
            return (self._folder / "all").read_text()
        except FileNotFoundError:
            return ""

    def leave(self, rank: int) -> None:
        """Whoever leaves last takes the folder away."""
        with contextlib.suppress(OSError):
            (self._folder / ("rank-%d" % rank)).unlink()
            if any(self._folder.glob("rank-*")):
                return
            (self._folder / "all").unlink()
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _write(self, name: str, text: str) -> None:
        """Readers see all of it or nothing."""
        new = self._folder / ("new-%s" % uuid.uuid4().hex)
        new.write_text(text)
        os.replace(new, self._folder / name)


class StorePlace(Place):
    """A store of torch.distributed. Counters are read by adding 0, which no
    store blocks on; what they count is there."""

    def __init__(self, store: Any, prefix: str, world: int) -> None:
        self._store = store
        self._prefix = "feedline/talk/%s/" % prefix
        self._world = world
        self._begun = False

    def put(self, rank: int, text: str) -> None:
        self._store.set(self._prefix + "note%d" % rank, text)
        if not self._begun:
            self._store.add(self._prefix + "there", 1)
        self._begun = True

    def notes(self) -> Dict[int, str]:
        if self._count("there") < self._world:
            return {}
        return {r: self._get("note%d" % r) for r in range(self._world)}

    def put_all(self, text: str) -> None:
        self._store.set(self._prefix + "all", text)
        self._store.add(self._prefix + "told", 1)

    def all(self) -> str:
        return self._get("all") if self._count("told") else ""

    def _get(self, name: str) -> str:
        return bytes(self._store.get(self._prefix + name)).decode()

    def _count(self, name: str) -> int:
        return int(self._store.add(self._prefix + name, 0))


def find(number: int, world: int) -> Optional[Place]:
    """For the number-th loader of each process; None: there is none."""
    folder = os.environ.get("FEEDLINE_JOB_FOLDER")
    if folder:
        name = "feedline-%s-tuners-%d" % (meeting.job_name(os.environ), number)
        return FolderPlace(Path(folder) / name)
    found = meeting.agents_store(world)
    if found is None:
        return None
    store, start = found
    return StorePlace(store, "%s/%d" % (start, number), world)


# ---- The thread --------------------------------------------------------------


class Talk:
    """One rank's rounds, without a thread."""

    def __init__(self, place: Place, rank: int) -> None:
        self._place = place
        self._rank = rank
        self._round = 0
        self._seen: Dict[int, Tuple[str, int]] = {}  # note, since which round
        self._heard = ""

    def go(self, loader: Any) -> None:
        """Tells, and hears what there is."""
        self._round += 1
        told = loader.text(lib.loader_tell)
        self._place.put(self._rank, "%d %s" % (self._round, told))
        if self._rank == 0:
            lines = self._alive(self._place.notes())
            if lines:
                merged = read_text(lib.job_merge, "\n".join(lines).encode())
                self._place.put_all("%d %s" % (self._round, merged))
        everything = self._place.all()
        if everything and everything != self._heard:
            self._heard = everything
            loader.hear(everything.partition(" ")[2])

    def leave(self) -> None:
        self._place.leave(self._rank)

    def _alive(self, notes: Dict[int, str]) -> List[str]:
        lines = []
        for rank, note in notes.items():
            if self._seen.get(rank, ("", 0))[0] != note:
                self._seen[rank] = (note, self._round)
            if self._round - self._seen[rank][1] < _UNCHANGED:
                lines.append(note.partition(" ")[2])
        return lines


def seconds_between(world: int) -> float:
    """Rank 0 looks at a thousand notes in a second."""
    return max(1.0, world / 1024)


def _rounds(
    reference: Any, number: int, rank: int, world: int, end: Any
) -> None:
    talk = None
    try:
        place = find(number, world)
        if place is None:
            return
        talk = Talk(place, rank)
        while not end.wait(seconds_between(world)):
            loader = reference()
            if loader is None or loader.closed:
                return
            talk.go(loader)
            del loader
    except Exception as error:  # the place is gone, or the loader is
        _LOG.debug("tuners of this job tell each other nothing: %s", error)
    finally:
        with contextlib.suppress(Exception):
            if talk is not None:
                talk.leave()
        _TALKING.pop(threading.current_thread(), None)


def begin(loader: Any) -> None:
    """Where this loader is one rank's of a job. What may take long is the
    thread's."""
    if not loader.get("tuner_job"):
        return
    terms = agreement.words(loader.text(lib.loader_fingerprint))
    rank, world = int(terms["feedline_rank"]), int(terms["world"])
    if world < 2:
        return
    end = threading.Event()
    weakref.finalize(loader, end.set).atexit = False
    thread = threading.Thread(
        target=_rounds,
        args=(weakref.ref(loader), next(_NUMBERS), rank, world, end),
        name="feedline-job",
        daemon=True,
    )
    _TALKING[thread] = end
    thread.start()


@atexit.register
def _leave_all() -> None:
    """No longer than a place takes that answers."""
    for end in list(_TALKING.values()):
        end.set()
    for thread in list(_TALKING):
        thread.join(1.0)
