# SPDX-License-Identifier: Apache-2.0
"""LMDB: where the values of an environment lie in its file.

A value is one piece of the file, whatever its size, and the file is mapped: so
the address of a value says where it is. A value is an encoded image, or the
pickle of a pair (image, label), as the scripts that turn folders into LMDB
write it. Pickles are programs: they are read here as far as such a pair needs
it, and never run.
"""

from __future__ import annotations

from array import array
from typing import Any, List, Optional, Tuple

from .buffers import HeldBuffer
from .errors import InvalidArgument
from .extents import Extents
from .mapped_files import Maps

_IMAGES = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in (2, 3, 4, 5))
_HEAD = 8  # bytes of a value

# Opcodes of a pickled pair: how many bytes of their argument hold its size.
_BYTES = {b"B": 4, b"C": 1, b"\x8e": 8, b"T": 4, b"U": 1}
_SKIPPED = {b"\x95": 8, b"\x94": 0, b"q": 1, b"r": 4}  # frames, memo
_INTEGERS = {b"K": (1, False), b"M": (2, False), b"J": (4, True)}


def table_of(env: Any, labels: Any) -> Extents:
    """What Dataset.lmdb makes a data set of."""
    file: Optional[str] = None
    maps = Maps()
    rows: List[Tuple[bytes, int, int, int]] = []
    with env.begin(buffers=True) as transaction:
        for raw_key, value in transaction.cursor():
            key = bytes(raw_key)
            if key.startswith(b"__"):  # __len__, __keys__
                continue
            first, length, label = _image_in(key, value)
            held = HeldBuffer(value)
            place = maps.file_of(held.address, held.nbytes)
            if place is None:
                raise InvalidArgument(
                    "the environment's file is not to be found in memory; open "
                    "it with readonly=True, lock=False"
                )
            file, moved = place
            rows.append((key, held.address + moved + first, length, label))
    if file is None:
        raise InvalidArgument("the environment has no values")
    if all(key.isdigit() for key, *_ in rows):
        rows.sort(key=lambda row: int(row[0]))
    keys, offsets, lengths, found = zip(*rows)
    return Extents(
        [file],
        array("I", bytes(4 * len(rows))),
        array("Q", offsets),
        array("I", lengths),
        found if labels is None else labels,
        None if any(b"\0" in key for key in keys) else keys,
        None,
    )


def _image_in(key: bytes, value: Any) -> Tuple[int, int, int]:
    """Where an image begins in a value, its length and its label."""
    head = bytes(value[:_HEAD])
    if head.startswith(_IMAGES):
        return 0, len(value), 0
    if head.startswith(_PICKLES):
        try:
            return _pair(value)
        except (IndexError, KeyError):
            raise InvalidArgument(
                "the value of key %r is a pickle, but not of (bytes, int) in a "
                "protocol that keeps bytes as they are (3 or later); pickles "
                "are not run, so store the image alone" % key
            ) from None
    raise InvalidArgument(
        "the value of key %r is neither a JPEG, PNG or WebP image nor a pickle "
        "of (image, label); it begins with %r" % (key, head)
    )


class _Reader:
    """Opcodes and arguments of a pickle."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self.at = 2  # behind the protocol

    def take(self, count: int) -> bytes:
        found = bytes(self._value[self.at : self.at + count])
        if len(found) < count:
            raise IndexError("the pickle ends early")
        self.at += count
        return found

    def number(self, count: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(count), "little", signed=signed)

    def opcode(self) -> bytes:
        """The next one that does something."""
        while True:
            code = self.take(1)
            if code not in _SKIPPED:
                return code
            self.take(_SKIPPED[code])


def _pair(value: Any) -> Tuple[int, int, int]:
    """IndexError, KeyError: the pickle is of something else."""
    reader = _Reader(value)
    length = reader.number(_BYTES[reader.opcode()])
    first = reader.at
    reader.at += length
    code = reader.opcode()
    if code == b"\x8a":  # an integer of any size
        label = reader.number(reader.number(1), True)
    else:
        label = reader.number(*_INTEGERS[code])
    if reader.opcode() + reader.opcode() != b"\x86.":  # a pair, the end
        raise KeyError("more than a pair")
    return first, length, label
