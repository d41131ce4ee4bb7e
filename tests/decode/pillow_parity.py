# SPDX-License-Identifier: Apache-2.0
"""Pixels equal Pillow's: u8 bit for bit, f32 within 1e-6 of ToTensor and
Normalize in float32 arithmetic, f16 and bf16 equal to that f32 rounded. With
quality=fast they are those of Pillow's draft(), resized from the same box.

    pillow_parity.py RENDER [DATA] [SEED]

RENDER is the helper built from render.c; DATA has imagenet-sample/ and
reftest/, and what is not there is left out. Every kernel level of the machine
is tried. Exit status 77: no Pillow here.
"""
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import PIL
    from PIL import Image, features
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

U8, F16, F32, BF16 = 1, 2, 3, 5
ELEMENT = {U8: np.uint8, F16: np.float16, F32: np.float32, BF16: np.uint16}
FILTERS = [Image.Resampling[name] for name in
           ("BILINEAR", "NEAREST", "BOX", "HAMMING", "BICUBIC", "LANCZOS")]
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


# Level -> the first file of a folder of many, and every how many are seen: a
# part of them each, as they differ less than what is generated.
SOME_OF_THE_REAL = {"c": (0, 16), "avx2": (1, 4), "avx512": (3, 4)}

LEVELS = tuple(SOME_OF_THE_REAL)

# Where Pillow's library is not the one that this was built with, pixels made up
# for missing scans differ (docs/pixels.md).
SAME_JPEG = (features.version("libjpeg_turbo") or "").startswith("2.")

PILLOW = tuple(int(n) for n in PIL.__version__.split(".")[:2])

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}

# A request for all of an image, without resampling.
WHOLE = {"box": (0, 0, 0, 0), "resize": (0, 0), "window": (0, 0, 0, 0),
         "flips": 0, "filter": 0}


def same_processor(program):
    """Whether Pillow runs on the program's, or that is emulated: what becomes
    of coefficients out of range depends on it (docs/pixels.md)."""
    machines = []
    for path in (program, sys.executable):
        with open(path, "rb") as file:
            machines.append(file.read(20)[18:])  # e_machine of ELF
    return machines[0] == machines[1]


class Renderer:
    def __init__(self, program, level, arguments=()):
        environment = dict(os.environ, FDL_CPU_MASK=level)
        self.process = subprocess.Popen(
            [program, str(int(PILLOW >= (13, 0))), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __call__(self, path, g, channels=3, dtype=U8, nhwc=True,
                 normalize=False):
        numbers = [*g["box"], *g["resize"], *g["window"], g["flips"],
                   g["filter"], channels, dtype, int(nhwc), int(normalize)]
        line = " ".join(map(str, numbers)) + f" {path}\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        head = self.process.stdout.read(20)
        if len(head) < 20:
            sys.exit(f"render ended with {self.process.wait()} at: {line}")
        status, width, height, size = struct.unpack("<iiiQ", head)
        data = self.process.stdout.read(size)
        if status:
            return status, data.decode()
        a = np.frombuffer(data, ELEMENT[dtype])
        if nhwc:
            return 0, a.reshape(height, width, channels)
        return 0, a.reshape(channels, height, width).transpose(1, 2, 0)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def converted(image, channels):
    """By the rules of a new Pillow, also with an older one: palettes are filled
    up with black, a transparent colour of RGB counts for LA, and in files of
    one bit it is black or white."""
    image.load()
    if image.mode == "1" and image.info.get("transparency"):
        image = image.copy()
        image.info["transparency"] = 255
    if PILLOW < (10, 4) and image.mode == "P":
        image = image.copy()
        image.putpalette(image.palette.palette.ljust(768, b"\0"))
    if PILLOW < (10, 4) and image.mode == "RGB" and channels == 2:
        image = image.convert("RGBA")
    return image.convert(MODES[channels])


def reference(image, g, channels):
    """What Pillow makes of it, as an array [height, width, channels]."""
    x, y, w, h = g["box"]
    image = converted(image, channels)
    image = flipped(image.crop((x, y, x + w, y + h)), g["flips"] >> 2)
    image = image.resize(tuple(g["resize"]), FILTERS[g["filter"]])
    return finished(image, g)


def flipped(image, flips):
    if flips & 1:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if flips & 2:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return image


def finished(image, g):
    x, y, w, h = g["window"]
    return pixels_of(flipped(image.crop((x, y, x + w, y + h)), g["flips"]))


def pixels_of(image):
    """An array [height, width, channels]."""
    pixels = np.asarray(image)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def shift_of(g):
    """How often fast halves an image: the box stays as large as the result."""
    if FILTERS[g["filter"]] == Image.Resampling.NEAREST:
        return 0
    (_, _, w, h), (width, height) = g["box"], g["resize"]
    return max(s for s in range(4)
               if s == 0 or (w >> s >= width and h >> s >= height))


def stored_box(box, orientation, width, height):
    """Where a box of the upright image is in a stored one of that size."""
    x, y, w, h = box
    if orientation >= 5:
        x, y, w, h = y, x, h, w
    if orientation in (2, 3, 7, 8):
        x = width - x - w
    if orientation in (3, 4, 6, 7):
        y = height - y - h
    return x, y, w, h


TURNS = [None] + [Image.Transpose[name] for name in (
    "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE",
    "ROTATE_270", "TRANSVERSE", "ROTATE_90")]


def fast_reference(path, g, channels, orientation=1):
    """The same from the smaller image: only the pixels that the box touches,
    and of those at its edges only the part inside."""
    image, shift = Image.open(path), shift_of(g)
    box = stored_box(g["box"], orientation, *image.size)
    image.draft(None, [max(n >> shift, 1) for n in image.size])
    image = image.convert(MODES[channels])
    x, y, w, h = (n / (1 << shift) for n in box)
    left, top = math.floor(x), math.floor(y)
    image = image.crop((left, top, math.ceil(x + w), math.ceil(y + h)))
    part = stored_part = (x - left, y - top, w, h)
    if orientation > 1:
        # the way back from stored to upright is that of the inverse turn
        inverse = {6: 8, 8: 6}.get(orientation, orientation)
        part = stored_box(stored_part, inverse,
                          *image.size[::-1 if orientation >= 5 else 1])
        image = image.transpose(TURNS[orientation - 1])
    x, y, w, h = part
    if g["flips"] & 4:
        x = image.width - x - w
    if g["flips"] & 8:
        y = image.height - y - h
    image = flipped(image, g["flips"] >> 2)
    image = image.resize(tuple(g["resize"]), FILTERS[g["filter"]],
                         box=(x, y, x + w, y + h))
    return finished(image, g)


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


def geometry(rng, width, height, chosen=None):
    x, w = span(rng, width)
    y, h = span(rng, height)
    resize = [rng.choice((w, 224, rng.randint(1, 300))),
              rng.choice((h, 224, rng.randint(1, 300)))]
    wx, ww = span(rng, resize[0])
    wy, wh = span(rng, resize[1])
    return {"box": (x, y, w, h), "resize": resize, "window": (wx, wy, ww, wh),
            "flips": rng.choice((rng.randrange(4), rng.randrange(16))),
            "filter": rng.choice((0, rng.randrange(len(FILTERS))))
            if chosen is None else chosen}


def noise_image(rng, width, height, mode):
    seed = rng.getrandbits(32)
    noise = np.random.default_rng(seed)
    xx, yy = np.arange(width), np.arange(height)[:, None]
    planes = [128 + 45 * np.sin(xx / (5 + 3 * c)) + 45 * np.sin(yy / (7 - c))
              + 20 * noise.standard_normal((height, width), np.float32)
              for c in range(len(mode))]
    a = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    return Image.fromarray(a[..., 0] if mode == "L" else a, mode)


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


class Level:
    """The program with the kernels of one level, asked in three ways."""

    def __init__(self, program, name):
        self.name = name
        self.exact = Renderer(program, name)
        self.fast = Renderer(program, name, ["0", "0", "1"])
        self.upright = Renderer(program, name, ["1", "0", "1"])

    def close(self):
        renderers = (self.exact, self.fast, self.upright)
        if any([render.close() for render in renderers]):
            sys.exit(f"level {self.name}: render did not end well")


class Checker:
    """Pillow is asked once for what all levels must make."""

    def __init__(self, levels, rng):
        self.levels = levels
        self.rng = rng
        self.compared, self.shrunk, self.worst = 0, [0] * 4, 0.0

    def channels(self):
        return self.rng.choice((1, 2, 3, 3, 3, 4))

    def one(self, path, image, g, channels, floats):
        want = reference(image, g, channels)
        nhwc = self.rng.random() < 0.5
        for level in self.levels:
            status, got = level.exact(path, g, channels, U8, nhwc)
            if status or not np.array_equal(got, want):
                differs = got if status else np.argwhere(got != want)[:5]
                sys.exit(f"level {level.name}: {path} {g} channels={channels} "
                         f"nhwc={nhwc}: {differs}")
            self.compared += 1
        self.smaller(path, g, channels, want)
        if floats:
            self.floats(path, g, channels, nhwc, want)

    def floats(self, path, g, channels, nhwc, pixels):
        normalize = channels == 3 and self.rng.random() < 0.7
        want = as_floats(pixels, normalize)
        for level in self.levels:
            status, got = level.exact(path, g, channels, F32, nhwc, normalize)
            error = np.abs(got - want).max()
            self.worst = max(self.worst, float(error))
            if error > 1e-6:
                sys.exit(f"level {level.name}: {path} {g}: f32 is off by "
                         f"{error}")
            self.halves(level, path, g, channels, normalize, got)

    def smaller(self, path, g, channels, exact, orientation=1):
        shift = shift_of(g)
        want = exact
        if shift or exact is None:
            want = fast_reference(path, g, channels, orientation)
        for level in self.levels:
            render = level.fast if orientation == 1 else level.upright
            status, got = render(path, g, channels)
            if status or not np.array_equal(got, want):
                differs = got if status else np.argwhere(got != want)[:5]
                sys.exit(f"level {level.name}: {path} {g} at "
                         f"1/{1 << shift}: {differs}")
            self.shrunk[shift] += 1

    def halves(self, level, path, g, channels, normalize, floats):
        """The 16-bit types are the floats, rounded: ties to even."""
        bits = floats.view(np.uint32)
        upper = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
        for dtype, want in ((F16, floats.astype(np.float16)),
                            (BF16, upper.astype(np.uint16))):
            for nhwc in (False, True):
                status, got = level.exact(path, g, channels, dtype, nhwc,
                                          normalize)
                if status or not np.array_equal(got.view(np.uint16),
                                                want.view(np.uint16)):
                    sys.exit(f"level {level.name}: {path} {g} dtype={dtype} "
                             f"nhwc={nhwc}: not the rounded f32")
        self.compared += 4

    def filters(self, path, draws):
        """Each filter with random parameters, on what shows clipping: black
        and white noise, where negative weights reach below 0 and above 255."""
        for chosen in range(len(FILTERS)):
            for i in range(draws):
                width, height = (self.rng.randint(1, 300) for _ in "wh")
                noise = np.random.default_rng(self.rng.getrandbits(32))
                pixels = noise.integers(0, 2, (height, width, 3), np.uint8)
                Image.fromarray(pixels * 255).save(path, quality=100,
                                                   subsampling=0)
                image = Image.open(path)
                self.one(path, image, geometry(self.rng, width, height, chosen),
                         self.channels(), False)

    def mirrored(self, path, draws):
        """A flip in front of the resampling, where filters meet ties: to and
        from sizes with common factors, and small ones."""
        sides = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128)
        for i in range(draws):
            width, height = (self.rng.choice(sides) for _ in "wh")
            image = noise_image(self.rng, width, height, "RGB")
            image.save(path, quality=100, subsampling=0)
            image = Image.open(path)
            resize = [self.rng.choice(sides) for _ in "wh"]
            g = {"box": (0, 0, width, height), "resize": resize,
                 "window": (0, 0, *resize), "flips": self.rng.randint(1, 15),
                 "filter": self.rng.randrange(len(FILTERS))}
            if i % 2:
                g["window"] = (0, 0, (resize[0] + 1) // 2, (resize[1] + 1) // 2)
            self.one(path, image, g, self.channels(), False)

    def shrinks(self, path, draws):
        """Fast on images of every kind and orientation, at every size."""
        for i in range(draws):
            width, height = (self.rng.randint(100, 700) for _ in "wh")
            orientation = self.rng.randint(1, 8)
            mode = ("RGB", "RGB", "RGB", "L", "CMYK")[i % 5]
            image = noise_image(self.rng, width, height, mode)
            exif = image.getexif()
            exif[0x112] = orientation
            image.save(path, quality=85, exif=exif, progressive=i % 4 == 0,
                       subsampling=i % 3)
            if orientation >= 5:
                width, height = height, width
            g = geometry(self.rng, width, height, self.rng.choice((0, 2, 4, 5)))
            g["resize"] = [self.rng.randint(1, 60), self.rng.randint(1, 60)]
            g["window"] = [0, 0, *g["resize"]]
            channels = self.channels()
            self.smaller(path, g, channels, None, orientation)

    def file(self, path, draws):
        """Both accept it, with equal pixels, or both refuse it."""
        answers = [level.exact(path, WHOLE) for level in self.levels]
        try:
            image = Image.open(path)
            image.load()
        except OSError as error:
            if any(status == 0 for status, _ in answers):
                sys.exit(f"{path}: decoded, but Pillow says: {error}")
            return
        want = np.asarray(image.convert("RGB"))
        for level, (status, got) in zip(self.levels, answers):
            if status:
                sys.exit(f"{path}: Pillow decodes it, but here: {got}")
            if not np.array_equal(got, want):
                sys.exit(f"level {level.name}: {path}: the whole image differs")
        for i in range(draws):
            g = geometry(self.rng, *image.size)
            self.one(path, image, g, self.channels(), i % 3 == 0)


def check(levels, data, seed):
    rng = random.Random(seed)
    checker = Checker(levels, rng)
    with tempfile.TemporaryDirectory() as folder:
        for path in generated(rng, pathlib.Path(folder)):
            checker.file(path, 6)
        checker.shrinks(pathlib.Path(folder) / "large.jpg", 200)
        checker.filters(pathlib.Path(folder) / "noise.jpg", 200)
        checker.mirrored(pathlib.Path(folder) / "mirrored.jpg", 2000)
    odd = sorted(data.glob("reftest/*.jpg")) if data else []
    for path in odd:
        checker.file(path, 20)
    print(f"all levels, {len(odd)} odd files among them: {told(checker)}")


def check_real(level, data, seed):
    checker = Checker([level], random.Random(seed))
    first, step = SOME_OF_THE_REAL[level.name]
    files = sorted(data.glob("imagenet-sample/*/*"))[first::step]
    for path in files:
        checker.file(path, 4)
    print(f"level {level.name}, {len(files)} real files: {told(checker)}")


def told(checker):
    return (f"{checker.compared} crops equal to Pillow's, f32 within "
            f"{checker.worst:.2g}; fast, at 1/1 to 1/8: {checker.shrunk}")


def arguments():
    """The program, where DATA is or None, and the seed, which is printed."""
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"seed {seed}")
    return sys.argv[1], data, seed


def main():
    program, data, seed = arguments()
    levels = [Level(program, name) for name in LEVELS]
    check(levels, data, seed)
    for level in levels:
        if data:
            check_real(level, data, seed)
        level.close()


if __name__ == "__main__":
    main()
