# SPDX-License-Identifier: Apache-2.0
"""Option stored_mode: which of Pillow's modes an image has in its file."""

from __future__ import annotations

import io
from typing import Any, Iterator, Tuple

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from images import picture  # noqa: E402


def saved(image: Any, kind: str, **how: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def files() -> Iterator[Tuple[str, bytes]]:
    """An image of each mode that a format has, and of each depth."""
    rgb, size = picture((21, 17)), (21, 17)
    gray = rgb.convert("L")
    for kind, modes in (
        ("JPEG", ("L", "RGB", "CMYK")),
        ("PNG", ("1", "L", "LA", "P", "RGB", "RGBA")),
        ("WEBP", ("RGB", "RGBA")),
    ):
        for mode in modes:
            alpha = mode in ("LA", "RGBA")
            image = picture(size, 3, "RGBA") if alpha else rgb
            yield f"{kind} {mode}", saved(image.convert(mode), kind)
    yield "WEBP, lossless", saved(rgb, "WEBP", lossless=True)
    opaque = rgb.convert("RGBA")
    yield "WEBP, opaque", saved(opaque, "WEBP", lossless=True)
    deep = np.asarray(gray).astype("uint16") * 200
    yield "PNG I;16", saved(Image.fromarray(deep), "PNG")
    for bits in (1, 2, 4):
        few = rgb.quantize(2**bits)
        yield f"PNG P, {bits} bits", saved(few, "PNG", bits=bits)
    yield "PNG L with tRNS", saved(gray, "PNG", transparency=7)
    yield "PNG RGB with tRNS", saved(rgb, "PNG", transparency=(1, 2, 3))
    yield "PNG P with tRNS", saved(rgb.quantize(9), "PNG", transparency=0)


FILES = dict(files())
SMALL = feedline.Pipeline().add("resize", width=8, height=8)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("wanted, channels", [("L", 1), ("RGB", 3)])
def test_as_pillow_opens_it(name: str, wanted: str, channels: int) -> None:
    mode = Image.open(io.BytesIO(FILES[name])).mode
    data = feedline.Dataset.memory([FILES[name]])
    made = {}
    for stored_mode in ("any", wanted):
        options = {"channels": channels, "stored_mode": stored_mode}
        with feedline.Loader(data, SMALL, batch_size=1, **options) as loader:
            try:
                made[stored_mode] = next(iter(loader)).images.numpy().copy()
            except feedline.DecodeError as error:
                made[stored_mode] = str(error)
    if mode == wanted:
        assert np.array_equal(made["any"], made[wanted])
    else:
        if mode == "I":  # what Pillow called it before 10
            mode = "I;16"
        assert f"mode {mode}, where stored_mode={wanted}" in made[wanted]


def test_pixels_are_of_their_channels() -> None:
    gray = np.zeros((1, 8, 8), "uint8")
    data = feedline.Dataset.pixels(gray, [0])
    with feedline.Loader(data, SMALL, stored_mode="RGB") as loader:
        with pytest.raises(feedline.DecodeError, match="mode L"):
            next(iter(loader))
