# SPDX-License-Identifier: Apache-2.0
"""Deferred objects as the structs of feedline/recorded.h.

Each thread writes them into memory of its own, which the next call uses again:
the structs of images, then for each image its steps and path. Tables and given
bytes stay where they are: whoever keeps the Deferred keeps them.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from typing import Callable, Sequence, Tuple

from .. import _c
from .description import Deferred

# struct feedline_recorded_image and feedline_recorded_step; the latter with as
# many numbers as are given.
IMAGE = struct.Struct("@IIPPPQqPQiiiiiIQQqPQQQII")
MOST_VALUES = _c.STEP_VALUES
STEPS = [struct.Struct("@IIP%dd" % n) for n in range(MOST_VALUES + 1)]
STEP_BYTES = STEPS[MOST_VALUES].size

_FIRST_BYTES = 1 << 16


class _Room(threading.local):
    def __init__(self) -> None:
        self.grow(_FIRST_BYTES)

    def grow(self, size: int) -> None:
        self.memory = bytearray(size)
        self.first = (ctypes.c_char * size).from_buffer(self.memory)
        self.address = ctypes.addressof(self.first)


_room = _Room()


def pack(images: Sequence[Deferred], outs: Sequence[int]) -> Tuple[int, int]:
    """(address of the structs, how many), until this thread's next call.

    outs: for each image the address of memory of its nbytes.
    """
    room = _room
    needed = most_bytes(images)
    if needed > len(room.memory):
        room.grow(needed * 2)
    write(room.memory, room.address, images, outs, _address_of)
    return room.address, len(images)


def write(
    memory: bytearray,
    base: int,
    images: Sequence[Deferred],
    outs: Sequence[int],
    place_of: Callable[[bytes], int],
) -> int:
    """The structs, into memory of most_bytes() that is at the address `base`;
    how many bytes that were. place_of: the address of given bytes."""
    at, end = 0, IMAGE.size * len(images)
    for image, out in zip(images, outs):
        source = image.source
        begin = end
        end += STEP_BYTES * len(image.steps)
        place = begin
        for number, values, data in image.steps:
            table = 0 if data is None else place_of(data)
            n = len(values)
            STEPS[n].pack_into(memory, place, number, n, table, *values)
            place += STEP_BYTES
        path = given = length = 0
        if source.data is None:
            name = os.fsencode(source.path) + b"\0"  # type: ignore[arg-type]
            path = base + end
            memory[end : end + len(name)] = name
            end += len(name) + 7 & ~7
            length = source.length
        else:
            given = place_of(source.data)
            length = len(source.data)
        IMAGE.pack_into(
            memory,
            at,
            IMAGE.size,
            len(image.steps),
            base + begin,
            path,
            given,
            source.offset,
            length,
            out,
            image.nbytes,
            image.code,
            image.nhwc,
            image.channels,
            image.height,
            image.width,
            image.element_bytes,
            *source.seen,
            *image.draws,
        )
        at += IMAGE.size
    return end


def most_bytes(images: Sequence[Deferred]) -> int:
    """At most, of all that is written for these."""
    return sum(map(_bytes_of, images))


def _bytes_of(image: Deferred) -> int:
    """At most, of all that is written for an image."""
    path = image.source.path
    needed = IMAGE.size + STEP_BYTES * len(image.steps)
    needed += 0 if path is None else len(path) * 4 + 16
    return needed


def _address_of(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
