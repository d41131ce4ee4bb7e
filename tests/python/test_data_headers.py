# SPDX-License-Identifier: Apache-2.0
"""Files in memory: a header that is remembered is that of the file."""

from __future__ import annotations

import io
from typing import Any, Dict

import deferred_cases as cases
import images
import needs
import pytest

needs.deferred_tensors()
Image = images.Image

from PIL.PngImagePlugin import PngInfo  # noqa: E402

from feedline.deferred import Recorder, data_headers  # noqa: E402


def saved(seed: int, kind: str, mode: str = "RGB", **how: Any) -> bytes:
    file = io.BytesIO()
    size = how.pop("size", (40, 30))
    images.picture(size, seed, mode).save(file, kind, **how)
    return file.getvalue()


def of_text() -> Any:
    text = PngInfo()
    text.add_text("a", "b")
    return text


# By what they are: whether two files that differ in pixels have one header.
FILES: Dict[str, Any] = {
    "PNG": (True, lambda n: saved(n, "PNG")),
    "gray PNG": (True, lambda n: saved(n, "PNG", "L")),
    "PNG, alpha": (True, lambda n: saved(n, "PNG", "RGBA")),
    "PNG, text": (False, lambda n: saved(n, "PNG", pnginfo=of_text())),
    "PNG, tRNS": (False, lambda n: saved(n, "PNG", transparency=(1, 2, 3))),
    "PNG, cut off": (False, lambda n: saved(n, "PNG")[:-900]),
    "JPEG": (True, lambda n: saved(n, "JPEG")),
    "progressive": (True, lambda n: saved(n, "JPEG", progressive=True)),
    "JPEG, comment": (True, lambda n: saved(n, "JPEG", comment=b"c")),
    "JPEG, long": (False, lambda n: saved(n, "JPEG", comment=b"c" * 5000)),
    "WebP": (False, lambda n: saved(n, "WEBP")),
}


@pytest.mark.parametrize("name", FILES)
def test_key(name: str) -> None:
    has_key, make = FILES[name]
    one, two = data_headers.key_of(make(1)), data_headers.key_of(make(2))
    assert make(1) != make(2)
    assert (one is not None) == has_key
    assert one == two or name == "progressive"  # with codes of its own
    for end in range(0, len(make(1)), 7):
        key = data_headers.key_of(make(1)[:end])
        assert key in (None, one)


def test_others_have_other_keys() -> None:
    made = [
        saved(1, "PNG"),
        saved(1, "PNG", size=(41, 30)),
        saved(1, "PNG", "L"),
        saved(1, "JPEG"),
        saved(1, "JPEG", "L"),
        saved(1, "JPEG", quality=60),
        saved(1, "JPEG", comment=b"d"),
        saved(1, "JPEG", size=(41, 30)),
    ]
    assert len(set(map(data_headers.key_of, made))) == len(made)


@pytest.mark.parametrize("name", FILES)
def test_images_are_the_same(name: str) -> None:
    """The first one is opened by Pillow, the second one is remembered."""
    _, make = FILES[name]

    def program(data: bytes) -> Any:
        image = Image.open(io.BytesIO(data))
        about = image.format, image.mode, image.size, sorted(image.info)
        if name == "PNG, cut off":
            return [about]
        return [about, image.convert("RGB")]

    for n in (1, 2, 3):
        cases.check(program, make(n))


def test_what_pillow_refuses_later(monkeypatch: pytest.MonkeyPatch) -> None:
    data = saved(1, "PNG")
    recorder = Recorder()
    open_it = lambda: Image.open(io.BytesIO(data)).size  # noqa: E731
    assert recorder.run(open_it) == (40, 30)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(Image.DecompressionBombError):
        recorder.run(open_it)


def test_not_without_end() -> None:
    found = data_headers.Remembered()
    for n in range(data_headers.MOST_HEADERS + 5):
        found.put(b"%d" % n, n)
    assert found.get(b"3") is None and found.get(None) is None
    assert found.get(b"%d" % n) == n
