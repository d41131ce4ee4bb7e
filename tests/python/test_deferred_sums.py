# SPDX-License-Identifier: Apache-2.0
"""Sums of an image and noise or its gray one, and images that are written and
read again: what is recorded is what NumPy and OpenCV make."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest
from test_deferred_engine import check as engine_makes

np = cases.np
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import Recorder  # noqa: E402

needs.deferred_tensors()

GAUSS = np.exp(-0.5 * (np.arange(-4, 5) / 1.7) ** 2)
GAUSS = GAUSS / GAUSS.sum()
FLOATS = np.float32


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def noise(a: Any, kind: Any, scale: float = 60) -> Any:
    """Drawn for the shape that the image says it has."""
    return np.random.normal(3, scale, a.shape).astype(kind)


def limited(a: Any) -> Any:
    return np.clip(a, 0, 255).astype(np.uint8)


def saturated(a: Any, factor: float) -> Any:
    """As albumentations has it."""
    gray = cv2.cvtColor(a, cv2.COLOR_RGB2GRAY)
    gray = cv2.cvtColor(gray, cv2.COLOR_GRAY2RGB)
    return cv2.addWeighted(a, factor, gray, 1 - factor, gamma=0)


def mixed(a: Any, pairs: List[int]) -> Any:
    made = np.empty_like(a)
    cv2.mixChannels([a], [made], pairs)
    return made


def again(a: Any, flags: int, *params: Any, ext: str = ".jpg") -> Any:
    done, file = cv2.imencode(ext, a, *params)
    assert done is True
    return cv2.imdecode(file, flags)


def salted(a: Any) -> Any:
    """As albumentations has it."""
    drawn = np.random.random(a.shape[:2])[..., None]
    return np.where(drawn < 0.1, 255, np.where(drawn > 0.8, 0, a))


RECORDED: Dict[str, Callable[[Any], Any]] = {
    "bytes": lambda a: cv2.add(a, np.abs(noise(a, np.int16)).astype(np.uint8)),
    "shorts": lambda a: cv2.add(a, noise(a, np.int16), dtype=cv2.CV_8U),
    "floats": lambda a: cv2.add(a, noise(a, FLOATS), dtype=cv2.CV_8U),
    "as albumentations": lambda a: limited(
        cv2.add(a.astype(FLOATS), np.trunc(noise(a, FLOATS)))
    ),
    "of a table": lambda a: limited(cv2.add(255 - a, 9) + noise(a, FLOATS)),
    "by NumPy": lambda a: limited(a + noise(a, np.float64)),
    "floats by NumPy": lambda a: limited(a.astype(FLOATS) + noise(a, FLOATS)),
    "noise first": lambda a: limited(noise(a, np.float64) + a),
    "integers by NumPy": lambda a: limited(
        a.astype(np.int32) + noise(a, np.int64)
    ),
    "by method": lambda a: (a + noise(a, np.float64))
    .clip(0, 255)
    .astype(np.uint8)[:, 3:],
    "then others": lambda a: cv2.blur(limited(a + noise(a, FLOATS)), (3, 3)),
    "salt and pepper": lambda a: salted(255 - a),
    "white": lambda a: np.where(noise(a, np.int16) > 50, 255, a),
    "saturation": lambda a: saturated(a, 1.37),
    "saturation of a table": lambda a: saturated(255 - a, 0.6),
    "channels": lambda a: mixed(a, [2, 0, 0, 1, 1, 2]),
    "a channel twice": lambda a: mixed(a, [2, 0, 2, 1, 0, 2]),
    "separable": lambda a: cv2.sepFilter2D(a, -1, GAUSS, GAUSS[1:-1]),
    "separable, by name": lambda a: cv2.sepFilter2D(
        a,
        ddepth=-1,
        kernelX=GAUSS.astype(FLOATS)[None],
        kernelY=GAUSS[1:-1, None].astype(FLOATS),
        borderType=cv2.BORDER_REPLICATE,
    ),
    "recompressed": lambda a: again(a, -1, (cv2.IMWRITE_JPEG_QUALITY, 40)),
    "recompressed as usual": lambda a: again(a, 1, ext=".JPEG"),
    "a table recompressed": lambda a: again(255 - a, 1, [1, 120]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_colors(name: str, files: Dict[str, str]) -> None:
    method = RECORDED[name]
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        assert cases.check(lambda p: method(cv2.imread(p)), path) == [True]
        runs.append(lambda p=path: method(cv2.imread(p)))  # type: ignore[misc]
    engine_makes(runs)


GRAYS: Dict[str, Callable[[Any], Any]] = {
    "floats": lambda a: cv2.add(a, noise(a, FLOATS), dtype=cv2.CV_8U),
    "by NumPy": lambda a: limited(a + noise(a, np.float64)),
    "separable": lambda a: cv2.sepFilter2D(a, -1, GAUSS, GAUSS),
    "recompressed": lambda a: again(a, 0, (cv2.IMWRITE_JPEG_QUALITY, 7)),
}


@pytest.mark.parametrize("name", GRAYS)
def test_gray(name: str, files: Dict[str, str]) -> None:
    method = GRAYS[name]
    runs: List[Callable[[], Any]] = []
    for file in ("gray.png", "gray.jpg"):
        program = lambda p: method(cv2.imread(p, 0))  # noqa: E731
        assert cases.check(program, files[file]) == [True]
        runs.append(lambda p=files[file]: program(p))  # type: ignore[misc]
    engine_makes(runs)


def kept(a: Any) -> Any:
    """The file itself is asked of, and then read."""
    _, file = cv2.imencode(".jpg", a, (1, 50))
    return file.shape, len(file), file.dtype.name, cv2.imdecode(file, 1)


def noise_changed(a: Any) -> Any:
    """What was added is another afterwards."""
    given = noise(a, np.float64)
    made = a + given
    given[...] = 0
    return limited(made), cv2.add(a, given.astype(np.uint8))


# What is asked of a sum before it is bytes, or is recorded in no way.
REAL: Dict[str, Callable[[Any], Any]] = {
    "not limited": lambda a: a + noise(a, np.float64),
    "not bytes": lambda a: np.clip(a + noise(a, np.float64), 0, 255),
    "limited to less": lambda a: np.clip(
        a + noise(a, np.float64), 10, 255
    ).astype(np.uint8),
    "rounded": lambda a: limited(np.rint(a + noise(a, np.float64))),
    "bytes that wrap": lambda a: a + noise(a, np.float64).astype(np.uint8),
    "its mean": lambda a: float((a + noise(a, np.float64)).mean()),
    "as floats": lambda a: limited(a + noise(a, np.float64)).mean(),
    "gray pixels": lambda a: np.where(noise(a, np.int16) > 50, 128, a),
    "white floats": lambda a: np.where(noise(a, np.int16) > 50, 255.0, a),
    "more than it is": lambda a: np.where(np.ones((2, 1, 1, 1), bool), 0, a),
    "with gamma": lambda a: cv2.addWeighted(a, 0.5, a, 0.5, 3),
    "of two": lambda a: cv2.addWeighted(a, 0.5, cv2.flip(a, 1), 0.5, 0),
    "a channel less": lambda a: mixed(a, [0, 0, 1, 1, 0, 2])[..., :2],
    "parts of 256": lambda a: cv2.sepFilter2D(
        a, -1, np.array([0.25, 0.5, 0.25]), np.array([0.25, 0.5, 0.25])
    ),
    "uneven": lambda a: cv2.sepFilter2D(
        a, -1, GAUSS, np.array([0.2, 0.5, 0.3])
    ),
    "even": lambda a: cv2.sepFilter2D(a, -1, GAUSS, GAUSS[:2]),
    "shorts come out": lambda a: cv2.sepFilter2D(a, cv2.CV_16S, GAUSS, GAUSS),
    "PNG": lambda a: again(a, 1, ext=".png"),
    "WebP": lambda a: again(a, 1, (cv2.IMWRITE_WEBP_QUALITY, 60), ext=".webp"),
    "gray of colours": lambda a: again(a, 0),
    "progressive": lambda a: again(a, 1, (cv2.IMWRITE_JPEG_PROGRESSIVE, 1)),
    "the file": lambda a: kept(a),
    "noise that changes": lambda a: noise_changed(a),
}


@pytest.mark.parametrize("name", REAL)
def test_others_are_right_too(name: str, files: Dict[str, str]) -> None:
    method = REAL[name]
    for path in files.values():
        cases.check(lambda p: method(cv2.imread(p)), path)


def test_what_opencv_refuses(files: Dict[str, str]) -> None:
    def program(path: str) -> None:
        a = cv2.imread(path)
        with pytest.raises(cv2.error):
            cv2.sepFilter2D(a, -1, GAUSS, GAUSS, borderType=cv2.BORDER_WRAP)
        with pytest.raises(cv2.error):
            cv2.sepFilter2D(a, -1, GAUSS, GAUSS.astype(np.float32))
        with pytest.raises(cv2.error):
            cv2.imencode(".nothing", a)
        with pytest.raises(cv2.error):
            cv2.add(a, np.zeros((3, 3, 3), np.float32))

    Recorder().run(program, files["rgb.jpg"])


def test_an_infinite_number_is_not_recorded(tmp_path: Path) -> None:
    path = str(tmp_path / "a.png")
    cv2.imwrite(path, np.full((9, 8, 3), 77, np.uint8))

    def program() -> Any:
        a = cv2.imread(path)
        added = np.zeros(a.shape)
        added[3, 3] = np.inf
        return np.clip(a + added, 0, 255).astype(np.uint8)

    assert cases.check(program) == [False]
