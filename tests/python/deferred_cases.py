# SPDX-License-Identifier: Apache-2.0
"""A program run twice with the same seeds: plainly, and recorded.

What was recorded is held against what the program made, in both of its forms:
as calls that make it real, and as the engine's steps, which are carried out
here by Pillow and torch.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import images
import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
pytest.importorskip("torchvision")

from feedline.deferred import Deferred, Recorder, deferred_of  # noqa: E402
from feedline.deferred import pillow_steps as replay  # noqa: E402
from feedline.deferred import steps as op  # noqa: E402

Image = images.Image

# name: (kind, mode, options of save)
FILES: Dict[str, Tuple[str, str, Dict[str, Any]]] = {
    "rgb.jpg": ("JPEG", "RGB", {"quality": 90}),
    "progressive.jpg": ("JPEG", "RGB", {"progressive": True}),
    "gray.jpg": ("JPEG", "L", {}),
    "rgb.png": ("PNG", "RGB", {}),
    "gray.png": ("PNG", "L", {}),
    "alpha.png": ("PNG", "RGBA", {}),
    "rgb.webp": ("WEBP", "RGB", {"lossless": True}),
}


def make_files(root: Path) -> Dict[str, str]:
    """Small images of each kind that is recorded; path by name."""
    made = {}
    for n, (name, (kind, mode, options)) in enumerate(FILES.items()):
        path = root / name
        images.picture((57 + n, 45 - n), n, mode).save(path, kind, **options)
        made[name] = str(path)
    palette = images.picture((61, 40), 9).quantize(20)
    palette.save(root / "palette.png")
    made["palette.png"] = str(root / "palette.png")
    turned = images.picture((50, 40), 11)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(root / "turned.jpg", exif=exif)
    made["turned.jpg"] = str(root / "turned.jpg")
    return made


def seed(n: int) -> None:
    torch.manual_seed(n)
    random.seed(n)
    np.random.seed(n)


def leaves(sample: Any) -> Iterator[Any]:
    if isinstance(sample, dict):
        sample = list(sample.values())
    if isinstance(sample, (list, tuple)):
        for part in sample:
            yield from leaves(part)
    else:
        yield sample


def info_of(image: Any) -> Any:
    """Without what Pillow adds to a WebP's when it is loaded."""
    late = ("timestamp", "duration")
    return {k: v for k, v in image.info.items() if k not in late}


def same(a: Any, b: Any, what: str = "") -> None:
    """Equal in everything that a program can see."""
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, Image.Image):
        assert a.mode == b.mode and a.size == b.size, what
        assert a.tobytes() == b.tobytes(), what
        assert info_of(a) == info_of(b), what
        assert a.format == b.format, what
    elif isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape, what
        assert a.stride() == b.stride(), what
        assert same_bits(a, b), what
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, what
        assert a.strides == b.strides, what
        assert a.flags.writeable == b.flags.writeable, what
        assert a.tobytes() == b.tobytes(), what
    else:
        assert a == b, what


def is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray)


def same_bits(a: Any, b: Any) -> bool:
    a, b = a.contiguous(), b.contiguous()
    return (
        bool(a.numpy().tobytes() == b.numpy().tobytes())
        if (a.dtype != torch.bfloat16)
        else torch.equal(a, b)
    )


def stepwise(found: Deferred) -> Any:
    """What the engine's steps say, by Pillow and torch: an array for an image,
    a tensor for a tensor."""
    if found.parts:
        parts = [stepwise(part) for part in found.parts]
        if len(found.shape) > len(found.parts[0].shape):
            return torch.stack(parts, found.dim)
        return torch.cat(parts, found.dim)
    steps = [s for s in found.steps if s[0] not in op.OF_ELEMENTS]
    image = replay.image_of(found.source, tuple(steps))
    pixels = torch.from_numpy(np.array(image)).reshape(
        found.height, found.width, found.channels
    )
    pixels = pixels.permute(2, 0, 1)
    for number, values, data in found.steps[len(steps) :]:
        pixels = _element(found, pixels, number, values, data)
    if found.nhwc:
        pixels = pixels.permute(1, 2, 0)
    return pixels.reshape(found.shape)


def _with_values(pixels: Any, how: int, channel: int, *numbers: float) -> Any:
    part = pixels if channel < 0 else pixels[channel]
    if how in (0, 1):
        (number,) = numbers
        part.add_(number) if how == 0 else part.mul_(number)
    elif how == 2:
        part.clamp_(*numbers)
    else:
        limit, number = numbers
        part[part > limit if how == 3 else part < limit] += number
    return pixels


def _element(
    found: Deferred, pixels: Any, number: int, values: Any, data: Any
) -> Any:
    c = found.channels
    if number == op.SCALE:
        return pixels.to(torch.float32).div(255)
    if number == op.NORMALIZE:
        both = torch.tensor(values, dtype=torch.float32)[:, None, None]
        return pixels.sub(both[:c]).div(both[c:])
    if number == op.LOOKUP:
        flat = torch.frombuffer(bytearray(data), dtype=found.dtype)
        table = flat.reshape(c, 256)
        rows = [table[i][pixels[i].long()] for i in range(c)]
        return torch.stack(rows)
    if number == op.FLOAT_COLOUR:
        cv2 = pytest.importorskip("cv2")
        rows = np.ascontiguousarray(pixels.permute(1, 2, 0).numpy())
        made = cv2.cvtColor(rows, int(values[0]))
        return torch.from_numpy(made).permute(2, 0, 1)
    if number == op.FLOAT_CHANNELS:
        return pixels[[int(v) for v in values]]
    if number == op.FLOAT_VALUES:
        return _with_values(pixels.clone(), *values)
    assert number == op.ERASE
    left, top, width, height = (int(v) for v in values[:4])
    pixels = pixels.clone()
    if data is not None:
        block = torch.frombuffer(bytearray(data), dtype=found.dtype)
        inside = pixels[:, top : top + height, left : left + width]
        inside.copy_(block.reshape(inside.shape))
        return pixels
    for i in range(c):
        pixels[i, top : top + height, left : left + width] = values[4 + i]
    return pixels


def check(program: Callable[..., Any], *args: Any) -> List[bool]:
    """Runs it in both ways; returns which of the images and tensors of the
    sample were deferred to the end."""
    seed(5)
    want = list(leaves(program(*args)))
    seed(5)
    drawn = Recorder().run(program, *args)
    got = list(leaves(drawn))
    assert len(got) == len(want)
    after = random.random(), float(torch.rand(())), float(np.random.rand())
    deferred = []
    for a, b in zip(want, got):
        found = deferred_of(b)
        if found is not None:
            made = stepwise(found)
            size = b.size if isinstance(b, Image.Image) else b.shape
            shape = found.shape
            found.real()
            if isinstance(b, Image.Image):
                assert size == a.size
                assert np.array_equal(made.numpy(), np.asarray(a))
            else:
                assert tuple(shape) == tuple(a.shape)
                plain = torch.from_numpy(a) if is_array(a) else a
                assert same_bits(made, plain.as_subclass(torch.Tensor))
        b = getattr(b, "_feedline_real", b)
        if isinstance(b, (Image.Image, torch.Tensor, np.ndarray)):
            deferred.append(found is not None)
        same(a, b)
    # The same numbers were drawn.
    seed(5)
    program(*args)
    assert after == (
        random.random(),
        float(torch.rand(())),
        float(np.random.rand()),
    )
    return deferred
