# SPDX-License-Identifier: Apache-2.0
"""Which file lies behind an address: for what other packages have mapped."""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_right
from typing import Dict, Iterable, List, Optional, Tuple

from .errors import InvalidArgument

_SEEN = 64  # bytes that are compared with the file


class Maps:
    """The files that are mapped into this process."""

    def __init__(self) -> None:
        self._starts: List[int] = []
        self._maps: List[Tuple[int, int, int, int, str]] = []
        self._is_there: Dict[int, bool] = {}  # by position in _maps
        with open("/proc/self/maps", "rb") as lines:
            for line in lines:
                part = line.rstrip(b"\n").split(None, 5)
                if len(part) == 6 and part[5].startswith(b"/"):
                    self._add(part)

    def _add(self, part: List[bytes]) -> None:
        first, last = (int(end, 16) for end in part[0].split(b"-"))
        path, node = os.fsdecode(part[5]), int(part[4])
        moved = int(part[2], 16) - first
        if self._maps:
            before, end, shift, its_node, its_path = self._maps[-1]
            same = (end, shift, its_node, its_path) == (
                first,
                moved,
                node,
                path,
            )
            if same:  # one mapping that was split
                self._maps[-1] = (before, last, shift, node, path)
                return
        self._starts.append(first)
        self._maps.append((first, last, moved, node, path))

    def refuse_cut(self, files: Iterable[str]) -> None:
        """Raises where one ends before what is mapped of it does: who looks
        there is killed (SIGBUS)."""
        sizes = {}
        for path in files:
            try:
                found = os.stat(path)
            except OSError:  # removed: what is mapped stays
                continue
            sizes[found.st_ino] = found.st_size
        for _, last, moved, node, path in self._maps:
            missing = last + moved - sizes.get(node, last + moved)
            if missing >= mmap.PAGESIZE:
                raise InvalidArgument(
                    "%s was cut to %d bytes since it was opened"
                    % (path, sizes[node])
                )

    def file_of(self, address: int, size: int) -> Optional[Tuple[str, int]]:
        """The file of some bytes, and what to add to an address to have its
        place there; None: in none, or it is not the one that was mapped."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address + size > self._maps[at][1]:
            return None
        _, _, moved, node, path = self._maps[at]
        if at not in self._is_there:
            bytes_here = ctypes.string_at(address, min(size, _SEEN))
            self._is_there[at] = _has(path, node, address + moved, bytes_here)
        return (path, moved) if self._is_there[at] else None


def _has(path: str, node: int, offset: int, content: bytes) -> bool:
    """Whether that is still the file, with these bytes there."""
    try:
        with open(path, "rb", buffering=0) as file:
            its_node = os.fstat(file.fileno()).st_ino
            found = os.pread(file.fileno(), len(content), offset)
    except OSError:
        return False
    return its_node == node and found == content
