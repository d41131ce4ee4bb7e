# SPDX-License-Identifier: Apache-2.0
"""Odd files against Pillow and against another decoder's pixels, whole and in
random crops: kinds of PNG and WebP made here, EXIF orientations, files that end
early, and the reference images where they are.

    reference_parity.py RENDER [DATA] [SEED]

RENDER is the helper built from render.c; DATA has reftest/ and orientation/.
Every kernel level of the machine is tried. Exit status 77: no Pillow here.
"""
import pathlib
import random
import struct
import sys
import tempfile
import warnings
import zlib

try:
    import numpy as np
    from PIL import Image, ImageFile, ImageOps, features
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from pillow_parity import (FILTERS, LEVELS, MODES, PILLOW, SAME_JPEG, WHOLE,
                           Renderer, arguments, converted, geometry,
                           noise_image, pixels_of, reference)

# Palettes with transparency are converted here on purpose.
warnings.filterwarnings("ignore", module="PIL")

KEYS = b"\0\1\xff"


# ---- Files ------------------------------------------------------------------

def png_file(header, chunks):
    """The bytes of a PNG of these chunks, each a name and its content."""
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", struct.pack(">2I5B", *header)), *chunks))


def png(width, height, depth, colour, interlace, rng, chunks=()):
    """A PNG of random pixels, of any kind there is; where one colour is
    transparent, they are of few values."""
    keyed = colour in (0, 2) and any(kind == b"tRNS" for kind, _ in chunks)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]

    def lines(w, h):
        n = (w * channels * depth + 7) // 8
        if not w:
            return b""
        if keyed:
            return b"".join(b"\0" + bytes(rng.choices(KEYS, k=n))
                            for _ in range(h))
        return b"".join(bytes([rng.randrange(5)]) + rng.randbytes(n)
                        for _ in range(h))

    if interlace:
        passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                  (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        raw = b"".join(lines(len(range(x, width, dx)),
                             len(range(y, height, dy)))
                       for x, y, dx, dy in passes)
    else:
        raw = lines(width, height)

    body = zlib.compress(raw)
    parts = [body[i:i + 700] for i in range(0, len(body), 700)]
    return png_file((width, height, depth, colour, 0, 0, interlace),
                    [*chunks, *((b"IDAT", part) for part in parts),
                     (b"IEND", b"")])


def png_kinds(rng):
    for colour, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)),
                           (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            for interlace in (0, 1):
                for extra in (False, True):
                    yield colour, depth, interlace, extra


def png_chunks(rng, colour, depth, extra):
    """Palettes that are too short for their indices, transparency, gamma."""
    chunks = [(b"gAMA", struct.pack(">I", 220000))] if extra else []
    if colour == 3:
        n = rng.randint(1, 1 << depth)
        chunks.append((b"PLTE", rng.randbytes(3 * n)))
        if extra:
            chunks.append((b"tRNS", rng.randbytes(n)))
    elif extra and colour in (0, 2):
        n = 1 if colour == 0 else 3
        chunks.append((b"tRNS", struct.pack(f">{n}H", *rng.choices(
            [0, 1, 255, 257, 256, 511], k=1) * n)))
    return chunks


def made_pngs(rng, folder):
    for colour, depth, interlace, extra in png_kinds(rng):
        width, height = rng.choice(((1, 1), (3, 2), (9, 13), (61, 47),
                                    (130, 70)))
        path = folder / f"{colour}_{depth}_{interlace}_{int(extra)}.png"
        path.write_bytes(png(width, height, depth, colour, interlace, rng,
                             png_chunks(rng, colour, depth, extra)))
        yield path


def made_webps(rng, folder):
    for i, (mode, options) in enumerate((
            ("RGB", {"quality": 60}), ("RGB", {"lossless": True}),
            ("RGBA", {"quality": 80}), ("RGBA", {"lossless": True,
                                                 "exact": True}))):
        path = folder / f"{i}.webp"
        image = noise_image(rng, 75, 58, "RGB")
        if mode == "RGBA":
            image.putalpha(noise_image(rng, 75, 58, "L"))
        image.save(path, **options)
        yield path


def orient(path, value):
    """Adds an EXIF orientation to a file that Pillow can write."""
    image = Image.open(path)
    exif = image.getexif()
    exif[0x0112] = value
    image.save(path, exif=exif.tobytes())


def made_oriented(rng, folder, webp):
    for suffix in ("jpg", "png") + (("webp",) if webp else ()):
        for value in range(1, 9):
            path = folder / f"turn{value}.{suffix}"
            image = noise_image(rng, rng.randint(1, 90), rng.randint(1, 90),
                                "RGB" if value % 3 else "L")
            if suffix != "jpg" and value % 2:
                image.putalpha(noise_image(rng, *image.size, "L"))
            image.save(path)
            orient(path, value)
            yield path


def small_png(body, before=(), after=(), end=True):
    """5 x 4 pixels of RGB, of which `body` is the deflate stream."""
    return png_file((5, 4, 8, 2, 0, 0, 0),
                    [*before, (b"IDAT", body), *after,
                     *([(b"IEND", b"")] if end else [])])


def made_endings(rng):
    """PNGs whose pixels or chunks end in all the wrong ways, by name."""
    raw = b"".join(b"\0" + rng.randbytes(15) for _ in range(4))
    body = zlib.compress(raw)
    whole = small_png(body, end=False)
    for cut in range(len(whole) - 60):
        yield f"the last {cut} bytes cut", whole[:len(whole) - cut]
    end = small_png(body)
    for cut in range(1, 12):
        yield f"IEND without {cut} bytes", end[:-cut]
    for n in (31, 33, 40, 47, 49):
        yield f"{n} of 64 bytes", small_png(zlib.compress(raw[:n]))
    for n in (32, 64):
        open_end = zlib.compressobj()
        yield (f"{n} bytes, no end", small_png(
            open_end.compress(raw[:n]) + open_end.flush(zlib.Z_SYNC_FLUSH)))
    yield "no checksum", small_png(body[:-4])
    yield "a wrong checksum", small_png(body[:-1] + bytes([body[-1] ^ 1]))
    yield "too much", small_png(zlib.compress(raw + b"behind"))
    yield "nothing", small_png(b"")


def made_profiles():
    """PNGs that say in different places which way up they are, by name."""
    body = zlib.compress(b"".join(b"\0" + bytes(15) for _ in range(4)))

    def exif(value, tag=0x0112):
        return (b"eXIf", b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, tag, 3, 1,
                                                value, 0, 0))

    def xmp(value, form="tiff:Orientation=\"%d\""):
        text = "<x:xmpmeta>" + form % value + "</x:xmpmeta>"
        return (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + text.encode())

    def plain(value):
        kind, data = xmp(value)
        return (b"tEXt", data.replace(b"\0\0\0\0\0", b"\0"))

    element = "<tiff:Orientation>%d</tiff:Orientation>"
    silent = exif(6, 0x011a)
    for i, (before, after) in enumerate((
            ((exif(6),), ()), ((), (exif(6),)), ((exif(1),), (exif(6),)),
            ((exif(1), exif(6)), ()), ((xmp(6),), ()), ((), (xmp(6),)),
            ((silent,), (xmp(6),)), ((silent, xmp(6)), ()), ((plain(6),), ()),
            ((xmp(6, element),), ()), ((xmp(9),), ()), ((xmp(3), xmp(6)), ()),
            ((exif(1), xmp(6)), ()), ((xmp(6),), (exif(1),)),
            ((xmp(6),), (silent,)))):
        yield f"profiles {i}", small_png(body, before, after)


# ---- Checks -----------------------------------------------------------------

def whole(image, channels):
    return pixels_of(converted(image, channels))


class Checker:
    def __init__(self, program, level, rng):
        self.rng = rng
        self.plain = Renderer(program, level)
        self.upright = Renderer(program, level, ["1"])
        self.lenient = Renderer(program, level, ["0", "0.0001"])
        self.crops = 0

    def close(self):
        for render in (self.plain, self.upright, self.lenient):
            if render.close() != 0:
                sys.exit("render did not end well")

    def same(self, render, path, image, draws, tolerance=0):
        """Whole, and in random crops. CMYK is converted by other arithmetic
        than Pillow's in some releases: one level."""
        for i in range(draws + 1):
            channels = self.rng.choice(list(MODES))
            g = geometry(self.rng, *image.size)
            if i == 0:
                g = WHOLE
            status, got = render(path, g, channels,
                                 nhwc=self.rng.random() < 0.5)
            if status:
                sys.exit(f"{path} {g}: {got}")
            want = whole(image, channels) if i == 0 else \
                reference(image, g, channels)
            off = np.abs(got.astype(int) - want).max()
            if got.shape != want.shape or off > tolerance:
                sys.exit(f"{path} {g} channels={channels}: off by {off}")
            self.crops += 1

    def matrix(self, paths, draws):
        """Every filter with every number of channels, over all the files."""
        images = [(path, Image.open(path)) for path in paths]
        for channels in MODES:
            for chosen in range(len(FILTERS)):
                for _ in range(draws):
                    path, image = self.rng.choice(images)
                    g = geometry(self.rng, *image.size, chosen)
                    status, got = self.plain(path, g, channels)
                    want = reference(image, g, channels)
                    if status or not np.array_equal(got, want):
                        sys.exit(f"{path} {g} channels={channels}: "
                                 f"{got if status else 'not the same'}")
                    self.crops += 1

    def oriented(self, path, draws):
        image = Image.open(path)
        self.same(self.upright, path, ImageOps.exif_transpose(image), draws)
        self.same(self.plain, path, Image.open(path), 2)

    def verdict(self, path, name, upright=False):
        """The same pixels as Pillow's, or refused by both."""
        try:
            image = Image.open(path)
            if upright:
                image = ImageOps.exif_transpose(image)
            want = np.asarray(image.convert("RGB"))
        except OSError as error:
            want = str(error)
        render = self.upright if upright else self.plain
        status, got = render(path, WHOLE)
        if (status != 0) != isinstance(want, str):
            sys.exit(f"PNG, {name}: {got if status else 'accepted'}; Pillow: "
                     f"{want if isinstance(want, str) else 'accepted'}")
        if status == 0 and not np.array_equal(got, want):
            sys.exit(f"PNG, {name}: not Pillow's pixels")
        self.crops += 1

    def reference(self, path):
        """Pillow's pixels, and nearly another decoder's."""
        image = Image.open(path)
        cmyk = image.mode == "CMYK"
        self.same(self.plain, path, image, 6, 1 if cmyk else 0)
        other = path.with_suffix(".png")
        if not other.exists():
            return 0
        status, got = self.plain(path, WHOLE)
        want = eight_bits(Image.open(other))
        off = int(np.abs(got.astype(int) - want).max())
        if off > 3:
            sys.exit(f"{path}: {off} levels from {other.name}")
        return off

    def truncated(self, path, cuts):
        """Cut anywhere: Pillow's pixels with LOAD_TRUNCATED_IMAGES, or refused
        because no row is there."""
        data = path.read_bytes()
        short = path.with_name("cut" + path.suffix)
        used = 0
        for _ in range(cuts):
            short.write_bytes(data[:self.rng.randint(len(data) // 8,
                                                     len(data))])
            status, got = self.lenient(short, WHOLE)
            if status:
                continue
            try:
                ImageFile.LOAD_TRUNCATED_IMAGES = True
                image = Image.open(short)
                comparable = SAME_JPEG or "progressive" not in image.info
                want = whole(image, 3)
            except (OSError, AttributeError):
                continue  # Pillow stumbles over a cut in a chunk's header
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = False
            if comparable and not np.array_equal(got, want):
                rows = np.argwhere((got != want).any(axis=(1, 2))).ravel()
                sys.exit(f"{path} cut to {short.stat().st_size}: rows "
                         f"{rows[:9]} differ")
            used += 1
        if used == 0:
            sys.exit(f"{path}: no cut was accepted")
        return used


def eight_bits(image):
    """A reference PNG as RGB of 8 bits; two of them have 16."""
    if image.mode.startswith("I"):
        gray = np.asarray(image).astype(int) >> 8
        return np.repeat(gray[..., None], 3, axis=2)
    return np.asarray(image.convert("RGB")).astype(int)


def check_made(checker, folder, rng):
    for path in made_pngs(rng, folder):
        checker.same(checker.plain, path, Image.open(path), 5)
    webp = features.check("webp") and decodes_webp(checker, folder)
    if webp:
        for path in made_webps(rng, folder):
            checker.same(checker.plain, path, Image.open(path), 5)
    else:
        print("skipped: WebP, which is not built in here or in Pillow")
    kinds = ("*.png", "*.webp") if webp else ("*.png",)
    checker.matrix([p for kind in kinds for p in sorted(folder.glob(kind))
                    if p.name != "probe.webp"], 200)
    odd = folder / "odd.png"
    for name, data in made_endings(rng):
        odd.write_bytes(data)
        checker.verdict(odd, name)
    for name, data in made_profiles():
        # Behind an eXIf chunk, older versions do not ask what follows the
        # pixels.
        if PILLOW < (10, 4) and name in ("profiles 2", "profiles 6"):
            continue
        odd.write_bytes(data)
        checker.verdict(odd, name, upright=True)
    for path in made_oriented(rng, folder, webp):
        checker.oriented(path, 12)


def decodes_webp(checker, folder):
    path = folder / "probe.webp"
    Image.new("RGB", (4, 4)).save(path)
    status, text = checker.plain(path, WHOLE)
    if status and "built without libwebp" not in text:
        sys.exit(f"{path}: {text}")
    return status == 0


def check_truncated(checker, folder, rng):
    used = 0
    for i, options in enumerate(({}, {"progressive": True},
                                 {"subsampling": 0}, {"optimize": True})):
        path = folder / f"t{i}.jpg"
        noise_image(rng, 120, 150, "L" if i == 3 else "RGB").save(
            path, quality=80, **options)
        used += checker.truncated(path, 40)
    for colour, interlace in ((2, 0), (0, 0), (6, 0), (3, 0), (2, 1)):
        path = folder / f"t{colour}{interlace}.png"
        path.write_bytes(png(50, 40, 8, colour, interlace, rng,
                             png_chunks(rng, colour, 8, False)))
        if interlace == 0:
            used += checker.truncated(path, 40)
    return used


def check(program, level, data, seed):
    rng = random.Random(seed)
    checker = Checker(program, level, rng)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_made(checker, folder, rng)
        cuts = check_truncated(checker, folder, rng)
    odd = sorted(data.glob("reftest/**/*.jpg")) if data else []
    pngs = sorted(data.glob("reftest/**/*.png")) if data else []
    turned = sorted(data.glob("orientation/*.jpg")) if data else []
    worst = max([checker.reference(path) for path in odd], default=0)
    for path in pngs:
        checker.same(checker.plain, path, Image.open(path), 6)
    for path in turned:
        checker.oriented(path, 8)
    checker.close()
    print(f"level {level}: {checker.crops} images and crops equal to Pillow's, "
          f"{cuts} of files that end early; {len(odd)} reference files within "
          f"{worst} levels of their PNG, {len(pngs)} PNGs, {len(turned)} "
          "orientations")


if __name__ == "__main__":
    program, data, seed = arguments()
    for level in LEVELS:
        check(program, level, data, seed)
    if data and not data.is_dir():
        print(f"skipped: reference files, as {data} is not there")
