# SPDX-License-Identifier: Apache-2.0
"""Pixels equal Pillow's: u8 bit for bit, f32 within 1e-6 of ToTensor and
Normalize in float32 arithmetic.

    pillow_parity.py RENDER [DATA] [SEED]

RENDER is the helper built from render.c; DATA has imagenet-sample/ and
reftest/, and what is not there is left out. Every kernel level of the machine
is tried. Exit status 77: no Pillow here.
"""
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

U8, F32 = 1, 3
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


class Renderer:
    def __init__(self, program, level):
        environment = dict(os.environ, FDL_CPU_MASK=level)
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment)

    def __call__(self, path, g, channels=3, dtype=U8, nhwc=True,
                 normalize=False):
        numbers = [*g["box"], *g["resize"], *g["window"], int(g["flip"]),
                   channels, dtype, int(nhwc), int(normalize)]
        line = " ".join(map(str, numbers)) + f" {path}\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        head = self.process.stdout.read(20)
        status, width, height, size = struct.unpack("<iiiQ", head)
        data = self.process.stdout.read(size)
        if status:
            return status, data.decode()
        a = np.frombuffer(data, np.uint8 if dtype == U8 else np.float32)
        if nhwc:
            return 0, a.reshape(height, width, channels)
        return 0, a.reshape(channels, height, width).transpose(1, 2, 0)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def reference(image, g, channels):
    """What Pillow makes of it, as an array [height, width, channels]."""
    x, y, w, h = g["box"]
    image = image.convert("RGB" if channels == 3 else "L")
    image = image.crop((x, y, x + w, y + h))
    image = image.resize(tuple(g["resize"]), Image.Resampling.BILINEAR)
    x, y, w, h = g["window"]
    image = image.crop((x, y, x + w, y + h))
    if g["flip"]:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(image).reshape(h, w, channels)


def as_floats(pixels, normalize):
    a = pixels.astype(np.float32) / np.float32(255)
    return (a - MEAN) / STD if normalize else a


def span(rng, n):
    """A random part of 0..n, at times all of it or one pixel."""
    kind = rng.random()
    if kind < 0.2:
        return 0, n
    size = 1 if kind < 0.3 else rng.randint(1, n)
    return rng.randint(0, n - size), size


def geometry(rng, width, height):
    x, w = span(rng, width)
    y, h = span(rng, height)
    resize = [rng.choice((w, 224, rng.randint(1, 300))),
              rng.choice((h, 224, rng.randint(1, 300)))]
    wx, ww = span(rng, resize[0])
    wy, wh = span(rng, resize[1])
    return {"box": (x, y, w, h), "resize": resize, "window": (wx, wy, ww, wh),
            "flip": rng.random() < 0.5}


def noise_image(rng, width, height, mode):
    seed = rng.getrandbits(32)
    noise = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin(xx / (5 + 3 * c) + yy / (7 - c))
              + noise.normal(0, 20, (height, width)) for c in range(4)]
    a = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    if mode == "L":
        return Image.fromarray(a[..., 0])
    return Image.fromarray(a[..., :4 if mode == "CMYK" else 3], mode)


def generated(rng, folder):
    """Files of every kind that Pillow can write."""
    sizes = [(1, 1), (2, 3), (7, 5), (17, 16), (33, 40), (64, 48), (161, 123),
             (500, 375)]
    for width, height in sizes:
        for subsampling in (0, 1, 2):
            for options in ({}, {"progressive": True}, {"optimize": True}):
                path = folder / f"{width}_{subsampling}_{len(options)}" \
                    f"{'p' if 'progressive' in options else ''}.jpg"
                noise_image(rng, width, height, "RGB").save(
                    path, quality=rng.choice((50, 75, 95)),
                    subsampling=subsampling, **options)
                yield path
        for mode in ("L", "CMYK"):
            path = folder / f"{width}_{mode}.jpg"
            noise_image(rng, width, height, mode).save(path, quality=90)
            yield path


class Checker:
    def __init__(self, render, rng):
        self.render, self.rng = render, rng
        self.compared, self.worst = 0, 0.0

    def one(self, path, image, g, channels, floats):
        want = reference(image, g, channels)
        nhwc = self.rng.random() < 0.5
        status, got = self.render(path, g, channels, U8, nhwc)
        if status or not np.array_equal(got, want):
            differs = got if status else np.argwhere(got != want)[:5]
            sys.exit(f"{path} {g} channels={channels} nhwc={nhwc}: {differs}")
        self.compared += 1
        if not floats:
            return
        normalize = channels == 3 and self.rng.random() < 0.7
        status, got = self.render(path, g, channels, F32, nhwc, normalize)
        error = np.abs(got - as_floats(want, normalize)).max()
        self.worst = max(self.worst, float(error))
        if error > 1e-6:
            sys.exit(f"{path} {g}: f32 is off by {error}")

    def file(self, path, draws):
        """Both accept it, with equal pixels, or both refuse it."""
        whole = {"box": (0, 0, 0, 0), "resize": (0, 0),
                 "window": (0, 0, 0, 0), "flip": False}
        status, got = self.render(path, whole)
        try:
            image = Image.open(path)
            image.load()
        except OSError as error:
            if status == 0:
                sys.exit(f"{path}: decoded, but Pillow says: {error}")
            return
        if status:
            sys.exit(f"{path}: Pillow decodes it, but here: {got}")
        want = np.asarray(image.convert("RGB"))
        if not np.array_equal(got, want):
            sys.exit(f"{path}: the whole image differs")
        for i in range(draws):
            g = geometry(self.rng, *image.size)
            self.one(path, image, g, 1 if i % 5 == 4 else 3, i % 3 == 0)


def check(program, level, data, seed):
    rng = random.Random(seed)
    render = Renderer(program, level)
    checker = Checker(render, rng)
    with tempfile.TemporaryDirectory() as folder:
        for path in generated(rng, pathlib.Path(folder)):
            checker.file(path, 6)
    real = sorted(data.glob("imagenet-sample/*/*")) if data else []
    odd = sorted(data.glob("reftest/*.jpg")) if data else []
    for path in odd:
        checker.file(path, 20)
    for path in real[::1 if level != "c" else 8]:
        checker.file(path, 4)
    if render.close() != 0:
        sys.exit("render did not end well")
    print(f"level {level}: {checker.compared} crops equal to Pillow's, f32 "
          f"within {checker.worst:.2g}; {len(real)} real and {len(odd)} odd "
          f"files seen")


def main():
    program = sys.argv[1]
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"seed {seed}")
    for level in ("c", "avx2", "avx512"):
        check(program, level, data, seed)


if __name__ == "__main__":
    main()
