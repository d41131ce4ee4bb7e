# SPDX-License-Identifier: Apache-2.0
"""Random programs of random steps, carried out by the engine and by Pillow and
torchvision: the same elements, bit for bit.

    recorded_parity.py RENDER_RECORDED [DATA] [SEED] [PROGRAMS]

RENDER_RECORDED is the helper built from render_recorded.c; DATA has
imagenet-sample/, and without it there are generated files alone. Every kernel
level of the machine is tried. Exit status 77: no torchvision here.
"""
import pathlib
import random
import sys
import tempfile

try:
    import numpy as np
    import PIL
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps
    import torch
    import torchvision.transforms.functional as F
    from torchvision.transforms import InterpolationMode as Mode
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    from torchvision.transforms.v2 import functional as v2
except ImportError:
    v2 = None

from recorded_engine import LEVELS, Engine

torch.set_num_threads(1)  # there are other processes
PILLOW = tuple(int(n) for n in PIL.__version__.split(".")[:2])
U8, F16, F32, BF16 = 1, 2, 3, 5
CONVERT, CROP, RESIZE, TRANSPOSE, PAD, AFFINE, PERSPECTIVE = range(1, 8)
BANDS, YCBCR = 30, 5  # as CONVERT calls the latter
BRIGHTNESS, CONTRAST, COLOR, SHARPNESS, HUE, GRAYSCALE = range(8, 14)
POSTERIZE, SOLARIZE, INVERT, AUTOCONTRAST, EQUALIZE = range(14, 19)
GAUSSIAN_BLUR, TENSOR_BLUR, POINT = range(19, 22)
TENSOR_RESIZE, TENSOR_BRIGHTNESS, TENSOR_CONTRAST, TENSOR_SATURATION = range(
    22, 26)
TENSOR_HUE, TENSOR_SHARPNESS, TENSOR_GRAYSCALE, TENSOR_AUTOCONTRAST = range(
    26, 30)
SCALE, NORMALIZE, LOOKUP, ERASE = 40, 41, 42, 60
CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
SIDE_MAX = 400
APART = 5e-5  # of all values behind TENSOR_BLUR, by one level


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
        image.resize(size, filter, box=tuple(box))


def transpose(rng, image, file):
    number = rng.randrange(7)
    return (TRANSPOSE, [number], b""), image.transpose(number)


def fill_of(rng, image):
    """A number for each channel, or none; and what Pillow takes."""
    n = len(image.getbands())
    if rng.random() < 0.3:
        return [], 0
    high = 1 if image.mode == "1" else 63 if image.mode == "P" else 255
    fill = [rng.randint(0, high) * (255 // high if image.mode == "1" else 1)
            for _ in range(n)]
    return fill, fill[0] if n == 1 else tuple(fill)


def pad(rng, image, file):
    sides = [rng.randint(-n // 4, n // 3 + 1) for n in image.size * 2]
    if any(image.size[a] + sides[a] <= 0 or image.size[a] + sides[a + 2] <= 0 or
           image.size[a] + sides[a] + sides[a + 2] <= 0 for a in (0, 1)):
        return None
    mode = rng.randrange(4) if image.mode in CHANNELS else 0
    name = ("constant", "edge", "reflect", "symmetric")[mode]
    fill, taken = fill_of(rng, image)
    if mode:
        fill, taken = [], 0
    return (PAD, [*sides, mode, *fill], b""), F.pad(image, sides, taken, name)


def new_size(rng, image):
    return tuple(rng.choice((n, rng.randint(1, min(2 * n, SIDE_MAX))))
                 for n in image.size)


def affine(rng, image, file):
    size, filter = new_size(rng, image), rng.choice((0, 2, 3))
    a = [1, 0, 0, 0, 1, 0]
    kind = rng.randrange(4)
    if kind:
        a[2], a[5] = (rng.randint(-n, n) for n in image.size)
    if kind > 1:
        a = [v + rng.gauss(0, 0.5) for v in a]
    if kind == 3:  # out of the 16 bits of Pillow's fixed point
        a[rng.randrange(6)] *= 5000
    fill, taken = fill_of(rng, image)
    return (AFFINE, [*size, filter, *a, *fill], b""), image.transform(
        size, Image.Transform.AFFINE, a, filter, fillcolor=taken)


def perspective(rng, image, file):
    size, filter = new_size(rng, image), rng.choice((0, 2, 3))
    a = [1 + rng.gauss(0, 0.2), rng.gauss(0, 0.2), rng.gauss(0, 9),
         rng.gauss(0, 0.2), 1 + rng.gauss(0, 0.2), rng.gauss(0, 9),
         rng.gauss(0, 0.001), rng.gauss(0, 0.001)]
    fill, taken = fill_of(rng, image)
    return (PERSPECTIVE, [*size, filter, *a, *fill], b""), image.transform(
        size, Image.Transform.PERSPECTIVE, a, filter, fillcolor=taken)


def enhanced(op, kind):
    def step(rng, image, file):
        factor = rng.choice((0, 1, rng.uniform(0, 2), rng.uniform(-3, 9)))
        return (op, [factor], b""), kind(image).enhance(factor)
    return step


def hue(rng, image, file):
    if "transparency" in file.info and "A" in image.mode:
        return None  # comes back with alpha, of which the file has a rule
    factor = rng.choice((0, 0.5, -0.5, rng.uniform(-0.5, 0.5)))
    return (HUE, [factor], b""), F.adjust_hue(image, factor)


def grayscale(rng, image, file):
    if PILLOW < (10, 4) and image.mode == "P":
        return None
    channels = rng.choice((1, 3))
    return (GRAYSCALE, [channels], b""), F.to_grayscale(image, channels)


def posterize(rng, image, file):
    bits = rng.randint(1, 8)
    return (POSTERIZE, [bits], b""), ImageOps.posterize(image, bits)


def solarize(rng, image, file):
    threshold = rng.choice((rng.randint(0, 256), rng.uniform(-9, 300)))
    return (SOLARIZE, [threshold], b""), ImageOps.solarize(image, threshold)


def plain(op, function):
    return lambda rng, image, file: ((op, [], b""), function(image))


def invert(rng, image, file):
    if image.mode == "1" and PILLOW < (10, 0):
        return None
    return (INVERT, [], b""), ImageOps.invert(image)


def gaussian_blur(rng, image, file):
    radii = [rng.choice((0, rng.uniform(0, 3), rng.uniform(0, 20)))
             for _ in "xy"]
    if PILLOW < (10, 3):  # takes one
        radii[1] = radii[0]
        return (GAUSSIAN_BLUR, radii, b""), \
            image.filter(ImageFilter.GaussianBlur(radii[0]))
    return (GAUSSIAN_BLUR, radii, b""), \
        image.filter(ImageFilter.GaussianBlur(tuple(radii)))


def point(rng, image, file):
    noise = np.random.default_rng(rng.getrandbits(32))
    tables = noise.integers(0, 256, (len(image.getbands()), 256), np.uint8)
    if image.mode == "1":
        tables = np.where(tables < 128, 0, 255).astype(np.uint8)
    return (POINT, [], tables.tobytes()), image.point(tables.ravel().tolist())


def ycbcr(rng, image, file):
    if "transparency" in file.info:
        return None
    return (CONVERT, [YCBCR], b""), image.convert("YCbCr")


def bands(rng, image, file):
    """Of any order and number, also twice."""
    if "transparency" in file.info:
        return None  # bands keep what it was of all
    mode = rng.choice(list(CHANNELS))
    chosen = [rng.randrange(len(image.getbands()))
              for _ in range(CHANNELS[mode])]
    taken = [image.getchannel(i) for i in chosen]
    return (BANDS, chosen, b""), Image.merge(mode, taken)


PLAIN, COLOUR = {"L", "RGB"}, set(CHANNELS)
ALL = COLOUR | {"1", "P"}
MOVED = ALL | {"YCbCr"}

# And the modes that it is for.
PIXEL_STEPS = [
    (convert, ALL), (crop, MOVED), (resize, MOVED), (resize, MOVED),
    (transpose, MOVED), (ycbcr, ALL), (bands, COLOUR | {"YCbCr"}),
    (pad, ALL), (affine, ALL), (perspective, ALL),
    (enhanced(BRIGHTNESS, ImageEnhance.Brightness), COLOUR),
    (enhanced(CONTRAST, ImageEnhance.Contrast), COLOUR),
    (enhanced(COLOR, ImageEnhance.Color), COLOUR),
    (enhanced(SHARPNESS, ImageEnhance.Sharpness), COLOUR),
    (hue, COLOUR), (grayscale, ALL), (posterize, PLAIN), (solarize, PLAIN),
    (invert, PLAIN | {"1"}),
    (plain(AUTOCONTRAST, ImageOps.autocontrast), PLAIN),
    (plain(EQUALIZE, ImageOps.equalize), PLAIN),
    (gaussian_blur, COLOUR), (point, COLOUR | {"1"})]


# ---- Tensors -----------------------------------------------------------------
# The same of tensors of bytes, by v2.

MODES = {0: Mode.NEAREST, 2: Mode.BILINEAR, 3: Mode.BICUBIC}
SUM_MAX = 65793  # pixels whose luma torch adds up without rounding


def tensor_resize(rng, tensor):
    height, width = (rng.choice((n, rng.randint(2, min(3 * n + 3, SIDE_MAX))))
                     for n in tensor.shape[1:])
    filter = rng.choice(list(MODES))
    return (TENSOR_RESIZE, [width, height, filter], b""), \
        v2.resize(tensor, [height, width], MODES[filter])


def tensor_adjusted(op, function, low, high):
    def step(rng, tensor):
        if op == TENSOR_CONTRAST and tensor[0].numel() > SUM_MAX:
            return None
        factor = rng.choice((0, rng.uniform(low, high)))
        return (op, [factor], b""), function(tensor, factor)
    return step


def tensor_grayscale(rng, tensor):
    channels = rng.choice((1, 3))
    return (TENSOR_GRAYSCALE, [channels], b""), \
        v2.rgb_to_grayscale(tensor, channels)


def tensor_steps():
    return [
        tensor_resize, tensor_resize, tensor_grayscale,
        tensor_adjusted(TENSOR_BRIGHTNESS, v2.adjust_brightness, 0, 3),
        tensor_adjusted(TENSOR_CONTRAST, v2.adjust_contrast, 0, 3),
        tensor_adjusted(TENSOR_SATURATION, v2.adjust_saturation, 0, 3),
        tensor_adjusted(TENSOR_HUE, v2.adjust_hue, -0.5, 0.5),
        tensor_adjusted(TENSOR_SHARPNESS, v2.adjust_sharpness, 0, 3),
        lambda rng, tensor: ((TENSOR_AUTOCONTRAST, [], b""),
                             v2.autocontrast(tensor))]


def of_tensors(rng, pixels):
    """A few steps, and what they make of pixels [height, width, channels]."""
    steps, tensor = [], torch.from_numpy(pixels.copy()).permute(2, 0, 1)
    for _ in range(rng.randint(1, 3)):
        # some versions of torch read images of one column wrongly
        done = rng.choice(tensor_steps())(rng, tensor.contiguous()) \
            if min(tensor.shape[1:]) > 1 else None
        if done:
            steps.append(done[0])
            tensor = done[1]
    return steps, tensor.permute(1, 2, 0).numpy()


# ---- Elements ----------------------------------------------------------------
def pixels_of(image):
    """An array [height, width, channels] of bytes; a bit is 0 or 255."""
    pixels = np.asarray(image)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * 255
    return pixels if pixels.ndim == 3 else pixels[..., None]


def to_floats(rng, pixels):
    """What ToTensor, or ToDtype of v2, and Normalize make of them, in
    float32."""
    channels = pixels.shape[2]
    floats = pixels.astype(np.float32)
    if rng.random() < 0.5:
        steps, floats = [(SCALE, [], b"")], floats / np.float32(255)
    else:
        steps, floats = [(SCALE, [1], b"")], floats * np.float32(1 / 255)
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
    kind = rng.choice((as_bytes, to_floats, looked_up))
    steps, out, dtype = kind(rng, pixels)
    while dtype and rng.random() < 0.3:
        step, out = erase(rng, out)
        steps.append(step)
    return steps, out, dtype


def erase(rng, out):
    """As F.erase, of elements [height, width, channels]."""
    height, width, channels = out.shape
    box = [rng.randint(0, width - 1), rng.randint(0, height - 1),
           rng.randint(1, width), rng.randint(1, height)]
    left, top, width, height = box
    tensor = torch.from_numpy(out.copy()).permute(2, 0, 1)
    if rng.random() < 0.5:  # as RandomErasing(value="random"): noise
        width, height = min(width, out.shape[1] - left), \
            min(height, out.shape[0] - top)
        noise = np.random.default_rng(rng.getrandbits(32))
        value = noise.normal(0, 99, (channels, height, width))
        value = np.abs(value).astype(out.dtype)
        erased = F.erase(tensor, top, left, height, width,
                         torch.from_numpy(value))
        step = ERASE, [left, top, width, height], value.tobytes()
        return step, erased.permute(1, 2, 0).numpy()
    value = [rng.randint(0, 255) if out.dtype == np.uint8 else rng.gauss(0, 2)
             for _ in range(channels)]
    erased = F.erase(tensor, top, left, height, width,
                     torch.tensor(value)[:, None, None])
    return (ERASE, box + value, b""), erased.permute(1, 2, 0).numpy()


# ---- Programs ----------------------------------------------------------------
def program(rng, file):
    """Steps, and what they make of the image by Pillow."""
    steps, image = [], file
    for _ in range(rng.choice((1, 2, 3, 5, 8))):
        step, modes = rng.choice(PIXEL_STEPS)
        done = step(rng, image, file) if image.mode in modes else None
        if done:
            steps.append(done[0])
            image = done[1]
    return steps, image


def shown(steps):
    names = {v: k for k, v in globals().items()
             if k.isupper() and isinstance(v, int)}
    return "; ".join(" ".join([names[op], *map(repr, values)])
                     for op, values, _ in steps)


def carried_out(engine, path, steps, want, dtype, nhwc):
    """What the engine makes, of the form and type of `want`."""
    height, width, channels = want.shape
    got = engine(path, steps, (channels, height, width), dtype, nhwc,
                 want.itemsize)
    if isinstance(got, str):
        sys.exit(f"{engine.level}: {path}: {shown(steps)}: {got}")
    got = np.frombuffer(got, want.dtype)
    if nhwc:
        return got.reshape(want.shape)
    return got.reshape(channels, height, width).transpose(1, 2, 0)


def bits_of(elements):
    return np.ascontiguousarray(elements).view(np.uint8)


def check(engines, rng, path, image):
    steps, made = program(rng, image)
    pixels = pixels_of(made)
    if v2 and made.mode in PLAIN and rng.random() < 0.3:
        more, pixels = of_tensors(rng, pixels)
        steps = steps + more
    last, want, dtype = elements(rng, pixels)
    steps = steps + last
    nhwc = rng.random() < 0.5
    for engine in engines:
        got = carried_out(engine, path, steps, want, dtype, nhwc)
        if not np.array_equal(bits_of(got), bits_of(want)):
            at = np.argwhere(got != want)
            sys.exit(f"{engine.level}: {path}: {shown(steps)} nhwc={nhwc}: "
                     f"{len(at)} of {want.size} differ, the first at {at[0]}: "
                     f"{got[tuple(at[0])]} for {want[tuple(at[0])]}")


def check_tensor_blur(engines, rng, path, image):
    """Terms are added in an order that is torch's library's: some values are a
    level apart."""
    sides = [rng.choice([n for n in (1, 3, 5, 9, 23) if n <= limit])
             for limit in image.size]
    sigma = [rng.uniform(0.1, 4) for _ in sides]
    want = pixels_of(F.gaussian_blur(image, sides, sigma))
    steps = [(TENSOR_BLUR, sides + sigma, b"")]
    apart = 0
    for engine in engines:
        got = carried_out(engine, path, steps, want, U8, True)
        far = np.abs(got.astype(int) - want)
        if far.max() > 1:
            sys.exit(f"{engine.level}: {path}: {shown(steps)}: {far.max()}")
        apart = max(apart, int(far.sum()))
    return apart, want.size


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
    engines = [Engine(helper, level, PILLOW >= (13, 0)) for level in LEVELS]
    with tempfile.TemporaryDirectory() as folder:
        paths = list(files(rng, pathlib.Path(folder), data))
        apart = values = 0
        for i in range(count):
            path = paths[i % len(paths)]
            with Image.open(path) as image:
                check(engines, rng, path, image)
            with Image.open(path) as image:
                if i % 4 == 0 and image.mode in COLOUR:
                    more = check_tensor_blur(engines, rng, path, image)
                    apart, values = apart + more[0], values + more[1]
    if any([engine.close() for engine in engines]):
        sys.exit("render_recorded did not end well")
    if apart > APART * values:
        sys.exit(f"TENSOR_BLUR: {apart} of {values} values are a level apart")
    print(f"{count} programs on {len(paths)} files, levels "
          f"{', '.join(LEVELS)}: all equal")


if __name__ == "__main__":
    main()
