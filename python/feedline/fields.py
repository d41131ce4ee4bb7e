# SPDX-License-Identifier: Apache-2.0
"""Fields: what a data set has of a sample beside its image and label.

Kinds are those of the format: bytes, text, JSON, integers and floats.
"""

from __future__ import annotations

import json
from typing import Any

from . import _c

_NO_INTEGER = -(1 << 63)


def value_of(kind: int, data: bytes) -> Any:
    """What the bytes of a field are; of one that is missing b"", "" or None.

    Raises ValueError for text that is not UTF-8, and for what is no JSON.
    """
    if kind == _c.FIELD_TEXT:
        return data.decode()
    if kind == _c.FIELD_JSON:
        return json.loads(data) if data else None
    return data


def value_in_file(field: _c.sample_field) -> Any:
    """The value of a sample's field; None for a number that is missing."""
    if field.kind == _c.FIELD_INT:
        return None if field.integer == _NO_INTEGER else int(field.integer)
    if field.kind == _c.FIELD_FLOAT:
        return None if field.number != field.number else float(field.number)
    data = b""
    if field.file:
        with open(field.file, "rb") as file:
            file.seek(field.offset)
            data = file.read(field.bytes)
    return value_of(field.kind, data)
