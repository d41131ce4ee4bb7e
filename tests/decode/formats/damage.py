# SPDX-License-Identifier: Apache-2.0
"""Small sound files of every kind, ways to damage them, Pillow's verdict."""
import io
import random
import struct
import warnings
import zlib

import numpy as np
from PIL import Image

from pillow_parity import noise_image

PNG = b"\x89PNG\r\n\x1a\n"
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
         (1, 0, 2, 2), (0, 1, 1, 2))
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a pixel, by colour type
PNG_KINDS = ((0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1),
             (3, 2), (3, 4), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16))


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


# ---- Chunks of PNG ----------------------------------------------------------


def chunk(name, content, checksum=None):
    if checksum is None:
        checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(
        ">I", checksum)


def chunks_of(png):
    """[name, content] of each; of a sound file."""
    found, at = [], len(PNG)
    while at < len(png):
        n, = struct.unpack_from(">I", png, at)
        found.append([png[at + 4:at + 8], png[at + 8:at + 8 + n]])
        at += 12 + n
    return found


def png_of(chunks):
    return PNG + b"".join(chunk(*c) for c in chunks)


# ---- Sound files ------------------------------------------------------------


def png(rng, width, height, colour, depth, interlaced, pieces=1):
    """Noise, under random filters, its data in so many chunks."""
    bits = SAMPLES[colour] * depth
    rows = b""
    for x, y, dx, dy in ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns, n = -((x - width) // dx), -((y - height) // dy)
        if columns > 0:
            rows += b"".join(
                bytes((rng.randrange(5),)) + rng.randbytes(
                    (columns * bits + 7) // 8) for _ in range(n))
    data = zlib.compress(rows, rng.choice((0, 1, 6)))
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(pieces - 1))
    chunks = [[b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour,
                                    0, 0, int(interlaced))]]
    if colour == 3:
        chunks.append([b"PLTE", rng.randbytes(3 << depth)])
    if colour in (0, 2, 3) and rng.random() < 0.3:
        chunks.append([b"tRNS", bytes(2 * SAMPLES[colour])])
    for start, end in zip([0, *cuts], [*cuts, len(data)]):
        chunks.append([b"IDAT", data[start:end]])
    if rng.random() < 0.5:
        chunks.append([b"tEXt", b"Comment\0" + b"behind the pixels"])
    return png_of([*chunks, [b"IEND", b""]])


def pngs(rng, interlaced):
    return [png(rng, rng.randint(40, 90), rng.randint(40, 90), colour, depth,
                interlaced, pieces)
            for colour, depth in PNG_KINDS for pieces in (1, 3)]


def jpegs(rng, progressive):
    found = []
    for mode, options in (
            ("RGB", {"subsampling": 0}), ("RGB", {"subsampling": 2}),
            ("RGB", {"subsampling": 1, "restart_marker_blocks": 3}),
            ("RGB", {"subsampling": 2, "restart_marker_rows": 1}),
            ("RGB", {"subsampling": 2, "optimize": True}), ("L", {}),
            ("CMYK", {}), ("CMYK", {"restart_marker_rows": 1})):
        image = noise_image(rng, rng.randint(60, 110), rng.randint(60, 110),
                            mode)
        found.append(encoded(image, "JPEG", quality=rng.choice((60, 90)),
                             progressive=progressive, **options))
    return found


def webps(rng, lossless):
    found = []
    for mode in ("RGB", "RGB", "RGBA"):
        image = noise_image(rng, rng.randint(50, 90), rng.randint(50, 90),
                            "RGB")
        found.append(encoded(image.convert(mode), "WEBP", lossless=lossless))
    size = rng.randint(50, 90), rng.randint(50, 90)
    frames = [noise_image(rng, *size, "RGB") for _ in range(3)]
    found.append(encoded(frames[0], "WEBP", save_all=True, lossless=lossless,
                         append_images=frames[1:]))
    return found


SOUND = {
    "jpeg": lambda rng: jpegs(rng, False),
    "progressive jpeg": lambda rng: jpegs(rng, True),
    "png": lambda rng: pngs(rng, False),
    "interlaced png": lambda rng: pngs(rng, True),
    "lossy webp": lambda rng: webps(rng, False),
    "lossless webp": lambda rng: webps(rng, True),
}


# ---- Damage to bytes --------------------------------------------------------


def damaged(rng, data):
    """The file with one thing wrong, and a word for what."""
    data = bytearray(data)
    at = rng.randrange(len(data))
    kind = rng.choice(("cut", "cut end", "marker", "byte", "byte", "head",
                       "insert", "delete", "append", "bits"))
    if kind == "cut":
        del data[at:]
    elif kind == "cut end":
        del data[-rng.randint(1, min(60, len(data))):]
    elif kind == "marker":
        data[at:at + 2] = bytes((0xff, rng.randint(1, 255)))
    elif kind == "byte":
        data[at] = rng.randrange(256)
    elif kind == "head":
        data[rng.randrange(min(len(data), 200))] = rng.randrange(256)
    elif kind == "insert":
        data[at:at] = rng.randbytes(rng.randint(1, 20))
    elif kind == "delete":
        del data[at:at + rng.randint(1, 20)]
    elif kind == "append":
        data += rng.randbytes(rng.randint(1, 20))
    else:
        data[at] ^= 1 << rng.randrange(8)
    return kind, bytes(data)


# ---- Damage to parts --------------------------------------------------------


def shuffled(rng, parts):
    """One part left out, twice, or in another place."""
    kind = rng.choice(("left out", "twice", "moved"))
    i = rng.randrange(len(parts))
    part = parts[i] if kind == "twice" else parts.pop(i)
    if kind != "left out":
        parts.insert(rng.randrange(len(parts) + 1), part)
    return f"part {kind}", parts


def changed(rng, content):
    content = bytearray(content or b"\0")
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def damaged_png(rng, data):
    """Chunks are damaged behind their checksums, which are made anew."""
    chunks = chunks_of(data)
    pixels = [c for c in chunks if c[0] == b"IDAT"]
    kind = rng.choice(("sum of deflate", "deflate", "deflate", "short deflate",
                       "checksum", "content", "part", "long", "split sum"))
    c = rng.choice(chunks)
    if kind == "sum of deflate":
        whole = b"".join(p[1] for p in pixels)
        whole = whole[:-4] + changed(rng, whole[-4:])
        for p in pixels:
            p[1], whole = whole[:len(p[1])], whole[len(p[1]):]
    elif kind == "split sum":  # the checksum is a chunk of its own
        tail = pixels[-1][1][-4:]
        pixels[-1][1] = pixels[-1][1][:-4]
        chunks.insert(chunks.index(pixels[-1]) + 1,
                      [b"IDAT", changed(rng, tail)])
    elif kind == "deflate":
        p = rng.choice(pixels)
        p[1] = changed(rng, p[1])
    elif kind == "short deflate":
        p = rng.choice(pixels)
        p[1] = p[1][:rng.randrange(len(p[1]) + 1)]
    elif kind == "checksum":
        c.append(zlib.crc32(c[0] + c[1]) ^ 1 << rng.randrange(32))
    elif kind == "content":
        c[1] = changed(rng, c[1])
    elif kind == "long":
        c[1] += rng.randbytes(rng.randint(1, 20))
    else:
        kind, chunks = shuffled(rng, chunks)
    return kind, png_of(chunks)


def damaged_jpeg(rng, data):
    """Segments up to the first scan are moved, or the sequence of restart
    markers is."""
    parts, at = [], 2
    while data[at + 1] != 0xda:
        n = 2 + struct.unpack_from(">H", data, at + 2)[0]
        parts.append(data[at:at + n])
        at += n
    scan = bytearray(data[at:])
    restarts = [i for i in range(len(scan) - 1)
                if scan[i] == 0xff and 0xd0 <= scan[i + 1] <= 0xd7]
    if restarts and rng.random() < 0.6:
        i = rng.choice(restarts)
        if rng.random() < 0.5:
            scan[i + 1] = 0xd0 + rng.randrange(8)
        else:
            del scan[i:i + 2]
        return "restart", data[:at] + bytes(scan)
    kind, parts = shuffled(rng, parts)
    return kind, data[:2] + b"".join(parts) + bytes(scan)


def damaged_webp(rng, data):
    """Chunks are moved, or say a wrong length; that of the file is right."""
    parts, at = [], 12
    while at < len(data):
        n = 8 + (struct.unpack_from("<I", data, at + 4)[0] + 1) // 2 * 2
        parts.append(bytearray(data[at:at + n]))
        at += n
    if rng.random() < 0.4:
        kind, part = "length", rng.choice(parts)
        part[4 + rng.randrange(3)] ^= 1 << rng.randrange(8)
    else:
        kind, parts = shuffled(rng, parts)
    rest = b"WEBP" + b"".join(parts)
    return kind, b"RIFF" + struct.pack("<I", len(rest)) + rest


PARTS = {"png": damaged_png, "jpeg": damaged_jpeg, "webp": damaged_webp}


def damaged_files(form, seed, count):
    """(kind of damage, file), as many as that of a form in SOUND."""
    rng = random.Random(f"{form} {seed}")
    sound = SOUND[form](rng)
    parts = PARTS[form.split()[-1]]
    for i in range(count):
        way = parts if i % 2 else damaged
        yield way(rng, sound[i // 2 % len(sound)])


# ---- Verdicts ---------------------------------------------------------------


def pillow(path):
    """(pixels, None), or (None, what it says)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB")), None
    except Exception as error:  # it raises anything
        return None, f"{type(error).__name__}: {error}"
