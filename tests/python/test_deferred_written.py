# SPDX-License-Identifier: Apache-2.0
"""Arrays that are written to by other arrays of their image, by indices and as
OpenCV's `dst`, and what goes with that: borders of floats, numbers for all."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

needs.deferred_tensors()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def floats(a: Any) -> Any:
    return a.astype(np.float32) / 255.0


def onto_itself(a: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """By a function whose result is the array that it is given."""
    made = getattr(cv2, name)(a, *args, a, **kwargs)
    assert made is a
    return a


def onto_another(a: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    other = a.copy()
    made = getattr(cv2, name)(a, *args, dst=other, **kwargs)
    assert made is other
    return other


def patch_onto_itself(a: Any) -> Any:
    """A patch is flipped in the memory of the whole."""
    patch = floats(a)[3:13, 5:21, ...]
    cv2.flip(patch, 1, patch)
    cv2.flip(patch, 0, patch)
    return cv2.cvtColor(patch.transpose(1, 0, 2), cv2.COLOR_BGR2RGB)


def scaled(image: Any, alpha: float = 1, beta: float = 0) -> Any:
    values = image.astype(float) * alpha + beta
    values[values < 0] = 0
    values[values > 255] = 255
    image[:] = values
    return image


def channel_scaled(a: Any) -> Any:
    """Through a view of it."""
    a = cv2.cvtColor(a, cv2.COLOR_BGR2HSV)
    scaled(a[:, :, 1], alpha=1.3)
    hue = a[:, :, 0].astype(int) + 11
    hue %= 180
    a[:, :, 0] = hue
    return cv2.cvtColor(a, cv2.COLOR_HSV2BGR)


def through_view(a: Any) -> Any:
    """A view, and the array that it is of."""
    a = a.copy()
    view = a[:, :, 1]
    scaled(view, beta=9)
    return a, view


def classes(a: Any) -> Any:
    gray = a[..., 1]
    made = np.full_like(gray, 255)
    for n in range(4):
        made[gray // 64 == n] = n + 1
    return made


def normalized(a: Any) -> Any:
    """As OpenMMLab's packages do it, and padded then."""
    a = a.copy().astype(np.float32)
    mean = np.float64(np.array([123.675, 116.28, 103.53]).reshape(1, -1))
    factor = 1 / np.float64(np.array([58.395, 57.12, 57.375]).reshape(1, -1))
    cv2.cvtColor(a, cv2.COLOR_BGR2RGB, a)
    cv2.subtract(a, mean, a)
    cv2.multiply(a, factor, a)
    return cv2.copyMakeBorder(a, 2, 3, 4, 5, cv2.BORDER_CONSTANT, value=0)


def packed(a: Any) -> Any:
    turned = a.transpose(1, 0, 2).flags
    a = normalized(a)
    if not a.flags.c_contiguous or turned["C_CONTIGUOUS"]:
        return None
    return torch.from_numpy(a).permute(2, 0, 1).contiguous()


def one_channel(a: Any) -> Any:
    """Comes back without a dimension for it."""
    small = cv2.resize(a[:, :, :1], (20, 15))
    return cv2.flip(small[..., None], 0)


RECORDED: Dict[str, Callable[[Any], Any]] = {
    "flip": lambda a: onto_itself(a, "flip", 1),
    "flip of floats": lambda a: onto_itself(floats(a), "flip", -1),
    "flip onto a copy": lambda a: onto_another(a, "flip", 0),
    "flip of a patch": patch_onto_itself,
    "cvtColor": lambda a: onto_itself(a, "cvtColor", cv2.COLOR_BGR2RGB),
    "HSV and back": lambda a: onto_itself(
        onto_itself(a, "cvtColor", cv2.COLOR_BGR2HSV),
        "cvtColor",
        cv2.COLOR_HSV2BGR,
    ),
    "blur": lambda a: onto_another(a, "blur", (3, 3)),
    "GaussianBlur": lambda a: onto_itself(a, "GaussianBlur", (5, 5), 1.0),
    "medianBlur": lambda a: onto_another(a, "medianBlur", 3),
    "resize": lambda a: cv2.resize(a, (20, 31), None, 0, 0, cv2.INTER_AREA),
    "by its position": lambda a: cv2.warpAffine(
        a, np.float32([[1, 0.1, 2], [0, 1, 3]]), (30, 20), None, 0, 1
    ),
    "scaled": lambda a: scaled(a.copy(), 0.7, 3.5),
    "a channel scaled": channel_scaled,
    "through a view": lambda a: through_view(a)[0].copy(),
    "the view": lambda a: through_view(a)[1].copy(),
    "classes": classes,
    "ones": lambda a: np.ones_like(a, dtype=np.float32),
    "normalized": normalized,
    "packed": packed,
    "floats and a border": lambda a: cv2.copyMakeBorder(
        floats(a), 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=(1.0, 0, 0.25)
    ),
    "floats, mirrored": lambda a: cv2.copyMakeBorder(
        floats(a), 1, 2, 3, 4, cv2.BORDER_REFLECT_101
    ),
    "numbers of 64 bits": lambda a: cv2.copyMakeBorder(
        cv2.flip(a / 255.0, 1), 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=1
    ),
    "one channel": one_channel,
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str, files: Dict[str, str]) -> None:
    method = RECORDED[name]
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        found = cases.check(lambda p: method(cv2.imread(p)), path)
        assert found and all(found), path
        runs.append(lambda p=path: method(cv2.imread(p)))  # type: ignore[misc]
    engine_makes(runs)


def seen_elsewhere(a: Any) -> Any:
    """The memory has another view."""
    view = a[2:9]
    cv2.flip(a, 1, a)
    return a, view


def two_views(a: Any) -> Any:
    one, two = a[:, :, 0], a[:, :, 1]
    scaled(one, beta=9)
    return a, two


def stale_view(a: Any) -> Any:
    """Of what the array was before."""
    view = a[:, :, 1]
    a[:4] = 3
    scaled(view, beta=9)
    return a, view


def read_only(a: Any) -> Any:
    a.flags.writeable = False
    with pytest.raises(ValueError):
        a[:] = a + 1
    return a


def of_another_size(a: Any) -> Any:
    other = a[:9].copy()
    made = cv2.flip(a, 1, other)
    return made, other, made is other


def of_another_kind(a: Any) -> Any:
    other = floats(a)
    return cv2.flip(a, 1, other), other


def turned(a: Any) -> Any:
    a = a.transpose(1, 0, 2)
    with pytest.raises(cv2.error):
        cv2.flip(a, 1, a)
    return a


REAL: Dict[str, Callable[[Any], Any]] = {
    "both": through_view,
    "seen elsewhere": seen_elsewhere,
    "two views": two_views,
    "a stale view": stale_view,
    "read-only": read_only,
    "of another size": of_another_size,
    "of another kind": of_another_kind,
    "turned": turned,
    "onto a real one": lambda a: cv2.flip(a, 1, np.zeros(a.shape, a.dtype)),
    "of another image": lambda a: scaled(a[:9], 0.5) + cv2.flip(a[:9], 1),
    "flipped onto itself": lambda a: a.__setitem__(slice(None), a[::-1]) or a,
    "another shape": lambda a: a.__setitem__(slice(None), a[:1]) or a,
    "floats beyond a byte": lambda a: a.__setitem__(..., a * 0.5 - 9.0) or 0,
    "half a byte": lambda a: cv2.copyMakeBorder(
        a.astype(np.int16), 1, 2, 3, 4, cv2.BORDER_CONSTANT, value=1.5
    ),
    "like, in another order": lambda a: np.zeros_like(a, order="F"),
    "like, of another shape": lambda a: np.zeros_like(a, shape=(3, 4)),
    "strides": lambda a: (cv2.flip(a[:9, :9], 1, a[:9, :9]), a)[1],
}


@pytest.mark.parametrize("name", REAL)
def test_others_are_right_too(name: str, files: Dict[str, str]) -> None:
    method = REAL[name]
    for path in files.values():
        cases.check(lambda p: method(cv2.imread(p)), path)


def test_it_becomes_real_as_it_is(files: Dict[str, str]) -> None:
    """With the strides that the memory has."""

    def program(path: str) -> Any:
        a = floats(cv2.imread(path))
        patch = a[3:13, 5:21]
        cv2.flip(patch, 1, patch)
        channels = cv2.imread(path)
        view = channels[:, :, 1]
        scaled(view, beta=9)
        return [patch.sum(), patch.strides, view.max(), channels.sum()]

    for path in files.values():
        cases.check(program, path)
