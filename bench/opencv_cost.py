#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a step with OpenCV's arithmetic takes of a core, and what OpenCV takes.

    bench/opencv_cost.py RENDER_RECORDED [PHOTO] [--rounds N] [--rows TEXT ...]

RENDER_RECORDED is the helper built from tests/decode/render_recorded.c. A photo
(a generated image where there is none) as an uncompressed PNG of 500 x 375
goes through it with a step and without it (but for the step's data, which the
helper is sent), and all but a few pixels are dropped; the difference in the
helper's CPU time is the step's. OpenCV gets the same image, one thread, and
memory for its result. All of it in turn, the least of the rounds counts;
nanoseconds of a pixel that goes in.

--rows: those that contain one of the texts. Another step is a line of ROWS.
"""
import argparse
import pathlib
import sys
import tempfile
import time

import cv2
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "decode"))
import opencv_parity as parity  # noqa: E402

WIDTH, HEIGHT, FEW = 500, 375, 8
SIZE = (WIDTH, HEIGHT)
GRAY = "RGB2GRAY"
TURN = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), 20, 1.1)
LEAN = np.vstack([TURN, [1e-4, -1e-4, 1]])
WAVES = np.stack(np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))) + \
    3 * np.sin(np.arange(WIDTH) / 9)
MAPS = WAVES.astype(np.float32)
KERNEL = np.ones((5, 5), np.float32) / 25
CLAHE = cv2.createCLAHE(2.0, (8, 8))


def colour(name, before=None):
    code = getattr(cv2, "COLOR_" + name)
    return step(parity.CV_COLOUR, [code],
                lambda image, out: cv2.cvtColor(image, code, dst=out), before)


def step(op, values, other, before=None, data=b""):
    """other: what OpenCV does; before: a conversion of the image."""
    return (op, values, data), other, before


def resize(part, filter, before=None):
    size = (int(part * WIDTH), int(part * HEIGHT))
    return step(parity.CV_RESIZE, [*size, filter],
                lambda image, out: cv2.resize(image, size, dst=out,
                                              interpolation=filter), before)


def warp(op, filter, other, before, values=(), data=b""):
    black = [0] if before == GRAY else [0] * 3
    given = [*SIZE, filter, 0, parity.VERSION, *values, *black]
    return step(op, given, lambda image, out: other(image, out, filter),
                before, data)


def affine(filter, before=None):
    return warp(parity.CV_WARP_AFFINE, filter, lambda image, out, f:
                cv2.warpAffine(image, TURN, SIZE, dst=out, flags=f), before,
                TURN.flat)


def perspective(filter, before=None):
    return warp(parity.CV_WARP_PERSPECTIVE, filter, lambda image, out, f:
                cv2.warpPerspective(image, LEAN, SIZE, dst=out, flags=f),
                before, data=LEAN.tobytes())


def remap(filter, before=None):
    return warp(parity.CV_REMAP, filter, lambda image, out, f:
                cv2.remap(image, *MAPS, f, dst=out), before,
                data=MAPS.tobytes())


def gauss(side, sigma=0):
    return step(parity.CV_GAUSSIAN_BLUR, [side, side, sigma, sigma],
                lambda image, out: cv2.GaussianBlur(image, (side, side), sigma,
                                                    dst=out))


def box(side):
    return step(parity.CV_BOX_BLUR, [side, side],
                lambda image, out: cv2.blur(image, (side, side), dst=out))


def median(side):
    return step(parity.CV_MEDIAN_BLUR, [side],
                lambda image, out: cv2.medianBlur(image, side, dst=out))


ROWS = {
    "RGB to HSV": colour("RGB2HSV"),
    "HSV to RGB": colour("HSV2RGB", "RGB2HSV"),
    "warpAffine, linear": affine(1),
    "warpAffine, nearest": affine(0),
    "warpAffine of gray, nearest": affine(0, GRAY),
    "RGB to gray": colour("RGB2GRAY"),
    "BGR to gray": colour("BGR2GRAY"),
    "Gaussian 3 x 3": gauss(3),
    "Gaussian 5 x 5": gauss(5),
    "Gaussian 7 x 7, sigma 2": gauss(7, 2),
    "Gaussian 21 x 21": gauss(21),
    "box 3 x 3": box(3),
    "box 7 x 7": box(7),
    "median 3": median(3),
    "median 5": median(5),
    "median 7": median(7),
    "CLAHE of gray": step(
        parity.CV_CLAHE, [0, 2, 8, 8],
        lambda image, out: CLAHE.apply(image, dst=out), GRAY),
    "equalizeHist of gray": step(
        parity.CV_EQUALIZE, [0],
        lambda image, out: cv2.equalizeHist(image, dst=out), GRAY),
    "RGB to Lab": colour("RGB2Lab"),
    "Lab to RGB": colour("Lab2RGB", "RGB2Lab"),
    "RGB to YCrCb": colour("RGB2YCrCb"),
    "YCrCb to RGB": colour("YCrCb2RGB", "RGB2YCrCb"),
    "resize to 0.6, linear": resize(0.6, 1),
    "resize to 2, linear": resize(2, 1),
    "resize to 0.6, area": resize(0.6, 3),
    "resize to 0.5, area": resize(0.5, 3),
    "resize to 0.2, area": resize(0.2, 3),
    "resize to 0.6, nearest": resize(0.6, 0),
    "resize of gray to 0.6, nearest": resize(0.6, 0, GRAY),
    "resize to 1.3, lanczos4": resize(1.3, 4),
    "warpPerspective, linear": perspective(1),
    "warpPerspective, nearest": perspective(0),
    "warpPerspective of gray, nearest": perspective(0, GRAY),
    "remap, linear": remap(1),
    "remap, nearest": remap(0),
    "remap of gray, nearest": remap(0, GRAY),
    "filter2D 5 x 5": step(
        parity.CV_FILTER2D, [5, 5, parity.VERSION],
        lambda image, out: cv2.filter2D(image, -1, KERNEL, dst=out),
        data=KERNEL.tobytes()),
}


class Ours:
    """The helper with a list of steps."""

    def __init__(self, engine, path, steps, shape):
        self.call = lambda: engine(path, steps, shape, parity.U8, False, 1)
        self.clock = ~engine.process.pid << 3 | 2  # its CPU time

    def run(self):
        start = time.clock_gettime(self.clock)
        done = self.call()
        took = time.clock_gettime(self.clock) - start
        return sys.exit(done) if isinstance(done, str) else took


class Theirs:
    def __init__(self, other, image):
        self.other, self.image = other, image
        self.out = other(image, None)

    def run(self):
        start = time.thread_time()
        self.other(self.image, self.out)
        return time.thread_time() - start


def least(things, rounds):
    """Of each, in turn."""
    times = [[thing.run() for thing in things] for _ in range(rounds)]
    return [min(found) for found in zip(*times)]


def few_of(image):
    """Shape of the few pixels that the helper hands over."""
    return parity.three_dimensional(image).shape[2], FEW, FEW


def measure(engine, path, image, row, rounds):
    """Nanoseconds of a pixel, ours and theirs."""
    made, other, before = row
    steps = [(parity.CONVERT, [3], b"")]
    if before:
        code = getattr(cv2, "COLOR_" + before)
        steps.append((parity.CV_COLOUR, [code], b""))
        image = cv2.cvtColor(image, code)
    theirs = Theirs(other, image)
    few = [FEW, FEW, cv2.INTER_NEAREST]
    drop, sent = ((parity.CV_RESIZE, few, data) for data in (b"", made[2]))
    with_it = Ours(engine, path, [*steps, made, drop], few_of(theirs.out))
    without = Ours(engine, path, [*steps, sent], few_of(image))
    base, ours, cv = least([without, with_it, theirs], rounds)
    unit = 1e9 / (WIDTH * HEIGHT)
    return (ours - base) * unit, cv * unit


def load(photo):
    """Red, green, blue, as large as the rows want it."""
    image = cv2.imread(photo, parity.PHOTO) if photo else cv2.GaussianBlur(
        np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 3),
                                          np.uint8), (9, 9), 2)
    return parity.swapped(cv2.resize(image, SIZE, interpolation=3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("helper")
    parser.add_argument("photo", nargs="?")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--level", default="avx512", help="c, avx2, avx512")
    parser.add_argument("--rows", nargs="*", default=[""])
    args = parser.parse_args()
    engine = parity.Engine(args.helper, args.level)
    image = load(args.photo)
    print(f"OpenCV {cv2.__version__}, kernels up to {args.level}\n\n"
          "| step | ns | OpenCV, ns | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/photo.png"
        cv2.imwrite(path, parity.swapped(image),
                    [cv2.IMWRITE_PNG_COMPRESSION, 0])
        for name, row in ROWS.items():
            if any(text in name for text in args.rows):
                ours, cv = measure(engine, path, image, row, args.rounds)
                print(f"| {name} | {ours:.2f} | {cv:.2f} | {cv / ours:.2f} |",
                      flush=True)
    engine.close()


if __name__ == "__main__":
    main()
