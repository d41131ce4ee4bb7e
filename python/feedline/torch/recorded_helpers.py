# SPDX-License-Identifier: Apache-2.0
"""Processes that run `__getitem__` beside the reading thread.

One interpreter runs one thread of Python at a time. Where that is the limit,
helpers record batches, each with a copy of the data set, and send what pixels
are made of (recorded_helpers_message.py); the engine makes those as ever.

    append       Helpers.submit: to whoever has least to do
    reading      Helpers.record: waits for this batch, and records others that
    thread       nobody has begun meanwhile

What a sample draws follows from seed, epoch, index and copy, so who made it is
never seen. A helper that ends with work in hand gives it back; it is done again
by another, or here.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import threading
import time
import weakref
from collections import deque
from typing import Any, Callable, Deque, List, Optional

import feedline

from .recorded_batch import Batch
from .recorded_helpers_child import HEAD_BYTES, MADE, READY, TASK, Work
from .recorded_helpers_child import main, received, said, send
from .recorded_helpers_message import Received

# Batches that a helper has: one that it makes, and one for then.
AT_A_TIME = 2
# Bytes of tasks that fit into a socket whose other end does not read.
_UNREAD_MOST = 1 << 15
# A batch that was lost so often is made here.
_LOST_MOST = 2
# How long helpers have to end by themselves, and then after a SIGTERM.
END_S, TERM_S = 5.0, 1.0
_PIECE_MS = 500
# Whether the reading thread records, too, while it would wait.
SHARES = True


class Helper:
    """One process, and what it has to do."""

    def __init__(self, number: int, process: Any, sock: socket.socket) -> None:
        self.number = number
        self.process = process
        self.sock = sock
        self.ready = False
        self.leaving = False  # it gets no more work
        self.has: Deque[Batch] = deque()
        self.sizes: Deque[int] = deque()  # of their tasks, in bytes

    def takes(self, size: int) -> bool:
        """Whether a task can be sent without a wait for who reads it."""
        if self.leaving or len(self.has) >= AT_A_TIME:
            return False
        sent = sum(self.sizes) + HEAD_BYTES * len(self.sizes)
        return not self.has or sent + size <= _UNREAD_MOST


class Helpers:
    """Of one iterator. refused: why there are none any more, or no new ones.
    lost: how many ended by themselves; end: how the last one did.
    """

    def __init__(self, work: Work, context: Any, count: Callable[[], int]):
        self._work = work
        self._context = context
        self._count = count
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._receiving = threading.Lock()
        self._all: List[Helper] = []
        self._begun = 0
        self._waiting: Deque[Batch] = deque()
        self._closing = False
        self._key: Any = (0, 0)
        self.refused = ""
        self.end = ""
        self.lost = self.made = self.made_here = 0
        # Of the reading thread, in Python or waiting for a helper's.
        self.python_s = 0.0
        _every.add(self)
        # Whose sockets are closed when nobody can be waiting for them.
        self._gone: List[Helper] = []
        self._end = weakref.finalize(
            self, _end, self._all, self._gone, self._receiving, self._process
        )

    # ---- How many ----------------------------------------------------------

    def __len__(self) -> int:
        return sum(not helper.leaving for helper in self._all)

    @property
    def working(self) -> bool:
        """All are past their start."""
        return all(helper.ready for helper in self._all)

    def grow(self) -> bool:
        """One more, in the caller's thread; False: `refused` says why not."""
        if self.refused:
            return False
        self._begun += 1
        try:
            helper = self._start(self._begun)
        except Exception as error:
            self.refuse("none could be started (%s)" % said(error))
            return False
        with self._lock:
            self._all.append(helper)
            self._feed()
        return True

    def _start(self, number: int) -> Helper:
        mine, theirs = socket.socketpair()
        _ends.add(mine)  # which the child must not keep open
        try:
            process = self._context.Process(
                target=main,
                args=(self._work, theirs, os.getpid(), number, self._count()),
                daemon=True,
            )
            process.start()
        except BaseException:
            mine.close()
            raise
        finally:
            theirs.close()
        return Helper(number, process, mine)

    def shrink(self) -> None:
        """The newest one ends when it has done what it has."""
        with self._lock:
            for helper in reversed(self._all):
                if not helper.leaving:
                    helper.leaving = True
                    break
            self._part()

    def _part(self) -> None:
        """From those that leave and have nothing to do."""
        for helper in list(self._all):
            if helper.leaving and not helper.has:
                self._remove(helper)
                _join([helper])

    def _remove(self, helper: Helper) -> None:
        self._all.remove(helper)
        self._gone.append(helper)
        _shut(helper)

    def refuse(self, why: str) -> None:
        """No helpers from here on."""
        with self._lock:
            self.refused = self.refused or why
            for helper in list(self._all):
                self._give_back(helper)
            self._part()

    # ---- Work: any thread --------------------------------------------------

    def begin(self, key: Any) -> None:
        """Batches from here on draw from this key (SeededDraws.key); those from
        before are nobody's any more."""
        with self._lock:
            self._waiting.clear()
            for helper in self._all:
                helper.has = deque(_Nobody() for _ in helper.has)
            self._key = key

    def submit(self, batch: Batch) -> None:
        with self._lock:
            self._waiting.append(batch)
            self._feed()

    def _feed(self) -> None:
        """Batches that wait, to helpers that have little to do."""
        while self._waiting and self._all:
            batch = self._waiting[0]
            if batch.lost >= _LOST_MOST:
                return  # the reading thread comes to it
            task = _task_of(self._key, batch)
            if task is None:
                return
            found = [one for one in self._all if one.takes(len(task))]
            if not found:
                return
            helper = min(found, key=lambda one: len(one.has))
            self._waiting.popleft()
            helper.has.append(batch)
            helper.sizes.append(len(task))
            try:
                send(helper.sock, TASK, task)
            except OSError:
                self._lose(helper)

    # ---- The reading thread ------------------------------------------------

    def record(self, batch: Batch, here: Callable[[Batch], None]) -> None:
        """Until it is recorded. here: records a batch in this process."""
        began = time.perf_counter()
        self._receive(0)
        while batch.made is None and not batch.recorded:
            if self._closing:
                raise feedline.StateError("the epoch has ended")
            own = self._take(batch)
            if own is not None:
                here(own)
                self.made_here += 1
            self._receive(0 if own is not None else _PIECE_MS)
        self.python_s += time.perf_counter() - began

    def _take(self, batch: Batch) -> Optional[Batch]:
        """What to record here: this batch, if no helper has it; or another one
        that none has."""
        with self._lock:
            if any(batch in helper.has for helper in self._all):
                more = SHARES and self._waiting
                return self._waiting.popleft() if more else None
            if not SHARES and self._all and batch.lost < _LOST_MOST:
                return None  # some helper will have it
            if batch in self._waiting:
                self._waiting.remove(batch)
            done = batch.made is not None or batch.recorded
            return None if done else batch

    def _receive(self, patience_ms: int) -> bool:
        """Takes what helpers have sent. Whether that was anything."""
        with self._receiving:
            _close(self._gone)
            with self._lock:
                by_file = {one.sock.fileno(): one for one in self._all}
            poll = select.poll()
            for file in by_file:
                poll.register(file, select.POLLIN | select.POLLRDHUP)
            found = poll.poll(patience_ms) if by_file else []
            for file, _ in found:
                self._take_message(by_file[file])
            return bool(found)

    def _take_message(self, helper: Helper) -> None:
        try:
            message = received(helper.sock)
        except OSError:
            message = None
        with self._lock:
            if message is None:
                self._lose(helper)
                return
            kind, data = message
            if kind == READY:
                helper.ready = True
                return
            batch = helper.has.popleft() if helper.has else _Nobody()
            if helper.sizes:
                helper.sizes.popleft()
            if kind != MADE:
                self._waiting.appendleft(batch)
                self.refuse(bytes(data).decode(errors="replace"))
                return
            batch.made = Received(data)
            self.made += 1
            self._feed()
            self._part()

    # ---- Helpers that end --------------------------------------------------

    def _lose(self, helper: Helper) -> None:
        """It has ended without being told to."""
        if helper not in self._all or self._closing:
            return
        self._remove(helper)
        for batch in helper.has:
            batch.lost += 1
        self._give_back(helper)
        _join([helper])
        code = helper.process.exitcode
        if code is not None and code < 0:
            self.end = "signal %d" % -code
        else:
            self.end = "exit code %s" % code
            if not helper.ready:
                self.refuse("one could not begin (%s)" % self.end)
        self.lost += 1
        self._feed()

    def _give_back(self, helper: Helper) -> None:
        helper.leaving = True
        while helper.has:
            batch = helper.has.pop()
            if not isinstance(batch, _Nobody):
                self._waiting.appendleft(batch)
        helper.sizes.clear()

    def close(self) -> None:
        """Ends them all; whoever waits for one is woken."""
        self._closing = True
        self._end()


class _Nobody(Batch):
    """In place of a batch that nobody wants any more."""

    def __init__(self) -> None:
        super().__init__([])


def _task_of(key: Any, batch: Batch) -> Optional[bytes]:
    """None: its indices cannot be sent."""
    try:
        return pickle.dumps((key, batch.indices, batch.copies), 5)
    except Exception:
        return None


# ---- The end ----------------------------------------------------------------

_every: "weakref.WeakSet[Helpers]" = weakref.WeakSet()
_ends: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


def _in_child() -> None:
    """A helper ends when its parent's end of the socket does, so no child of
    the parent's may keep that open."""
    for sock in list(_ends):
        sock.close()
    for helpers in list(_every):
        helpers._closing = True
        helpers._all.clear()


os.register_at_fork(after_in_child=_in_child)


def _shut(helper: Helper) -> None:
    try:
        helper.sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended


def _close(helpers: List[Helper]) -> None:
    while helpers:
        helpers.pop().sock.close()


def _end(
    helpers: List[Helper], gone: List[Helper], receiving: Any, process: int
) -> None:
    if os.getpid() != process:
        return
    for helper in list(helpers):
        _shut(helper)
    _join(list(helpers))
    # The reading thread is woken by now, and takes no more.
    if receiving.acquire(timeout=TERM_S):
        _close(gone)
        _close(helpers)
        receiving.release()


def _join(helpers: List[Helper]) -> None:
    """Waits, and does not leave any behind."""
    until = time.monotonic() + END_S
    try:
        for helper in helpers:
            helper.process.join(max(0.0, until - time.monotonic()))
        for helper in helpers:
            if helper.process.is_alive():
                helper.process.terminate()
                helper.process.join(TERM_S)
    finally:
        for helper in helpers:
            if helper.process.is_alive():
                helper.process.kill()
                helper.process.join()
