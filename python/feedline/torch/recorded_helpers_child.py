# SPDX-License-Identifier: Apache-2.0
"""The life of a helper process: gets indices, records batches, sends messages.

It is to a program what a worker of torch's is: a copy of the data set,
worker_init_fn, get_worker_info(), one thread of torch's. It opens files and
reads their headers; pixels it makes only where the program asks for them. It
ends when its socket does, between two samples, or when its parent is gone.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
import threading
from typing import Any, Callable, NamedTuple, Optional, Tuple

import torch

from ..deferred import Recorder
from ._compat import WorkerInfo, numpy_seed
from .recorded_chains import Chains
from .recorded_draws import SeededDraws
from .recorded_helpers_message import Sent, message_of
from .recorded_run import Run
from .worker_info import as_worker, install

# In front of all that is sent: what it is, and its bytes.
_HEAD = struct.Struct("<QQ")
HEAD_BYTES = _HEAD.size
TASK, READY, MADE, REFUSED = range(4)
_PARENT_EVERY_MS = 2000
_GONE = select.POLLHUP | select.POLLRDHUP | select.POLLERR


class Work(NamedTuple):
    """What a helper does. It goes to its process once.

    collate: it makes batches as default_collate does, too. chains: as
    Chains.decided() says.
    """

    dataset: Any
    init: Optional[Callable[[int], object]]
    seed: int
    batched: bool
    collate: bool
    chains: Any = None


class _Owner:
    """What a Run of a helper has in place of a RecordedSet."""

    def __init__(self, decided: Any = None) -> None:
        self.recorder = Recorder()
        self.chains = self.recorder.chains = Chains(decided)
        self.lock = threading.RLock()
        self.memory = None


class _Draws(SeededDraws):
    """Which look, before each sample, whether anybody wants it."""

    def __init__(self, key: Tuple[int, int], line: "Line") -> None:
        super().__init__(*key)
        self._line = line

    def run(self, fn: Callable[[Any], Any], index: Any, copy: int = 0) -> Any:
        self._line.end_if_gone()
        return super().run(fn, index, copy)


class Line:
    """A helper's end of the socket."""

    def __init__(self, sock: socket.socket, parent: int) -> None:
        self._sock = sock
        self._parent = parent
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN | select.POLLRDHUP)
        self._gone = select.poll()
        self._gone.register(sock, select.POLLRDHUP)

    def end_if_gone(self) -> None:
        found = self._gone.poll(0)
        if found and found[0][1] & _GONE:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)  # nobody to raise anything for

    def send(self, kind: int, *parts: Any) -> None:
        send(self._sock, kind, *parts)

    def receive(self) -> Optional[bytearray]:
        """A task; None at the end."""
        while not self._poll.poll(_PARENT_EVERY_MS):
            if os.getppid() != self._parent:
                return None
        found = received(self._sock)
        return None if found is None else found[1]


def send(sock: socket.socket, kind: int, *parts: Any) -> None:
    sock.sendall(_HEAD.pack(kind, sum(map(len, parts))))
    for part in parts:
        if len(part):
            sock.sendall(part)


def received(sock: socket.socket) -> Optional[Tuple[int, bytearray]]:
    """What it is, and its bytes; None where the other side has ended."""
    head = _exactly(sock, HEAD_BYTES)
    if head is None:
        return None
    kind, length = _HEAD.unpack(head)
    data = _exactly(sock, length)
    return None if data is None else (kind, data)


def _exactly(sock: socket.socket, size: int) -> Optional[bytearray]:
    found = bytearray(size)
    view, at = memoryview(found), 0
    while at < size:
        n = sock.recv_into(view[at:])
        if n == 0:
            return None
        at += n
    return found


def main(
    work: Work, sock: socket.socket, parent: int, number: int, count: int
) -> None:
    """number: of this helper, from 1 on, as 0 is the thread of the parent's.
    parent: the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when
    torch.set_num_threads(1)
    line = Line(sock, parent)
    try:
        try:
            helper = _Helper(work, line, number, count)
        except Exception as error:
            line.send(REFUSED, said(error).encode(errors="replace"))
            return
        line.send(READY)
        while True:
            task = line.receive()
            if task is None:
                return
            helper.do(task)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the parent has ended


def said(error: BaseException) -> str:
    return "%s: %s" % (type(error).__name__, error)


class _Helper:
    def __init__(self, work: Work, line: Line, number: int, count: int) -> None:
        install()
        gc.freeze()  # so that what the parent has made stays shared with it
        self._line = line
        self._collate = work.collate
        seed = work.seed + number
        info = WorkerInfo(
            id=number, num_workers=count + 1, seed=seed, dataset=work.dataset
        )
        _seed_all(work.seed, number)
        if work.init is not None:
            with as_worker(info):
                work.init(number)
        self._owner = _Owner(work.chains)
        draws = _Draws((0, 0), line)
        owner: Any = self._owner
        self._run = Run(owner, -1, work.dataset, draws, info, work.batched)
        self._run.collated = not work.collate

    def do(self, task: bytearray) -> None:
        key, indices, copies = pickle.loads(task)
        self._run.draws = _Draws(key, self._line)
        batch = Sent(indices, copies)
        self._run.record_all(batch)
        counted = self._owner.recorder.taken()
        try:
            parts = message_of(batch, self._collate, counted)
        except Exception as error:
            text = said(error).encode(errors="replace")
            self._line.send(REFUSED, text)
            return
        self._line.send(MADE, *parts)


def _seed_all(base: int, number: int) -> None:
    """As a worker of torch's begins, though samples have draws of their own."""
    random.seed(base + number)
    torch.manual_seed(base + number)
    if "numpy" in sys.modules:
        import numpy

        numpy.random.seed(numpy_seed(base, number))
