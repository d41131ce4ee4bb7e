#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile files: how often the verdict is Pillow's, and the pixels are.

    bench/hostile.py RENDER FOLDER [-v] [--seed N] [--count N] [--keep FOLDER]

RENDER is tests/decode/render of a build; FOLDER has images, from which COUNT
files of each format are made: cut, with flipped bits, with markers and fields
of headers changed, of parts of two files, and damaged as tests/decode/formats/
damage.py does. PNG and WebP files are made of the images first. All of them are
in a temporary folder; nothing is kept but with --keep, which keeps one file of
each class of disagreement.

The verdict is on a whole image: Image.open(path).convert("RGB") raises or not.
Files that are above a limit of pixels, Pillow's or RENDER's, are left out.
"""
import argparse
import collections
import io
import pathlib
import random
import re
import shutil
import struct
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/decode"), str(ROOT / "tests/decode/formats")]
import damage  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image, features  # noqa: E402
from pillow_parity import WHOLE, Renderer  # noqa: E402

MOST_BYTES = 200_000
SIDE = 160  # of the PNG and WebP files, at most


# ---- Sound files ------------------------------------------------------------


def photos(folder):
    paths = sorted(p for p in pathlib.Path(folder).rglob("*")
                   if p.suffix.lower() in (".jpg", ".jpeg"))
    return [p for p in paths if p.stat().st_size < MOST_BYTES]


def small(path):
    image = Image.open(path).convert("RGB")
    image.thumbnail((SIDE, SIDE))
    return image


def jpeg(rng, path):
    """The file itself, or one that is written anew in another way."""
    way = rng.randrange(4)
    if way == 0:
        return path.read_bytes()
    image, file = small(path), io.BytesIO()
    if rng.random() < 0.15:
        image = image.convert(rng.choice(("L", "CMYK")))
    image.save(file, "JPEG", quality=rng.choice((30, 75, 95)),
               subsampling=rng.choice((0, 1, 2)), progressive=way == 1,
               optimize=rng.random() < 0.3,
               restart_marker_rows=rng.choice((0, 0, 1)))
    return file.getvalue()


def png(rng, path):
    image, file = small(path), io.BytesIO()
    mode = rng.choice(("RGB", "RGBA", "L", "LA", "P", "1"))
    image.convert(mode).save(file, "PNG", optimize=rng.random() < 0.3)
    return file.getvalue()


def webp(rng, path):
    image, file = small(path), io.BytesIO()
    image = image.convert(rng.choice(("RGB", "RGBA")))
    more = {}
    if rng.random() < 0.15:
        more = dict(save_all=True, append_images=[image.rotate(90)])
    image.save(file, "WEBP", lossless=rng.random() < 0.5, quality=60, **more)
    return file.getvalue()


# ---- Damage -----------------------------------------------------------------


def cut(rng, data, _):
    n = len(data)
    return data[:rng.choice((rng.randrange(n), n - rng.randint(1, 200) % n,
                             rng.randrange(min(n, 700))))]


def bits(rng, data, _):
    data = bytearray(data)
    where = rng.choice((len(data), min(len(data), 700)))
    for _ in range(rng.choice((1, 1, 3, 30))):
        data[rng.randrange(where)] ^= 1 << rng.randrange(8)
    return bytes(data)


def joined(rng, data, other):
    return data[:rng.randrange(len(data))] + other[rng.randrange(len(other)):]


def zeros(rng, data, _):
    """A block that a disk lost."""
    data, at = bytearray(data), rng.randrange(len(data))
    n = min(rng.choice((16, 512, 4096)), len(data) - at)
    data[at:at + n] = bytes([rng.choice((0, 0, 0xff))]) * n
    return bytes(data)


def marker_places(data):
    """Of the segments up to the first scan, as [marker, start, end]."""
    found, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xff and data[at + 1] != 0xda:
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        found.append((data[at + 1], at, end))
        at = end
    return found + [(0xda, at, min(at + 14, len(data)))]


def jpeg_marker(rng, data, _):
    """A segment gets another marker, or another one stands before it."""
    data = bytearray(data)
    _, at, _ = rng.choice(marker_places(data))
    if rng.random() < 0.5:
        data[at + 1] = rng.choice((0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc9, 0xca,
                                   0xcc, 0xd8, 0xd9, 0xda, 0xdb, 0xdd, 0xe0,
                                   0xe1, 0xee, 0xfe, 0x01, rng.randrange(256)))
    else:
        body = rng.randbytes(rng.randrange(20))
        data[at:at] = (bytes((0xff, rng.randrange(0xc0, 0xff)))
                       + struct.pack(">H", 2 + len(body)) + body)
    return bytes(data)


def jpeg_field(rng, data, _):
    """A byte of a header, of tables and of the scan's too."""
    data = bytearray(data)
    _, start, end = rng.choice(marker_places(data))
    data[rng.randrange(start + 2, max(end, start + 3)) % len(data)] = (
        rng.choice((0, 1, 2, 0x11, 0x22, 0x41, 255, rng.randrange(256))))
    return bytes(data)


def jpeg_scan(rng, data, _):
    """Markers within the data, or bytes that are gone."""
    data = bytearray(data)
    at = rng.randrange(marker_places(data)[-1][1], len(data))
    way = rng.randrange(3)
    if way == 0:
        data[at:at + 2] = bytes((0xff, rng.choice((
            0xd0, 0xd3, 0xd9, 0xda, 0xc4, 0xfe, 0xff, 1, rng.randrange(256)))))
    elif way == 1:
        del data[at:at + rng.randint(1, 300)]
    else:
        data[at:at] = rng.randbytes(rng.randint(1, 300))
    return bytes(data)


def png_field(rng, data, _):
    """Of the header, whose checksum is made anew."""
    data = bytearray(data)
    data[16 + rng.randrange(13)] = rng.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


def webp_field(rng, data, _):
    """Sizes, and the head of the first chunk."""
    data = bytearray(data)
    data[rng.randrange(4, 40)] = rng.choice((0, 1, 2, 16, 128, 255,
                                             rng.randrange(256)))
    return bytes(data)


def by_parts(form):
    def way(rng, data, _):
        return damage.PARTS[form](rng, data)[1]
    return way


def by_bytes(rng, data, _):
    return damage.damaged(rng, data)[1]


COMMON = {"cut": cut, "bits": bits, "joined": joined, "zeros": zeros,
          "bytes": by_bytes}
FORMS = {
    "jpeg": (jpeg, {**COMMON, "marker": jpeg_marker, "field": jpeg_field,
                    "scan": jpeg_scan, "parts": by_parts("jpeg")}),
    "png": (png, {**COMMON, "field": png_field, "parts": by_parts("png")}),
    "webp": (webp, {**COMMON, "field": webp_field,
                    "parts": by_parts("webp")}),
}


def files(form, folder, seed, count):
    rng = random.Random(f"{form} {seed}")
    make, ways = FORMS[form]
    paths, names = photos(folder), list(ways)
    for i in range(count):
        name = names[i % len(names)]
        sound = make(rng, rng.choice(paths))
        other = make(rng, rng.choice(paths)) if name == "joined" else b""
        yield name, ways[name](rng, sound, other)


# ---- Verdicts ---------------------------------------------------------------


def words(text):
    """A message without its numbers and names."""
    text = re.sub(r"^offset [\d to]+: ", "", str(text))
    text = re.sub(r"'[^']*'|<[^>]*>|/\S+", "_", text)
    return re.sub(r"\d+", "N", text)[:70]


class Count:
    def __init__(self):
        self.both, self.neither, self.verdicts, self.pixels = 0, 0, 0, 0
        self.classes = collections.Counter()
        self.example = {}

    def differ(self, key, path, keep, form):
        self.classes[key] += 1
        if keep and key not in self.example:
            name = f"{form}-{len(self.example)}.bin"
            shutil.copy(path, pathlib.Path(keep) / name)
            self.example[key] = name


def check(render, path, name, count, keep, form):
    want, complaint = damage.pillow(path)
    if complaint and "DecompressionBomb" in complaint:
        return
    status, got = render(path, WHOLE)
    if status and "above the limit" in got:
        return
    if (status == 0) != (want is not None):
        count.verdicts += 1
        here = "decodes" if status == 0 else words(got)
        key = (name, f"Pillow: {words(complaint or 'decodes')}; here: {here}")
        count.differ(key, path, keep, form)
    elif want is None:
        count.neither += 1
    elif np.array_equal(want, got):
        count.both += 1
    else:
        count.pixels += 1
        count.differ((name, "other pixels"), path, keep, form)


def report(form, count, details):
    n = count.both + count.neither + count.pixels + count.verdicts
    same = 100 * (n - count.verdicts) / max(n, 1)
    print(f"| {form} | {n} | {count.neither} | {count.both} | {count.pixels} "
          f"| {count.verdicts} | {same:.2f} % |", flush=True)
    merged = collections.Counter()
    for (name, what), k in count.classes.items():
        merged[f"{name}: {what}" if details else what] += k
    return [f"  {k:5} {form}: {what}" for what, k in merged.most_common()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("render")
    parser.add_argument("folder")
    parser.add_argument("-v", action="store_true", dest="details")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--keep")
    parser.add_argument("--forms", default=",".join(FORMS))
    o = parser.parse_args()
    print(f"Pillow {Image.__version__}, libjpeg-turbo "
          f"{features.version('libjpeg_turbo')}, libwebp "
          f"{features.version('webp')}; seed {o.seed}\n")
    print("| | files | both refuse | equal | pixels differ | verdict differs "
          "| same verdict |\n|---|---|---|---|---|---|---|")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for form in o.forms.split(","):
            render, count = Renderer(o.render, "avx512"), Count()
            for i, (name, data) in enumerate(
                    files(form, o.folder, o.seed, o.count)):
                path = pathlib.Path(folder, f"{i % 8}.bin")
                path.write_bytes(data)
                check(render, path, name, count, o.keep, form)
            if render.close():
                sys.exit("render did not end well")
            lines += report(form, count, o.details)
    print("\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
