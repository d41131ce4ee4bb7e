# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file that its header is of.

Pillow takes some 100 us to open a JPEG or PNG file in memory. What it says
depends on nothing but these bytes, and in databases many files begin alike.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

MOST_BYTES = 4096
MOST_HEADERS = 1024

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_PIXELS = 33  # where they begin, if nothing is between


def key_of(data: bytes) -> Optional[bytes]:
    """None: it is not known how far the header goes."""
    if data[:2] == b"\xff\xd8":
        return _of_jpeg(data)
    return _of_png(data) if data[:16] == _PNG else None


def _of_png(data: bytes) -> Optional[bytes]:
    """Of a file with pixels only: others have more to say behind them."""
    at = _PIXELS
    while data[at + 4 : at + 8] == b"IDAT":
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    if at == _PIXELS or data[at : at + 8] != b"\0\0\0\0IEND":
        return None
    return data[:_PIXELS]


def _of_jpeg(data: bytes) -> Optional[bytes]:
    """All up to the first scan."""
    at = 2
    while at < MOST_BYTES and data[at : at + 1] == b"\xff":
        marker = data[at + 1 : at + 2]
        if marker < b"\xc0" or b"\xd0" <= marker <= b"\xd9":
            return None  # none of those has a length
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == b"\xda":
            return data[:at] if at < min(len(data), MOST_BYTES) else None
        if marker == b"\xff":
            return None
    return None


class Remembered:
    """Headers by those bytes."""

    def __init__(self) -> None:
        self._headers: Dict[bytes, Any] = {}

    def get(self, key: Optional[bytes]) -> Any:
        return None if key is None else self._headers.get(key)

    def put(self, key: Optional[bytes], header: Any) -> None:
        if key is None:
            return
        if len(self._headers) >= MOST_HEADERS:
            self.clear()
        self._headers[key] = header

    def clear(self) -> None:
        self._headers.clear()
