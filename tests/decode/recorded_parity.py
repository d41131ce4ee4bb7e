# SPDX-License-Identifier: Apache-2.0
"""Random programs of random steps, carried out by the engine and by Pillow and
torchvision: the same elements, bit for bit.

    recorded_parity.py RENDER_RECORDED [DATA] [SEED] [PROGRAMS]

RENDER_RECORDED is the helper built from render_recorded.c; DATA has
imagenet-sample/, and without it there are generated files alone. Every kernel
level of the machine is tried. Exit status 77: no Pillow here.
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
    import PIL
    from PIL import Image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PILLOW = tuple(int(n) for n in PIL.__version__.split(".")[:2])
U8, F16, F32, BF16 = 1, 2, 3, 5
LEVELS = ("c", "avx2", "avx512")
CONVERT, CROP, RESIZE, TRANSPOSE = 1, 2, 3, 4
SCALE, NORMALIZE, LOOKUP = 40, 41, 42
CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
SIDE_MAX = 400


class Engine:
    """The helper with the kernels of one level."""

    def __init__(self, program, level):
        environment = dict(os.environ, FDL_CPU_MASK=level)
        self.level = level
        self.process = subprocess.Popen(
            [program, str(int(PILLOW >= (13, 0)))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __call__(self, path, steps, shape, dtype, nhwc, element):
        """The bytes that come out, or the error line as text. shape: channels,
        height, width."""
        size = int(np.prod(shape)) * element
        name = str(path).encode()
        out = self.process.stdin
        out.write(struct.pack("<IIiiiiiIQ", len(name), len(steps), dtype,
                              int(nhwc), *shape, element, size) + name)
        for op, values, data in steps:
            out.write(struct.pack("<IIQ16d", op, len(values), len(data),
                                  *values, *[0] * (16 - len(values))) + data)
        out.flush()
        head = self.process.stdout.read(12)
        if len(head) < 12:
            sys.exit(f"render_recorded ended with {self.process.wait()}")
        status, size = struct.unpack("<iQ", head)
        data = self.process.stdout.read(size)
        return data.decode() if status else data

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


# ---- Steps -------------------------------------------------------------------
# Each draws its values for an image, and gives the step and what Pillow makes;
# None: nothing that is compared.

def convert(rng, image, file):
    mode = rng.choice(list(CHANNELS))
    keyed = "transparency" in file.info and image.mode != "P"
    if keyed and "A" in mode or PILLOW < (10, 4) and image.mode == "P":
        return None  # pillow_parity.py knows its rules
    return (CONVERT, [CHANNELS[mode]], b""), image.convert(mode)


def span(rng, n, over):
    """Of 0 to n, or a little over it."""
    low, high = (-n // 3 - 1, n + n // 3 + 1) if over else (0, n)
    first, end = sorted(rng.sample(range(low, high + 1), 2))
    return first, end


def crop(rng, image, file):
    over = rng.random() < 0.3
    left, right = span(rng, image.width, over)
    top, bottom = span(rng, image.height, over)
    box = [left, top, right, bottom]
    return (CROP, box, b""), image.crop(box)


def resize(rng, image, file):
    size = [rng.choice((n, rng.randint(1, min(3 * n + 3, SIDE_MAX))))
            for n in image.size]
    filter = rng.randrange(6)
    if rng.random() < 0.7:
        return (RESIZE, [*size, filter], b""), image.resize(size, filter)
    box = [0, 0, 0, 0]
    for axis, n in enumerate(image.size):
        draw = rng.choice((lambda: rng.uniform(0, n),
                           lambda: rng.randint(0, n)))
        first, end = sorted((draw(), draw()))
        whole = end - first < 0.01 or rng.random() < 0.2
        box[axis], box[axis + 2] = (0, n) if whole else (first, end)
    return (RESIZE, [*size, filter, *box], b""), \
        image.resize(size, filter, box=box)


def transpose(rng, image, file):
    number = rng.randrange(7)
    return (TRANSPOSE, [number], b""), image.transpose(number)


PIXEL_STEPS = [convert, crop, resize, transpose]


# ---- Elements ----------------------------------------------------------------
def pixels_of(image):
    """An array [height, width, channels] of bytes; a bit is 0 or 255."""
    pixels = np.asarray(image)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * 255
    return pixels if pixels.ndim == 3 else pixels[..., None]


def to_floats(rng, pixels):
    """What ToTensor and Normalize make of them, in float32."""
    channels = pixels.shape[2]
    steps, floats = [(SCALE, [], b"")], pixels.astype(np.float32) / \
        np.float32(255)
    if rng.random() < 0.6:
        mean = [rng.uniform(0, 1) for _ in range(channels)]
        std = [rng.choice((0.5, rng.uniform(0.01, 2))) for _ in mean]
        steps.append((NORMALIZE, mean + std, b""))
        floats = (floats - np.array(mean, np.float32)) / \
            np.array(std, np.float32)
    return steps, floats, F32


def looked_up(rng, pixels):
    channels = pixels.shape[2]
    kind = rng.choice((np.uint8, np.uint16, np.float32, np.int64))
    noise = np.random.default_rng(rng.getrandbits(32))
    tables = noise.integers(0, 250, (channels, 256)).astype(kind)
    out = np.stack([tables[c][pixels[..., c]] for c in range(channels)], -1)
    return [(LOOKUP, [], tables.tobytes())], out, 0


def as_bytes(rng, pixels):
    return [], pixels, U8


def elements(rng, pixels):
    return rng.choice((as_bytes, to_floats, looked_up))(rng, pixels)


# ---- Programs ----------------------------------------------------------------
def program(rng, file):
    """Steps, and what they make of the image by Pillow."""
    steps, image = [], file
    for _ in range(rng.choice((1, 2, 3, 5, 8))):
        done = rng.choice(PIXEL_STEPS)(rng, image, file)
        if done:
            steps.append(done[0])
            image = done[1]
    return steps, image


def shown(steps):
    names = {v: k for k, v in globals().items()
             if k.isupper() and isinstance(v, int)}
    return "; ".join(" ".join([names[op], *map(repr, values)])
                     for op, values, _ in steps)


def check(engines, rng, path, image):
    steps, made = program(rng, image)
    last, want, dtype = elements(rng, pixels_of(made))
    steps = steps + last
    nhwc = rng.random() < 0.5
    height, width, channels = want.shape
    if not nhwc:
        want = want.transpose(2, 0, 1)
    for engine in engines:
        got = engine(path, steps, (channels, height, width), dtype, nhwc,
                     want.itemsize)
        if isinstance(got, str):
            sys.exit(f"{engine.level}: {path}: {shown(steps)}: {got}")
        got = np.frombuffer(got, want.dtype).reshape(want.shape)
        same = got.view(np.uint8) == np.ascontiguousarray(want).view(np.uint8)
        if not same.all():
            at = np.argwhere(got != want)
            sys.exit(f"{engine.level}: {path}: {shown(steps)} nhwc={nhwc}: "
                     f"{len(at)} of {want.size} differ, the first at {at[0]}: "
                     f"{got[tuple(at[0])]} for {want[tuple(at[0])]}")


# ---- Files -------------------------------------------------------------------
def noise_image(rng, width, height, mode):
    noise = np.random.default_rng(rng.getrandbits(32))
    channels = {"1": 1, "P": 1, "CMYK": 4}.get(mode) or CHANNELS[mode]
    xx, yy = np.arange(width), np.arange(height)[:, None]
    planes = [128 + 60 * np.sin(xx / (5 + 3 * c)) + 60 * np.sin(yy / (7 - c))
              + 20 * noise.standard_normal((height, width), np.float32)
              for c in range(channels)]
    pixels = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    if mode == "P":
        image = Image.fromarray(pixels[..., 0] // 4, "L").copy()
        image.putpalette(noise.integers(0, 256, 768, np.uint8).tobytes())
        return image
    if mode == "1":
        return Image.fromarray(pixels[..., 0]).convert("1")
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode)


def generated(rng, folder):
    """Files of every format and mode that the decoder reads."""
    kinds = [("jpg", mode, {"quality": 90, "progressive": progressive})
             for mode in ("L", "RGB") for progressive in (False, True)]
    kinds += [("png", mode, {})
              for mode in ("1", "L", "LA", "P", "RGB", "RGBA")]
    kinds += [("png", "P", {"transparency": bytes(range(64))}),
              ("png", "L", {"transparency": 99}),
              ("webp", "RGB", {"lossless": True}),
              ("webp", "RGBA", {"lossless": True})]
    for number, (ending, mode, options) in enumerate(kinds):
        for width, height in ((1, 1), (7, 5), (64, 48), (161, 123)):
            path = folder / f"{number}_{mode}_{width}.{ending}"
            noise_image(rng, width, height, mode).save(path, **options)
            yield path


def files(rng, folder, data):
    yield from generated(rng, folder)
    real = sorted((data / "imagenet-sample").glob("*/*.*")) if data else []
    yield from rng.sample(real, min(20, len(real)))


def main():
    helper = sys.argv[1]
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else \
        random.SystemRandom().getrandbits(32)
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 600
    print(f"Pillow {PIL.__version__}, seed {seed}")
    rng = random.Random(seed)
    engines = [Engine(helper, level) for level in LEVELS]
    with tempfile.TemporaryDirectory() as folder:
        paths = list(files(rng, pathlib.Path(folder), data))
        for i in range(count):
            path = paths[i % len(paths)]
            with Image.open(path) as image:
                check(engines, rng, path, image)
    if any([engine.close() for engine in engines]):
        sys.exit("render_recorded did not end well")
    print(f"{count} programs on {len(paths)} files, levels "
          f"{', '.join(LEVELS)}: all equal")


if __name__ == "__main__":
    main()
