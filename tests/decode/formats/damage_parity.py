# SPDX-License-Identifier: Apache-2.0
"""Damaged files: Pillow's verdict, whatever part of the image is wanted.

    damage_parity.py RENDER [DATA] [SEED [COUNT]]

Sound files are damaged in COUNT ways. Each is decoded whole, and two small
parts of it, the first rows among them: what Pillow refuses is refused, what it
decodes has its pixels, and the parts share the verdict of the whole. Files of
several formats are made here; DATA has reftest/, which adds odd JPEGs where it
is there. Exit status 77: no Pillow here.
"""
import collections
import pathlib
import random
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from damage import damaged, encoded, pillow  # noqa: E402
from pillow_parity import (  # noqa: E402
    SAME_JPEG, WHOLE, Renderer, noise_image, same_processor)

# Verdicts that may differ, of a hundred: docs/pixels.md says which and why.
MOST = {"jpeg": 1.0, "webp": 0.5, "png": 0.5}


def sound_files(rng, data):
    files = []
    for width, height in ((64, 48), (90, 131), (200, 150)):
        image = noise_image(rng, width, height, "RGB")
        for subsampling in (0, 2):
            for progressive in (False, False, True):
                files.append(("jpeg", encoded(
                    image, "JPEG", quality=rng.choice((60, 90)),
                    subsampling=subsampling, progressive=progressive)))
        for mode in ("L", "CMYK"):
            files.append(("jpeg", encoded(noise_image(
                rng, width, height, mode), "JPEG")))
        for mode in ("RGB", "L", "P", "RGBA", "LA"):
            files.append(("png", encoded(image.convert(mode), "PNG")))
        for lossless in (False, True):
            files.append(("webp", encoded(image, "WEBP", lossless=lossless)))
            files.append(("webp", encoded(image.convert("RGBA"), "WEBP",
                                          lossless=lossless)))
        frames = [noise_image(rng, width, height, "RGB") for _ in range(3)]
        files.append(("webp", encoded(frames[0], "WEBP", save_all=True,
                                      append_images=frames[1:])))
    if data:
        files += [("jpeg", path.read_bytes())
                  for path in sorted(data.glob("reftest/*.jpg"))
                  if path.stat().st_size < 100000]
    return files


def request(box):
    x, y, w, h = box
    return {"box": box, "resize": (w, h), "window": (0, 0, w, h), "flips": 0,
            "filter": 0}


class Count:
    def __init__(self):
        self.files = collections.Counter()
        self.verdicts = collections.Counter()
        self.pixels = collections.Counter()
        self.parts = collections.Counter()
        self.examples = {}


def check(render, path, form, kind, count):
    want, complaint = pillow(path)
    status, got = render(path, WHOLE)
    count.files[form] += 1
    if (status == 0) != (want is not None):
        here = got if status else "decoded"
        words = f"Pillow: {complaint or 'decodes'}; here: {here}"
        verdict = "refused" if status else "accepted"
        count.verdicts[form, kind, verdict] += 1
        count.examples.setdefault((form, kind, status == 0,
                                   (complaint or str(got))[-40:]), words)
        return
    if status == 0 and not np.array_equal(got, want):
        count.pixels[form, kind] += 1
    if want is None:
        height, width = 1, 1  # of a file whose size is not known
    else:
        height, width = want.shape[:2]
    for box in ((0, 0, width, 1),
                (0, height // 2, max(width // 2, 1), max(height // 4, 1))):
        part, _ = render(path, request(box))
        if (part == 0) != (status == 0):
            count.parts[form, kind] += 1


def report(count, exact):
    failed = False
    for form, files in sorted(count.files.items()):
        differ = sum(n for key, n in count.verdicts.items() if key[0] == form)
        share = 100 * differ / files
        parts = sum(n for key, n in count.parts.items() if key[0] == form)
        pixels = sum(n for key, n in count.pixels.items() if key[0] == form)
        print(f"{form}: {files} files; verdict differs: {differ}, "
              f"{share:.2f} %; pixels: {pixels}; parts: {parts}")
        failed |= share > MOST[form] or parts > 0
        failed |= form == "jpeg" and pixels > 0 and exact
    for key, n in sorted(count.verdicts.items()):
        print(f"  {n:4} {' '.join(key)}")
    if "-v" in sys.argv:
        for words in count.examples.values():
            print("   ", words)
    return failed


def main():
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    data = pathlib.Path(arguments[1]) if len(arguments) > 1 else None
    seed = int(arguments[2]) if len(arguments) > 2 else 1
    number = int(arguments[3]) if len(arguments) > 3 else 4000
    print(f"seed {seed}, Pillow {Image.__version__}")
    rng, count = random.Random(seed), Count()
    render = Renderer(arguments[0], "avx512")
    files = sound_files(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(number):
            form, sound = files[i % len(files)]
            kind, bad = damaged(rng, sound)
            path = pathlib.Path(folder) / f"{i % 8}.bin"
            path.write_bytes(bad)
            check(render, path, form, kind, count)
    if render.close():
        sys.exit("render did not end well")
    if report(count, SAME_JPEG and same_processor(arguments[0])):
        sys.exit("too far from Pillow")


if __name__ == "__main__":
    main()
