# SPDX-License-Identifier: Apache-2.0
"""Where the processes of a job meet: a store of torch.distributed, or a folder
that all of them see.

Each leaves a note; the first one there collects them and leaves a conclusion
for all. So a job of N processes costs N notes and N looks, and depends on no
particular rank being there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import sys
import uuid
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

Note = Dict[str, Any]

# What names this job and no other, where somebody says: the first that is set.
_JOB_NAMES = (
    ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"),
    ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"),
    ("FLUX_JOB_ID",),
    ("PMIX_NAMESPACE",),
    ("PALS_APID",),
)


class Meeting:
    """One gathering. Every process calls arrive() once; whoever it makes the
    collector calls conclude(), all others look for conclusion()."""

    where = ""

    def arrive(self, note: Note) -> bool:
        """Whether this process collects."""
        raise NotImplementedError

    def notes(self) -> List[Note]:
        """Those of all who are there, so far."""
        raise NotImplementedError

    def conclude(self, text: str) -> None:
        raise NotImplementedError

    def conclusion(self) -> Optional[str]:
        raise NotImplementedError

    def leave(self) -> None:
        """Nothing more will be asked."""


class StoreMeeting(Meeting):
    """In a store of torch.distributed. Counters are read by adding 0, which no
    store blocks on, and no version of torch goes wrong with."""

    def __init__(self, store: Any, prefix: str, where: str) -> None:
        self._store = store
        self._prefix = "feedline/%s/" % prefix
        self._read: List[Note] = []
        self.where = where

    def arrive(self, note: Note) -> bool:
        ticket = self._store.add(self._prefix + "tickets", 1)
        self._store.set(self._prefix + "note%d" % ticket, json.dumps(note))
        self._store.add(self._prefix + "there", 1)
        return int(ticket) == 1

    def notes(self) -> List[Note]:
        # Tickets are given before notes are written: get() waits for the few
        # microseconds between.
        for ticket in range(len(self._read) + 1, self._count("there") + 1):
            text = self._store.get(self._prefix + "note%d" % ticket)
            self._read.append(json.loads(text))
        return self._read

    def conclude(self, text: str) -> None:
        self._store.set(self._prefix + "conclusion", text)
        self._store.add(self._prefix + "concluded", 1)

    def conclusion(self) -> Optional[str]:
        if not self._count("concluded"):
            return None
        return bytes(self._store.get(self._prefix + "conclusion")).decode()

    def _count(self, name: str) -> int:
        return int(self._store.add(self._prefix + name, 0))


class FolderMeeting(Meeting):
    """In a folder: a file for each note, and one that only the first can make.

    Whoever leaves last takes the folder away. Each holds a lock on its note as
    long as that is there: a note without one is of a process that was killed,
    and the next job to come takes it away, and what was concluded of it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / ("note-%s.json" % uuid.uuid4().hex)
        self._held = -1  # the descriptor with the lock
        self.where = "the folder %s" % folder

    def arrive(self, note: Note) -> bool:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._forget_the_dead()
        self._held = self._write(self._own, json.dumps(note))
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
            os.close(os.open(self._folder / "collector", flags, 0o600))
        except FileExistsError:
            return False
        return True

    def notes(self) -> List[Note]:
        files = sorted(self._folder.glob("note-*.json"))
        return [json.loads(file.read_text()) for file in files]

    def conclude(self, text: str) -> None:
        os.close(self._write(self._folder / "conclusion", text))

    def conclusion(self) -> Optional[str]:
        try:
            return (self._folder / "conclusion").read_text()
        except FileNotFoundError:
            return None

    def leave(self) -> None:
        try:
            self._own.unlink()
            if any(self._folder.glob("note-*.json")):
                return
            for name in ("conclusion", "collector"):
                (self._folder / name).unlink()
            self._folder.rmdir()
        except OSError:
            pass  # another one of the last did it
        finally:
            if self._held >= 0:
                os.close(self._held)
            self._held = -1

    def _write(self, file: Path, text: str) -> int:
        """Readers see all of it or nothing. A descriptor that has it locked,
        where there are locks."""
        new = self._folder / ("new-%s" % uuid.uuid4().hex)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        descriptor = os.open(new, flags, 0o666)
        _lock(descriptor)
        new.write_text(text)
        os.replace(new, file)
        return descriptor

    def _forget_the_dead(self) -> None:
        for file in self._folder.glob("new-*"):
            _remove_dead(file)
        living = [
            file
            for file in self._folder.glob("note-*.json")
            if not _remove_dead(file)
        ]
        for name in () if living else ("conclusion", "collector"):
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_dead(file: Path) -> bool:
    """Whether nobody holds its lock, and it is gone therefore."""
    try:
        descriptor = os.open(file, os.O_RDWR)
    except OSError:
        return not file.exists()
    try:
        if not _lock(descriptor):
            return False
        with contextlib.suppress(OSError):
            file.unlink()
        return True
    finally:
        os.close(descriptor)


# ---- Which one ---------------------------------------------------------------

_agents: List[Any] = []  # the store of torchrun, once it was asked for


def job_name(environ: Mapping[str, str]) -> str:
    """Of this start of this job, fit for a file's name."""
    for names in _JOB_NAMES:
        if names[0] in environ:
            text = "-".join(environ.get(name, "0") for name in names)
            return re.sub(r"[^A-Za-z0-9._-]", "_", text)
    return "job"


def find(number: int, world: int) -> Optional[Meeting]:
    """The meeting of the number-th loader of each process; None: there is no
    place where `world` processes could meet."""
    folder = os.environ.get("FEEDLINE_JOB_FOLDER")
    if folder:
        name = "feedline-%s-%d" % (job_name(os.environ), number)
        return FolderMeeting(Path(folder) / name)
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available():
        return None
    if dist.is_initialized():
        if dist.get_world_size() != world:
            return None
        store = dist.distributed_c10d._get_default_store()
        return StoreMeeting(store, str(number), "the process group's store")
    return _of_torchrun(number, world)


def _of_torchrun(number: int, world: int) -> Optional[Meeting]:
    found = agents_store(world)
    if found is None:
        return None
    store, start = found
    return StoreMeeting(
        store,
        "%s/%d" % (start, number),
        "torchrun's store at %s:%s"
        % (os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]),
    )


def agents_store(world: int) -> Optional[Tuple[Any, str]]:
    """That of torchrun's agent, which no rank's end ends, and what names this
    start of the job. A store that a rank would have to open at MASTER_PORT is
    not there yet: init_process_group will need the port."""
    environ = os.environ
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available():
        return None
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return None
    if environ.get("WORLD_SIZE") != str(world):
        return None
    host, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT")
    if not host or not port:
        return None
    if not _agents:
        _agents.append(
            dist.TCPStore(
                host, int(port), is_master=False, wait_for_workers=False
            )
        )
    start = environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return _agents[0], "start-%s" % start


def here() -> Note:
    """Who writes a note."""
    return {"host": socket.gethostname(), "pid": os.getpid()}
