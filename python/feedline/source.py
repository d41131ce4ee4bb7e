# SPDX-License-Identifier: Apache-2.0
"""A Python object as a reader: for bytes that lie elsewhere.

    reading thread   [read -> object.read(i)] -> worker: decode ...
                        |
                        waits for the interpreter's lock here

The library's reading threads call `read`, several at once. What the object
waits for (a socket, a disk, C code that releases the lock) overlaps; only what
it does in Python goes one at a time. The wait for the lock is told to the
library apart (`waiting for a lock` in explain()). The bytes are copied once,
without the lock.

An exception stays here, for there is nobody above: its text becomes the
sample's error, it is the cause of what the loader raises.
"""

from __future__ import annotations

import ctypes
import os
import threading
import traceback
from ctypes import memmove
from time import monotonic_ns
from typing import Any, Callable, Dict, Optional

from . import _c
from ._library import lib
from .buffers import HeldBuffer
from .errors import InvalidArgument
from .python_op import Errors, _inside, keep_state
from .vectors import Names, column_for, labels_for


def can_read(source: Any) -> bool:
    """Whether Dataset.source takes it for its `read`."""
    return callable(getattr(source, "read", None)) and hasattr(
        source, "__len__"
    )


class Calls:
    """What the library calls for samples, with what it says of them, and the
    errors that were raised there.

    It has to outlive every loader of the data set: data sets and loaders hold
    it.
    """

    def __init__(
        self,
        name: str,
        count: int,
        flags: int,
        answer: Callable[[_c.read_call, int], int],
        cancel: Optional[Callable[[_c.read_call, int], object]],
    ) -> None:
        """answer, cancel: get the call and its address; a status comes back."""
        self.name, self.count, self.flags = name, count, flags
        self.errors = Errors()
        self.read = _c.read_function(_reader(answer, self.errors))
        self.cancel: Any = _c.cancel_function()
        if cancel:
            self.cancel = _c.cancel_function(_canceller(cancel))

    def described(
        self, labels: Any, names: Any, classes: Any, **more: Any
    ) -> _c.source:
        """As the library takes it, which copies all but the functions."""
        named = Names(names, "names")
        classed = Names(classes, "classes")
        if names is not None and len(named) != self.count:
            raise InvalidArgument(
                "%d names for %d samples" % (len(named), self.count)
            )
        return _c.source(
            flags=self.flags,
            name=self.name.encode(),
            count=self.count,
            read=self.read,
            cancel=self.cancel,
            labels=labels_for(labels, self.count),
            names=named.each,
            classes=classed.each,
            n_classes=len(classed),
            **more,
        )


class Source(Calls):
    """An object that gives the bytes of samples."""

    def __init__(
        self, reader: Any, name: Optional[str], options: Dict[str, Any]
    ) -> None:
        for key in ("labels", "names", "sizes", "classes"):
            if options[key] is not None:
                options[key] = list(options[key])
        self.made_of = (reader, name, options)
        self.get = get = _getter(reader)
        stop: Any = getattr(reader, "cancel", None)

        def deliver(call: _c.read_call, address: int) -> int:
            return _deliver(call, address, get(call.index))

        def cancel(call: _c.read_call, address: int) -> None:
            stop(int(call.index))

        super().__init__(
            name or type(reader).__name__,
            len(reader),
            _c.SOURCE_ONE_AT_A_TIME if options["one_at_a_time"] else 0,
            deliver,
            cancel if callable(stop) else None,
        )

    def open(self, out: Any) -> int:
        """Calls the library."""
        reader, _, options = self.made_of
        described = self.described(
            _of(reader, options["labels"], "labels", "targets"),
            options["names"],
            _of(reader, options["classes"], "classes"),
            sizes=column_for(
                "Q", ctypes.c_uint64, options["sizes"], self.count, "sizes"
            ),
            fingerprint=_text(options["fingerprint"]),
            quarantine=_text(options["quarantine"]),
        )
        return int(lib.dataset_open_source(ctypes.byref(described), out))

    def bytes_of(self, number: int) -> bytes:
        """A sample's bytes, on this thread."""
        data = self.get(number)
        return data if type(data) is bytes else HeldBuffer(data).tobytes()


class Recorded(Calls):
    """A function that says what samples are made of (feedline/recorded.h)."""

    def __init__(
        self, record: Any, count: int, name: str, options: Dict[str, Any]
    ) -> None:
        self.made_of = (record, count, name, options)
        flags = _c.SOURCE_RECORDED
        if options["in_order"]:
            flags |= _c.SOURCE_IN_ORDER
        if options["one_at_a_time"]:
            flags |= _c.SOURCE_ONE_AT_A_TIME
        super().__init__(name, count, flags, record, options["cancel"])

    def open(self, out: Any) -> int:
        """Calls the library."""
        options = self.made_of[3]
        described = self.described(
            options["labels"],
            options["names"],
            options["classes"],
            fingerprint=_text(options["fingerprint"]),
        )
        return int(lib.dataset_open_source(ctypes.byref(described), out))

    def bytes_of(self, number: int) -> bytes:
        raise InvalidArgument(
            "samples of %s bring their own steps, so only a loader reads them"
            % self.name
        )


def _getter(reader: Any) -> Callable[[int], Any]:
    read = getattr(reader, "read", None)
    if callable(read):
        return read  # type: ignore[no-any-return]
    if hasattr(type(reader), "__getitem__"):
        return reader.__getitem__  # type: ignore[no-any-return]
    raise InvalidArgument(
        "a source has read(i) or [i], which give bytes; %s has neither"
        % type(reader).__name__
    )


def _of(reader: Any, given: Any, *names: str) -> Any:
    """What was given, or else what the object says itself."""
    for name in names:
        if given is None:
            given = getattr(reader, name, None)
    return given


def _text(text: Any) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)


def _status_of(error: BaseException) -> int:
    if isinstance(error, FileNotFoundError):
        return _c.ENOENT
    if isinstance(error, OSError):
        return _c.EIO
    return _c.ENOMEM if isinstance(error, MemoryError) else _c.EUSER


def _said(error: BaseException) -> bytes:
    """ "KeyError: 'a/1.jpg'", whatever its str() does."""
    text = traceback.format_exception_only(type(error), error)[-1]
    return text.strip().encode(errors="replace")


def _deliver(call: _c.read_call, address: int, data: Any) -> int:
    """The bytes into the library's buffer; it says itself what it refuses."""
    held = None
    origin, size = data, len(data) if type(data) is bytes else 0
    if type(data) is not bytes:
        held = HeldBuffer(data)
        origin, size = held.address, held.nbytes
    call.length = size
    buffer = call.buffer
    if size > call.room:
        buffer = lib.read_grow(address, size)
    if buffer and size:
        memmove(buffer, origin, size)
    return _c.OK


def _reader(
    answer: Callable[[_c.read_call, int], int], errors: Errors
) -> Callable[[int], int]:
    """The function that C calls."""
    from_address = _c.read_call.from_address
    waited, fail = lib.quick.read_waited, lib.quick.read_fail
    ident = threading.get_ident

    def read(address: int) -> int:
        arrived = monotonic_ns()
        call = from_address(address)
        thread = ident()
        _inside[thread] = 1
        try:
            keep_state()
            waited(address, max(0, arrived - call.begin_ns))
            return answer(call, address)
        except BaseException as error:
            errors.add(call.epoch, call.sample_index, error)
            return int(fail(address, _status_of(error), _said(error)))
        finally:
            del _inside[thread]

    return read


def _canceller(
    stop: Callable[[_c.read_call, int], object]
) -> Callable[[int], None]:
    def cancel(address: int) -> None:
        stop(_c.read_call.from_address(address), address)

    return cancel
