#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of the fuzz targets: small inputs from which libFuzzer finds
its way into every format. They are committed, so that nobody needs Pillow to
replay them; the same versions of it write the same files. Files of findings lie
beside them, named finding-WHAT, and what a campaign found to reach more,
found-HASH; they are left alone. Shards are written by
tests/python, which needs a built library.

    tests/fuzz/make_seeds.py [FOLDER]       (default: seeds, beside this file)
"""

import ctypes
import io
import json
import os
import pathlib
import struct
import sys
import tempfile
import zlib

from PIL import Image, features

# ---- Images: 16 bytes of request, then the file (fuzz_image.c) ---------------

KEEP = (0, 0)  # no resize


def request(box=(0, 0, 65535, 65535), resize=KEEP, window=(0, 0), flags=2,
            level=2):
    return struct.pack("<4H4B2H", *box, *resize, *window, flags, level)


def picture(mode, width=48, height=40):
    """Gradients with an edge: small files that use every kind of block."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    data = bytes((x * (5 + b) + y * (3 + 2 * b) + (90 if x > y else 0)) & 255
                 for y in range(height) for x in range(width)
                 for b in range(bands))
    return Image.frombytes(mode, (width, height), data)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def tiff(orientation, order="<"):
    head = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return (head + struct.pack(order + "IH", 8, 1) + entry
            + struct.pack(order + "I", 0))


def restarts(data, every=3):
    """The file with a restart interval that its scan does not have: each of
    its markers is missing, which libjpeg repairs as well as it can."""
    at = data.index(b"\xff\xda")
    return data[:at] + struct.pack(">HHH", 0xffdd, 4, every) + data[at:]


def several_scans():
    """Progressive files with their last scan missing, with a byte changed in a
    scan that refines, and with a restart interval from the second scan on."""
    data = saved(picture("RGB"), "JPEG", progressive=True, quality=80)
    second = data.index(b"\xff\xc4", data.index(b"\xff\xda"))
    last = data.rindex(b"\xff\xda")
    yield "444", saved(picture("RGB", 61, 53), "JPEG", progressive=True,
                       subsampling=0, quality=95)
    yield "lacking", data[:last] + b"\xff\xd9"
    yield "changed", data[:last + 30] + b"\x5a" + data[last + 31:]
    yield "interval", (data[:second] + struct.pack(">HHH", 0xffdd, 4, 9)
                       + data[second:])


def jpegs():
    rgb, gray, cmyk = picture("RGB"), picture("L"), picture("CMYK")
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        yield "baseline-" + name, saved(rgb, "JPEG", subsampling=sampling)
    yield "optimized", saved(rgb, "JPEG", optimize=True, quality=60)
    yield "progressive", saved(rgb, "JPEG", progressive=True, quality=70)
    yield "progressive-gray", saved(gray, "JPEG", progressive=True)
    yield "gray", saved(gray, "JPEG")
    yield "cmyk", saved(cmyk, "JPEG", quality=60)
    yield "quality-1", saved(rgb, "JPEG", quality=1)
    yield "exif", saved(rgb, "JPEG", exif=b"Exif\0\0" + tiff(6, ">"))
    yield "comment", saved(rgb, "JPEG", comment=b"a comment")
    yield "restarts-missing", restarts(saved(rgb, "JPEG"))
    yield "narrow", saved(picture("RGB", 3, 60), "JPEG")
    yield "low", saved(picture("RGB", 60, 2), "JPEG", subsampling=2)
    baseline = saved(rgb, "JPEG")
    yield "cut", baseline[:len(baseline) * 2 // 3]
    yield "ended-early", baseline[:len(baseline) // 2] + b"\xff\xd9"
    for sof, name in ((0xc3, "lossless"), (0xc9, "arithmetic")):
        yield name, baseline.replace(b"\xff\xc0", bytes((0xff, sof)), 1)


def interlaced():
    """Adam7 by hand, since Pillow does not write it: the first pass only has
    one pixel, and so have its rows."""
    import zlib

    def chunk(name, data):
        body = name + data
        return (struct.pack(">I", len(data)) + body
                + struct.pack(">I", zlib.crc32(body)))

    width, height, rows = 5, 5, b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8),
                           (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                           (0, 1, 1, 2)):
        columns = range(x0, width, dx)
        for y in range(y0, height, dy):
            if columns:
                rows += b"\0" + bytes(x * 40 + y * 9 for x in columns)
    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def pngs():
    rgb = picture("RGB", 20, 16)
    yield "rgb", saved(rgb, "PNG")
    yield "rgba", saved(picture("RGBA", 20, 16), "PNG")
    yield "gray", saved(picture("L", 20, 16), "PNG")
    yield "gray-alpha", saved(picture("LA", 20, 16), "PNG")
    yield "bits-1", saved(picture("L", 20, 16).convert("1"), "PNG")
    yield "bits-16", saved(picture("L", 20, 16).convert("I"), "PNG")
    palette = rgb.quantize(16)
    yield "palette-4", saved(palette, "PNG", bits=4)
    yield "palette-8", saved(rgb.quantize(200), "PNG")
    yield "palette-clear", saved(palette, "PNG", transparency=3)
    yield "colour-clear", saved(rgb, "PNG", transparency=(0, 0, 0))
    yield "exif", saved(rgb, "PNG", exif=tiff(8))
    yield "interlaced", interlaced()
    whole = saved(rgb, "PNG")
    yield "cut", whole[:len(whole) * 2 // 3]


def webps():
    if not features.check("webp"):
        sys.exit("this Pillow writes no WebP")
    rgb = picture("RGB", 24, 20)
    yield "lossy", saved(rgb, "WEBP", quality=50)
    yield "lossless", saved(rgb, "WEBP", lossless=True)
    yield "alpha", saved(picture("RGBA", 24, 20), "WEBP", quality=50)


def with_alpha():
    image, rgb = picture("RGBA", 20, 16), picture("RGB", 20, 16)
    yield "rgba", saved(image, "PNG")
    yield "turned", saved(picture("LA", 20, 16), "PNG", exif=tiff(6))
    yield "key", saved(rgb, "PNG", transparency=(0, 0, 0))
    yield "palette", saved(rgb.quantize(16), "PNG", transparency=b"\0\x80")
    yield "webp", saved(image, "WEBP", quality=50)


XMP = b'<x:xmpmeta tiff:Orientation="6"/>'


def containers():
    """Markers in the data, XMP, and more than one frame."""
    rgb = picture("RGB", 24, 20)
    name, jpeg = b"http://ns.adobe.com/xap/1.0/\0", saved(rgb, "JPEG")
    yield "jpeg-xmp", (jpeg[:2] + struct.pack(
        ">HH", 0xffe1, 2 + len(name + XMP)) + name + XMP + jpeg[2:])
    middle = (jpeg.index(b"\xff\xda") + len(jpeg)) // 2
    for word, marker in (("reserved", b"\xff\x99"), ("restart", b"\xff\xd3"),
                         ("comment", b"\xff\xfe\0\4"),
                         ("scan", b"\xff\xda\0\1")):
        yield "jpeg-stray-" + word, jpeg[:middle] + marker + jpeg[middle:]
    yield "webp-xmp", saved(rgb, "WEBP", xmp=XMP)
    still = {"save_all": True, "append_images": [picture("RGBA", 24, 20)]}
    yield "webp-animated", saved(rgb, "WEBP", quality=50, **still)
    yield "png-one-bit-key", saved(picture("L", 24, 20).convert("1"), "PNG",
                                   transparency=1)


# What to make of an image, in turn.
REQUESTS = (
    request(),
    request(box=(7, 9, 23, 20), resize=(15, 12), flags=2 | 4),
    request(resize=(95, 3), window=(3, 1), flags=1 | 16 | 32),
    request(box=(20, 0, 9, 65535), flags=4 | 8, level=1),
    request(box=(0, 30, 65535, 3), resize=(8, 31), flags=16, level=0),
    # Half floats; a quarter of the size is enough; libjpeg's Huffman decoder.
    request(resize=(11, 9), flags=2 | 32 | 128, level=256 | 512 | 2),
    request(resize=(6, 12), flags=16 | 32 | 128 | 0x8000,
            level=256 | 512 | 1024 | 1),
)


def images():
    files = [("jpeg-" + n, d) for n, d in jpegs()]
    files += [("png-" + n, d) for n, d in pngs()]
    files += [("webp-" + n, d) for n, d in webps()]
    files += [("gif", saved(picture("P", 9, 9), "GIF")), ("empty", b"")]
    files += containers()
    for i, (name, data) in enumerate(files):
        yield name, REQUESTS[i % len(REQUESTS)] + data
    for name, data in with_alpha():
        for gray in (0, 8):
            yield (f"alpha-{'gray-' if gray else ''}{name}",
                   request(resize=(13, 11), flags=gray | 4 | 128,
                           level=2048 | 2) + data)
    for i, (name, data) in enumerate(several_scans()):
        yield "jpeg-scans-" + name, REQUESTS[i % len(REQUESTS)] + data


def inflates():
    """Deflate streams (fuzz_inflate.c)."""
    text = bytes(range(256)) + b"abcabcabcd" * 30 + b"\0" * 400
    for name, level, strategy in (
            ("stored", 0, zlib.Z_DEFAULT_STRATEGY),
            ("fixed", 6, zlib.Z_FIXED), ("dynamic", 9, zlib.Z_DEFAULT_STRATEGY),
            ("literals", 6, zlib.Z_HUFFMAN_ONLY), ("runs", 6, zlib.Z_RLE)):
        made = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
        yield name, made.compress(text) + made.flush()
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield "blocks", (made.compress(text) + made.flush(zlib.Z_FULL_FLUSH)
                     + made.compress(text[::-1]) + made.flush())
    yield "empty", b"\3\0"


def exifs():
    head = struct.pack("<6H", 47, 39, 5, 6, 20, 10)
    for orientation in range(9):
        yield "little-%d" % orientation, head + tiff(orientation)
    yield "big", head + tiff(7, ">")
    yield "prefixed", head + b"Exif\0\0" + tiff(5)
    yield "cut", head + tiff(3)[:14]
    yield "far", head + b"II*\0" + struct.pack("<I", 0xffffffff)
    yield "many", head + tiff(2)[:8] + struct.pack("<H", 0xffff) + tiff(2)[10:]
    for kind, form, *value in ((5, "II", 12, 2), (10, "ii", -6, -1),
                               (12, "d", 6), (16, "Q", 6)):
        yield "type-%d" % kind, (
            head + b"II*\0" + struct.pack("<IHHHIII", 8, 1, 0x0112, kind, 1, 26,
                                          0) + struct.pack("<" + form, *value))
    raw = b"\nexif\n 26\n" + tiff(6).hex().encode()
    xmp = b"XML:com.adobe.xmp\0"
    chunks = ((b"acTL", struct.pack(">II", 2, 0)),
              (b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(raw)),
              (b"iTXt", xmp + b"\1\0de\0XMP\0" + zlib.compress(XMP)),
              (b"tEXt", xmp + XMP), (b"IDAT", b""), (b"fcTL", b""),
              (b"eXIf", tiff(8)))
    yield "chunks", head + bytes(8) + b"".join(
        struct.pack(">I", len(data)) + name + data + bytes(4)
        for name, data in chunks)
    yield "texts", head + bytes(8) + b"".join(
        struct.pack(">I", len(data)) + name + data + bytes(4)
        for name, data in chunks[2:4])


def segment(dc, lasts, places, values):
    """docs/packed.md: values in the order of their blocks, each by rows."""
    def packed(fields):
        bits, n = 0, 0
        for value, width in fields:
            bits |= value << n
            n += width
        return bits.to_bytes((n + 7) // 8, "little")

    steps = [b - a for a, b in zip(dc, dc[1:])]
    steps = [2 * d if d >= 0 else -2 * d - 1 for d in steps]
    width = max([d.bit_length() for d in steps], default=0)
    sizes = [abs(v) for v in values]
    return (bytes([len(dc) - 1, width]) + struct.pack("<h", dc[0]) +
            packed((last, 6) for last in lasts) +
            packed((d, width) for d in steps) +
            packed((p, last - 1) for p, last in zip(places, lasts) if last) +
            packed((v < 0, 1) for v in values) +
            packed((m > 1, 1) for m in sizes) +
            packed((min(m - 2, 15), 4) for m in sizes if m > 1) +
            packed((min(m - 17, 240), 8) for m in sizes if m > 16) +
            packed((m, 16) for m in sizes if m > 256))


def segments():
    yield "flat", segment([5], [0], [0], [])
    yield "steps", segment([-1024, 1023, 0, 0], [0] * 4, [0] * 4, [])
    mixed = segment([3, -2, 7], [3, 0, 63], [1, 0, 1 << 61],
                    [1, -2, 16, -17, 257])
    yield "mixed", mixed
    yield "cut", mixed[:-1]
    yield "longer", mixed + b"\0"
    yield "wide", bytes([0, 18]) + mixed[2:]
    yield "full", segment([9] * 32, [63] * 32, [(1 << 62) - 1] * 32,
                          [2 + i % 300 for i in range(32 * 63)])


# ---- Texts -------------------------------------------------------------------

# One of each that works on pixels. A name that a build does not know is
# refused there, which is an input like any other.
OPERATIONS = (
    ("rotation", b"random_rotation degrees=-30:30"),
    ("affine", b"random_affine translate=1,1 scale=0.1:3 shear=80 "
               b"interpolation=bicubic"),
    ("perspective", b"random_perspective distortion_scale=1"),
    ("jitter", b"color_jitter brightness=0.4 contrast=0.4 saturation=0.4 "
               b"hue=0.1"),
    ("grayscale", b"random_grayscale p=1"),
    ("erasing", b"random_erasing p=1"),
    ("pad", b"pad left=2 top=3 right=4 bottom=5"),
    ("random-crop", b"random_crop width=16 height=16 padding=4"),
    ("zoom-out", b"random_zoom_out p=0.9\n"
                 b"random_crop_or_pad width=9 height=99\n"
                 b"fixed_size_crop width=20 height=10 padding_mode=reflect"),
    ("iou-crop", b"random_iou_crop trials=9 overlaps=0.1:0.9\nsanitize_boxes"),
    ("vertical-flip", b"vertical_flip p=1"),
    ("points", b"random_invert\nrandom_posterize bits=3\nrandom_equalize\n"
               b"random_autocontrast\nrandom_solarize threshold=99.5"),
    ("sharpness", b"random_adjust_sharpness sharpness_factor=3 p=1"),
    ("distort", b"random_photometric_distort p=0.9\n"
                b"random_channel_permutation"),
    ("gaussian-blur", b"gaussian_blur kernel_size=7,3"),
    ("pil-blur", b"pil_gaussian_blur radius=0.1:9"),
    ("trivial-augment", b"trivial_augment_wide interpolation=bilinear"),
    ("rand-augment", b"rand_augment num_ops=5 magnitude=30 version=v2"),
    ("auto-augment", b"auto_augment policy=cifar10 fill=1,2,3"),
    ("timm-augment", b"timm_augment config=rand-n5-p1-mstd2-mmax20-tweights"),
    ("timm-augmix", b"timm_augment config=augmix-m9-w4-mstd1 fill=124"),
    ("timm-policy", b"timm_augment config=v0r-mstd1"),
)


def pipelines():
    def seed(text, width=640, height=480):
        return struct.pack("<2HB", width - 1, height - 1, 3) + text

    yield "train", seed(b"random_resized_crop width=32 height=32 "
                        b"scale=0.08:1 ratio=0.75:1.33\nhorizontal_flip\n"
                        b"normalize mean=0.5,0.5,0.5 std=0.2,0.2,0.2\n")
    yield "eval", seed(b"resize size=256\ncenter_crop width=224 height=224\n")
    yield "extreme", seed(b"random_resized_crop width=65500 height=1 "
                          b"scale=1e-6:1e-6 ratio=1e-3:1e3\n", 65536, 1)
    yield "thin", seed(b"resize size=65500\ncenter_crop width=1\n", 1, 65536)
    yield "crops", seed(b"center_crop width=9 height=9\n"
                        b"center_crop width=8 height=8\nhorizontal_flip p=1\n")
    for name, line in OPERATIONS:
        yield name, seed(b"resize width=24 height=20\n" + line, 40, 30)
    yield "all", seed(b"resize width=24 height=20\n" + b"\n".join(
        line for _, line in OPERATIONS) + b"\nnormalize\n", 40, 30)
    for name in ("scale_jitter", "random_shortest_size", "random_resize",
                 "resize_keep_ratio random_scale_prob=1 longest=0.4"):
        yield name.split("_")[1] + "-drawn", seed(b"trim_border\n"
                                                  + name.encode(), 9, 700)
    yield "views", seed(b"resize size=20\nten_crop width=17 height=16 "
                        b"vertical_flip=true\nrandom_rotation degrees=5\n")
    yield "decisions", seed(b"resize width=24 height=20\n"
                            b"random_order count=3\n"
                            b"random_apply p=0.9 count=2\nhue factor=0.1\n"
                            b"contrast factor=0:2\n"
                            b"random_choice count=3 weights=1,2,0.5\n"
                            b"pil_gaussian_blur\npad padding=2\n"
                            b"random_apply count=0\nvertical_flip p=1\n"
                            b"center_crop width=9 height=9\n", 40, 30)
    yield "refused", seed(b"resize size=0\nrezise\ncenter_crop width=\"\n")


def options():
    yield "loader", (b"\0batch_size=32 workers=auto seed=0x7f shuffle=on "
                     b"memory_budget=1.5g on_error=skip device=\"host\"")
    yield "types", (b"\1offset=-1 read_bytes=64k window=1.5ms ratio=2.5 "
                    b"gain=1e300 filter=bicubic scale=0.1:0.2,0.3")
    yield "quotes", b"\1trace=\"a \\\"b\\\" \\\\ c\" shuffle=no"
    yield "operation", b"\2width=224 height=224 scale=0.08:1"
    yield "ranges", (b"\1any=-9223372036854775808 budget=8191p "
                     b"window=99999999999h")
    yield "refused", b"\1shuffel=1"


def inis():
    yield "sections", (b"\xef\xbb\xbf# a job\n[global]\nbatch_size = 64\n\n"
                       b"[train]\nworkers = auto ; all\n"
                       b"trace = \"run #3.json\"\r\n[eval]\nscale=0.5:1\n")
    yield "header", b"[global\n"
    yield "outside", b"seed = 1\n"
    yield "bad-value", b"[train]\nratio = much\n"
    yield "zero", b"[train]\ntrace = a\0b\n"


def states():
    state = {"feedline_state": 1, "dataset": "0123456789abcdef", "count": 9,
             "seed": 7, "shuffle": True, "repeats": 3, "epoch_samples": 9,
             "epoch": 2, "position": 4}
    yield "plain", json.dumps(state).encode()
    yield "tight", json.dumps(state, separators=(",", ":")).encode()
    yield "most", json.dumps({k: v if isinstance(v, (bool, str))
                              or k == "feedline_state" else 2**64 - 1
                              for k, v in state.items()}).encode()
    yield "block", json.dumps({**state, "shuffle": "block", "block": 2**24,
                               "lanes": 2**16, "seed": 2**64 - 1,
                               "position": 2**54}).encode()
    yield "unknown", json.dumps({"more": [1.5e-3, {"a": [None, "\u00e9"]}],
                                 **state}).encode()
    yield "version", b'{"feedline_state": 2}'
    yield "deep", b'{"a":' + b"[" * 33


def lists():
    yield "plain", (b"# made by hand\na/1.jpg 0\nb c/2.jpg\t-1\r\n/d/3.jpg\n"
                    b"\n4.jpg +9223372036854775807\n")
    yield "mark", b"\xef\xbb\xbfa.jpg\n"
    yield "blanks", b"  a b.jpg \t 7 \t\n \t\n"
    yield "parts", (b"path\tlabel\toffset\tlength\n"
                    b"a.tar\t1\t1536\t10\na.tar\t2\t\t\n")
    yield "fields", (b"path\tlabel\toffset\tlength\tint:int\ttext\tjson:json"
                     b"\tfloat:float\na.tar\t1\t9\t10\t-5\ta b\t[1]\t-1e5\r\n"
                     b"b\t\t\t\t\t\t\t\n")
    yield "vectors", (b"path\tlabel\tints:ints\tfloats:floats\n"
                      b"a.jpg\t1\t1 -2\t0.5,1e9 3\nb.jpg\t\t\t1 2 3\n")
    yield "columns", (b"path\tlabel\tfloat:float\tint:int\tjson\ttext\tmore\n"
                      b"a.jpg\t1\t.5\t7\t\tx\ty\nb.jpg\t1\t2\n")
    yield "refused", b"a picture.jpg\n"
    yield "overflow", b"a.jpg 9223372036854775808"
    yield "zero", b"a\0b 1\n"


def cocos():
    images = [{"id": 7, "file_name": "b.jpg", "width": 3, "height": 4},
              {"file_name": "\u00e4/a.jpg", "id": 3}]
    notes = [{"image_id": 7, "bbox": [1, 2.5, 3e0, 4], "category_id": 1,
              "segmentation": [[1, 2, 3, 4]], "iscrowd": 0, "id": 1},
             {"image_id": 3, "bbox": [0, 0, 1, 1], "category_id": 2,
              "keypoints": [1, 2, 2, 3, 4, 0], "iscrowd": 1, "id": 2}]
    whole = {"info": {"year": 2017}, "images": images, "annotations": notes,
             "categories": [{"id": 1, "name": "cat"}]}
    yield "whole", json.dumps(whole).encode()
    yield "late", json.dumps({"annotations": notes, "images": images}).encode()
    yield "bare", json.dumps({"images": images[:1]}).encode()
    yield "twins", json.dumps({"images": images[:1] * 2}).encode()
    yield "short", json.dumps(whole).encode()[:150]
    yield "boxless", json.dumps(
        {"images": images, "annotations": [{"image_id": 7}]}).encode()


def idxs():
    def pair(labels, *images):
        labels = struct.pack(">3BBI", 0, 0, 8, 1, len(labels)) + labels
        return bytes((len(labels),)) + labels + b"".join(images)

    def images(*sides):
        n = 1
        for side in sides:
            n *= side
        return (struct.pack(">4B", 0, 0, 8, len(sides))
                + struct.pack(">%dI" % len(sides), *sides)
                + bytes(i % 251 for i in range(n)))

    yield "gray", pair(b"\1\7", images(2, 5, 4))
    yield "colour", pair(b"\1\7\0", images(3, 2, 2, 3))
    yield "count", pair(b"\1", images(2, 2, 2))
    yield "cut", pair(b"\1\2", images(2, 5, 4)[:-1])
    yield "huge", pair(b"\1", images(1, 1, 1)[:4] + b"\xff" * 12)
    yield "gzip", pair(b"\1", b"\x1f\x8b\x08")


def jsons():
    """Programs for the writer (fuzz_json.c): an operation is what % 8, a
    scalar what >> 3; 7 closes a bracket, 5 and 6 open one."""
    string, real, whole, truth, none = (i << 3 for i in range(5))
    yield "scalars", bytes((9, 0, string, 1)) + b"k" + b"\5a\"\\\n\x1f" + bytes(
        (real, 1)) + b"r" + struct.pack(">d", 0.1) + bytes((whole, 1)) + b"i" \
        + struct.pack(">q", -2**63) + bytes((truth, 1)) + b"t" + bytes(
            (none, 1)) + b"n"
    yield "nested", bytes((3, 0, 6, 1)) + b"a" + bytes(
        (5, string, 1)) + b"k" + b"\4\xf0\x9f\x98\x80" + bytes((7, real)) \
        + struct.pack(">d", 5e-324) + bytes((7,))
    yield "text", b"\7\0\xe2\x82\xac and \xc3\x28 and \xed\xa0\x80 \xf4\x90\x80"
    yield "double", b"\0\0" + struct.pack(">d", -1.7976931348623157e308)


def index_caches():
    """Entries of an index cache: of a listing, of one without names, of
    none, and of one with two fields."""
    def entry(path, data, size=100):
        return (struct.pack("<2Q", len(path) + 1, len(data))
                + struct.pack("<2Q2qQ", size, 2, 3, 4, 5) + path + b"\0" + data)

    def listing(names, classes, odd, labels=2, kinds=b""):
        n = len(names)
        cells = n * len(kinds)
        texts = [b"".join(t + b"\0" for t in part)
                 for part in (names, classes, odd)]
        return (struct.pack("<8Q", n, labels, n, len(classes), len(odd) // 3,
                            *map(len, texts))
                + struct.pack("<Q32s", len(kinds), kinds)
                + b"".join(struct.pack("<QII", i, -(i % 2) & 0xffffffff, i)
                           for i in range(cells))
                + struct.pack("<%dQ" % n, *range(0, 10 * n, 10))
                + struct.pack("<%dq" % n, *(i % 2 for i in range(n)))
                + struct.pack("<%dI" % n, *range(n)) + b"".join(texts))

    whole = listing([b"a", b"b.jpg", b""], [b"ant", b"bee"],
                    [b"7", b"no label", b"x"])
    yield "classes", entry(b"/data/0.tar", whole)
    yield "fields", entry(
        b"s", listing([b"", b"", b""], [], [], 1, bytes([1, 4])))
    yield "numbers", entry(b"s", listing([b"", b""], [], [], 1))
    yield "cut", entry(b"s", whole[:-5])
    yield "two", entry(b"b", whole) + entry(b"a", b"")


def entries():
    """A crop, places to enter a JPEG at, and the JPEG."""
    size = 200, 160
    noise = bytes((i * i * 7 + i // 3) & 63 for i in range(3 * 200 * 160))
    image = Image.blend(picture("RGB", *size),
                        Image.frombytes("RGB", size, noise), 0.5)
    zero = sum(2048 << (28 + 12 * i) for i in range(3))
    for name, sampling in ("444", 0), ("420", 2):
        data = saved(image, "JPEG", quality=85, subsampling=sampling)
        places = [zero | 8 * at for at in range(500, len(data), 900)]
        yield name, (bytes((120, 130, len(places)))
                     + struct.pack("<%dQ" % len(places), *places) + data)
        yield name + "_outside", (bytes((250, 90, 2))
                                  + struct.pack("<2Q", 2**64 - 1, 7) + data)


def shards():
    """One small shard of each format, by the writers of its test."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
    import conftest  # finds the package, and the library of the newest build
    import test_fields
    import test_shards

    members = [("ant/1.jpg", b"one", 1), ("bee/22.jpg", b"twenty-two", 2)]
    samples = [{"image": b"one", "text": "t", "meta": [1], "number": 5},
               {"image": b"two", "text": "", "meta": {}, "number": -7,
                "mask": b"mask"}]
    for name in ("beton", "zip"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "shard")
            test_fields.WRITERS[name](path, samples)
            yield name + "-fields", path.read_bytes()
    for name, write in test_shards.WRITERS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "shard")
            write(path, members)
            data = path.read_bytes()
        yield name, data
        yield name + "-cut", data[:len(data) * 2 // 3]


def packeds():
    """Files that pack, and damage in each part (fuzz_packed.c)."""
    kinds = ("baseline-420", "progressive", "gray", "cmyk", "exif", "narrow",
             "cut")
    files = dict(jpegs())
    for i, name in enumerate(kinds):
        yield name, struct.pack("<4HHBBHBB", 7 * i, 5 * i, 29, 31, 40 + i,
                                i % 4, 1 << i, 3, 2, 16) + files[name]


def devices():
    """Crops for a device, entries and JPEGs (fuzz_device.c)."""
    files = dict(jpegs())
    for i, name in enumerate(("baseline-420", "gray", "narrow", "cut")):
        places = [2048 << 28 | 2048 << 40 | 2048 << 52 | 800 * i]
        yield name, struct.pack("<4H4B2HQ", 3 * i, 5 * i, 29, 31, 20, 9, 5 * i,
                                1, 300 * i, 1 << i, *places) + files[name]
    for name, data in entries():
        yield "entries-" + name, (struct.pack("<4H4B2H", 60, 50, 70, 90, 30,
                                              40, 0, data[2], 700, 1)
                                  + data[3:])


S3_LIST = b"""<?xml version="1.0"?>
<ListBucketResult xmlns="x"><IsTruncated>true</IsTruncated><EncodingType>url\
</EncodingType><NextContinuationToken>n</NextContinuationToken><Contents><Key>\
p/a+%25</Key><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents><Contents>\
<Key><![CDATA[p/]]></Key><Size>0</Size></Contents><!-- c --><CommonPrefixes>\
<Prefix>p/f%25/</Prefix></CommonPrefixes></ListBucketResult>
"""
AZURE_LIST = b"""<EnumerationResults a='b>'><Blobs><Blob><Name>p/&#x61;</Name>\
<Properties><Etag>0x8</Etag><Content-Length>5</Content-Length></Properties>\
</Blob><BlobPrefix><Name>p/f/</Name></BlobPrefix></Blobs><NextMarker />\
</EnumerationResults>"""
GOOGLE_LIST = b"""{"prefixes": ["p/f/"], "items": [{"name": "p/a\\n", \
"size": "12", "md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg==", "x": {"y": [1]}}], \
"nextPageToken": "n"}"""
HUB_LIST = b"""link: <https://h/n>; rel="next"

[{"type": "directory", "path": "p/f"}, {"type": "file", "size": 3, "path": \
"p/b", "lfs": {"size": 3}}]"""


def store_lists():
    for i, (name, page) in enumerate((
            ("s3", S3_LIST), ("azure", AZURE_LIST), ("google", GOOGLE_LIST),
            ("hub", HUB_LIST))):
        yield name, bytes([i, 1]) + page
        yield name + "-cut", bytes([i, 0]) + page[:len(page) * 2 // 3]
        yield name + "-level", bytes([i, 3]) + page


def store_texts():
    yield "s3", b"s3://bucket/a b//./c%20?d#e\xc3\xa9"
    yield "hub", b"hf://datasets/o/n@refs/pr/1/data/a.tar"
    yield "az", b"az://$web/a"
    yield "endpoint", b"https://h.example:443/prefix//"
    yield "password", b"https://user:word@h.example"
    yield "http-date", b"Sun, 22 Nov 2026 00:00:00 GMT"
    yield "iso-date", b"2026-11-22T00:00:00.5+01:30"
    yield "profile", (b"[p]\naws_access_key_id = a\n# c\n"
                      b"[profile p]\nregion=x\ns3 =\n  b = c\n")
    yield "error-xml", (b"<Error><Code>AccessDenied</Code><Message>no, "
                        b"5ecr3t/+Key</Message><Region>r</Region></Error>")
    yield "error-json", b'{"error": {"message": "not 5ecr3t\\/+Key", "c": [1]}}'
    yield "headers", (b"x-ms-error-code: ServerBusy\r\nX-Error-Message: "
                      b"5ecr3t/+Key\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT")


def plain_jpegs():
    """Those of the image target, without its head (fuzz_jpeg.c)."""
    for name, data in jpegs():
        yield name, data


def made_pngs():
    """Kind, size, and how it is written; then bytes of rows (fuzz_png.c)."""
    rows = bytes(i * i % 251 for i in range(200))
    for i, how in enumerate((0, 16, 32, 64, 17, 49, 1, 2, 3, 16, 0, 48, 96,
                             112)):
        yield "kind-%d" % i, bytes((i, 7 * i % 64, 40, how, i, 0, 0, 0)) + rows
    for kind in (1, 2, 3):
        yield "damaged-%d" % kind, bytes((9, 20, 30, 1, 6, kind, 90,
                                          0)) + rows


def packed_files():
    """A crop and packed samples (fuzz_packed_file.c)."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
    import conftest  # finds the library of the newest build

    library = ctypes.CDLL(os.environ["FEEDLINE_LIBRARY"])
    files = dict(jpegs())
    for name in ("baseline-420", "gray", "cmyk", "narrow", "progressive"):
        out, n = ctypes.c_void_p(), ctypes.c_uint64()
        if library.feedline_jpeg_pack(
                files[name], ctypes.c_uint64(len(files[name])),
                ctypes.byref(out), ctypes.byref(n)):
            sys.exit("%s is not packed" % name)
        data = ctypes.string_at(out, n.value)
        yield name, struct.pack("<4H", 3, 5, 29, 31) + data
        yield name + "-cut", struct.pack("<4H", 0, 0, 9, 9) + data[:-40]


def entry_stores():
    """Offsets of 8 records and these (fuzz_entry_store.c)."""
    records = struct.pack("<QII2Q", 5, 2, 0, 800, 1600)
    first = 11 * 8 + 8
    for name, places in (("two", [first, first]), ("none", []),
                         ("outside", [2**40, first + 4, first + 8])):
        places = places + [0] * (8 - len(places))
        yield name, b"\1" + struct.pack("<8Q", *places) + records
    yield "wrong-sum", b"\0" + bytes(64) + records
    yield "long", b"\1" + struct.pack("<8Q", first, *[0] * 7) + struct.pack(
        "<QII", 5, 2**31 - 1, 0)


def profiles():
    profile = {"feedline_profile": 1,
               "host": {"cpu_model": "x", "cores": 2, "cpu_quota": 1.5,
                        "gpu": None, "reader": "io_uring"},
               "data_set": {"kind": "folder", "samples": 9, "hash": "00ff"},
               "found": {"workers": 3, "depth": 4, "io_depth": 16,
                         "stall": 0.01, "converged": True}}
    yield "whole", json.dumps(profile, indent=1).encode()
    yield "list", json.dumps({**profile, "more": [1, {"a": [2]}]}).encode()
    yield "twice", b'{"a": {"b": 1}, "a": {"b": 2}}'
    yield "many", json.dumps({"n%d" % i: i for i in range(65)}).encode()
    yield "long", json.dumps({"a" * 70: 1}).encode()
    yield "cut", json.dumps(profile).encode()[:70]


def job_notes():
    line = ("feedline_job=1 ranks=%d stall_ppm=31250 step_ns=71700000 depth=22 "
            "reads=72")
    yield "one", (line % 64).encode()
    yield "two", (line % 1 + "\n\n" + line % 2 + " more=7\n").encode()
    yield "version", b"feedline_job=2 ranks=1"
    yield "none", (line % 0).encode()
    yield "most", (line % 2**20 + "\n" + line % 2**20).encode()


def lives():
    """How it is asked for, a header, sizes, and statistics (fuzz_live.c)."""
    def page(how, stats, header=64, loader=0):
        head = struct.pack("<QIiIIq4Q", 0, 0, 0, loader, header, 1, stats, 2,
                           2, 0)
        return bytes((how,)) + head + bytes(range(256)) * 16

    yield "whole", page(1, 1024)
    yield "ended", page(1, 2032)
    yield "none", page(9, 1024)
    yield "sizes", page(1, 2**63)
    yield "odd", page(1, 1020, 65)
    yield "disturbed", page(1, 64)[:49] + struct.pack("<QQ", 9, 2)
    yield "foreign", page(0, 1024)


def store_replies():
    part = (b"HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\n"
            b"Content-Range: bytes 5-14/%d\r\nETag: \"e\"\r\n\r\n")
    asked = struct.pack("<HH", 5, 10)
    yield "part", b"\1" + asked + part % (10, 100)
    yield "end", b"\3" + struct.pack("<HH", 5, 30) + part % (10, 15)
    yield "short", b"\1" + asked + part % (9, 100)
    yield "whole", (b"\0" + struct.pack("<HH", 0, 10)
                    + b"HTTP/2 200\r\ncontent-length: 10\r\n")
    yield "past", (b"\1" + asked + b"HTTP/1.1 416 no\r\n"
                   b"Content-Range: bytes */4\r\n")
    yield "redirect", (b"\1" + asked + b"HTTP/1.1 302 Found\r\nLocation: x"
                       b"\r\n\r\n" + part % (10, 100))
    yield "busy", b"\1" + asked + b"HTTP/1.1 503 no\r\nRetry-After: 7\r\n"
    yield "packed", (b"\0" + asked + b"HTTP/1.1 200 OK\r\nContent-Encoding: "
                     b"gzip\r\nContent-Length: 10\r\n")


def credentials():
    keys = (b'{"AccessKeyId": "a", "SecretAccessKey": "b", "Token": "5ecr3t", '
            b'"Expiration": "2026-11-22T00:00:00Z"}')
    sts = (b"<R><AccessKeyId>a</AccessKeyId><SecretAccessKey>5ecr3t"
           b"</SecretAccessKey><Expiration>2026-11-22T00:00:00Z</Expiration>"
           b"</R>")
    token = b'{"access_token": "5ecr3t", "expires_in": 3599}'
    login = (b'{"type": "authorized_user", "client_id": "a", "client_secret": '
             b'"b", "refresh_token": "5ecr3t"}')
    yield "profile", (b"\0[default]\naws_access_key_id=a\n"
                      b"aws_secret_access_key = 5ecr3t\n")
    yield "process", b"\0[default]\ncredential_process = 5ecr3t\n"
    yield "web", b"\x10token\0" + sts
    yield "container", b"\x20token\0" + keys
    yield "machine", b"\0[default]\n\0token\0role\0" + keys
    yield "nobody", b"\0\0!"
    yield "google", b"\1" + login + b"\0" + token
    yield "service", b'\1{"type": "service_account"}'
    yield "azure", b"\2\0" + token
    yield "string", b"\x0aAccountName=a;AccountKey=NWVjcjN0;Nothing"
    yield "sas", b"\x0aSharedAccessSignature=?sig=5ecr3t"
    yield "hub", b"\3hf_5ecr3t\n"


def chunk_files():
    """Which size, how, the file behind its head (fuzz_chunk_file.c)."""
    ledger = struct.pack("<QQQq", 0xfeed11e0c4ac4eb1, 4096, 1, 0)
    yield "empty", struct.pack("<HB", 9000, 0)
    yield "sums", struct.pack("<HB", 9000, 4) + struct.pack(
        "<3I", 1, 2, 3) + bytes(4084 + 9000)
    yield "ledger", struct.pack("<HB", 9000, 4) + ledger
    yield "large", struct.pack("<HBQ", 9000, 1, 2**64 - 1) + bytes(100)
    yield "wrong", struct.pack("<HB", 9000, 2) + bytes(100)


def folder_indexes():
    """Which, the index, and the shard (fuzz_folder_index.c)."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
    import conftest  # as in shards()
    import test_shards

    members = [("ant/1.jpg", b"one", 1), ("bee/22.jpg", b"twenty-two", 2)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "shard")
        test_shards.WRITERS["mds"](path, members)
        mds = path.read_bytes()
        test_shards.WRITERS["tar"](path, members)
        tar = path.read_bytes()
    leaves = struct.pack("<2I", 3, 8) + b"one" + struct.pack("<q", 7)
    chunk = struct.pack("<3I", 1, 12, 12 + len(leaves)) + leaves
    lit = {"chunks": [{"filename": "chunk-0-0.bin", "chunk_size": 1}],
           "config": {"data_format": ["jpeg", "int"], "compression": None}}
    yield "litdata", b"\0" + json.dumps(lit).encode() + b"\0" + chunk
    yield "litdata-fields", b"\1" + json.dumps(lit).encode() + b"\0" + chunk
    yield "litdata-cut", b"\0" + json.dumps(lit).encode()[:60]
    index = {"shards": [{"format": "mds", "compression": "zstd",
                         "raw_data": {"basename": "shard.00000.mds"},
                         "zip_data": {"basename": "x.zstd"}}], "version": 2}
    yield "mds", b"\2" + json.dumps(index).encode() + b"\0" + mds
    index["shards"][0]["raw_data"]["basename"] = "a/../../b.mds"
    yield "mds-up", b"\2" + json.dumps(index).encode() + b"\0" + mds
    wids = {"wids_version": 1, "shardlist": [
        {"url": "a.tar", "nsamples": 2, "filesize": len(tar)}]}
    yield "wids", b"\3" + json.dumps(wids).encode() + b"\0" + tar
    yield "dali", b"\4v1.2 1\njpg 512 3 ant/1.jpg\n\0" + tar
    yield "dali-old", b"\5v1.1 1\njpg 512 3\n\0" + tar
    yield "dali-outside", b"\4v1.1 1\njpg 1048576 3\n\0" + tar


def shard_lists():
    yield "ranges", b"a-{000..012..4}.tar::b{x,y{1..2}}.tar"
    yield "letters", b"{a..f}{z..x}"
    yield "options", b"a.tar?damaged=skip&fields=a,b&x"
    yield "variable", b"${NAME}/a.tar"
    yield "quoted", b"a\\{0..2\\}{b}"
    yield "open", b"{a,b"
    yield "many", b"{0..9999}" * 2


def reports():
    run = {"schema_version": 1, "command": "run", "version": "0.1",
           "result": {"images": 1, "batches": 2, "seconds": 3.5,
                      "images_per_second": 0.3},
           "stall": {"host_fraction": 0.1}, "stages": [], "options": {},
           "verdicts": [{"code": "A", "sentence": "<b>&\u202e"}]}
    line = {"pid": 1, "host": "h", "world": 2, "rank": 1, "time_unix": 5,
            "stats": {"batches": 3, "wall_seconds": 1.5, "wait_seconds": 0.1},
            "phases": [{"name": "sync", "self_seconds": 0.5}],
            "verdict": {"code": "C"}}
    later = {**line, "time_unix": 9, "stats": {"batches": 8, "samples": 9,
                                               "wall_seconds": 9.5}}
    yield "run", json.dumps(run).encode()
    for command in ("sweep", "tune", "headroom", "h2d", "compare"):
        yield command, json.dumps({**run, "command": command, "rows": [{}],
                                   "points": [{"x": 1}]}).encode()
    yield "log", (json.dumps(line) + "\n" + json.dumps(later)).encode()
    yield "rank", json.dumps({**line, "rank": 1e300, "pid": -1e99,
                              "world": 1e300}).encode()
    yield "cut", json.dumps(run).encode()[:80]


TARGETS = {"image": images, "inflate": inflates, "packed": packeds,
           "device": devices, "exif": exifs,
           "segment": segments,
           "pipeline": pipelines,
           "options": options, "ini": inis, "state": states, "list": lists,
           "idx": idxs, "coco": cocos, "shard": shards,
           "index_cache": index_caches, "entries": entries, "json": jsons,
           "store_list": store_lists, "store_text": store_texts,
           "jpeg": plain_jpegs, "png": made_pngs, "packed_file": packed_files,
           "entry_store": entry_stores, "profile": profiles,
           "job_note": job_notes, "live": lives, "store_reply": store_replies,
           "credentials": credentials, "chunk_file": chunk_files,
           "folder_index": folder_indexes, "shard_list": shard_lists,
           "report": reports}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "seeds")
    total = 0
    for target, make in TARGETS.items():
        made = list(make())  # all of them, before any file goes
        folder = os.path.join(root, target)
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if not name.startswith(("finding-", "found-")):
                os.remove(os.path.join(folder, name))
        for name, data in made:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
            total += len(data)
    print("%d bytes of seeds in %s" % (total, root))


if __name__ == "__main__":
    main()
