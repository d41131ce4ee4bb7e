# SPDX-License-Identifier: Apache-2.0
"""examples/recorded: an image and its mask are cropped alike.

    RECORDED=... python3 test_recorded.py CASE
"""
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

SIDE = 48  # of the example's crops
EPOCHS = 3


def run(*arguments):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FEEDLINE_")}
    return subprocess.run([os.environ["RECORDED"], *arguments], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)


def png(path, width, rows, colour):
    """rows: bytes of each, of gray (colour 0) or RGB (2)."""
    def chunk(kind, data):
        end = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + end
    head = struct.pack(">IIBBBBB", width, len(rows), 8, colour, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
                  + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def pair(folder, name, draw):
    """White where its mask is 1, else black."""
    width, height = draw.randrange(SIDE, 90), draw.randrange(SIDE, 90)
    mask = [bytes(draw.randrange(2) for _ in range(width))
            for _ in range(height)]
    image = [b"".join(b"\xff\xff\xff" if m else b"\0\0\0" for m in row)
             for row in mask]
    png(os.path.join(folder, "images", "a", name), width, image, 2)
    png(os.path.join(folder, "masks", "a", name), width, mask, 0)


def made(folder, n):
    draw = random.Random(1)
    for i in range(n):
        pair(folder, "%03d.png" % i, draw)
    return os.path.join(folder, "images"), os.path.join(folder, "masks")


def case_crops_alike():
    with tempfile.TemporaryDirectory() as folder:
        done = run(*made(folder, 21))
    assert done.returncode == 0 and done.stderr == "", done
    pixels = 21 * EPOCHS * SIDE * SIDE
    assert done.stdout == (
        "%d pixels: mean +1.0000 inside of masks, -1.0000 outside\n" % pixels
    ), done.stdout


def case_says_what_is_wrong():
    with tempfile.TemporaryDirectory() as folder:
        images, masks = made(folder, 9)
        os.truncate(os.path.join(masks, "a", "004.png"), 60)
        done = run(images, masks)
        assert done.returncode == 1 and "004.png" in done.stderr, done
        os.remove(os.path.join(masks, "a", "004.png"))
        done = run(images, masks)
        assert done.returncode == 1 and "9 images, but 8" in done.stderr, done
    assert run("--help").stdout.startswith("usage: recorded")
    assert run().returncode == 2


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]]()
