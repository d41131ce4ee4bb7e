# SPDX-License-Identifier: Apache-2.0
"""Deferred objects as the structs of feedline/recorded.h: those of images, then
for each image its steps and path."""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, Callable, Sequence, Tuple

from .. import _c
from .description import OUTPUT_BYTES, Deferred

# struct feedline_recorded_image and feedline_recorded_step; the latter with as
# many numbers as are given.
IMAGE = struct.Struct("@IIPPPQqP%dsQQqPQQQIIPQII" % OUTPUT_BYTES)
_STAYS = 1  # given bytes, until the sample is delivered
_ENCODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
MOST_VALUES = _c.STEP_VALUES
STEPS = [struct.Struct("@IIP%dd" % n) for n in range(MOST_VALUES + 1)]
STEP_BYTES = STEPS[MOST_VALUES].size


# struct feedline_canvas and feedline_canvas_part.
_CANVAS = struct.Struct("@iiiI4sIP")
_PART = struct.Struct("@IiiiiiiIdP")
CANVAS_BYTES, PART_BYTES = _CANVAS.size, _PART.size


def pack(
    images: Sequence[Deferred], outs: Sequence[int]
) -> Tuple[bytearray, int]:
    """The structs, and where they are as long as that memory is kept. Tables
    and given bytes stay where they are: whoever keeps the Deferred keeps them.

    outs: for each image the address of memory of its nbytes.
    """
    memory = bytearray(most_bytes(images))
    address = address_in(memory)
    write(memory, address, images, outs, address_of)
    return memory, address


def address_in(memory: bytearray) -> int:
    """Of its first byte."""
    if not memory:
        return 0
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


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
        path = given = length = canvas = 0
        if image.laid is not None:
            canvas = base + end
            end = _write_canvas(memory, base, end, image.laid, place_of)
        elif source.data is None:
            name: Any = source.path
            if type(name) is str:
                name = name.encode(*_ENCODING)  # in less time than fsencode()
            name += b"\0"
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
            image.form.output,
            *source.seen,
            *image.draws,
            canvas,
            image.kept,
            _STAYS,
            0,
        )
        at += IMAGE.size
    return end


def _write_canvas(
    memory: bytearray,
    base: int,
    at: int,
    laid: Any,
    place_of: Callable[[bytes], int],
) -> int:
    canvas = laid.canvas
    parts, n = at + _CANVAS.size, len(canvas.parts)
    w, h = canvas.size
    fill = bytes(canvas.fill)
    _CANVAS.pack_into(
        memory, at, w, h, len(fill), canvas.how, fill, n, base + parts
    )
    for number, part in zip(laid.numbers, canvas.parts):
        mask = 0 if part.mask is None else place_of(part.mask)
        _PART.pack_into(
            memory,
            parts,
            number,
            part.left,
            part.top,
            *part.rectangle,
            0,
            part.weight,
            mask,
        )
        parts += _PART.size
    return parts


def most_bytes(images: Sequence[Deferred]) -> int:
    """At most, of all that is written for these."""
    return sum(map(_bytes_of, images))


def _bytes_of(image: Deferred) -> int:
    """At most, of all that is written for an image."""
    path = image.source.path
    needed = IMAGE.size + STEP_BYTES * len(image.steps)
    needed += 0 if path is None else len(path) * 4 + 16
    if image.laid is not None:
        needed += _CANVAS.size + _PART.size * len(image.laid.numbers)
    return needed


def address_of(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
