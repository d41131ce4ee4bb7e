# SPDX-License-Identifier: Apache-2.0
"""Which way up: the files of orientation_layouts.py beside exif_transpose.

    orientation_parity.py RENDER [SEED]

Where Pillow raises an exception because it cannot write the EXIF data back, the
image is turned as getexif() says; where it cannot read it, left as stored. Exit
status 77: no Pillow here, or one that reads some of it otherwise.
"""
import collections
import io
import pathlib
import random
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pillow_parity import PILLOW, TURNS, WHOLE, Renderer  # noqa: E402

import numpy as np  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402

from orientation_layouts import ORIENTATION, Webp, layouts  # noqa: E402

SINCE = (13, 0)  # what reads all of it alike


def turned(image, orientation):
    if orientation not in range(2, 9):
        return image
    return image.transpose(TURNS[int(orientation) - 1])


def pillow(data):
    """The image as exif_transpose gives it, None where Pillow reads none; and
    whether that had raised: then it is as getexif() says, if it does."""
    try:
        return ImageOps.exif_transpose(Image.open(io.BytesIO(data))), False
    except Exception:  # of many kinds
        pass
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except Exception:
        return None, True
    try:
        orientation = image.getexif().get(ORIENTATION, 1)
    except Exception:
        orientation = 1
    return turned(image, orientation), True


def answer(render, path, data):
    path.write_bytes(data)
    return render(path, WHOLE)


def check(render, path, seed):
    webp = bool(Webp.whole) and answer(render, path, Webp.whole)[0] == 0
    if not webp:
        print("skipped: WebP, which is not built in here or in Pillow")
    count = collections.Counter()
    for name, data in layouts(random.Random(seed), webp):
        want, raised = pillow(data)
        if want is None:
            count["refused by Pillow"] += 1
            continue
        count["read"] += 1
        count["on their side"] += want.height > want.width
        count["raised on"] += raised
        want = np.asarray(want.convert("RGB"))
        status, got = answer(render, path, data)
        if status or not np.array_equal(got, want):
            count["different"] += 1
            if count["different"] <= 10:
                print(
                    f"{name}, {raised=}: {got if status else 'differs'}: "
                    f"{data.hex()}"
                )
    return count


def main():
    if PILLOW < SINCE:
        print(
            f"skipped: Pillow {Image.__version__} reads some of these files "
            f"differently from {SINCE[0]}.{SINCE[1]}"
        )
        sys.exit(77)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    warnings.simplefilter("ignore")
    render = Renderer(sys.argv[1], "avx512", ["1"])
    with tempfile.TemporaryDirectory() as folder:
        count = check(render, pathlib.Path(folder) / "file", seed)
    if render.close():
        sys.exit("render did not end well")
    print(f"seed {seed}, Pillow {Image.__version__}: {dict(count)}")
    if count["different"]:
        sys.exit("not as Pillow")


if __name__ == "__main__":
    main()
