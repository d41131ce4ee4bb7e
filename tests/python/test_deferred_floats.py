# SPDX-License-Identifier: Apache-2.0
"""Images of floats that OpenCV converts between colours: what is recorded is
what OpenCV and NumPy make."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

AVX2, FMA = 11, 12
if not (cv2.checkHardwareSupport(AVX2) and cv2.checkHardwareSupport(FMA)):
    pytest.skip("OpenCV has no AVX2 here", allow_module_level=True)

TO, BACK = cv2.COLOR_BGR2HSV, cv2.COLOR_HSV2BGR


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def floats(path: str) -> Any:
    return cv2.imread(path).astype(np.float32)


def hsv(path: str) -> Any:
    return cv2.cvtColor(floats(path), TO)


def distorted(path: str, flags: int, order: Any = (2, 0, 1)) -> Any:
    """As PhotoMetricDistortion of MMDetection."""
    img = cv2.imread(path).astype(np.float32)
    if flags & 1:
        img += -17.25
    if flags & 2:
        img *= 1.31
    img = cv2.cvtColor(img, cv2.COLOR_BGR2HSV)
    if flags & 4:
        img[..., 1] *= 1.4
        img[..., 1] = img[..., 1].clip(0, 1)
    if flags & 8:
        img[..., 0] += 11.5 if flags & 1 else -11.5
        img[..., 0][img[..., 0] > 360] -= 360
        img[..., 0][img[..., 0] < 0] += 360
    img = cv2.cvtColor(img, cv2.COLOR_HSV2BGR)
    if not flags & 2:
        img *= 0.7
    if flags & 16:
        img = img[..., np.array(order)]
    return img


def packed(img: Any) -> Any:
    if not img.flags.c_contiguous:
        img = np.ascontiguousarray(img.transpose(2, 0, 1))
        return torch.from_numpy(img)
    return torch.from_numpy(img).permute(2, 0, 1).contiguous()


@pytest.mark.parametrize("flags", range(0, 32, 3))
def test_distortions(flags: int, files: Dict[str, str]) -> None:
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        for program in (
            lambda p: distorted(p, flags),
            lambda p: packed(distorted(p, flags)),
        ):
            assert cases.check(program, path) == [True], path
            runs.append(lambda p=path, f=program: f(p))  # type: ignore[misc]
    engine_makes(runs)


def by_slices(path: str) -> Any:
    """As SSD's distortions have it, in RGB."""
    a = np.ascontiguousarray(floats(path)[:, 3:40])
    a = cv2.cvtColor(a * 0.5 + 3, cv2.COLOR_RGB2HSV)
    a[:, :, 1] *= 0.6
    a[:, :, 0] -= 15
    a[:, :, 0][a[:, :, 0] < 0.0] += 360.0
    a = cv2.cvtColor(a, code_of("RGB"))
    return cv2.cvtColor(a, cv2.COLOR_RGB2BGR)


def code_of(order: str) -> int:
    return int(getattr(cv2, "COLOR_HSV2" + order))


def in_two(path: str) -> Any:
    a = hsv(path)
    b = a * 2 - 1
    b = 3 + b
    return a, np.clip(b, 0, 300)


def copies(path: str) -> Any:
    a = hsv(path)
    b = a.copy()
    b += 1
    return a, b.astype(np.float32), np.array(b[..., ::-1])


def channel_again(path: str) -> Any:
    a = hsv(path)
    s = a[..., 1] * 0.5
    s += 0.25
    a[..., 1] = s
    a[..., 2] = a[..., 2]
    return a


RECORDED: Dict[str, Callable[[str], Any]] = {
    "by slices": by_slices,
    "two arrays": in_two,
    "copies": copies,
    "a channel again": channel_again,
    "unit floats": lambda p: cv2.cvtColor(
        floats(p)[2:30] / np.float32(255), cv2.COLOR_RGB2HSV
    ),
    "a list": lambda p: hsv(p)[..., [1, 2, 0]],
    "turned round": lambda p: np.ascontiguousarray(hsv(p)[:, :, ::-1]),
    "a tensor by as_tensor": lambda p: torch.as_tensor(hsv(p)),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, files: Dict[str, str]) -> None:
    method = RECORDED[name]
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        assert cases.check(method, path)[0], path
        runs.append(lambda p=path: method(p))  # type: ignore[misc]
    engine_makes(runs)


def seen_by_others(path: str) -> Any:
    a = hsv(path)
    hue, sat = a[..., 0], a[..., 1]
    sat *= 2
    hue += 3
    return a, hue, sat


def of_another_state(path: str) -> Any:
    a = hsv(path)
    high = a[..., 0] > 100
    a[..., 0] *= 1.5
    a[..., 0][high] -= 100
    return a


def picked(path: str) -> Any:
    a = hsv(path)
    low = a[..., 1] < 0.3
    values = a[..., 1][low]
    values += 1
    return a, values, values.shape, low, float(values.sum())


def put_elsewhere(path: str) -> Any:
    a = hsv(path)
    high = a[..., 0] > 100
    values = a[..., 0][high]
    values += 1
    a[..., 1][high] = values
    return a


def picked_twice(path: str) -> Any:
    a = hsv(path)
    values = a[..., 0][a[..., 0] > 100]
    values += 1
    values -= 3
    a[..., 0][a[..., 0] > 100] = values
    return a


def another_channel(path: str) -> Any:
    a = hsv(path)
    a[..., 0] = a[..., 1]
    return a


def of_two_images(path: str) -> Any:
    a, b = hsv(path), cv2.cvtColor(floats(path) + 1, TO)
    a[..., 1] = b[..., 1]
    b[..., 0][a[..., 0] > 50] -= 1
    return a, b


def kept_tensor(path: str) -> Any:
    a = hsv(path)
    t = torch.from_numpy(a)
    a *= 2
    return a, t, t.sum().item()


REAL: Dict[str, Callable[[str], Any]] = {
    "a view that others see": seen_by_others,
    "a mask from before": of_another_state,
    "picked values": picked,
    "put elsewhere": put_elsewhere,
    "picked twice": picked_twice,
    "another channel": another_channel,
    "channels of two images": of_two_images,
    "a tensor of it": kept_tensor,
    "a crop": lambda p: hsv(p)[3:20, 4:30],
    "a flip": lambda p: cv2.flip(hsv(p), 1),
    "a flip by NumPy": lambda p: hsv(p)[:, ::-1].copy(),
    "resize": lambda p: cv2.resize(hsv(p), (20, 20)),
    "columns first": lambda p: hsv(p).transpose(1, 0, 2),
    "doubles": lambda p: hsv(p).astype(np.float64),
    "a double": lambda p: hsv(p) * np.float64(1.5),
    "an array": lambda p: hsv(p) * np.float32([1, 2, 3]),
    "bytes": lambda p: np.clip(cv2.cvtColor(hsv(p), BACK), 0, 255).astype(
        np.uint8
    ),
    "of doubles": lambda p: torch.as_tensor(hsv(p), dtype=torch.float64),
    "a tensor's sum": lambda p: torch.from_numpy(hsv(p)).sum().item(),
    "a tensor, divided": lambda p: torch.from_numpy(hsv(p)) / 2,
    "a tensor, flipped": lambda p: torch.from_numpy(hsv(p)).flip(1),
    "a tensor, turned": lambda p: torch.from_numpy(hsv(p)).permute(1, 0, 2),
    "a channel": lambda p: hsv(p)[..., 2],
    "a comparison": lambda p: hsv(p)[..., 2] > 100,
    "no number": lambda p: floats(p) * np.float32("nan"),
    "gray": lambda p: cv2.cvtColor(floats(p), cv2.COLOR_BGR2GRAY),
    "HLS": lambda p: cv2.cvtColor(floats(p), cv2.COLOR_BGR2HLS),
    "the greatest": lambda p: hsv(p).max(),
}


@pytest.mark.parametrize("name", REAL)
def test_others_are_right_too(name: str, files: Dict[str, str]) -> None:
    method = REAL[name]
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        cases.check(method, path)
        runs.append(lambda p=path: method(p))  # type: ignore[misc]
    engine_makes(runs)


def test_nothing_is_touched(files: Dict[str, str]) -> None:
    recorder = Recorder()
    made = recorder.run(lambda: packed(distorted(files["rgb.jpg"], 31)))
    assert deferred_of(made) is not None
    assert recorder.touches == []


def test_without_avx2(
    files: Dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCV computes it in another way then."""
    from feedline.deferred import opencv_steps

    monkeypatch.setattr(opencv_steps, "as_on_avx2", lambda: False)
    assert cases.check(lambda p: hsv(p), files["rgb.jpg"]) == [False]
