# SPDX-License-Identifier: Apache-2.0
"""loaderbench scan: finds what is planted, calls no sound file damaged."""
import os
import random
import struct
import zipfile
import zlib

from support import (TOOL, contains, equal, expect, files_below, generate,
                     json_of, main, measured, tool)

SEEDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     "fuzz", "seeds", "image")
DAMAGED = {"empty", "unreadable", "foreign", "truncated", "damaged", "limit"}


def seed(name):
    """An image among the seeds of the fuzz target; its request is first."""
    with open(os.path.join(SEEDS, name), "rb") as f:
        return f.read()[16:]


# ---- PNG, chunk by chunk -----------------------------------------------------

def chunk(name, content, crc=None):
    crc = zlib.crc32(name + content) if crc is None else crc
    return struct.pack(">I", len(content)) + name + content + struct.pack(
        ">I", crc)


def png(number=0, width=160, height=120, channels=3, depth=8, colour=None,
        header_crc=None, data_crc=None, data=None, end=True):
    """Each number has other pixels."""
    if colour is None:
        colour = {1: 0, 3: 2, 4: 6}[channels]
    if data is None:
        row = bytes((i * 7 + number * 31) % 251
                    for i in range((width * channels * depth + 7) // 8))
        rows = b"".join(b"\0" + row[y % 50:] + row[:y % 50]
                        for y in range(height))
        data = zlib.compress(rows + bytes(4 * [number % 256]), 1)
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head, header_crc) +
            chunk(b"tEXt", b"n\0%d" % number) +
            chunk(b"IDAT", data, data_crc) + (chunk(b"IEND", b"")
                                              if end else b""))


# ---- JPEG, marker by marker --------------------------------------------------

def marker_at(jpeg, codes):
    at = 2
    while jpeg[at + 1] not in codes:
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return at


def changed(data, at, new):
    return data[:at] + new + data[at + len(new):]


def frame(jpeg, at, new):
    """`new` in the header of the frame: 1 its kind, 4 its precision, 5 and 7
    height and width, 9 how many components."""
    return changed(jpeg, marker_at(jpeg, (0xC0, 0xC1, 0xC2)) + at, new)


def holed(jpeg, end):
    """Zeros in the middle of the pixels, or to the end, as after a crash."""
    half = len(jpeg) // 2
    return changed(jpeg, half, bytes((half if end else half // 4)))


def turned(jpeg, orientation):
    tiff = struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 0x112, 3, 1,
                       orientation, 0, 0)
    app1 = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(app1) + 2) + app1 \
        + jpeg[2:]


# ---- The set -----------------------------------------------------------------

def planted(jpeg):
    """(name, what it is found as, bytes); jpeg: a photo of its own each time.
    """
    table = marker_at(jpeg(), (0xDB,))
    huffman = marker_at(jpeg(), (0xC4,))
    webp = seed("webp-lossy")
    rng = random.Random(7)
    noise = bytes(rng.randrange(256) for _ in range(3000))
    return [
        ("empty.jpg", "empty", b""),
        ("empty.png", "empty", b""),
        ("byte.jpg", "foreign", b"\xff"),
        ("start.jpg", "truncated", b"\xff\xd8"),
        ("cut-20.jpg", "truncated", jpeg()[:20]),
        ("cut-table.jpg", "truncated", jpeg()[:table + 20]),
        ("cut-huffman.jpg", "truncated", jpeg()[:huffman + 9]),
        ("cut-half.jpg", "truncated", jpeg()[:len(jpeg()) // 2]),
        ("cut-tail.jpg", "truncated", jpeg()[:-200]),
        ("cut-end.jpg", "truncated", jpeg()[:-2]),
        ("cut-last.jpg", "truncated", jpeg()[:-1]),
        ("cut-progressive.jpg", "truncated", seed("jpeg-progressive")[:-300]),
        ("text.jpg", "foreign", b"not found\n"),
        ("html.jpg", "foreign", b"<!DOCTYPE html><html>404</html>"),
        ("json.png", "foreign", b'{"error": "quota"}'),
        ("zeros.jpg", "foreign", bytes(4096)),
        ("ones.jpg", "foreign", b"\x01" * 500),
        ("noise.jpg", "foreign", b"\0" + noise),
        ("gif.jpg", "foreign", seed("gif")),
        ("bmp.bmp", "foreign", b"BM" + bytes(200)),
        ("tiff.tif", "foreign", b"II*\0" + bytes(200)),
        ("pdf.jpg", "foreign", b"%PDF-1.4\n" + bytes(200)),
        ("zip.jpg", "foreign", b"PK\3\4" + bytes(200)),
        ("program.jpg", "foreign", b"\x7fELF" + bytes(200)),
        ("shifted.jpg", "foreign", jpeg()[1:]),
        ("prefixed.jpg", "foreign", b"\r\n" + jpeg()),
        ("text-mode.png", "foreign", png(900).replace(b"\r\n", b"\n")),
        ("no-size.jpg", "damaged", frame(jpeg(), 5, bytes(4))),
        ("huge.jpg", "limit", frame(jpeg(), 5, b"\xff\xdc\xff\xdc")),
        ("12-bits.jpg", "damaged", frame(jpeg(), 4, b"\x0c")),
        ("lossless.jpg", "damaged", frame(jpeg(), 1, b"\xc3")),
        ("components.jpg", "damaged", frame(jpeg(), 9, b"\x02")),
        ("table.jpg", "damaged", changed(jpeg(), huffman + 5, b"\xff" * 16)),
        ("hole-to-end.jpg", "truncated", holed(jpeg(), True)),
        ("crc.png", "damaged", png(901, header_crc=1)),
        ("cut-half.png", "truncated", png(902)[:400]),
        ("cut-header.png", "truncated", png(903)[:20]),
        ("cut-signature.png", "truncated", png(904)[:8]),
        ("huge.png", "limit", png(905, width=60000, height=60000, data=b"")),
        ("no-width.png", "damaged", png(906, width=0, data=b"x")),
        ("deflate.png", "damaged", png(907, data=noise)),
        ("colour.png", "damaged", png(908, colour=7)),
        ("no-palette.png", "damaged", png(909, channels=1, colour=3)),
        ("no-pixels.png", "truncated", png(910, data=b"")[:57]),
        ("cut.webp", "truncated", webp[:150]),
        ("cut-header.webp", "truncated", webp[:14]),
        ("noise.webp", "damaged", webp[:20] + noise[:len(webp) - 20]),
        ("odd\nname\t\\.jpg", "foreign", b"x"),
        ("checksum.png", "doubtful", png(920, data_crc=1)),
        ("no-end.png", "doubtful", png(921, end=False)),
        ("hole.jpg", "doubtful", holed(jpeg(), False)),
        ("is-png.jpg", "misnamed", png(930)),
        ("is-jpeg.png", "misnamed", jpeg()),
        ("is-webp.jpeg", "misnamed", seed("webp-lossless")),
        ("is-jpeg.bmp", "misnamed", jpeg()),
        ("one-pixel.png", "tiny", png(931, width=1, height=1)),
        ("line.png", "narrow", png(932, width=600, height=30)),
        ("large.png", "oversized", png(933, 9000, 6000, 1, 1)),
        ("gray.png", "gray", png(934, channels=1)),
        ("gray.jpg", "gray", seed("jpeg-gray")),
        ("cmyk.jpg", "cmyk", seed("jpeg-cmyk")),
        ("alpha.png", "alpha", png(935, channels=4)),
        ("alpha.webp", "alpha", seed("webp-alpha")),
        ("turned.jpg", "rotated", turned(jpeg(), 6)),
        ("mirrored.jpg", "rotated", turned(jpeg(), 2)),
    ]


def put_bytes(path, data):
    with open(path, "wb") as f:
        f.write(data)


def make_set(tmp):
    """The folder, and name -> what it is found as."""
    folder = generate(tmp, images=40, classes=2)
    spare = generate(tmp, images=1, classes=1, seed=9,
                     name="spare")
    with open(os.path.join(spare, "class_000", "image_000000.jpg"), "rb") as f:
        photo = f.read()
    count = [0]

    def jpeg():
        """With a comment, so that no two are alike."""
        count[0] += 1
        return photo[:2] + b"\xff\xfe\0\6%04d" % count[0] + photo[2:]

    kinds = {}
    for i in range(160):
        put_bytes(os.path.join(folder, "class_%03d" % (i % 2),
                               "sound_%d.png" % i), png(i))
    for name, kind, data in planted(jpeg):
        put_bytes(os.path.join(folder, "class_000", name), data)
        kinds["class_000/" + name] = kind
    for name, kind, number in (("class_000/twin.png", "duplicate", 2),
                               ("class_001/other.png", "mislabelled", 4)):
        put_bytes(os.path.join(folder, name), png(number))
        kinds[name] = kind
    kinds["class_000/sound_4.png"] = "mislabelled"
    for name, make in (("gone.jpg", lambda p: os.symlink("nowhere", p)),
                       ("pipe.jpg", os.mkfifo)):
        make(os.path.join(folder, "class_001", name))
        kinds["class_001/" + name] = "unreadable"
    return folder, kinds


def case_every_defect_is_found(tmp):
    folder, kinds = make_set(tmp)
    bad = os.path.join(tmp, "bad.txt")
    found = json_of("scan", folder, "--quarantine", bad, rc=3)
    named = {(s["name"], finding["kind"]) for finding in found["findings"]
             for s in finding["samples"]}
    missed = {(n, k) for n, k in kinds.items() if (n, k) not in named}
    equal(missed, set(), "missed")
    damaged = {n for n, k in named if k in DAMAGED}
    equal(damaged, {n for n, k in kinds.items() if k in DAMAGED}, "damaged")
    suspects = {n for n, k in named
                if k in ("doubtful", "mislabelled", "misnamed", "label")}
    equal(suspects - set(kinds), set(), "sound")
    equal(found["usable"], found["samples"] - len(damaged))
    for finding in found["findings"]:
        for sample in finding["samples"]:
            assert finding["level"] != "error" or sample["reason"], sample
            assert os.path.lexists(sample["path"]), sample

    clean = measured(folder + "?quarantine=" + bad, "--epochs", 1,
                     "--no-shuffle", "--op", "random_resized_crop size=8")
    equal(clean["dataset"]["samples"], found["usable"])
    equal(clean["result"]["failed_samples"], 0)
    again = json_of("scan", folder + "?quarantine=" + bad, rc=3)
    equal(DAMAGED & {f["kind"] for f in again["findings"]}, set())
    equal([f["kind"] for f in again["findings"] if f["level"] == "error"],
          ["mislabelled"])


def case_clean_set(tmp):
    folder = generate(tmp)
    bad = os.path.join(tmp, "bad.txt")
    done = expect(tool("scan", folder, "--quarantine", bad), 0)
    contains(done.out, "0 of 24 samples cannot be used")
    contains(done.out, "4 classes: class_000 has 6 samples, ")
    with open(bad, encoding="utf-8") as f:
        equal(f.read(), "# loaderbench scan %s\n" % folder)
    expect(tool("scan", folder + "?quarantine=" + bad, "--quiet"), 0)


def case_shuffle_quality(tmp):
    """Sorted labels: few lanes are no shuffle, all of them are a full one."""
    folder = generate(tmp)
    asked = [folder, "--block", 6, "--batch-size", 4, "--lanes"]
    few = json_of("scan", *asked, 1)["shuffle"]
    equal((few["block"], few["lanes"], few["batch"]), (6, 1, 4))
    equal(few["variance"] > 1.5, True)
    equal(few["bytes"], 0)  # a folder does not say
    equal(json_of("scan", *asked, 4)["shuffle"]["variance"], 1)
    done = expect(tool("scan", *asked, 1), 0)
    contains(done.out, "shuffle=block block=6 lanes=1 ")
    contains(done.out, "too few lanes for a shuffle")
    done = expect(tool("run", *asked, 1, "--shuffle=block", "--epochs", 1), 0)
    contains(done.out + done.err, "times as much as with a full shuffle")


def case_labels(tmp):
    path = os.path.join(tmp, "list.tsv")
    for i in range(3):
        put_bytes(os.path.join(tmp, "%d.png" % i), png(i))
    with open(path, "w", encoding="utf-8") as f:
        f.write("0.png\t0\n1.png\t-1\n2.png\t5\n0.png\t0\n")
    found = json_of("scan", "list:" + path, rc=3)
    equal([(f["kind"], [s["index"] for s in f["samples"]])
           for f in found["findings"]], [("label", [1]), ("duplicate", [3])])
    equal(found["classes"]["used"], 3)
    equal(found["classes"]["largest"]["samples"], 2)


def case_limits_and_text(tmp):
    folder = generate(tmp)
    done = expect(tool("scan", folder, "--max-pixels", 100, "--show", 2), 3)
    contains(done.out, "error    24 above a limit of the loader\n")
    contains(done.out, "... and 22 more")
    expect(tool("scan", os.path.join(tmp, "none")), 2, "none")


def case_shards(tmp):
    """What is damaged in a shard is left out of it."""
    packed = os.path.join(tmp, "a.zip")
    with zipfile.ZipFile(packed, "w") as out:
        for i in range(6):
            data = png(i)
            out.writestr("cat/%d.png" % i, data[:200] if i == 4 else data)
    bad = os.path.join(tmp, "bad.txt")
    found = json_of("scan", packed, "--quarantine", bad, rc=3)
    equal([f["kind"] for f in found["findings"]], ["truncated"])
    contains(found["findings"][0]["samples"][0]["name"], "cat/4.png")
    left = json_of("scan", packed + "?quarantine=" + bad)
    equal((left["samples"], left["findings"]), (5, []))


def case_checksums(tmp):
    """Damage that an image does not show and its archive does."""
    folder = generate(tmp, images=6, classes=2)
    packed = os.path.join(tmp, "a.zip")
    with zipfile.ZipFile(packed, "w") as out:
        for name in sorted(files_below(folder)):
            out.write(os.path.join(folder, name), name)
    entry = zipfile.ZipFile(packed).infolist()[3]
    equal(json_of("scan", packed)["findings"], [])
    with open(packed, "r+b") as f:
        f.seek(entry.header_offset + 30 + len(entry.filename) +
               entry.file_size * 2 // 3)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 2]))
    found = json_of("scan", packed, rc=3)["findings"]
    equal([(f["kind"], f["count"]) for f in found], [("damaged", 1)])
    contains(found[0]["samples"][0]["name"], entry.filename)
    contains(found[0]["samples"][0]["reason"], "CRC-32 ")
    contains(found[0]["samples"][0]["reason"], "%08x" % entry.CRC)
    shown = tool("scan", packed, "--checksums=false")
    assert shown.rc in (0, 3) and "CRC-32" not in shown.out, shown.out

    # Nor does it get new checksums by being packed.
    out = os.path.join(tmp, "out")
    done = expect(tool("pack", packed, out), 3)
    contains(done.err, entry.filename)
    contains(done.err, "%08x" % entry.CRC)
    done = expect(tool("pack", packed, out, "--on-error", "skip"), 0)
    contains(done.out, "1 of them left out")


if __name__ == "__main__":
    assert TOOL
    main(globals())
