# SPDX-License-Identifier: Apache-2.0
"""Steps FEEDLINE_STEP_CV_* with drawn values, carried out by the engine and by
OpenCV: the same bytes.

    opencv_parity.py RENDER_RECORDED [DATA] [SEED] [DRAWS] [ROW]

RENDER_RECORDED is the helper built from render_recorded.c; DATA has
imagenet-sample/. DRAWS: of each row, on noise of odd sizes and on photos in
turn, at every kernel level of the machine. Exit status 77: OpenCV is not here,
or is of a version that was never compared.
"""
import pathlib
import random
import sys
import tempfile

try:
    import cv2
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from recorded_engine import LEVELS, Engine

TRIED = ("4.10.0", "5.0.0")
if cv2.__version__ not in TRIED:
    print(f"skipped: OpenCV {cv2.__version__}; compared were "
          f"{', '.join(TRIED)}")
    sys.exit(77)

cv2.setNumThreads(1)  # there are other processes
U8, F32 = 1, 3
CONVERT, CROP, LOOKUP = 1, 2, 42
FLOAT_COLOUR, FLOAT_VALUES, FLOAT_CHANNELS = 61, 62, 63
ADD, MULTIPLY, CLIP, ADD_ABOVE, ADD_BELOW = range(5)
CV_RESIZE, CV_COLOUR, CV_GAUSSIAN_BLUR, CV_BOX_BLUR, CV_MEDIAN_BLUR, \
    CV_WARP_AFFINE, CV_EQUALIZE, CV_CLAHE, CV_FILTER2D, \
    CV_WARP_PERSPECTIVE, CV_REMAP, CV_SEP_FILTER2D, CV_ADD, CV_ADD_GRAY, \
    CV_CONTRAST, CV_RECOMPRESS = range(70, 86)
VERSION = int(cv2.__version__[0])
PHOTO = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
NOISE_SIDE, SIDE_MAX = 70, 400
FILTERS = {"nearest": cv2.INTER_NEAREST, "linear": cv2.INTER_LINEAR,
           "area": cv2.INTER_AREA, "lanczos4": cv2.INTER_LANCZOS4}


# ---- Rows --------------------------------------------------------------------
# Each draws its values for an image [height, width, channels], whose colours
# are red, green, blue, and gives the step and what OpenCV makes; or None: it
# is not for this image.

def new_side(rng, n):
    """As it is, whole parts of it, less, more."""
    return rng.choice((n, max(n // rng.randint(2, 5), 1), rng.randint(1, n),
                       rng.randint(1, min(3 * n + 3, SIDE_MAX))))


def resize(name):
    def row(rng, image):
        filter = FILTERS[name]
        if rng.random() < 0.3:
            fx, fy = (rng.choice((0.5, 0.25, 2, rng.uniform(0.3, 2.5)))
                      for _ in range(2))
            if min(image.shape[1] * fx, image.shape[0] * fy) > 0.6:
                want = cv2.resize(image, None, fx=fx, fy=fy,
                                  interpolation=filter)
                size = [want.shape[1], want.shape[0]]
                return (CV_RESIZE, [*size, filter, fx, fy], b""), want
        size = [new_side(rng, n) for n in image.shape[1::-1]]
        return (CV_RESIZE, [*size, filter], b""), \
            cv2.resize(image, size, interpolation=filter)
    return row


def colour(code):
    def row(rng, image):
        if image.shape[2] != 3:
            return None
        return (CV_COLOUR, [code], b""), cv2.cvtColor(image, code)
    return row


def odd(rng, high):
    return rng.choice((3, 5, 7, rng.randrange(1, high, 2)))


def any_border(rng, values, wraps=False):
    """Values with a border, or as it is usual; and OpenCV's argument."""
    border = rng.choice((None, 0, 1, 2, 4) + (3,) * wraps)
    if border is None:
        return values, {}
    return values + [border], {"borderType": border}


def gaussian_blur(rng, image):
    side = [rng.choice((0, odd(rng, 60))) for _ in range(2)]
    sigma = [rng.choice((0, rng.uniform(0.1, 9))) for _ in range(2)]
    if sigma[0] == 0 and 0 in side:
        return None
    if sigma[0] == 0:
        sigma[1] = 0
    values, border = any_border(rng, side + sigma, True)
    return (CV_GAUSSIAN_BLUR, values, b""), \
        cv2.GaussianBlur(image, side, sigma[0], sigmaY=sigma[1], **border)


def box_blur(rng, image):
    side = [odd(rng, 100), odd(rng, 100)]
    if rng.random() < 0.5:
        side = rng.choice(((2, 2), (4, 4), (16, 16), (rng.randint(1, 16),
                                                      rng.randint(1, 16))))
    values, border = any_border(rng, list(side))
    return (CV_BOX_BLUR, values, b""), cv2.blur(image, side, **border)


def median_blur(rng, image):
    side = odd(rng, 40)
    return (CV_MEDIAN_BLUR, [side], b""), cv2.medianBlur(image, side)


def matrix(rng, image):
    """A rotation, with a scale and often a shear, somewhere near."""
    height, width = image.shape[:2]
    if rng.random() < 0.1:
        return np.array([[1, 0, rng.randint(-9, 9)],
                         [0, 1, rng.randint(-9, 9)]], np.float64)
    m = cv2.getRotationMatrix2D((width / 2, height / 2), rng.uniform(0, 360),
                                rng.uniform(0.3, 3))
    if rng.random() < 0.5:
        m[:, :2] += np.array([[rng.gauss(0, 0.3) for _ in range(2)]] * 2)
    m[:, 2] += [rng.gauss(0, width / 4), rng.gauss(0, height / 4)]
    return m


def warp_values(rng, image, filter, inverse):
    """What all warps share, and as OpenCV takes it."""
    size = [new_side(rng, n) for n in image.shape[1::-1]]
    flags = filter + (rng.choice((0, cv2.WARP_INVERSE_MAP)) if inverse else 0)
    border = rng.randrange(5)
    fill = [rng.randint(0, 255) for _ in range(image.shape[2])]
    return [*size, flags, border, VERSION], fill, size, \
        dict(borderMode=border, borderValue=fill)


def warp_affine(filter):
    def row(rng, image):
        values, fill, size, named = warp_values(rng, image, filter, True)
        m = matrix(rng, image)
        want = cv2.warpAffine(image, m, size, flags=values[2], **named)
        return (CV_WARP_AFFINE, [*values, *m.flat, *fill], b""), want
    return row


def warp_perspective(filter):
    def row(rng, image):
        values, fill, size, named = warp_values(rng, image, filter, True)
        last = [rng.gauss(0, 0.1 / n) for n in image.shape[1::-1]]
        m = np.vstack([matrix(rng, image), [*last, rng.choice((1, 1.5))]])
        want = cv2.warpPerspective(image, m, size, flags=values[2], **named)
        return (CV_WARP_PERSPECTIVE, values + fill, m.tobytes()), want
    return row


def remap(filter):
    def row(rng, image):
        values, fill, size, named = warp_values(rng, image, filter, False)
        draw = np.random.default_rng(rng.getrandbits(32))
        away = draw.normal(0, rng.uniform(0, 9), (2, *size[::-1]))
        away[0] += np.linspace(0, image.shape[1], size[0])
        away[1] += np.linspace(0, image.shape[0], size[1])[:, None]
        maps = away.astype(np.float32)
        want = cv2.remap(image, maps[0], maps[1], filter, **named)
        return (CV_REMAP, values + fill, maps.tobytes()), want
    return row


def one_channel(rng, image, done):
    channel = rng.randrange(image.shape[2])
    out = image.copy()
    out[..., channel] = done(np.ascontiguousarray(image[..., channel]))
    return channel, out


def equalize(rng, image):
    channel, want = one_channel(rng, image, cv2.equalizeHist)
    return (CV_EQUALIZE, [channel], b""), want


def clahe(rng, image):
    limit = rng.choice((0, 40, rng.uniform(0.5, 9)))
    tiles = rng.choice(((8, 8), (rng.randint(1, 20), rng.randint(1, 20))))
    if min(image.shape[:2]) < 2 * max(tiles):
        return None
    channel, want = one_channel(rng, image,
                                cv2.createCLAHE(limit, tiles).apply)
    return (CV_CLAHE, [channel, limit, *tiles], b""), want


def filter2d(rng, image):
    """A line as for motion blur, a sharpening one, any."""
    draw = np.random.default_rng(rng.getrandbits(32))
    width, height = (rng.choice((1, 3, 5, 7, 9, 11)) for _ in range(2))
    kernel = draw.normal(0, 0.3, (height, width))
    kind = rng.randrange(3)
    if kind == 0:
        kernel = np.zeros((height, width), np.uint8)
        ends = [(rng.randrange(width), rng.randrange(height)) for _ in range(2)]
        cv2.line(kernel, *ends, 1)
        kernel = kernel / kernel.sum()
    elif kind == 1:
        kernel = -np.ones((height, width)) * 0.3
        kernel[height // 2, width // 2] += 1 - kernel.sum()
    kernel = kernel.astype(np.float32)
    values, border = any_border(rng, [width, height, VERSION])
    return (CV_FILTER2D, values, kernel.tobytes()), \
        cv2.filter2D(image, -1, kernel, **border)


def smooth(rng, most):
    """A Gaussian, or anything that is the same from both sides."""
    side = rng.randrange(1, most, 2)
    if rng.random() < 0.6:
        sigma = rng.uniform(0.3, most / 7)
        at = np.arange(-(side // 2), side // 2 + 1)
        kernel = np.exp(-0.5 * (at / sigma) ** 2)
        return kernel / kernel.sum()
    half = [rng.gauss(0, 0.4) for _ in range(side // 2 + 1)]
    return np.array(half + half[-2::-1])


def sep_filter2d(rng, image):
    border = rng.choice((0, 1, 2, 4))
    x, y = (smooth(rng, rng.choice((8, 24, 120))) for _ in range(2))
    data = np.concatenate([x, y]).astype(np.float32).tobytes()
    return (CV_SEP_FILTER2D, [len(x), len(y), border, VERSION], data), \
        cv2.sepFilter2D(image, -1, x, y, borderType=border)


def add(rng, image):
    """Noise of bytes, shorts or floats, some of which NumPy adds."""
    draw = np.random.default_rng(rng.getrandbits(32))
    kind = rng.choice((np.uint8, np.int16, np.float32, np.float64))
    noise = draw.normal(0, rng.uniform(1, 200), image.shape)
    noise = np.clip(noise, 0, 255).astype(kind) if kind == np.uint8 else \
        noise.astype(kind)
    cut = int(kind == np.float64 or
              (kind == np.float32 and rng.random() < 0.5))
    if cut:
        want = np.clip(image + noise, 0, 255).astype(np.uint8)
    else:
        want = cv2.add(image, noise, dtype=cv2.CV_8U)
    depth = {1: 0, 2: 3, 4: 5, 8: 6}[noise.itemsize]
    values = [*image.shape[1::-1], depth, cut]
    return (CV_ADD, values, noise.tobytes()), want


def add_gray(rng, image):
    if image.shape[2] != 3:
        return None
    factor = rng.choice((0.5, 2, rng.uniform(-1, 3)))
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    gray = cv2.cvtColor(gray, cv2.COLOR_GRAY2RGB)
    return (CV_ADD_GRAY, [factor, 1 - factor], b""), \
        cv2.addWeighted(image, factor, gray, 1 - factor, 0)


def contrast(rng, image):
    """As albumentations has it: a table by NumPy."""
    if image.shape[2] == 4:
        return None
    factor = rng.choice((0, 1, rng.uniform(0, 3)))
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) \
        if image.shape[2] == 3 else image
    added = float(gray.mean() * (1 - factor))
    kind = rng.choice((np.float32, np.float64))
    table = np.arange(256, dtype=kind) * factor + added
    return (CV_CONTRAST, [factor, kind is np.float64], b""), \
        np.clip(table, 0, 255).astype(np.uint8)[image]


def recompress(rng, image):
    if image.shape[2] == 4:
        return None
    quality = rng.choice((0, 1, 100, rng.randint(0, 100)))
    _, file = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, quality))
    return (CV_RECOMPRESS, [quality], b""), \
        cv2.imdecode(file, cv2.IMREAD_UNCHANGED)


ROWS = {"Gaussian blur": gaussian_blur, "box blur": box_blur,
        "median blur": median_blur, "equalize": equalize,
        "CLAHE": clahe, "filter2D": filter2d, "sepFilter2D": sep_filter2d,
        "add": add, "addWeighted of gray": add_gray, "contrast": contrast,
        "recompress": recompress}
for name in "nearest", "linear", "cubic":
    if name != "cubic" or VERSION == 4:
        number = getattr(cv2, "INTER_" + name.upper())
        ROWS[f"affine, {name}"] = warp_affine(number)
        ROWS[f"perspective, {name}"] = warp_perspective(number)
        ROWS[f"remap, {name}"] = remap(number)
ROWS.update((f"resize, {name}", resize(name)) for name in FILTERS)
ROWS.update((f"colour, {name}", colour(getattr(cv2, "COLOR_" + name)))
            for name in ("BGR2GRAY", "RGB2GRAY", "BGR2YCrCb", "RGB2YCrCb",
                         "YCrCb2BGR", "YCrCb2RGB", "BGR2HSV", "RGB2HSV",
                         "HSV2BGR", "HSV2RGB", "BGR2HSV_FULL",
                         "RGB2HSV_FULL", "BGR2Lab", "RGB2Lab",
                         "Lab2BGR", "Lab2RGB", "BGR2HLS", "RGB2HLS", "HLS2BGR",
                         "HLS2RGB"))


# ---- Images ------------------------------------------------------------------

def noise(rng):
    """Of any odd size, sometimes even, sometimes of extremes alone."""
    width, height = rng.randint(1, NOISE_SIDE), rng.randint(1, NOISE_SIDE)
    channels = rng.choice((1, 3, 3, 4))
    draw = np.random.default_rng(rng.getrandbits(32))
    shape = (height, width, channels)
    image = draw.integers(0, 256, shape, dtype=np.uint8)
    return np.where(image > 127, 255, 0).astype(np.uint8) \
        if rng.random() < 0.2 else image


def swapped(image):
    """Between OpenCV's order of channels and that of files."""
    order = [2, 1, 0, 3][:image.shape[2]] if image.shape[2] > 1 else [0]
    return np.ascontiguousarray(image[..., order])


def images(rng, folder, photos):
    """Paths and pixels, without end."""
    number = 0
    while True:
        image = noise(rng)
        path = f"{folder}/{number % 8}.png"
        cv2.imwrite(path, swapped(image))
        yield path, image
        number += 1
        if photos:
            path = str(rng.choice(photos))
            image = cv2.imread(path, PHOTO)
            yield path, swapped(image)


# ---- Floats ------------------------------------------------------------------

def distorted(rng, image):
    """As MMDetection's PhotoMetricDistortion: steps, and what OpenCV and NumPy
    make of an image of bytes."""
    gain = np.float32(rng.choice((1, rng.uniform(0.5, 1.5))))
    table = np.arange(256, dtype=np.float32)
    table = (table + np.float32(rng.uniform(-32, 32))) * gain
    to, back = rng.choice(((40, 54), (41, 55)))
    steps = [(LOOKUP, [], np.repeat(table[None], 3, 0).tobytes()),
             (FLOAT_COLOUR, [to], b"")]

    def value(how, channel, *numbers):
        steps.append((FLOAT_VALUES, [how, channel, *numbers], b""))

    hsv = cv2.cvtColor(table[image], to)
    if rng.random() < 0.6:
        factor = rng.uniform(0.5, 1.5)
        hsv[..., 1] *= factor
        value(MULTIPLY, 1, factor)
    if rng.random() < 0.6:
        hsv[..., 1] = hsv[..., 1].clip(0, 1)
        value(CLIP, 1, 0, 1)
    if rng.random() < 0.6:
        away = rng.uniform(-18, 18)
        hsv[..., 0] += away
        hsv[..., 0][hsv[..., 0] > 360] -= 360
        hsv[..., 0][hsv[..., 0] < 0] += 360
        value(ADD, 0, away)
        value(ADD_ABOVE, 0, 360, -360)
        value(ADD_BELOW, 0, 0, 360)
    if rng.random() < 0.2:
        return steps, hsv
    made = cv2.cvtColor(hsv, back)
    steps.append((FLOAT_COLOUR, [back], b""))
    if rng.random() < 0.5:
        factor = rng.uniform(0.5, 1.5)
        made *= factor
        value(MULTIPLY, -1, factor)
    order = rng.sample(range(3), 3)
    steps.append((FLOAT_CHANNELS, order, b""))
    return steps, made[..., order]


def differing_floats(engine, path, steps, want, rows_first):
    height, width, channels = want.shape
    got = engine(path, steps, (channels, height, width), F32, rows_first, 4)
    if isinstance(got, str):
        sys.exit(f"{engine.level}: {path}: {steps}: {got}")
    got = np.frombuffer(got, np.float32)
    if rows_first:
        got = got.reshape(want.shape)
    else:
        got = got.reshape(channels, height, width).transpose(1, 2, 0)
    return np.count_nonzero(got != want)


def check_floats(engines, rng, source, draws):
    values = bad = done = 0
    while done < draws:
        path, image = next(source)
        before, image = cropped(rng, image)
        if image.shape[2] != 3:
            continue
        done += 1
        steps, want = distorted(rng, image)
        steps = [(CONVERT, [3], b""), *before, *steps]
        rows_first = rng.random() < 0.5
        values += want.size
        bad += max(differing_floats(e, path, steps, want, rows_first)
                   for e in engines)
    print(f"float HSV: {draws} images, {bad} of {values} values differ",
          flush=True)
    return bad


# ---- Comparing ---------------------------------------------------------------

def cropped(rng, image):
    """A crop step, or none, and what it leaves."""
    height, width = image.shape[:2]
    if rng.random() < 0.6 or min(width, height) < 2:
        return [], image
    left, right = sorted(rng.sample(range(width + 1), 2))
    top, bottom = sorted(rng.sample(range(height + 1), 2))
    part = np.ascontiguousarray(image[top:bottom, left:right])
    return [(CROP, [left, top, right, bottom], b"")], part


def three_dimensional(image):
    return image if image.ndim == 3 else image[..., None]


def differing(engine, path, steps, want):
    """How many values are not those of `want`."""
    height, width, channels = want.shape
    got = engine(path, steps, (channels, height, width), U8, True, 1)
    if isinstance(got, str):
        sys.exit(f"{engine.level}: {path}: {steps}: {got}")
    got = np.frombuffer(got, np.uint8).reshape(want.shape)
    far = np.abs(got.astype(int) - want)
    if far.any():
        print(f"{engine.level}: {path}: {steps}: {np.count_nonzero(far)} of "
              f"{far.size}, up to {far.max()}, first at "
              f"{np.argwhere(far)[0]}")
    return np.count_nonzero(far)


def check_row(name, engines, rng, source, draws):
    values = bad = done = 0
    while done < draws:
        path, image = next(source)
        before, image = cropped(rng, image)
        before.insert(0, (CONVERT, [image.shape[2]], b""))
        made = ROWS[name](rng, image)
        if made is None:
            continue
        done += 1
        step, want = made
        behind, want = cropped(rng, three_dimensional(want))
        steps = before + [step] + behind
        values += want.size
        bad += max(differing(e, path, steps, want) for e in engines)
    print(f"{name}: {draws} images, {bad} of {values} values differ",
          flush=True)
    return bad


def main():
    helper = sys.argv[1]
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else \
        random.SystemRandom().getrandbits(32)
    draws = int(sys.argv[4]) if len(sys.argv) > 4 else 30
    wanted = sys.argv[5] if len(sys.argv) > 5 else ""
    print(f"OpenCV {cv2.__version__}, seed {seed}")
    rng = random.Random(seed)
    photos = sorted((data / "imagenet-sample").glob("*/*.*")) if data else []
    engines = [Engine(helper, level) for level in LEVELS]
    with tempfile.TemporaryDirectory() as folder:
        source = images(rng, folder, photos)
        bad = sum(check_row(name, engines, rng, source, draws)
                  for name in ROWS if name.startswith(wanted))
        if "float HSV".startswith(wanted):
            bad += check_floats(engines, rng, source, draws)
    if any([engine.close() for engine in engines]):
        sys.exit("render_recorded did not end well")
    if bad:
        sys.exit(f"{bad} values differ")


if __name__ == "__main__":
    main()
