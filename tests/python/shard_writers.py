# SPDX-License-Identifier: Apache-2.0
"""Shards of every format, as the formats' own writers make them."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Tuple, Type

import pytest

import feedline


def refused(
    uri: Any, why: str, kind: Type[Exception] = feedline.InvalidArgument
) -> None:
    """Opening it raises that, and says why."""
    with pytest.raises(kind, match=why):
        feedline.Dataset.open(uri)


# ---- tar ---------------------------------------------------------------------


def write_tar(
    path: Path,
    members: Iterable[Tuple[str, bytes]],
    change: Callable[[tarfile.TarInfo], None] = lambda info: None,
    **options: Any,
) -> Path:
    """members: names and contents; change: of what is in the header."""
    with tarfile.open(path, "w", **options) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            change(info)
            archive.addfile(info, io.BytesIO(data))
    return path


# ---- FFCV --------------------------------------------------------------------


def write_beton_fields(
    path: Path,
    fields: List[Tuple[int, str]],
    rows: List[Tuple[bytes, ...]],
    contents: List[Tuple[bytes, ...]],
) -> None:
    """As ffcv's DatasetWriter does, whose pages have 2 MiB and more; rows have
    a "{at}" of 8 bytes where the place of each content goes."""
    page = 4096
    at = 24 + 1041 * len(fields) + sum(map(len, map(b"".join, rows)))
    first = at = -(-at // page) * page
    metadata, pages, table = [], b"", []
    for i, (row, content) in enumerate(zip(rows, contents)):
        values = b"".join(row)
        for data in content:
            place = at.to_bytes(8, "little")
            values = values.replace(b"{at....}", place, 1)
            table.append(struct.pack("<3Q", i, at, len(data)))
            pages += data
            at += len(data)
        metadata.append(values)
    pages += bytes(-len(pages) % page)
    header = struct.pack(
        "<HHIQQ", 2, len(fields), page, len(rows), first + len(pages)
    )
    for kind, name in fields:
        header += struct.pack("<B16s1024x", kind, name.encode())
    header += b"".join(metadata)
    header += bytes(first - len(header))
    path.write_bytes(header + pages + b"".join(reversed(table)))


def beton_image(mode: int = 0, size: Tuple[int, int] = (30, 20)) -> bytes:
    """Packed, in 13 bytes; size: width, height, as ffcv reads them here."""
    return struct.pack("<BHH8s", mode, *size, b"{at....}")


# ---- MDS ---------------------------------------------------------------------

Row = Dict[str, Tuple[str, Any]]  # column: its encoding, a value
MDS_FORMATS = {
    "int": "<q",
    "uint8": "<B",
    "int16": "<h",
    "uint64": "<Q",
    "float32": "<f",
    "float64": "<d",
}


def write_mds_rows(path: Path, rows: List[Row]) -> None:
    """As streaming's MDSWriter does."""

    def encoded(encoding: str, value: Any) -> bytes:
        if encoding in MDS_FORMATS:
            return struct.pack(MDS_FORMATS[encoding], value)
        return value if isinstance(value, bytes) else str(value).encode()

    names = sorted(rows[0])
    sizes = [
        struct.calcsize(MDS_FORMATS[e]) if e in MDS_FORMATS else None
        for e, _ in (rows[0][name] for name in names)
    ]
    config = json.dumps(
        {
            "column_encodings": [rows[0][name][0] for name in names],
            "column_names": names,
            "column_sizes": sizes,
            "compression": None,
            "format": "mds",
        }
    ).encode()
    samples = []
    for row in rows:
        values = [encoded(*row[name]) for name in names]
        lengths = [len(v) for v, size in zip(values, sizes) if size is None]
        samples.append(struct.pack("<%dI" % len(lengths), *lengths))
        samples[-1] += b"".join(values)
    at = 4 * (len(rows) + 2) + len(config)
    with open(path, "wb") as file:
        file.write(struct.pack("<II", len(rows), at))
        for sample in samples:
            at += len(sample)
            file.write(struct.pack("<I", at))
        file.write(config + b"".join(samples))


# ---- LitData -----------------------------------------------------------------


def write_litdata(
    folder: Path,
    chunks: List[List[List[bytes]]],
    data_format: List[str],
    **config: Any,
) -> List[Path]:
    """As litdata's BinaryWriter: chunks of samples of values."""
    paths = []
    for number, samples in enumerate(chunks):
        path = folder / ("chunk-0-%d.bin" % number)
        at = 4 * (len(samples) + 2)
        head, body = struct.pack("<II", len(samples), at), b""
        for values in samples:
            sizes = [len(value) for value in values]
            body += struct.pack("<%dI" % len(sizes), *sizes) + b"".join(values)
            head += struct.pack("<I", at + len(body))
        path.write_bytes(head + body)
        paths.append(path)
    usual = {"compression": None, "encryption": None}
    config = {**usual, "item_loader": "PyTreeLoader", **config}
    config["data_format"] = data_format
    names = [{"filename": path.name, "dim": None} for path in paths]
    (folder / "index.json").write_text(
        json.dumps({"chunks": names, "config": config})
    )
    return paths


# ---- RecordIO ----------------------------------------------------------------

RECORDIO_MAGIC = struct.pack("<I", 0xCED7230A)


def recordio_record(data: bytes) -> bytes:
    """As dmlc-core writes it: magic numbers at multiples of 4 end a part."""
    parts = [b""]
    for at in range(0, len(data), 4):
        word = data[at : at + 4]
        if word == RECORDIO_MAGIC:
            parts.append(b"")
        else:
            parts[-1] += word
    out = b""
    for i, part in enumerate(parts):
        kind = 0 if len(parts) == 1 else 1 + (i > 0) + (i == len(parts) - 1)
        out += RECORDIO_MAGIC + struct.pack("<I", kind << 29 | len(part))
        out += part + bytes(-len(part) % 4)
    return out


def recordio_image(id: int, labels: List[float], data: bytes) -> bytes:
    """As mxnet.recordio.pack."""
    n = 0 if len(labels) == 1 else len(labels)
    header = struct.pack("<IfQQ", n, 0 if n else labels[0], id, 0)
    return recordio_record(header + struct.pack("<%df" % n, *labels[:n]) + data)


# ---- TFRecord ----------------------------------------------------------------


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def bytes_feature(data: bytes) -> bytes:
    return message(1, message(1, data))


def float_feature(*values: float) -> bytes:
    return message(2, message(1, struct.pack("<%df" % len(values), *values)))


def int_feature(*values: int) -> bytes:
    return message(3, message(1, b"".join(map(varint, values))))


def castagnoli_table() -> List[int]:
    """Of CRC-32C: the remainder of each byte."""
    table = list(range(256))
    for _ in range(8):
        table = [n >> 1 ^ (0x82F63B78 if n & 1 else 0) for n in table]
    return table


CASTAGNOLI = castagnoli_table()


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CASTAGNOLI[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_examples(path: Path, examples: List[Dict[str, bytes]]) -> None:
    """key: a feature."""
    with open(path, "wb") as file:
        for example in examples:
            entries = (
                message(1, message(1, key.encode()) + message(2, feature))
                for key, feature in example.items()
            )
            record = message(1, b"".join(entries))
            length = struct.pack("<Q", len(record))
            file.write(length + struct.pack("<I", masked_crc(length)))
            file.write(record + struct.pack("<I", masked_crc(record)))
