# SPDX-License-Identifier: Apache-2.0
"""Images that OpenCV reads: what is recorded is what OpenCV makes."""

from __future__ import annotations

import io
import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import deferred_cases as cases
import images
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np
Image = images.Image
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

COLOR, GRAY, UNCHANGED, STAYS = 1, 0, -1, 128
RGB = getattr(cv2, "IMREAD_COLOR_RGB", None)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    root = tmp_path_factory.mktemp("files")
    made = cases.make_files(root)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        path = root / ("orientation%d.jpg" % orientation)
        images.picture((33, 21), orientation).save(path, exif=exif)
        made[path.name] = str(path)
    return made


def decoded(path: str, flags: int) -> Any:
    return cv2.imdecode(np.frombuffer(Path(path).read_bytes(), np.uint8), flags)


READS: Dict[str, Callable[[str], Any]] = {
    "imread": lambda path: cv2.imread(path),
    "imread COLOR": lambda path: cv2.imread(path, cv2.IMREAD_COLOR),
    "by name": lambda path: cv2.imread(path, flags=1),
    "stays as stored": lambda path: cv2.imread(path, COLOR | STAYS),
    "imdecode": lambda path: decoded(path, COLOR),
    "imdecode of a part": lambda path: cv2.imdecode(
        np.frombuffer(b"ab" + Path(path).read_bytes(), np.uint8)[2:], COLOR
    ),
    "imdecode of what is written to": lambda path: cv2.imdecode(
        np.frombuffer(bytearray(Path(path).read_bytes()), np.uint8), COLOR
    ),
}
if RGB is not None:
    READS["RGB"] = lambda path: cv2.imread(path, RGB)


@pytest.mark.parametrize("name", READS)
def test_colors(name: str, files: Dict[str, str]) -> None:
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        assert cases.check(READS[name], path) == [True], path
        runs.append(lambda path=path: READS[name](path))  # type: ignore[misc]
    engine_makes(runs)


# By file, whether an image that is read with that flag is deferred.
STORED = {
    GRAY: {"gray.jpg", "gray.png"},
    UNCHANGED: {
        "alpha.png",
        "gray.jpg",
        "gray.png",
        "progressive.jpg",
        "rgb.jpg",
        "rgb.png",
        "rgb.webp",
        "turned.jpg",
        *("orientation%d.jpg" % n for n in range(1, 9)),
    },
}


@pytest.mark.parametrize("flags", STORED)
def test_as_stored(flags: int, files: Dict[str, str]) -> None:
    for read in (cv2.imread, decoded):
        runs: List[Callable[[], Any]] = []
        for name, path in files.items():
            wanted = [name in STORED[flags]]
            assert cases.check(read, path, flags) == wanted, name
            runs.append(lambda p=path: read(p, flags))  # type: ignore[misc]
        engine_makes(runs)


FLOATS = np.linspace(-1, 2, 256).astype(np.float32)
FLIPS = np.arange(256, dtype=np.uint8)[::-1].copy()


def filled(a: Any) -> Any:
    a = a.copy()
    a[3:9, 4:7] = 0
    a[5:11, 1:5] = 200, 100, 50
    return a


def in_hsv(a: Any) -> Any:
    """As albumentations shifts hue, saturation and value."""
    hue, sat, val = cv2.split(cv2.cvtColor(a, cv2.COLOR_RGB2HSV))
    levels = np.arange(256)
    hue = cv2.LUT(hue, np.mod(levels + 20, 180).astype(np.uint8))
    sat = cv2.LUT(sat, np.clip(levels - 30, 0, 255).astype(np.uint8))
    return cv2.cvtColor(cv2.merge((hue, sat, val)), cv2.COLOR_HSV2RGB)


TURN = cv2.getRotationMatrix2D((20.0, 15.0), 31, 0.9)
TILT = np.array([[1.1, 0.1, -3], [0.05, 0.9, 2], [2e-3, -1e-3, 1]])
LINE = np.array([[1.0, 2, 3], [2, 4, 6], [0, 0, 1]])  # without an inverse
MAPS = [
    (m + 3 * np.sin(n)).astype(np.float32)
    for m, n in zip(
        np.meshgrid(np.arange(33), np.arange(28)),
        np.meshgrid(np.arange(33) / 4, np.arange(28) / 5)[::-1],
    )
]
KERNEL = (np.arange(15, dtype=np.float32).reshape(3, 5) - 4) / 50


def equalized(a: Any) -> Any:
    b = np.empty_like(a)
    for n in range(3):
        b[..., n] = cv2.equalizeHist(a[..., n])
    return b


def clahe(a: Any) -> Any:
    """As albumentations does it."""
    a = cv2.cvtColor(a, cv2.COLOR_RGB2LAB)
    made = cv2.createCLAHE(clipLimit=2.5, tileGridSize=(8, 8))
    a[:, :, 0] = made.apply(a[:, :, 0])
    return cv2.cvtColor(a, cv2.COLOR_LAB2RGB)


def turned_twice(a: Any) -> Any:
    matrix = TURN.copy()
    a = cv2.warpAffine(a, matrix, (40, 30))
    matrix[:, 2] += 9
    return cv2.warpAffine(a, matrix, (31, 33))


def with_channel(a: Any, channel: int, value: Any) -> Any:
    b = a.copy()
    b[:, :, channel] = value
    return b


def hue_in_place(a: Any) -> Any:
    a = cv2.cvtColor(a, cv2.COLOR_RGB2HSV)
    lut = np.mod(np.arange(256) + 90, 180).astype(np.uint8)
    a[..., 0] = cv2.LUT(a[..., 0], lut)
    return cv2.cvtColor(a, cv2.COLOR_HSV2RGB)


def shuffled(a: Any) -> Any:
    b = np.empty_like(a)
    for n, channel in enumerate((2, 0, 1)):
        b[..., n] = a[..., channel]
    return b


def looked_up_one_by_one(a: Any) -> Any:
    """As albucore normalizes what is not contiguous."""
    made = np.empty_like(a, dtype=np.float32)
    for n in range(3):
        made[..., n] = cv2.LUT(a[..., n], FLOATS * n)
    return made


def normalized_in_place(a: Any) -> Any:
    a = np.ascontiguousarray(a.astype(np.float32))
    cv2.subtract(a, np.array([103.5, 116.3, 123.7, 0.0]), a)
    cv2.multiply(a, np.array([0.017, 0.018, 0.019, 1.0]), a)
    return a


# Of an array [h, w, 3] as OpenCV reads it.
RECORDED: Dict[str, Callable[[Any], Any]] = {
    "BGR2RGB": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2RGB),
    "RGB2BGR by name": lambda a: cv2.cvtColor(a, code=cv2.COLOR_RGB2BGR),
    "of floats": lambda a: cv2.cvtColor(
        a.astype(np.float32) / 255.0, cv2.COLOR_BGR2RGB
    ),
    "by a slice": lambda a: a[:, :, ::-1].copy(),
    "chw by a slice": lambda a: np.ascontiguousarray(
        a.transpose((2, 0, 1))[::-1]
    ),
    "chw": lambda a: torch.from_numpy(
        cv2.cvtColor(a, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
    ),
    "flip": lambda a: cv2.flip(a, 1),
    "flip rows": lambda a: cv2.flip(a, 0),
    "flip both": lambda a: cv2.flip(a, -1),
    "flip of a crop": lambda a: cv2.flip(a[3:19, 4:21], 1),
    "transpose": lambda a: cv2.transpose(a),
    "rotate": lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE),
    "rotate back": lambda a: cv2.rotate(a, cv2.ROTATE_90_COUNTERCLOCKWISE),
    "rotate twice": lambda a: cv2.rotate(a, cv2.ROTATE_180),
    "border": lambda a: cv2.copyMakeBorder(
        a, 3, 4, 5, 6, cv2.BORDER_CONSTANT, value=(114, 115, 116)
    ),
    "border of a number": lambda a: cv2.copyMakeBorder(
        a, 3, 4, 5, 6, cv2.BORDER_CONSTANT, value=7
    ),
    "black border": lambda a: cv2.copyMakeBorder(
        a, 1, 2, 3, 4, cv2.BORDER_CONSTANT
    ),
    "replicate": lambda a: cv2.copyMakeBorder(
        a, 9, 0, 1, 40, cv2.BORDER_REPLICATE
    ),
    "reflect": lambda a: cv2.copyMakeBorder(a, 9, 2, 3, 4, cv2.BORDER_REFLECT),
    "reflect 101": lambda a: cv2.copyMakeBorder(
        a, 9, 2, 3, 4, borderType=cv2.BORDER_REFLECT_101
    ),
    "to an image": lambda a: Image.fromarray(
        cv2.cvtColor(a, cv2.COLOR_BGR2RGB)
    ).resize((20, 16)),
    "resize": lambda a: cv2.resize(a, (24, 30)),
    "nearest": lambda a: cv2.resize(a, (24, 70), interpolation=0),
    "area": lambda a: cv2.resize(a, (24, 17), interpolation=cv2.INTER_AREA),
    "lanczos": lambda a: cv2.resize(
        a, dsize=(90, 17), interpolation=cv2.INTER_LANCZOS4
    ),
    "by factors": lambda a: cv2.resize(a, None, fx=0.37, fy=1.6),
    "nearest by factors": lambda a: cv2.resize(
        a, None, fx=0.43, fy=0.9, interpolation=cv2.INTER_NEAREST
    ),
    "resize of a crop": lambda a: cv2.resize(a[3:20, 5:31], (40, 40)),
    "crop of a resize": lambda a: cv2.resize(a, (50, 40))[3:20, 5:31].copy(),
    "resize, flip": lambda a: cv2.flip(cv2.resize(a, (50, 40)), 1),
    "resize of a table": lambda a: cv2.resize(255 - a, (50, 40)),
    "resize twice": lambda a: cv2.resize(
        cv2.resize(a, (50, 40)), (23, 31), interpolation=cv2.INTER_AREA
    ),
    "resize, to an image": lambda a: Image.fromarray(
        cv2.resize(a, (50, 40))
    ).rotate(20),
    "resize, border, floats": lambda a: (
        cv2.copyMakeBorder(
            cv2.resize(a, (31, 20)), 0, 11, 0, 0, cv2.BORDER_CONSTANT
        ).transpose(2, 0, 1)
        / 255
    ).astype(np.float32),
    "gray": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2GRAY),
    "gray, colours, gray": lambda a: cv2.cvtColor(
        cv2.cvtColor(cv2.cvtColor(a, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2BGR),
        cv2.COLOR_BGR2GRAY,
    ),
    "HSV": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2HSV),
    "HSV and back": lambda a: in_hsv(cv2.cvtColor(a, cv2.COLOR_BGR2RGB)),
    "YCrCb": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2YCrCb)[..., 0],
    "YCrCb and back": lambda a: cv2.cvtColor(
        cv2.cvtColor(a, cv2.COLOR_BGR2YCrCb), cv2.COLOR_YCrCb2RGB
    ),
    "GaussianBlur": lambda a: cv2.GaussianBlur(a, (5, 7), 1.3),
    "GaussianBlur of two sigmas": lambda a: cv2.GaussianBlur(
        a, (0, 0), sigmaX=0.8, sigmaY=2
    ),
    "blur": lambda a: cv2.blur(a, (3, 5)),
    "wrap": lambda a: cv2.copyMakeBorder(a, 1, 2, 3, 4, cv2.BORDER_WRAP),
    "reflected more than once": lambda a: cv2.copyMakeBorder(
        a, 99, 2, 3, 4, cv2.BORDER_REFLECT_101
    ),
    "wrap of a table": lambda a: cv2.copyMakeBorder(
        255 - a, 60, 0, 0, 61, cv2.BORDER_WRAP
    ),
    "lighter": lambda a: cv2.cvtColor(
        cv2.add(cv2.cvtColor(a, cv2.COLOR_RGB2HLS), (0, 20, 0, 0)),
        cv2.COLOR_HLS2RGB,
    ),
    "an even blur": lambda a: cv2.blur(a, (2, 6)),
    "borders": lambda a: cv2.blur(
        cv2.GaussianBlur(a, (5, 7), 1.5, borderType=cv2.BORDER_WRAP),
        (4, 3),
        borderType=cv2.BORDER_CONSTANT,
    ),
    "a border of a filter": lambda a: cv2.filter2D(
        a, -1, KERNEL, borderType=cv2.BORDER_REFLECT
    ),
    "medianBlur": lambda a: cv2.medianBlur(a, 5),
    "blur of a resize": lambda a: cv2.GaussianBlur(
        cv2.resize(a, (30, 20)), ksize=(3, 3), sigmaX=0
    ),
    "warpAffine": lambda a: cv2.warpAffine(a, TURN, (40, 30)),
    "warpAffine nearest": lambda a: cv2.warpAffine(
        a, TURN, (a.shape[1], a.shape[0]), flags=cv2.INTER_NEAREST
    ),
    "warpAffine of a colour": lambda a: cv2.warpAffine(
        a, M=TURN, dsize=(40, 30), borderValue=(114, 115, 116)
    ),
    "warpAffine reflected": lambda a: cv2.warpAffine(
        cv2.resize(a, (30, 30)), TURN, (40, 30), borderMode=4
    ),
    "warpAffine inverse": lambda a: cv2.warpAffine(
        a, TURN.astype(np.float32), (40, 30), flags=1 | 16, borderMode=1
    ),
    "warpAffine of a matrix that changes": lambda a: turned_twice(a),
    "warpAffine of a plane to a line": lambda a: cv2.warpAffine(
        a, LINE[:2], (40, 30), borderMode=cv2.BORDER_REPLICATE
    ),
    "warpPerspective": lambda a: cv2.warpPerspective(
        a, TILT, (40, 30), borderValue=(1, 2, 3)
    ),
    "warpPerspective of a plane to a line": lambda a: cv2.warpPerspective(
        a, LINE, (40, 30), borderValue=(1, 2, 3)
    ),
    "warpPerspective nearest": lambda a: cv2.warpPerspective(
        a, TILT, (40, 30), flags=cv2.INTER_NEAREST, borderMode=2
    ),
    "remap": lambda a: cv2.remap(a, *MAPS, cv2.INTER_LINEAR),
    "remap reflected": lambda a: cv2.remap(
        a, *MAPS, interpolation=0, borderMode=cv2.BORDER_REFLECT_101
    ),
    "remap of pairs": lambda a: cv2.remap(
        a, map1=np.stack(MAPS, 2), map2=None, interpolation=1
    ),
    "Lab": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2LAB),
    "CLAHE": lambda a: cv2.createCLAHE(3.0, (4, 3)).apply(a[..., 0]),
    "CLAHE in Lab": lambda a: clahe(a),
    "filter2D": lambda a: cv2.filter2D(a, -1, KERNEL),
    "filter2D by doubles": lambda a: cv2.filter2D(
        a, ddepth=-1, kernel=KERNEL.astype(np.float64) / 3
    ),
    "no destination": lambda a: cv2.flip(a, 1, dst=None),
    "equalizeHist": lambda a: cv2.equalizeHist(a[..., 1]),
    "channels equalized": lambda a: equalized(a),
    "merged of equalized ones": lambda a: cv2.merge(
        [a[..., 2], cv2.equalizeHist(a[..., 1]), a[..., 1]]
    ),
    "split and merged": lambda a: cv2.merge(cv2.split(a)[::-1]),
    "merged by hand": lambda a: cv2.merge([a[..., 2], a[..., 0], a[..., 1]]),
    "looked up": lambda a: cv2.LUT(a, 255 - np.arange(256, dtype=np.uint8)),
    "looked up as floats": lambda a: cv2.LUT(a, FLOATS),
    "looked up by channel": lambda a: cv2.LUT(
        a, np.stack([FLOATS, FLOATS * 2, 1 - FLOATS], 1)[:, None]
    ),
    "bytes looked up by channel": lambda a: cv2.LUT(
        a, np.stack([FLIPS, FLIPS // 2, FLIPS // 3], 1)[None]
    ),
    "looked up one by one": lambda a: looked_up_one_by_one(a[:, ::-1]),
    "by channels": lambda a: cv2.merge(
        [cv2.LUT(a[:, :, n], FLOATS * n) for n in range(3)]
    ),
    "a rectangle, then by channels": lambda a: cv2.merge(
        [cv2.LUT(filled(a)[:, :, n], FLOATS * n) for n in range(3)]
    ),
    "add": lambda a: cv2.add(a, 50),
    "add by channel": lambda a: cv2.add(a, (10, 20, 30, 0)),
    "subtract": lambda a: cv2.subtract(a, np.array([10.0, 20, 30, 0])),
    "multiply": lambda a: cv2.multiply(a, (1.37, 0.4, 2.2, 0)),
    "in place": lambda a: normalized_in_place(a),
    "bitwise_not": lambda a: cv2.bitwise_not(a),
    "scaled": lambda a: cv2.convertScaleAbs(a, alpha=1.3, beta=-12.5),
    "scaled by position": lambda a: cv2.convertScaleAbs(a, None, -0.7, 20),
    "weighed": lambda a: cv2.addWeighted(a, 1.5, np.zeros_like(a), 0, 10),
    "weighed with zeros": lambda a: cv2.addWeighted(
        a, 0.75, np.zeros(a.shape, a.dtype), 0, -3
    ),
    "weighed with a colour": lambda a: cv2.addWeighted(
        a, 0.5, np.full_like(a, (10, 200, 30)), 0.5, gamma=0
    ),
    "weighed with itself": lambda a: cv2.addWeighted(a, 0.5, a, 0.25, 7),
    "threshold": lambda a: cv2.threshold(a, 99.5, 255, cv2.THRESH_BINARY)[1],
    "cut off": lambda a: cv2.threshold(a[..., 1], 80, 0, cv2.THRESH_TRUNC)[1],
    "a channel by a table": lambda a: with_channel(a, 1, a[..., 1] // 2),
    "another channel": lambda a: with_channel(a, 0, a[:, :, 2]),
    "hue in place": lambda a: hue_in_place(a),
    "channels shuffled": lambda a: shuffled(a),
    "stacked": lambda a: np.stack([a[..., 1], a[..., 0]], axis=2),
    "dstacked": lambda a: np.dstack([a[..., 1], a[..., 0], a[..., 0]]),
    "concatenated": lambda a: np.concatenate(
        [a[:, :, 2:], a[:, :, :1], a[:, :, 1:2]], axis=2
    ),
    "required": lambda a: np.require(a[:, ::-1], requirements=["C"]),
    "normalized": lambda a: (
        cv2.flip(a, 1).astype(np.float32) / 255.0 - np.float32(0.5)
    ).transpose(2, 0, 1),
}


@pytest.mark.parametrize("name", RECORDED)
def test_functions(name: str, files: Dict[str, str]) -> None:
    method = RECORDED[name]
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        assert cases.check(lambda p: method(cv2.imread(p)), path) == [True]
        runs.append(lambda p=path: method(cv2.imread(p)))  # type: ignore[misc]
    engine_makes(runs)


@pytest.fixture
def without_avx2() -> Iterator[None]:
    """OpenCV computes as where the processor has none."""
    cv2.setUseOptimized(False)
    yield
    cv2.setUseOptimized(True)


def test_without_avx2(files: Dict[str, str], without_avx2: None) -> None:
    """What rounds otherwise then is not recorded, the rest as ever."""
    path = files["rgb.jpg"]
    engine_makes([partial(read_and, f, path) for f in RECORDED.values()])


def read_and(method: Callable[[Any], Any], path: str) -> Any:
    return method(cv2.imread(path))


GRAYS: Dict[str, Callable[[Any], Any]] = {
    "warpAffine": lambda a: cv2.warpAffine(
        a, TURN, (40, 30), flags=0, borderValue=255
    ),
    "equalizeHist": lambda a: cv2.equalizeHist(a),
    "GaussianBlur": lambda a: cv2.GaussianBlur(a, (3, 3), 0),
    "medianBlur": lambda a: cv2.medianBlur(a, 3),
    "flip": lambda a: cv2.flip(a, 1),
    "resize": lambda a: cv2.resize(a, (20, 31), interpolation=0),
    "rotate": lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE),
    "border": lambda a: cv2.copyMakeBorder(
        a, 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=255
    ),
    "to colours": lambda a: cv2.cvtColor(a, cv2.COLOR_GRAY2BGR),
    "resize of three dimensions": lambda a: cv2.resize(
        a[:, :, None], (20, 31), interpolation=0
    ),
    "flip of three dimensions": lambda a: cv2.flip(a[..., np.newaxis], 0),
    "border of three dimensions": lambda a: cv2.copyMakeBorder(
        a[:, :, None], 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=9, dst=None
    ),
    "classes": lambda a: (cv2.transpose(a) > 7).astype(np.int64),
}


@pytest.mark.parametrize("name", GRAYS)
def test_gray(name: str, files: Dict[str, str]) -> None:
    method = GRAYS[name]
    runs: List[Callable[[], Any]] = []
    for file in ("gray.png", "gray.jpg"):
        program = lambda p: method(cv2.imread(p, GRAY))  # noqa: E731
        assert cases.check(program, files[file]) == [True]
        runs.append(lambda p=files[file]: program(p))  # type: ignore[misc]
    engine_makes(runs)


ALPHA: Dict[str, Callable[[Any], Any]] = {
    "to BGR": lambda a: cv2.cvtColor(a, cv2.COLOR_BGRA2BGR),
    "to RGB": lambda a: cv2.cvtColor(a, cv2.COLOR_BGRA2RGB),
    "to RGBA": lambda a: cv2.cvtColor(a, cv2.COLOR_BGRA2RGBA),
    "sliced": lambda a: a[:, :, :3],
    "alpha": lambda a: a[..., 3] / 255,
}


@pytest.mark.parametrize("name", ALPHA)
def test_alpha(name: str, files: Dict[str, str]) -> None:
    method = ALPHA[name]
    path = files["alpha.png"]
    program = lambda p: method(cv2.imread(p, UNCHANGED))  # noqa: E731
    assert cases.check(program, path) == [True]
    engine_makes([lambda: program(path)])


# ---- What is not recorded ---------------------------------------------------

REAL: Dict[str, Callable[[Any], Any]] = {
    "dst": lambda a: cv2.flip(a, 1, np.zeros_like(a)),
    "half a byte": lambda a: cv2.copyMakeBorder(
        a, 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=(1.5, 2, 3)
    ),
    "beyond a byte": lambda a: cv2.copyMakeBorder(
        a, 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=(300, -2, 3)
    ),
    "one channel of three dimensions": lambda a: cv2.flip(a[:, :, :1], 1),
    "a view that others see": lambda a: changed(a, cv2.flip(a, 1)),
    "mean": lambda a: cv2.mean(a),
    "resize of floats": lambda a: cv2.resize(a / np.float32(255), (20, 20)),
    "a channel of another image": lambda a: with_channel(
        a, 1, cv2.flip(a, 1)[..., 0]
    ),
    "a channel of floats": lambda a: with_channel(a, 1, a[..., 0] * 0.7),
    "a channel that others see": lambda a: channel_seen(a),
    "an even side": lambda a: cv2.filter2D(
        a, -1, np.ones((2, 2), np.float32) / 4
    ),
    "a kernel of what is no number": lambda a: cv2.filter2D(
        a, -1, np.full((3, 3), np.nan)
    ),
    "sums beyond 32 bits": lambda a: cv2.filter2D(a, -1, np.diag([1e10, 1, 0])),
    "separable sums beyond 32 bits": lambda a: cv2.sepFilter2D(
        a, -1, np.array([0, 1e5, 0]), np.array([2e4, 5e4, 2e4])
    ),
    "a transparent border": lambda a: cv2.warpAffine(
        a, TURN, (a.shape[1], a.shape[0]), dst=a.copy(), borderMode=5
    ),
    "CLAHE of floats": lambda a: a[..., 0] / cv2.createCLAHE().getClipLimit(),
    "cubic warp": lambda a: cv2.warpAffine(a, TURN, (40, 30), flags=2),
    "maps of integers": lambda a: cv2.remap(
        a, *cv2.convertMaps(*MAPS, cv2.CV_16SC2), cv2.INTER_LINEAR
    ),
    "an even kernel": lambda a: cv2.blur(a, (18, 15)),
    "an isolated border": lambda a: cv2.GaussianBlur(
        a, (5, 5), 1, borderType=cv2.BORDER_REPLICATE | cv2.BORDER_ISOLATED
    ),
    "a full circle": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2HLS_FULL),
    "another colour space": lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2LUV),
    "gray of floats": lambda a: cv2.cvtColor(
        a / np.float32(255), cv2.COLOR_BGR2GRAY
    ),
    "cubic": lambda a: cv2.resize(a, (20, 20), interpolation=cv2.INTER_CUBIC),
    "resize of a rectangle": lambda a: cv2.resize(filled(a), (20, 20)),
    "an array for each pixel": lambda a: cv2.add(a, np.full_like(a, 3)),
    "a mask": lambda a: cv2.add(a, 3, mask=np.ones(a.shape[:2], np.uint8)),
    "of two images": lambda a: cv2.add(a, cv2.flip(a, 1)),
    "channels of two images": lambda a: cv2.merge(
        [a[..., 0], cv2.flip(a, 1)[..., 1], a[..., 2]]
    ),
    "integers": lambda a: cv2.flip(a.astype(np.int32), 1),
    "Otsu's": lambda a: cv2.threshold(
        a[..., 0], 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU
    ),
    "a threshold of a name": lambda a: cv2.threshold(
        a, thresh=9, maxval=255, type=cv2.THRESH_TOZERO
    ),
    "what the threshold was": lambda a: cv2.threshold(a, 9.5, 7, 0),
    "weighed with another": lambda a: cv2.addWeighted(
        a, 0.5, cv2.flip(a, 1), 0.5, 0
    ),
    "weighed with noise": lambda a: cv2.addWeighted(
        a, 0.5, np.random.randint(0, 255, a.shape).astype(np.uint8), 0.5, 0
    ),
    "weighed floats": lambda a: cv2.addWeighted(
        a.astype(np.float32), 0.5, a.astype(np.float32), 0.25, 0
    ),
    "scaled floats": lambda a: cv2.convertScaleAbs(a / 255, alpha=255),
    "exact": lambda a: cv2.resize(a, (20, 31), interpolation=6),
}


@pytest.mark.parametrize("alpha", (0.5, 1.3))
def test_sums_that_are_rounded_in_two_ways(
    alpha: float, files: Dict[str, str]
) -> None:
    """By 1.3 OpenCV makes another byte at the ends of rows, with AVX2."""
    every = np.arange(256, dtype=np.uint8)[:, None]
    short = np.repeat(every, 2, axis=1)[:, :1]
    sums = [cv2.addWeighted(x, alpha, x * 0, 0, -7) for x in (every, short)]

    def program(path: str) -> Any:
        a = cv2.imread(path)
        return cv2.addWeighted(a, alpha, np.zeros_like(a), 0, -7)

    (deferred,) = cases.check(program, files["rgb.jpg"])
    assert deferred == np.array_equal(*sums)


def changed(array: Any, other: Any) -> Any:
    array[:5] = 3
    return array, other


def channel_seen(a: Any) -> Any:
    view = a[:9]
    a[..., 0] = a[..., 1]
    return a, view


@pytest.mark.parametrize("name", REAL)
def test_others_are_right_too(name: str, files: Dict[str, str]) -> None:
    method = REAL[name]
    for path in files.values():
        cases.check(lambda p: method(cv2.imread(p)), path)


def test_what_opencv_refuses(files: Dict[str, str]) -> None:
    recorder = Recorder()

    def program(path: str) -> None:
        a = cv2.imread(path)
        with pytest.raises(cv2.error):
            cv2.cvtColor(a, cv2.COLOR_GRAY2BGR)
        with pytest.raises(cv2.error):
            cv2.copyMakeBorder(a, -1, 0, 0, 0, cv2.BORDER_REPLICATE)
        with pytest.raises(cv2.error):
            cv2.resize(a, (0, 10))
        with pytest.raises(cv2.error):
            cv2.resize(a, None, fx=0.001, fy=1)

    recorder.run(program, files["rgb.jpg"])


def test_no_image(files: Dict[str, str], tmp_path: Path) -> None:
    text = tmp_path / "text.jpg"
    text.write_text("no image")
    recorder = Recorder()
    assert recorder.run(cv2.imread, str(tmp_path / "missing.jpg")) is None
    assert recorder.run(cv2.imread, str(text)) is None
    assert recorder.run(decoded, str(text), COLOR) is None
    assert recorder.images == 0


def test_other_files(tmp_path: Path) -> None:
    """Of which OpenCV makes other pixels than Pillow does."""
    small = images.picture((31, 22), 3)
    cases_of: List[Any] = [
        (small.convert("CMYK"), "cmyk.jpg", {}),
        (small.convert("I;16"), "sixteen.png", {}),
        (small, "a.bmp", {}),
        (small, "a.tiff", {}),
    ]
    for image, name, options in cases_of:
        path = str(tmp_path / name)
        image.save(path, **options)
        assert cases.check(cv2.imread, path) == [False], name


def test_kept_is_real(files: Dict[str, str]) -> None:
    """Beyond its sample it is a real one, and of the file that it was."""
    recorder = Recorder()
    kept = recorder.run(cv2.imread, files["rgb.jpg"])
    recorder.run(cv2.imread, files["rgb.png"])
    assert deferred_of(kept) is None
    cases.same(cv2.imread(files["rgb.jpg"]), kept._feedline_real)


def test_a_file_that_is_another_now(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    images.picture((31, 22), 3).save(path)
    os.utime(path, (1, 1))

    def program() -> Any:
        array = cv2.imread(str(path))
        file = io.BytesIO()
        images.picture((31, 22), 4).save(file, "PNG")
        path.write_bytes(file.getvalue())
        return array.mean()

    time.sleep(0.1)  # or the bytes themselves are kept
    with pytest.raises(OSError, match="another file"):
        Recorder().run(program)


# ---- In a loader ------------------------------------------------------------


class Photos(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """With a substitute for what cannot be read."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.paths[index])
        if image is None:
            return torch.zeros(3, 16, 16)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)[:16, :16]
        image = image.astype(np.float32) / 255.0
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


def test_damaged_files(files: Dict[str, str], tmp_path: Path) -> None:
    """OpenCV delivers what there is of a file that ends too early."""
    from feedline.torch import DataLoader

    paths = [path for path in files.values() if path.endswith("g")]
    cut = tmp_path / "cut.jpg"
    data = Path(files["rgb.jpg"]).read_bytes()
    cut.write_bytes(data[: len(data) * 2 // 3])
    paths[4:4] = [str(cut), str(tmp_path / "missing.jpg")]
    ours = DataLoader(Photos(paths), batch_size=4, num_workers=1)
    theirs = torch.utils.data.DataLoader(Photos(paths), batch_size=4)
    for _ in range(2):
        for got, want in zip(ours, theirs):
            cases.same(want, got)
    assert ours.native, ours.fallback_reason
