# SPDX-License-Identifier: Apache-2.0
"""Whether a file is damaged depends on the file: not on draws, nor on options.

    damage_draws.py LIBFEEDLINE [-v] [SEED [COUNT]]

COUNT damaged files of each format go through 50 draws: crops, sizes, views and
flips under every option that changes how a file is read or decoded. In each of
them the same files fail. Options that accept more, and masks, have draws of
their own, which agree with each other. Then Pillow says which files it refuses,
and may differ about few. Exit status 77: no Pillow here.
"""
import collections
import ctypes
import io
import os
import pathlib
import random
import struct
import sys
import tempfile
import warnings

try:
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[3] / "python")]
os.environ["FEEDLINE_LIBRARY"] = sys.argv[1]
import feedline  # noqa: E402
from damage import SOUND, damaged, damaged_files  # noqa: E402

# Verdicts of a hundred that may differ from Pillow's (docs/pixels.md).
MOST = {"jpeg": 1, "webp": 1, "png": 5}

PACKED = "packed jpeg"
REPLACED = 4  # the status of a sample that another one stands for

SMALL = ("random_resized_crop", dict(size=12, scale=(0.01, 0.2)))
MIDDLE = ("random_resized_crop", dict(size=24, scale=(0.2, 0.9)))
LARGE = ("random_resized_crop", dict(size=12, scale=(0.5, 1.0)))
CROP = ("random_crop", dict(size=16, pad_if_needed=True))
NEAREST = ("random_resized_crop", dict(
    size=12, scale=(0.01, 1.0), interpolation="nearest"))
WHOLE = ("resize", dict(width=20, height=20))
FLIPS = (("horizontal_flip", {}), ("vertical_flip", {}))
ROTATION = ("random_rotation", dict(degrees=30))

# Operations, options, epochs.
DRAWS = (
    ((CROP, *FLIPS), {}, 5),
    ((SMALL,), {}, 4),
    ((NEAREST, *FLIPS), {}, 3),
    ((WHOLE,), {}, 1),
    ((WHOLE, ("ten_crop", dict(size=12))), {}, 1),
    ((LARGE, *FLIPS, ROTATION), {}, 2),
    ((SMALL,), dict(reader="memory"), 3),
    ((MIDDLE,), dict(reader="auto", direct="true"), 3),
    ((CROP,), dict(reader="pread", cache="keep", cache_budget="100k"), 3),
    ((LARGE,), dict(quality="fast"), 4),
    ((SMALL, *FLIPS), dict(quality="fast", jpeg_index="true"), 4),
    ((CROP,), dict(jpeg_index="true"), 3),
    ((SMALL,), dict(jpeg_index="true", reader="memory"), 3),
    ((CROP,), dict(jpeg_index="false", channels=1), 2),
    ((MIDDLE,), dict(channels=4, apply_exif="true"), 3),
    ((MIDDLE,), dict(channels=2, pillow="13"), 2),
    ((CROP,), dict(max_sample_bytes=4096), 1),
    ("views", dict(quality="fast"), 1),
    ("views", {}, 1),
    ((SMALL,), dict(on_error="skip"), 1),
)
LENIENT = (
    ((CROP, *FLIPS), {}, 4),
    ((WHOLE,), {}, 1),
    ((SMALL,), dict(quality="fast", jpeg_index="true"), 3),
    ((LARGE,), dict(reader="memory", quality="fast"), 2),
    (("views"), {}, 1),
)
MASKS = (
    ((CROP, *FLIPS), {}, 3),
    ((WHOLE,), {}, 1),
    ((SMALL,), dict(quality="fast", reader="memory"), 3),
)


# ---- Packed JPEGs -----------------------------------------------------------


def packed(jpeg):
    library = ctypes.CDLL(os.environ["FEEDLINE_LIBRARY"])
    data, size = ctypes.c_void_p(), ctypes.c_uint64()
    if library.feedline_jpeg_pack(jpeg, ctypes.c_uint64(len(jpeg)),
                                  ctypes.byref(data), ctypes.byref(size)):
        sys.exit("a JPEG is not packed")
    found = ctypes.string_at(data, size.value)
    ctypes.CDLL(None).free(data)
    return found


def files_of(form, seed, count):
    if form != PACKED:
        yield from damaged_files(form, seed, count)
        return
    rng = random.Random(seed)
    sound = [packed(jpeg) for jpeg in SOUND["jpeg"](rng)]
    for i in range(count):
        yield damaged(rng, sound[i % len(sound)])


# ---- Draws ------------------------------------------------------------------


def pipeline_of(operations):
    if operations == "views":
        large, small = pipeline_of((MIDDLE,)), pipeline_of((SMALL,))
        return feedline.Pipeline().views(large, 2).views(small, 3)
    pipeline = feedline.Pipeline()
    for name, arguments in operations:
        pipeline.add(name, **arguments)
    return pipeline


def outcomes(data, operations, options, epochs):
    """The status of each sample, of each epoch."""
    options = {**dict(batch_size=10, workers=2, dtype="u8", on_error="zero",
                      epochs=epochs, max_pixels=1 << 20), **options}
    with feedline.Loader(data, pipeline_of(operations), **options) as loader:
        for _ in range(epochs):
            found = []
            for batch in loader:
                found += batch.sample_status[::batch.views]
            yield found


def same(want, got):
    """Whether two statuses are; that of a sample that was replaced says only
    that it failed."""
    return want == got or got == REPLACED and want < 0


def check(name, data, draws, kinds):
    """What all draws say; prints what they do not agree about."""
    first, number, failed = None, 0, collections.Counter()
    for operations, options, epochs in draws:
        for found in outcomes(data, operations, options, epochs):
            number += 1
            first = first or found
            for i, (want, got) in enumerate(zip(first, found)):
                if not same(want, got):
                    failed[i] += 1
                    if "-v" in sys.argv:
                        print(f"  {name} {i}: {want}, then {got} with "
                              f"{operations} {options}")
    print(f"{name}: {len(kinds)} files, {sum(map(bool, first))} fail; "
          f"{number} draws; not the same in all: {len(failed)}")
    words = collections.Counter((kinds + ["sound"] * len(first))[i]
                                for i in failed)
    for kind, n in words.items():
        print(f"  {n:4} {kind}")
    return first, bool(failed) or any(first[len(kinds):])


def complaint_of(data):
    """What Pillow says of a file; None: it decodes it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as image:
                image.convert("RGB")
    except Exception as error:  # it raises anything
        return f"{type(error).__name__}: {error}"
    return None


def compare(form, paths, statuses, kinds):
    """With Pillow's verdict: of how many of a hundred files it is another."""
    differ, examples = collections.Counter(), {}
    for path, status, kind in zip(paths, statuses, kinds):
        complaint = complaint_of(path.read_bytes())
        if (status == 0) == (complaint is None):
            continue
        how = "accepted" if status == 0 else "refused"
        differ[kind, how] += 1
        examples[kind, how, complaint] = path
    print(f"  Pillow agrees about {len(paths) - sum(differ.values())} of "
          f"{len(paths)}")
    for key, n in sorted(differ.items()):
        print(f"  {n:4} {' '.join(key)}")
    if "-v" in sys.argv:
        for key, path in examples.items():
            print("   ", path, *key)
    return 100 * sum(differ.values()) / len(paths)


def image_for(mask):
    """The path of an image that the mask fits, if it has one of its sizes."""
    size = 8, 8
    data = mask.read_bytes()
    if len(data) > 24:
        size = tuple(min(n, 99) for n in struct.unpack_from(">II", data, 16))
    path = mask.with_suffix(".jpg")
    Image.new("RGB", [max(n, 1) for n in size]).save(path)
    return str(path)


def check_format(form, folder, seed, count):
    paths, kinds = [], []
    for i, (kind, data) in enumerate(files_of(form, seed, count)):
        path = folder / f"{form.replace(' ', '-')}-{i}.bin"
        path.write_bytes(data)
        paths.append(path)
        kinds.append(kind)
    sound = folder / "sound.png"
    Image.new("RGB", (64, 64)).save(sound)
    everything = [*paths, *[sound] * 2 * count]  # to replace others
    data = feedline.Dataset.paths([str(path) for path in everything])
    statuses, bad = check(form, data, DRAWS, kinds)
    if form != PACKED:  # which Pillow does not know
        bad |= compare(form, paths, statuses, kinds) > MOST[form.split()[-1]]
    lenient = [(o, dict(options, accept_truncated=0.5), n)
               for o, options, n in LENIENT]
    bad |= check(f"{form}, accept_truncated", data, lenient, kinds)[1]
    if form.endswith("png"):
        data = feedline.Dataset.paths([image_for(path) for path in paths])
        data.add_files("mask", [str(path) for path in paths])
        masks = [(o, dict(options, masks="mask"), n)
                 for o, options, n in MASKS]
        bad |= check(f"{form}, masks", data, masks, kinds)[1]
    return bad


def main():
    arguments = [a for a in sys.argv[2:] if a != "-v"]
    seed = int(arguments[0]) if arguments else 1
    count = int(arguments[1]) if len(arguments) > 1 else 40
    print(f"seed {seed}, Pillow {Image.__version__}")
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FEEDLINE_CACHE_DIR"] = folder + "/cache"
        for form in (*SOUND, PACKED):
            bad |= check_format(form, pathlib.Path(folder), seed, count)
    if bad:
        sys.exit("damage is found by chance, or where Pillow finds none")


if __name__ == "__main__":
    main()
