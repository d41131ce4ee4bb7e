# SPDX-License-Identifier: Apache-2.0
"""LMDB: where the values of an environment lie in its file.

A value is one piece of the file, whatever its size, and the file is mapped: so
the address of a value says where it is. A value is an encoded image, or the
pickle of a pair (image, label), as the scripts that turn folders into LMDB
write it. Pickles are programs: they are read here as far as such a pair needs
it, and never run.
"""

from __future__ import annotations

import os
import re
from array import array
from typing import Any, List, Optional, Tuple

from .buffers import HeldBuffer
from .errors import InvalidArgument
from .extents import Extents
from .mapped_files import Maps

_IMAGES = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
_PICKLES = (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")
_PAGE_SIZE = slice(40, 44)  # in the file's header
_LOOKED_AT = 64  # bytes of a value, before the image and behind it

# The pickle of a pair (bytes, int). Between its parts there may be frames and
# numbers of what is remembered.
_OTHER = rb"(?:\x95.{8}|\x94|q.|r.{4})*"
_BEFORE = re.compile(
    rb"\x80[\2-\5]" + _OTHER + rb"(?:[BT](.{4})|[CU](.)|\x8e(.{8}))", re.S
)
_SIGNED = [rb"J(.{4})", *(rb"\x8a\x%02d(.{%d})" % (n, n) for n in range(1, 9))]
_BEHIND = re.compile(
    rb"%s(?:K(.)|M(..)|%s)%s\x86%s\."
    % (_OTHER, rb"|".join(_SIGNED), _OTHER, _OTHER),
    re.S,
)
_FIRST_SIGNED = 3  # of the groups in _BEHIND


def table_of(env: Any, labels: Any) -> Extents:
    """What Dataset.lmdb makes a data set of."""
    _refuse_cut(env)
    file: Optional[str] = None
    maps = Maps()
    rows: List[Tuple[bytes, int, int, Optional[int]]] = []
    with env.begin(buffers=True) as transaction:
        for raw_key, value in transaction.cursor():
            key = bytes(raw_key)
            if key.startswith(b"__"):  # __len__, __keys__
                continue
            first, length, label = _image_in(key, value)
            if (
                labels is None
                and rows
                and (label is None) != (rows[0][3] is None)
            ):
                raise InvalidArgument(
                    "some values have a label and some are images alone, such "
                    "as those of keys %r and %r; give labels"
                    % (rows[0][0], key)
                )
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
        [label or 0 for label in found] if labels is None else labels,
        None if any(b"\0" in key for key in keys) else keys,
        None,
    )


def _refuse_cut(env: Any) -> None:
    """lmdb looks for pages where the file has none, which kills (SIGBUS)."""
    path = env.path()
    if env.flags()["subdir"]:
        path = os.path.join(path, "data.mdb")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        page = int.from_bytes(file.read(_PAGE_SIZE.stop)[_PAGE_SIZE], "little")
    needed = 2 * page  # both begin with what env.info() looks at
    if size >= needed > 0:
        needed = (env.info()["last_pgno"] + 1) * page
    if size < needed or not page:
        raise InvalidArgument(
            "%s: cut to %d bytes of %d; env.copy makes a file that is whole of "
            "one whose last pages are free" % (path, size, needed)
        )


def _image_in(key: bytes, value: Any) -> Tuple[int, int, Optional[int]]:
    """Where an image begins in a value, its length and its label; None: it has
    none."""
    head = bytes(value[:_LOOKED_AT])
    if head.startswith(_IMAGES):
        return 0, len(value), None
    if not head.startswith(_PICKLES):
        raise InvalidArgument(
            "the value of key %r is neither a JPEG, PNG or WebP image nor a "
            "pickle of (image, label); it begins with %r" % (key, head[:8])
        )
    found = _pair(value, head)
    if found is None:
        raise InvalidArgument(
            "the value of key %r is a pickle, but not of (bytes, int) in a "
            "protocol that keeps bytes as they are (3 or later); pickles are "
            "not run, so store the image alone" % key
        )
    return found


def _pair(value: Any, head: bytes) -> Optional[Tuple[int, int, int]]:
    before = _BEFORE.match(head)
    if before is None:
        return None
    first, length = before.end(), _number(before)
    behind = _BEHIND.fullmatch(bytes(value[first + length :][:_LOOKED_AT]))
    if behind is None:
        return None
    signed = (behind.lastindex or 0) >= _FIRST_SIGNED
    return first, length, _number(behind, signed)


def _number(found: "re.Match[bytes]", signed: bool = False) -> int:
    """Of the one group that matched."""
    digits = found.group(found.lastindex or 0)
    return int.from_bytes(digits, "little", signed=signed)
