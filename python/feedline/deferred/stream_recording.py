# SPDX-License-Identifier: Apache-2.0
"""Recording over many calls: the next() of a stream, one after another.

A generator goes on where it stopped. What it opened in one call it may yield
many calls later: a shuffle buffer is full of such images. So all calls are one
run, an image stays deferred from call to call, and between calls nothing is
kept open.

What an image cannot show is the error of a file that is damaged, which the
program would see as it asks for pixels. So a stream is held to two things:

- Files that are cut off are not deferred. That is seen at their end.
- Images that the program asked for and then dropped are decoded: `lost` has
  those that cannot be.

What is found out later is `refused` by the next run of the same stream, which
opens those files for real: the program sees the error where it belongs.
"""

from __future__ import annotations

import os
import sys
import zlib
from typing import Any, Callable, Container, Dict, List, Optional, Tuple

from . import hooks
from .image_source import Source
from .recording import MOST_OPEN, Recorder, Run, state

# Bytes behind the end of a JPEG image that are not asked about.
_PADDING = 64


class StreamRecording(Run):
    """position: calls of next() so far. refused: keys of images that are not
    deferred. real_from: the position from which on no image is."""

    __slots__ = ("position", "opened", "_refused", "_real_from")

    adopts = False  # images last from one call to the next anyhow
    guesses = False  # no sample can be made once more by itself

    def __init__(
        self,
        recorder: Recorder,
        refused: Container[str] = (),
        real_from: Optional[int] = None,
    ) -> None:
        super().__init__(recorder)
        self.position = 0
        self.opened = 0
        self._refused = refused
        self._real_from = real_from

    def call(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn(*args), with deferral on."""
        hooks.install()
        before, state.run = state.run, self
        try:
            return fn(*args)
        finally:
            state.run, state.last = before, self

    def add(self, source: Source) -> None:
        if self.opened >= MOST_OPEN:
            source.forget()
        source.born = self.position
        self.opened += 1
        self.recorder.images += 1
        self.sources.append(source)

    def refuses(self, source: Source) -> str:
        if self._real_from is not None and self.position >= self._real_from:
            return "the engine could not decode several of the stream's"
        if self._refused and key_of(source) in self._refused:
            return "the engine could not decode them"
        return "" if is_whole(source) else "files that are cut off"

    def settle(self, used: Container[int], check: bool = True) -> List[Source]:
        """Behind a call: closes files, and lets go of images that nobody has.

        used: ids of sources whose pixels the engine makes. check: decodes those
        that the program has dropped. Returns what could not be decoded.
        """
        lost, kept, self.opened = [], [], 0
        for source in self.sources:
            if id(source) in used:
                source.forget()
                continue
            if sys.getrefcount(source) > _OURS_ALONE:
                kept.append(source)
            elif check and source.wanted and not source.sound:
                try:
                    source.pixels()
                except Exception:
                    lost.append(source)
            source.forget()
        self.sources = kept
        return lost


def _ours_alone() -> int:
    """References to a source that is in the list of a run, and in no image."""
    for source in [object()]:
        return sys.getrefcount(source)
    return 0


_OURS_ALONE = _ours_alone()


def key_of(source: Source) -> str:
    """What tells an image from others, in another process, too."""
    if source.data is None:
        return os.fsdecode(source.path)  # type: ignore[arg-type]
    return "%d bytes, %08x" % (len(source.data), zlib.crc32(source.data))


# ---- Whether a file is whole ------------------------------------------------

_whole: Dict[Any, Tuple[Tuple[int, int, int], bool]] = {}
_MOST_WHOLE = 1 << 20


def is_whole(source: Source) -> bool:
    """Whether a file ends as one of its format does. Remembered by path."""
    data = source.data
    if data is not None:
        return _ends(source.header.format, data[-_PADDING:], len(data), data)
    known = _whole.get(source.path)
    if known is not None and known[0] == source.seen:
        return known[1]
    try:
        with open(source.path, "rb", 0) as file:  # type: ignore[arg-type]
            head = file.read(12)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _PADDING))
            tail = file.read(_PADDING)
    except OSError:
        return False
    whole = _ends(source.header.format, tail, size, head)
    if len(_whole) >= _MOST_WHOLE:
        _whole.pop(next(iter(_whole)), None)
    _whole[source.path] = source.seen, whole
    return whole


def _ends(format: str, tail: bytes, size: int, head: bytes) -> bool:
    if format == "JPEG":
        return b"\xff\xd9" in tail
    if format == "PNG":
        return b"IEND\xaeB`\x82" in tail
    # WebP: RIFF, and the length of the rest.
    return int.from_bytes(head[4:8], "little") + 8 <= size
