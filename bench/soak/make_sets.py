# SPDX-License-Identifier: Apache-2.0
"""The data of a soak, below one folder: small images, each different.

    files/   a folder of classes, of JPEG: n / 4
    tar/     two shards, of JPEG and PNG: n, of which one in 2,000 is damaged
    idx/     raw records, 28 x 28: 3 n
    a.zip    PNG: n / 2
    http/    a shard for the server: n / 8, damaged as those in tar/
"""
import io
import random
import struct
import tarfile
import time
import zipfile

from PIL import Image

DAMAGED_ONE_IN = 2000
SETTLED = 3  # seconds, until a listing of a file that was just written is kept
CLASSES = 4


def image(i, kind):
    """Encoded: 32 or 48 pixels square, from a few random ones."""
    dice = random.Random(i)
    side = 48 if i % 3 == 0 else 32
    small = Image.frombytes("RGB", (5, 5), dice.randbytes(75))
    out = io.BytesIO()
    small.resize((side, side), Image.BILINEAR).save(out, kind, quality=85)
    return out.getvalue()


def image_or_damage(i, kind):
    data = image(i, kind)
    return data[:len(data) // 2] if i % DAMAGED_ONE_IN == 17 else data


def add_member(tar, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def make_tar(path, first, n):
    with tarfile.open(path, "w") as tar:
        for i in range(first, first + n):
            kind = "PNG" if i % 2 else "JPEG"
            ending = "png" if i % 2 else "jpg"
            add_member(tar, "%07d.%s" % (i, ending), image_or_damage(i, kind))
            add_member(tar, "%07d.cls" % i, b"%d" % (i % CLASSES))


def make_files(folder, n):
    for i in range(n):
        path = folder / ("class%d" % (i % CLASSES)) / ("%07d.jpg" % i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_or_damage(i, "JPEG"))


def make_idx(folder, n):
    folder.mkdir()
    dice = random.Random(n)
    with open(folder / "images-idx3-ubyte", "wb") as f:
        f.write(struct.pack(">IIII", 0x803, n, 28, 28))
        for _ in range(n):
            f.write(dice.randbytes(28 * 28))
    with open(folder / "labels-idx1-ubyte", "wb") as f:
        f.write(struct.pack(">II", 0x801, n))
        f.write(bytes(i % CLASSES for i in range(n)))


def make_zip(path, n):
    with zipfile.ZipFile(path, "w") as z:
        for i in range(n):
            z.writestr("class%d/%07d.png" % (i % CLASSES, i), image(i, "PNG"))


def make_sets(folder, n):
    (folder / "tar").mkdir(parents=True)
    (folder / "http").mkdir()
    make_files(folder / "files", n // 4)
    make_tar(folder / "tar" / "0.tar", 0, n // 2)
    make_tar(folder / "tar" / "1.tar", n // 2, n - n // 2)
    make_idx(folder / "idx", 3 * n)
    make_zip(folder / "a.zip", n // 2)
    make_tar(folder / "http" / "0.tar", 0, n // 8)
    # Without a kept listing each open is thousands of calls, and one fails.
    time.sleep(SETTLED)
