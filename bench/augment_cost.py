#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one augmentation takes of a core, and what Pillow takes for the same.

    bench/augment_cost.py LIBFEEDLINE [PHOTOS] [--rounds N] [--rows NAME ...]

Photos (generated images where there are none), cropped to 224 x 224, go through
a loader with one worker, with an operation and without it; the difference in
CPU time of the process is the operation's, with the image that it makes
necessary. Pillow, or torchvision where it has the function, gets the same
images and the same drawn values (tests/decode/ops/ops_parity.py). All of it in
turn; the least of the rounds counts, so a busy machine does little harm.

Another operation is a line of ROWS.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "decode" / "ops"))
import ops_parity as parity  # noqa: E402
from ops_parity import Image, np  # noqa: E402

SIDE, COUNT, EPOCHS = 224, 64, 4

ROWS = [
    "random_invert p=1",
    "random_posterize p=1 bits=4",
    "random_solarize p=1 threshold=128",
    "random_autocontrast p=1",
    "random_equalize p=1",
    "random_adjust_sharpness p=1 sharpness_factor=1.9",
    "random_channel_permutation",
    "random_photometric_distort",
    "brightness factor=1.3",
    "contrast factor=1.3",
    "saturation factor=1.3",
    "hue factor=0.1",
    "pil_gaussian_blur radius=0.1:2",
    "gaussian_blur kernel_size=9 sigma=0.1:2",
    "gaussian_blur kernel_size=23 sigma=0.1:2",
    "trivial_augment_wide interpolation=bilinear",
    "rand_augment interpolation=bilinear",
    "auto_augment interpolation=bilinear",
    "timm_augment config=rand-m7-mstd0.5-inc1",
]


def square(image):
    """The middle of a photo, as large as the batch wants it."""
    return parity.ImageOps.fit(image.convert("RGB"), (SIDE, SIDE))


def load(folder):
    found = sorted(pathlib.Path(folder).rglob("*.JPEG")) if folder else []
    step = max(1, len(found) // COUNT)
    with tempfile.TemporaryDirectory() as made:
        paths = found[::step] or parity.write_images(pathlib.Path(made))
        images = [square(Image.open(path)) for path in paths[:COUNT]]
    return [images[i % len(images)] for i in range(COUNT)]


class Engine:
    def __init__(self, feedline, pixels, operations):
        self.loader = lambda: feedline.Loader(
            feedline.Dataset.pixels(pixels),
            parity.pipeline_of(feedline, operations),
            workers=1, batch_size=16, dtype="u8", epochs=EPOCHS)

    def run(self):
        """CPU seconds of an epoch, and a part of making the loader."""
        start = time.process_time()
        with self.loader() as loader:
            for _ in range(EPOCHS):
                for _ in loader:
                    pass
        return (time.process_time() - start) / EPOCHS


class Pillow:
    def __init__(self, engine, images, operation):
        name, _, rest = operation.partition(" ")
        self.run_one = parity.ON_IMAGES[name]
        self.given = parity.arguments(rest)
        self.images = images
        with engine.loader() as loader:
            self.drawn = [loader.draws(0, i, SIDE, SIDE)["operations"][0]
                          for i in range(len(images))]

    def run(self):
        start = time.process_time()
        for image, drawn in zip(self.images, self.drawn):
            self.run_one(image, self.given, drawn)
        return time.process_time() - start


def least(things, rounds):
    """Of each, in turn."""
    times = [[] for _ in things]
    for _ in range(rounds):
        for thing, found in zip(things, times):
            found.append(thing.run())
    return [min(found) for found in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("photos", nargs="?")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--rows", nargs="*", default=ROWS)
    args = parser.parse_args()
    feedline = parity.package_on(str(pathlib.Path(args.library).resolve()))
    images = load(args.photos)
    pixels = np.stack([np.asarray(image) for image in images])
    plain = Engine(feedline, pixels, [])
    print(f"Pillow {parity.PIL.__version__}, torchvision "
          f"{parity.torchvision.__version__}\n\n"
          "| operation | us | Pillow, us | ratio |\n|---|---:|---:|---:|")
    for row in args.rows:
        engine = Engine(feedline, pixels, [row])
        other = Pillow(engine, images, row)
        base, ours, theirs = (
            1e6 * seconds / COUNT
            for seconds in least([plain, engine, other], args.rounds))
        print(f"| `{row}` | {ours - base:.1f} | {theirs:.0f} | "
              f"{theirs / (ours - base):.1f} |", flush=True)


if __name__ == "__main__":
    main()
