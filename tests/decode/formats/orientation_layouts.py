# SPDX-License-Identifier: Apache-2.0
"""Files that say in every way which way up they are, for orientation_parity.py.

A layout is a name and a file: EXIF entries of every type, count and value,
damaged directories, and JPEG, PNG and WebP files with EXIF and XMP data in all
their places, in random orders.
"""
import io
import itertools
import struct
import zlib

import numpy as np
from PIL import Image, features

ORIENTATION = 0x0112
PREFIX = b"Exif\0\0"
XMP_NAME = b"http://ns.adobe.com/xap/1.0/\0"
XMP_KEY = b"XML:com.adobe.xmp"
RAW_KEY = b"Raw profile type exif"

# Of TIFF's types: bytes of a value and how to write a number as one.
SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
}
FORMS = {
    1: "B",
    3: "H",
    4: "I",
    6: "b",
    7: "B",
    8: "h",
    9: "i",
    11: "f",
    12: "d",
    13: "I",
    16: "Q",
}

# ---- TIFF -------------------------------------------------------------------


def number(order, kind, value):
    if kind in (5, 10):
        return struct.pack(order + ("ii" if kind == 10 else "II"), value, 1)
    if kind == 2:
        return b"%d\0" % value
    return struct.pack(order + FORMS.get(kind, "Q"), value)


def entry(order, kind, count, value, tag=ORIENTATION):
    return struct.pack(order + "HHI", tag, kind, count) + value[:4].ljust(
        4, b"\0"
    )


def tiff(
    order,
    entries,
    tail=b"",
    magic=None,
    offset=8,
    count=None,
    following=b"\0\0\0\0",
):
    """`tail` is at 14 + 12 * len(entries)."""
    return (
        (magic or (b"II*\0" if order == "<" else b"MM\0*"))
        + struct.pack(order + "I", offset)
        + bytes(max(offset - 8, 0) % 64)
        + struct.pack(order + "H", len(entries) if count is None else count)
        + b"".join(entries)
        + following
        + tail
    )


def short(value, order="<", tag=ORIENTATION):
    return entry(order, 3, 1, struct.pack(order + "H", value), tag)


def says(value, order="<"):
    return tiff(order, [short(value, order)])


SILENT = tiff("<", [short(6, tag=0x100)])


def typed_entries():
    """Every type and count, with all of its data, and without the last byte."""
    for order, kind in itertools.product("<>", (*range(15), 16, 17, 129)):
        for count in (0, 1, 2, 3, 4, 5, 9, 0x20000001, 0xFFFFFFFF):
            data = number(order, kind, 6) * min(count + 1, 20)
            size = SIZES.get(kind, 1) * count
            if size <= 4:
                yield tiff(order, [entry(order, kind, count, data)])
                continue
            at = entry(order, kind, count, struct.pack(order + "I", 26))
            yield tiff(order, [at], data[:size])
            yield tiff(order, [at], data[: min(size, len(data)) - 1])


def valued_entries(rng):
    for order, kind in itertools.product("<>", FORMS):
        form = order + FORMS[kind]
        values = {1, 2, 5, 7, 8, 9, 0, 100, 127}
        if kind in (6, 8, 9):
            values |= {-1, -6, -122}
        if SIZES[kind] > 1:
            values |= {262, 0x600}
        if kind in (11, 12):
            values |= {6.5, 5.999999999, -6.0, float("nan"), float("inf"), 1e30}
        if kind == 16:
            values |= {2**32 + 6, 6 << 32, 2**63 + 6}
        for value in values:
            data = struct.pack(form, value)
            if len(data) <= 4:
                yield tiff(order, [entry(order, kind, 1, data)])
            else:
                at = struct.pack(order + "I", 26)
                yield tiff(order, [entry(order, kind, 1, at)], data)
    for order, kind in itertools.product("<>", (5, 10)):
        for _ in range(60):
            below = rng.choice((0, 1, 2, 3, 1000, rng.getrandbits(28) | 1))
            above = (
                rng.randint(0, 9) * below + rng.choice((0, 0, 0, 1))
            ) % 2**32
            if kind == 10 and rng.random() < 0.5:
                above, below = -above % 2**32, -below % 2**32
            if rng.random() < 0.1:
                above = -above % 2**32
            yield tiff(
                order,
                [entry(order, kind, 1, struct.pack(order + "I", 26))],
                struct.pack(order + "II", above, below),
            )


def repeated_entries():
    far = struct.pack("<I", 9999)
    kinds = [
        short(6),
        short(3),
        short(1),
        short(9),
        short(0),
        entry("<", 1, 1, b"\6"),
        entry("<", 2, 2, b"6\0"),
        entry("<", 0, 1, b"\6"),
        entry("<", 17, 1, b"\6"),
        entry("<", 3, 0, b"\6"),
        entry("<", 9, 1, b"\xfa\xff\xff\xff"),
        entry("<", 3, 2, struct.pack("<HH", 8, 1)),
        entry("<", 5, 1, far),
        entry("<", 5, 99, far),
        short(6, tag=0x100),
    ]
    for n in (1, 2):
        for some in itertools.product(kinds, repeat=n):
            yield tiff("<", some)
    for some in itertools.product(kinds[6:], kinds[6:], kinds[:2]):
        yield tiff("<", some)


def strange_entries():
    """Entries of another tag whose data is in all places, before and behind."""
    size = len(tiff("<", [short(6), short(6)]))
    for length in (
        5,
        8,
        size - 1,
        size,
        size + 1,
        100,
        1 << 20,
        (1 << 20) + 1,
        1 << 31,
        0xFFFFFFFF,
    ):
        for at in (
            0,
            8,
            30,
            size - 5,
            size - 4,
            size,
            size + 1,
            9999,
            0x7FFFFFFF,
            0xFFFFFFFF,
        ):
            odd = entry("<", 1, length, struct.pack("<I", at), 0x9999)
            yield tiff("<", [odd, short(6)])
            yield tiff("<", [short(6), odd])
    for tag, kind in itertools.product(
        (0x100, 0x11A, 0x128, 0x213, 0x8769, 0x8825, 0x9286, 0xA005),
        (*range(1, 14), 16),
    ):
        data = number("<", kind, 7)
        yield tiff(
            "<",
            [
                short(6),
                entry(
                    "<",
                    kind,
                    1,
                    data if len(data) <= 4 else struct.pack("<I", 38),
                    tag,
                ),
            ],
            data,
        )


def random_directories(rng, n):
    """Of a few tags, with data that is inside, outside or too much."""
    for _ in range(n):
        order = rng.choice("<>")
        entries = []
        room = 14 + 12 * rng.randint(1, 7)
        for _ in range((room - 14) // 12):
            kind = rng.choice((*SIZES, *SIZES, 0, 77))
            count = rng.choice((0, 1, 1, 1, 2, 3, 5, 9, room // 4, room))
            value = struct.pack(
                order + "I", rng.choice((0, 8, 9, room - 4, room, 9999))
            )
            if SIZES.get(kind, 1) * count <= 4 and rng.random() < 0.8:
                value = number(order, kind, rng.randint(1, 8))
            tag = rng.choice((ORIENTATION, 0x9998, 0x9999, 0x111, 0x100))
            entries.append(entry(order, kind, count, value, tag))
        yield tiff(order, entries, bytes(rng.choice((0, 0, 10, 40))))


def directories():
    for order in "<>":
        for magic in itertools.product(
            b"IM",
            b"IM",
            (0, 1, 0x2A, 0x2B, 0x52, 0x55),
            (0, 1, 0x2A, 0x2B, 0x4F),
        ):
            yield tiff(order, [short(6, order)], magic=bytes(magic))
    two = tiff("<", [short(6, tag=0x100), short(6)])
    for n in range(len(two) + 1):
        yield two[:n]
    for count in (0, 1, 2, 3, 100, 65535):
        for entries in ([short(6)], [short(6, tag=0x100), short(6)]):
            for following in (b"", b"\0\0\0\0", b"\x08\0\0\0", b"\xff" * 4):
                yield tiff("<", entries, count=count, following=following)
    for offset in (
        0,
        1,
        2,
        4,
        7,
        8,
        9,
        10,
        16,
        25,
        26,
        200,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
    ):
        yield tiff("<", [short(6)], offset=offset)
        yield tiff("<", [short(6)], bytes(300), offset=offset)
    inner = struct.pack("<H", 1) + short(6) + bytes(4)
    at = struct.pack("<I", 26)
    yield tiff("<", [short(1, tag=0x100)], inner, following=at)
    yield tiff("<", [short(3)], inner, following=at)
    for tag in (0x8769, 0x8825, 0xA005, 0x14A):
        yield tiff("<", [entry("<", 4, 1, at, tag)], inner)
    for form, wide in (("<", b"II+\0"), (">", b"MM\0+"), (">", b"MM+\0")):
        for head in (
            struct.pack(form + "HHQ", 8, 0, 16),
            struct.pack(form + "Q", 12),
        ):
            yield (
                wide
                + head
                + struct.pack(form + "QHHQHQQ", 1, ORIENTATION, 3, 1, 6, 0, 0)
            )


# ---- XMP --------------------------------------------------------------------


def xmp(value):
    return b'<x tiff:Orientation="%d"/>' % value


def texts(rng, n):
    parts = (
        b"=",
        b'"',
        b">",
        b"<",
        b"'",
        b" ",
        b"6",
        b"3",
        b"9",
        b"0",
        b"1",
        b"\n",
        b"x",
        b"\0",
        b"\xc3\xa9",
    )
    words = (
        b"tiff:",
        b"Orientation",
        b"tiff:Orientation",
        b'tiff:Orientation="',
    )
    for _ in range(n):
        yield (
            b"".join(
                rng.choice(words + parts) for _ in range(rng.randint(0, 8))
            )
            + b"tiff:Orientation"
            + b"".join(rng.choice(parts) for _ in range(rng.randint(1, 4)))
        )


# ---- Files ------------------------------------------------------------------


def picture():
    """Its eight orientations are eight images."""
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[:8, :8] = (250, 0, 0)
    pixels[:8, 8:] = (0, 250, 0)
    pixels[8:, :16] = (0, 0, 250)
    return Image.fromarray(pixels)


def encoded(kind, **options):
    file = io.BytesIO()
    picture().save(file, kind, **options)
    return file.getvalue()


def segment(content, marker=0xE1):
    return b"\xff%c" % marker + struct.pack(">H", len(content) + 2) + content


class Jpeg:
    whole = encoded("JPEG", quality=95, subsampling=0)
    jfif = whole[2:20]
    rest = whole[20:]
    no_jfif = b""
    measured = jfif[:11] + b"\1\0\x48\0\x48" + jfif[16:]  # 72 dots an inch

    @classmethod
    def file(cls, *segments, head=jfif):
        return b"\xff\xd8" + head + b"".join(segments) + cls.rest


class Png:
    whole = encoded("PNG")
    pixels, end = whole.index(b"IDAT") - 4, whole.index(b"IEND") - 4

    @staticmethod
    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    @classmethod
    def file(cls, before, after=()):
        return (
            cls.whole[: cls.pixels]
            + b"".join(before)
            + cls.whole[cls.pixels : cls.end]
            + b"".join(after)
            + cls.whole[cls.end :]
        )


def plain(key, content):
    return Png.chunk(b"tEXt", key + b"\0" + content)


def packed(key, content):
    return Png.chunk(b"zTXt", key + b"\0\0" + zlib.compress(content))


def international(key, content, is_packed=0, method=0, language=b"", also=b""):
    if is_packed and method == 0:
        content = zlib.compress(content)
    return Png.chunk(
        b"iTXt",
        key
        + bytes((0, is_packed, method))
        + language
        + b"\0"
        + also
        + b"\0"
        + content,
    )


def raw_profile(data):
    digits = data.hex().encode()
    return b"\nexif\n%8d\n" % len(data) + b"\n".join(
        digits[i : i + 72] for i in range(0, len(digits), 72)
    )


class Webp:
    whole = encoded("WEBP", lossless=True) if features.check("webp") else b""

    @staticmethod
    def chunk(kind, content):
        return (
            kind
            + struct.pack("<I", len(content))
            + content
            + bytes(len(content) % 2)
        )

    @classmethod
    def file(cls, before, after=(), flags=12):
        canvas = struct.pack("<I", flags) + b"\x17\0\0\x0f\0\0"
        body = (
            b"WEBP"
            + cls.chunk(b"VP8X", canvas)
            + b"".join(before)
            + cls.whole[12:]
            + b"".join(after)
        )
        return b"RIFF" + struct.pack("<I", len(body)) + body


# ---- Layouts ----------------------------------------------------------------


def exif_layouts(rng, webp):
    """Each kind of data, in any format; XMP shows what counts as none."""
    kinds = {"typed": typed_entries(), "valued": valued_entries(rng),
             "repeated": repeated_entries(), "strange": strange_entries(),
             "random": random_directories(rng, 500),
             "directory": directories()}
    x8 = plain(XMP_KEY, xmp(8))
    writers = {
        "jpeg": lambda data: Jpeg.file(segment(PREFIX + data),
                                       segment(XMP_NAME + xmp(8))),
        "png": lambda data: Png.file([Png.chunk(b"eXIf", data), x8]),
        "png raw": lambda data: Png.file(
            [packed(RAW_KEY, raw_profile(data)), x8]),
        "webp": lambda data: Webp.file([Webp.chunk(b"EXIF", data),
                                        Webp.chunk(b"XMP ", xmp(8))])}
    if not webp:
        del writers["webp"]
    for name, layouts in kinds.items():
        for i, data in enumerate(layouts):
            form = rng.choice(("jpeg", *writers))
            yield f"{form}, {name} {i}", writers[form](data)


def prefix_layouts(webp):
    prefixes = [PREFIX * n for n in range(4)]
    prefixes += [
        b"Exif\0",
        b"Exif",
        b"Exif\0\1",
        b"exif\0\0",
        b"EXIF\0\0",
        b"\0",
        PREFIX + b"\0",
        PREFIX + b"Exif\0",
        b" " + PREFIX,
    ]
    for data in (says(6), b"", b"II*\0", SILENT):
        for i, prefix in enumerate(prefixes):
            x8 = segment(XMP_NAME + xmp(8))
            for head in (Jpeg.jfif, Jpeg.no_jfif, Jpeg.measured):
                yield f"jpeg prefix {i}", Jpeg.file(
                    segment(prefix + data), x8, head=head
                )
            if prefix != PREFIX * 2:
                yield (
                    f"png prefix {i}",
                    Png.file(
                        [
                            Png.chunk(b"eXIf", prefix + data),
                            plain(XMP_KEY, xmp(8)),
                        ]
                    ),
                )
            for write in (plain, packed, international):
                yield (
                    f"png raw prefix {i}",
                    Png.file(
                        [
                            write(RAW_KEY, raw_profile(prefix + data)),
                            plain(XMP_KEY, xmp(8)),
                        ]
                    ),
                )
            if webp:
                yield (
                    f"webp prefix {i}",
                    Webp.file(
                        [
                            Webp.chunk(b"EXIF", prefix + data),
                            Webp.chunk(b"XMP ", xmp(8)),
                        ]
                    ),
                )


def jpeg_layouts(rng, n):
    whole = tiff(
        "<",
        [short(6, tag=0x100), entry("<", 5, 1, struct.pack("<I", 38))],
        struct.pack("<II", 6, 1),
    )
    parts = [whole[:7], whole[7:20], whole[20:]]
    choices = (
        [
            segment(PREFIX + d)
            for d in (
                says(6),
                says(3, ">"),
                says(1),
                says(9),
                SILENT,
                b"",
                b"IIII" + whole[4:],
                *parts,
            )
        ]
        + [
            segment(XMP_NAME + x)
            for x in (xmp(8), xmp(5), xmp(9), b"", b"none")
        ]
        + [
            segment(b""),
            segment(PREFIX + says(6), 0xE2),
            b"\xff",
            b"\xff\xff",
            segment(b"http://ns.adobe.com/xmp/extension/\0" + xmp(7)),
            segment(XMP_NAME[:-1] + b" " + xmp(7)),
            segment(b"Exif\0\1" + says(7)),
        ]
    )
    for cuts in itertools.combinations(range(len(whole) + 1), 2):
        if rng.random() < 0.1:
            edges = (0, *cuts, len(whole))
            yield "jpeg split", Jpeg.file(
                *(
                    segment(PREFIX + whole[a:b])
                    for a, b in zip(edges, edges[1:])
                )
            )
    for i in range(n):
        some = rng.choices(choices, k=rng.randint(1, 5))
        head = rng.choice((Jpeg.jfif, Jpeg.no_jfif, Jpeg.measured))
        yield "jpeg random", Jpeg.file(*some, head=head)
    for marker in (0xDB, 0xC0, 0xC4, 0xDA, 0xD9):
        at = Jpeg.whole.index(b"\xff%c" % marker)
        for extra in (segment(PREFIX + says(6)), segment(XMP_NAME + xmp(8))):
            yield "jpeg place", Jpeg.whole[:at] + extra + Jpeg.whole[at:]
    late = encoded("JPEG", quality=90, progressive=True)
    at = late.rindex(b"\xff\xc4")
    yield "jpeg between scans", late[:at] + segment(PREFIX + says(6)) + late[
        at:
    ]
    yield "jpeg behind", Jpeg.whole + segment(PREFIX + says(6))
    for length in (0, 1, 2, 3, 7, 8):
        yield "jpeg length", Jpeg.file(
            b"\xff\xe1" + struct.pack(">H", length) + PREFIX + says(6)
        )
    for text in texts(rng, n // 3):
        yield "jpeg xmp", Jpeg.file(segment(XMP_NAME + text))


def png_texts(rng):
    writers = (
        plain,
        packed,
        international,
        lambda key, content: international(key, content, 1),
    )
    contents = {
        RAW_KEY: [
            raw_profile(PREFIX + says(3)),
            raw_profile(says(5)),
            raw_profile(SILENT),
            b"",
            b"\n\n\n",
            b"\nexif\n1\nzz",
        ],
        XMP_KEY: [xmp(8), xmp(7), b"none", b"", xmp(9)],
        b"exif": [says(2), PREFIX + says(4), b"", SILENT],
        b"Exif": [says(2)],
        b"Raw profile type APP1": [raw_profile(says(2))],
    }
    for key, some in contents.items():
        for content in some:
            for write in writers:
                if key != b"exif" or write is plain or content == b"":
                    yield write(key, content)
    for damaged in (
        b"junk",
        zlib.compress(xmp(6))[:-1],
        zlib.compress(xmp(6))[:-6],
        zlib.compress(xmp(6) * 40)[:-6],
        zlib.compress(xmp(6)) + b"more",
        zlib.compress(xmp(6))[:-4] + b"abcd",
        b"",
    ):
        yield Png.chunk(b"zTXt", XMP_KEY + b"\0\0" + damaged)
        yield Png.chunk(b"iTXt", XMP_KEY + b"\0\1\0\0\0" + damaged)
    yield international(XMP_KEY, xmp(6), 0, 9)
    yield international(XMP_KEY, xmp(6), 1, 1)
    yield international(XMP_KEY, xmp(6) + b"\xff")
    yield international(XMP_KEY, xmp(6) + b"\xe2\x82")
    yield international(XMP_KEY, xmp(6) + "\u20ac\U0001f600".encode())
    yield international(XMP_KEY, xmp(6), language=b"\xff")
    yield international(XMP_KEY, xmp(6), also="\u20ac".encode())
    for cut in range(5):
        yield Png.chunk(b"iTXt", XMP_KEY + bytes(cut))
        yield Png.chunk(b"iTXt", XMP_KEY + bytes(3) + xmp(6) + bytes(cut % 2))
    for kind in (b"tEXt", b"zTXt"):
        for key in (XMP_KEY, b"exif", RAW_KEY):
            yield Png.chunk(kind, key)
            yield Png.chunk(kind, key + b"\0")


def hex_texts():
    digits = (PREFIX + says(6)).hex().encode()
    head = b"\nexif\n 32\n"
    yield from (
        head + digits,
        head + digits.upper(),
        head[1:] + digits,
        b"\n" + head + digits,
        b"\nexif\n" + digits,
        head.replace(b"\n", b"\r") + digits,
        head.replace(b"\n", b"\r\n") + digits,
        b"a\nb\nc\n" + digits,
        head + digits + b"0",
        head + digits + b"\nzz",
        head + b" " + digits + b" \n",
        head + b" ".join(digits[i : i + 2] for i in range(0, len(digits), 2)),
        head + b" ".join(digits[i : i + 3] for i in range(0, len(digits), 3)),
    )
    for odd in b"g\t\n\v\f\r\x1c\0\x85\xa0/:@`G":
        yield head + digits[:8] + b"%c" % odd + digits[8:]


def png_layouts(rng, n):
    data = [
        says(6),
        says(3, ">"),
        says(1),
        says(9),
        SILENT,
        b"",
        PREFIX + says(8),
        b"II*\0",
        says(6)[:20],
    ]
    choices = [Png.chunk(b"eXIf", d) for d in data] * 6 + list(png_texts(rng))
    for one in choices[len(data) * 5 :]:
        yield "png one", Png.file([one])
        yield "png one behind", Png.file([], [one])
        yield "png one and XMP", Png.file([plain(XMP_KEY, xmp(8)), one])
    for _ in range(n):
        yield "png random", Png.file(
            rng.choices(choices, k=rng.randint(0, 4)),
            rng.choices(choices, k=rng.randint(0, 3)),
        )
    for text in hex_texts():
        for write in (plain, packed):
            yield "png hex", Png.file(
                [write(RAW_KEY, text), plain(XMP_KEY, xmp(8))]
            )
    for text in texts(rng, n // 4):
        yield "png xmp", Png.file([plain(XMP_KEY, text)])
    bad = bytearray(Png.chunk(b"eXIf", says(6)))
    bad[-1] ^= 1
    yield "png checksum", Png.file([], [bad])
    for kind in (b"abcd", b"ABCD", b"ab1D", b"a_bD", b"ab D", b"ab\xe9D"):
        yield "png name", Png.file(
            [], [Png.chunk(kind, b""), Png.chunk(b"eXIf", says(6))]
        )
    yield "png behind the end", Png.whole + Png.chunk(b"eXIf", says(6))


def animated_layouts():
    """The pixels of the first frame, and then EXIF data between the others."""

    def control(i):
        return Png.chunk(
            b"fcTL", struct.pack(">IIIIIHHBB", i, 24, 16, 0, 0, 1, 1, 0, 0)
        )

    def frame(i):
        pixels = Png.whole[Png.pixels + 8 : Png.end - 4]
        return Png.chunk(b"fdAT", struct.pack(">I", i) + pixels)

    for count in (None, 0, 1, 2, 3, 0x80000000, 0x80000001):
        for first in (False, True):
            before = (
                []
                if count is None
                else [Png.chunk(b"acTL", struct.pack(">II", count, 0))]
            )
            after, i = [], 0
            if first:
                before.append(control(0))
                i = 1
            for _ in range(2):
                after += [control(i), frame(i + 1)]
                i += 2
            for at in range(len(after) + 1):
                exif = Png.chunk(b"eXIf", says(6))
                yield "png animation", Png.file(
                    before, after[:at] + [exif] + after[at:]
                )
            yield "png two animations", Png.file(
                before[:1] + before, after + [exif]
            )


def webp_layouts(rng, n):
    choices = [
        Webp.chunk(b"EXIF", d)
        for d in (
            says(6),
            says(3, ">"),
            says(9),
            SILENT,
            b"",
            PREFIX + says(5),
            b"IIII" + says(6)[4:],
        )
    ]
    choices += [Webp.chunk(b"XMP ", x) for x in (xmp(8), xmp(7), b"none", b"")]
    for _ in range(n):
        yield "webp random", Webp.file(
            rng.choices(choices, k=rng.randint(0, 2)),
            rng.choices(choices, k=rng.randint(0, 3)),
            rng.choice((0, 4, 8, 12, 12, 12)),
        )
    for text in texts(rng, n // 3):
        yield "webp xmp", Webp.file([], [Webp.chunk(b"XMP ", text)])


def layouts(rng, webp):
    yield from exif_layouts(rng, webp)
    yield from prefix_layouts(webp)
    yield from jpeg_layouts(rng, 400)
    yield from png_layouts(rng, 600)
    yield from animated_layouts()
    if webp:
        yield from webp_layouts(rng, 300)
