# SPDX-License-Identifier: Apache-2.0
"""Odd chunks and segments: what is accepted though Pillow refuses it, and the
reverse, is what docs/pixels.md says, and nothing else.

    chunk_parity.py RENDER

Exit status 77: no Pillow here, or one that is older.
"""
import collections
import io
import pathlib
import struct
import sys
import tempfile
import warnings
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pillow_parity import PILLOW, WHOLE, Renderer  # noqa: E402

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

from orientation_layouts import (  # noqa: E402
    Jpeg,
    Png,
    Webp,
    international,
    packed,
    plain,
    segment,
)

SINCE = (13, 0)
MEGABYTE = 1 << 20
KINDS = (
    "gAMA cHRM sRGB pHYs tIME sBIT bKGD hIST oFFs sPLT cICP mDCV cLLI eXIf tEXt"
    " zTXt iTXt iCCP tRNS acTL fcTL fdAT IHDR PLTE CgBI"
).split()

# Of the documentation. Accepted here, refused by Pillow:
ACCEPTED = {
    "long text",
    "long profile",
    "many texts",
    "method",
    "gAMA",
    "cHRM",
    "sRGB",
    "pHYs",
    "tRNS",
    "iCCP",
    "acTL",
    "fcTL",
    "fdAT",
    "IHDR",
    "sequence",
    "frame size",
    "TEM",
    "JFIF",
    "Adobe",
    "ICC",
}
# Refused here, accepted by Pillow:
REFUSED = {"PLTE", "CgBI"}


def chunks():
    """What is odd about it, and the chunk."""
    for kind in KINDS:
        for n in (*range(10), 12, 13, 25, 26, 27, 32, 33):
            for fill in b"\0\xff":
                yield kind, Png.chunk(kind.encode(), bytes([fill]) * n)
    for n in (MEGABYTE, MEGABYTE + 1):
        yield "long text", packed(b"k", b" " * n)
        yield "long text", international(b"k", b" " * n, 1)
        yield "plain text", international(b"k", b" " * n)
        yield "plain text", plain(b"k", b" " * n)
        yield "long profile", Png.chunk(
            b"iCCP", b"n\0\0" + zlib.compress(bytes(n))
        )
    for method in (1, 2, 255):
        data = b"k\0%c" % method + zlib.compress(b"text")
        yield "method", Png.chunk(b"zTXt", data)
        yield "method", Png.chunk(b"iCCP", data)


def animations():
    pixels = Png.whole[Png.pixels + 8 : Png.end - 4]
    head = Png.chunk(b"acTL", struct.pack(">II", 2, 0))

    def control(i, width=24, height=16, x=0):
        return Png.chunk(
            b"fcTL",
            struct.pack(">IIIIIHHBB", i, width, height, x, 0, 1, 1, 0, 0),
        )

    def frame(i):
        return Png.chunk(b"fdAT", struct.pack(">I", i) + pixels)

    for a, b, c in ((0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 1, 9), (0, 0, 1)):
        yield "sequence", Png.file([head, control(a)], [control(b), frame(c)])
    yield "sequence", Png.file([head], [frame(0)])
    for size in ((25, 16), (24, 17), (0, 16), (24, 16, 1)):
        yield "frame size", Png.file([head, control(0, *size)])


def headers():
    """Of a sound file: other fields, and more or less than they take. What
    Pillow decodes has its pixels, and rows that are missing are zeros."""
    head = Png.whole[16:29]
    for at in range(len(head)):
        for value in (*range(10), 16, 255):
            data = head[:at] + bytes([value]) + head[at + 1 :]
            yield Png.whole[:8] + Png.chunk(b"IHDR", data) + Png.whole[33:]
    for data in (head[:12], head + b"x", head + bytes(500)):
        yield Png.whole[:8] + Png.chunk(b"IHDR", data) + Png.whole[33:]
    pixels = Png.whole[Png.pixels + 8 : Png.end - 4]
    higher = head[:4] + struct.pack(">I", 1 << 15) + head[8:]
    for cut in (1, 4, 5, 6, 9, len(pixels) // 2):
        yield b"".join(
            (
                Png.whole[:8],
                Png.chunk(b"IHDR", higher),
                Png.chunk(b"IDAT", pixels[:-cut]),
                Png.chunk(b"IDAT", pixels[-cut:]),
                Png.whole[Png.end :],
            )
        )


def files():
    for what, chunk in chunks():
        if what != "IHDR":  # in front it is a second header, not a late one
            yield what, Png.file([chunk])
        yield what, Png.file([], [chunk])
    texts = [packed(b"k%d" % i, b" " * MEGABYTE) for i in range(70)]
    yield "many texts", Png.file(texts)
    yield "many texts", Png.file([], texts)
    yield from animations()
    for data in headers():
        yield "header", data
    for flags in (0, 1, 2, 4, 8, 16, 32, 63, 255):
        if Webp.whole:
            yield "WebP", Webp.file([], [], flags)
    for marker in range(0xC0, 0xFF):
        for n in (0, 1, 2, 5, 20):
            yield "JPEG", Jpeg.file(segment(bytes(n), marker))
    yield "TEM", Jpeg.file(b"\xff\x01")
    for n in range(20):
        jfif = (b"JFIF\0\1\1\0\0\1\0\1" + bytes(8))[:n]
        yield "JFIF", Jpeg.file(segment(jfif, 0xE0), head=b"")
        adobe = (b"Adobe\0\x64\0\0\0\0\1" + bytes(8))[:n]
        yield "Adobe", Jpeg.file(segment(adobe, 0xEE))
        icc = (b"ICC_PROFILE\0\1\1" + bytes(8))[:n]
        yield "ICC", Jpeg.file(segment(icc, 0xE2))
        yield "JPEG", Jpeg.file(segment((b"MPF\0II*\0" + bytes(20))[:n], 0xE2))
        photoshop = b"Photoshop 3.0\08BIM\3\xed"[:n]
        yield "JPEG", Jpeg.file(segment(photoshop, 0xED))


def pixels_of(data):
    """None: it is refused."""
    try:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception:  # it raises anything
        return None


def main():
    if PILLOW < SINCE:
        print(f"skipped: Pillow {Image.__version__} reads other chunks")
        sys.exit(77)
    warnings.simplefilter("ignore")
    render = Renderer(sys.argv[1], "avx512")
    more, less = collections.Counter(), collections.Counter()
    count = both = other = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file"
        path.write_bytes(Webp.whole)
        webp = bool(Webp.whole) and render(path, WHOLE)[0] == 0
        for what, data in files():
            if what == "WebP" and not webp:
                continue
            count += 1
            path.write_bytes(data)
            status, got = render(path, WHOLE)
            want = pixels_of(data)
            more[what] += status == 0 and want is None
            less[what] += status != 0 and want is not None
            if what == "header" and status == 0 and want is not None:
                other += not np.array_equal(got, want)
                both += 1
    if render.close():
        sys.exit("render did not end well")
    print(
        f"{count} files; accepted here alone: {dict(+more)}; by Pillow "
        f"alone: {dict(+less)}; pixels of {both} odd headers, {other} differ"
    )
    if both < 40 or other:
        sys.exit("odd headers: not Pillow's pixels")
    if set(+more) != ACCEPTED or set(+less) != REFUSED:
        sys.exit(
            f"not what docs/pixels.md says: {set(+more) ^ ACCEPTED} "
            f"{set(+less) ^ REFUSED}"
        )


if __name__ == "__main__":
    main()
