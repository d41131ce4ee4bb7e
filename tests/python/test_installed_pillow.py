# SPDX-License-Identifier: Apache-2.0
"""feedline.Loader rounds as the Pillow that is installed, unless told; what
each version of Pillow does is what the engine does for it."""

from __future__ import annotations

import importlib.metadata
import io
import random
import sys
import types
from typing import Any, Dict, Iterator, Tuple

import pytest

import feedline
from feedline import options

np = pytest.importorskip("numpy")
from images import Image  # noqa: E402

EXPECTED = {"9.4.0": "12", "12.3.0.post1": "12", "13.0.0": "13", "14.1": "13"}


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is remembered of the metadata, and no variable is set."""
    monkeypatch.delenv("FEEDLINE_PILLOW", raising=False)
    options._installed_version.cache_clear()
    yield
    options._installed_version.cache_clear()


def in_force(**options: Any) -> str:
    data = feedline.Dataset.memory([b"not looked at"])
    small = feedline.Pipeline().add("resize", width=4, height=4)
    with feedline.Loader(data, small, **options) as loader:
        return str(loader.config["pillow"])


@pytest.mark.parametrize("version", EXPECTED)
def test_one_that_is_imported(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    module = types.SimpleNamespace(__version__=version)
    monkeypatch.setitem(sys.modules, "PIL", module)  # type: ignore[arg-type]
    assert in_force() == EXPECTED[version]


@pytest.mark.parametrize("version", EXPECTED)
def test_one_that_is_installed(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """By its metadata: a program that never imports Pillow gets its pixels."""
    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    assert in_force() == EXPECTED[version]
    assert "PIL" not in sys.modules


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert options.option_pillow() is None
    assert in_force() == "12"


def test_what_is_given_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "13.0")
    monkeypatch.setitem(sys.modules, "PIL", types.ModuleType("PIL"))
    assert in_force(pillow="12") == "12"
    assert in_force(pillow=13) == "13"
    monkeypatch.setenv("FEEDLINE_PILLOW", "12")
    assert in_force() == "12"


# ---- Pixels -----------------------------------------------------------------


def two_passes(image: Any, size: Tuple[int, int], mode: Any) -> Any:
    """As Pillow 13 resizes: columns first where they become much shorter."""
    width, height = size
    if height < image.height and image.height - height > 2 * (
        image.width - width
    ):
        return image.resize((image.width, height), mode).resize(size, mode)
    return image.resize((width, image.height), mode).resize(size, mode)


def noise(trial: int, *shape: int) -> Any:
    rng = np.random.default_rng(trial)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def encoded(image: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **options)
    return file.getvalue()


def resized(data: bytes, size: Dict[str, Any], **options: Any) -> Any:
    """What the engine makes of one file."""
    options.update(dtype="u8", layout="nhwc", batch_size=1)
    pipeline = feedline.Pipeline().add("resize", **size)
    with feedline.Loader(
        feedline.Dataset.memory([data]), pipeline, **options
    ) as loader:
        return next(iter(loader)).images.numpy()[0].copy()


@pytest.mark.parametrize("bands", ["L", "LA", "RGB", "RGBA"])
def test_the_order_of_pillow_13(bands: str) -> None:
    draw = random.Random(3)
    before = 0
    for trial in range(25):
        width, height, w, h = (draw.randint(5, 90) for _ in range(4))
        image = Image.fromarray(noise(trial, height, width, 4)).convert(bands)
        mode = draw.choice([Image.BILINEAR, Image.BICUBIC, Image.BOX])
        clear = {"LA": "La", "RGBA": "RGBa"}.get(bands, bands)
        wanted = two_passes(image.convert(clear), (w, h), mode).convert(bands)
        kind = {2: "bilinear", 3: "bicubic", 4: "box"}[int(mode)]
        size = dict(width=w, height=h, interpolation=kind)
        data = encoded(image, format="PNG")
        older, newer = (
            resized(data, size, channels=len(bands), pillow=version)
            for version in ("12", "13")
        )
        array = np.asarray(wanted).reshape(h, w, len(bands))
        assert (newer == array).all(), (width, height, w, h)
        before += not (older == newer).all()
    assert before > 0


def test_the_order_of_pillow_13_in_turned_files() -> None:
    """Upright rows and columns count, not those of the file."""
    draw = random.Random(4)
    from PIL import ImageOps

    for trial in range(16):
        width, height, w, h = (draw.randint(5, 90) for _ in range(4))
        image = Image.fromarray(noise(trial, height, width, 3))
        exif = Image.Exif()
        exif[0x0112] = 1 + trial % 8
        data = encoded(image, format="JPEG", quality=95, exif=exif.tobytes())
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        size = dict(width=w, height=h)
        got = resized(data, size, apply_exif=True, pillow="13")
        wanted = two_passes(upright, (w, h), Image.BILINEAR)
        assert (got == np.asarray(wanted)).all(), (trial, width, height, w, h)


def test_this_pillow_is_one_that_is_known() -> None:
    """A Pillow that rounds in another way again would show here."""
    import PIL

    later = int(PIL.__version__.split(".")[0]) >= 13
    for trial in range(40):
        draw = random.Random(trial)
        width, height, w, h = (draw.randint(5, 90) for _ in range(4))
        image = Image.fromarray(noise(trial, height, width))
        got = image.resize((w, h), Image.BILINEAR)
        rows = image.resize((w, height), Image.BILINEAR)
        wanted = rows.resize((w, h), Image.BILINEAR)
        if later:
            wanted = two_passes(image, (w, h), Image.BILINEAR)
        assert (np.asarray(got) == np.asarray(wanted)).all()
