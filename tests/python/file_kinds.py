# SPDX-License-Identifier: Apache-2.0
"""One small file of each kind that people have, sound or not."""

from __future__ import annotations

import base64
import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple, Union

from PIL import Image, features

# Of 16x16, by libjpeg-turbo: Pillow writes none of that kind.
_ARITHMETIC = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8U"
    "HRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgN"
    "DRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"
    "MjIyMjL/yQARCAAQABADASIAAhEBAxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/"
    "ALE6ypQuUfQ2NPOhWOg5nkJgCMdNtr5VlkZwgkD/2Q=="
)

SIDE = 16

Content = Union[bytes, Callable[[Path], None]]


def picture(mode: str = "RGB", side: int = SIDE) -> Any:
    """A gradient, transparent in a corner where the mode has alpha."""
    gradient = Image.linear_gradient("L").resize((side, side))
    turned = gradient.transpose(Image.Transpose.ROTATE_90)
    image = Image.merge("RGB", (gradient, turned, gradient))
    if mode in ("RGBA", "LA"):
        image = image.convert(mode)
        image.putalpha(turned)
        return image
    return image.convert(mode)


def saved(kind: str, image: Any = None, **options: Any) -> bytes:
    file = io.BytesIO()
    (image or picture()).save(file, kind, **options)
    return file.getvalue()


def frames(kind: str, **options: Any) -> bytes:
    """An animation."""
    more = [picture().rotate(90), picture().rotate(180)]
    return saved(kind, save_all=True, append_images=more, **options)


def two_images() -> bytes:
    """Pillow 9.4 has no room for a third in the first one's header."""
    other = picture().rotate(90)
    return saved("MPO", save_all=True, append_images=[other])


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def flat_jpeg(
    process: int, bits: int, components: int, data: bytes, scan: bytes
) -> bytes:
    """By hand: one Huffman table with the symbols 0 (code 0) and 6 (10)."""
    ids = range(1, components + 1)
    frame = struct.pack(">BHHB", bits, SIDE, SIDE, components)
    frame += b"".join(bytes((i, 0x11, 0)) for i in ids)
    header = bytes((components,)) + b"".join(bytes((i, 0)) for i in ids)
    table = bytes((1, 1, *[0] * 14, 0, 6))
    return b"".join(
        (
            b"\xff\xd8",
            segment(0xDB, bytes((0, *[16] * 64))),
            segment(0xC0 + process, frame),
            segment(0xC4, b"\0" + table + b"\x10" + table),
            segment(0xDA, header + scan),
            data,
            b"\xff\xd9",
        )
    )


def lossless() -> bytes:
    """The first sample is 128 + 40, and each differs from the last by 0."""
    return flat_jpeg(3, 8, 1, b"\xa8" + bytes(32) + b"\x7f", b"\1\0\0")


def png(colour: int, bits: int, pixel: bytes, *chunks: bytes) -> bytes:
    """All pixels alike, eight at a time where they have less than 8 bits."""
    row = b"\0" + pixel * (SIDE if bits >= 8 else SIDE // 8)
    header = struct.pack(">IIBBBBB", SIDE, SIDE, bits, colour, 0, 0, 0)
    parts = [chunk(b"IHDR", header), *chunks]
    parts += [chunk(b"IDAT", zlib.compress(row * SIDE)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def chunk(name: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum


def avif() -> List[Tuple[str, str, Content]]:
    """None where Pillow has no AVIF."""
    has = "avif" in features.get_supported_modules()
    return [("AVIF", ".jpg", saved("AVIF"))] if has else []


def cut(data: bytes) -> bytes:
    return data[: len(data) * 3 // 4]


def wrong_checksum() -> bytes:
    """Of the compressed pixels; that of the chunk is right."""
    rows = zlib.compress(b"\0" * (1 + 3 * SIDE) * SIDE)
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", rows[:-4] + b"\0\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def noise() -> Any:
    return Image.effect_noise((64, 64), 60).convert("RGB")


# By the first word of a row of the table in docs/pixels.md: name of a kind, the
# ending of its files, and what they are.
KINDS: Dict[str, List[Tuple[str, str, Content]]] = {
    "JPEG:": [
        ("sequential", ".jpg", saved("JPEG")),
        ("progressive", ".jpg", saved("JPEG", progressive=True)),
        ("gray", ".jpg", saved("JPEG", picture("L"))),
        ("CMYK", ".jpg", saved("JPEG", picture("CMYK"))),
        ("arithmetic", ".jpg", base64.b64decode(_ARITHMETIC)),
        ("two images", ".jpg", two_images()),
    ],
    "JPEG, lossless": [("lossless", ".jpg", lossless())],
    "JPEG of": [
        ("12 bits", ".jpg", flat_jpeg(1, 12, 1, b"\0", b"\0\x3f\0")),
        ("2 components", ".jpg", flat_jpeg(0, 8, 2, b"\0\0", b"\0\x3f\0")),
        ("hierarchical", ".jpg", flat_jpeg(5, 8, 1, b"\0", b"\0\x3f\0")),
    ],
    "PNG": [
        ("usual", ".png", saved("PNG")),
        ("16 bits, RGB", ".png", png(2, 16, b"\x12\x34" * 3)),
        ("16 bits, gray", ".png", png(0, 16, b"\x12\x34")),
        ("1 bit", ".png", png(0, 1, b"\x5a")),
        ("palette", ".png", saved("PNG", picture("P"))),
        ("alpha", ".png", saved("PNG", picture("RGBA"))),
        ("animated", ".png", frames("PNG")),
        ("named .jpg", ".jpg", saved("PNG")),
    ],
    "WebP": [
        ("lossy", ".webp", saved("WEBP")),
        (
            "lossless",
            ".webp",
            saved("WEBP", picture("RGBA"), lossless=True),
        ),
        ("animated", ".webp", frames("WEBP")),
    ],
    "GIF": [
        ("GIF", ".jpg", saved("GIF", picture("P"))),
        ("BMP", ".bmp", saved("BMP")),
        ("PPM", ".ppm", saved("PPM")),
        ("TIFF", ".tif", saved("TIFF")),
        *avif(),
    ],
    "one of these that is cut": [
        ("cut JPEG", ".jpg", cut(saved("JPEG", noise()))),
        ("cut PNG", ".png", cut(saved("PNG", noise()))),
        ("cut WebP", ".webp", cut(saved("WEBP", noise()))),
    ],
    "one that Pillow": [("wrong checksum", ".png", wrong_checksum())],
    "an empty": [("empty", ".jpg", b"")],
    "anything else": [
        ("text", ".jpg", b"404: this file has moved to another place\n"),
        ("zeros", ".jpg", bytes(1000)),
    ],
    "a link to nothing": [
        ("link to nothing", ".jpg", to_nothing),
        ("link to itself", ".jpg", to_itself),
        ("pipe", ".jpg", pipe),
    ],
}


def write(folder: Path, kind: Tuple[str, str, Content]) -> Path:
    """The file of a kind, in a folder that is there."""
    name, ending, content = kind
    path = folder / (name.replace(" ", "_").replace(",", "") + ending)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content)
    return path
