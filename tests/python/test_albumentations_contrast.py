# SPDX-License-Identifier: Apache-2.0
"""Contrast by the mean of the gray image, as albumentations' ColorJitter of
several versions computes it: the first ones in doubles."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import images
import needs
import pytest
from test_deferred_engine import check as engine_makes

np = cases.np
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import albumentations_contrast as ours  # noqa: E402

needs.deferred_tensors()


def contrast_in(kind: Any) -> Callable[[Any, Any], Any]:
    def adjust(img: Any, factor: Any) -> Any:
        gray = img if img.ndim == 2 else cv2.cvtColor(img, cv2.COLOR_RGB2GRAY)
        added = gray.mean() * (1 - factor)
        table = np.arange(256, dtype=kind) * factor + kind(added)
        return cv2.LUT(img, np.clip(table, 0, 255).astype(np.uint8))

    return adjust


class Transform:
    """As the class of all transforms is there."""

    def apply_with_params(self, params: Any, **kwargs: Any) -> Any:
        return {key: self.apply(value) for key, value in kwargs.items()}

    def apply(self, img: Any) -> Any:
        raise NotImplementedError


class Jitter(Transform):
    def __init__(self, function: Any, factor: float) -> None:
        self.transforms: List[Any] = [np.fliplr, function]
        self.factor = factor

    def apply(self, img: Any) -> Any:
        return self.transforms[1](self.transforms[0](img).copy(), self.factor)


@pytest.fixture(params=[np.float32, np.float64])
def adjust(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library's function, known from here on."""
    function = contrast_in(request.param)
    module = sys.modules[__name__]
    functions = types.SimpleNamespace(adjust_contrast_torchvision=function)
    monkeypatch.setattr(module, "functions", functions, raising=False)
    before = Transform.apply_with_params
    monkeypatch.setattr(Transform, "apply_with_params", before)
    ours.install_older(Jitter, Transform)
    assert Transform.apply_with_params is not before
    return function


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    root = tmp_path_factory.mktemp("files")
    images.picture((64, 50), 1).save(root / "colours.jpg")
    images.picture((61, 47), 2).convert("L").save(root / "gray.png")
    return {name: str(root / name) for name in ("colours.jpg", "gray.png")}


@pytest.mark.parametrize("name", ("colours.jpg", "gray.png"))
def test_contrast(adjust: Any, files: Dict[str, str], name: str) -> None:
    def program(factor: float) -> Any:
        image = cv2.imread(files[name], cv2.IMREAD_UNCHANGED)
        jitter = Jitter(adjust, factor)
        found = jitter.apply_with_params({}, image=image)["image"]
        assert jitter.transforms[1] is adjust
        return found

    for factor in (0.2, 0.613, 0.99, 1.37, 1.8):
        assert cases.check(program, factor) == [True]
        engine_makes([lambda: program(factor)])


def test_doubles_are_told_from_floats(adjust: Any) -> None:
    function, how = ours._contrast_of(sys.modules[__name__])
    assert function is adjust
    in_doubles = adjust(np.arange(256, dtype=np.uint8)[None], 1.0000001)
    assert how in ((), (1.0,)) and in_doubles.shape == (1, 256)
    assert ours._is_the_engines(adjust, ours._KINDS[how])
    other = next(kind for key, kind in ours._KINDS.items() if key != how)
    assert not ours._is_the_engines(adjust, other)


def test_another_arithmetic_is_left_alone(tmp_path: Path) -> None:
    def rounded(img: Any, factor: Any) -> Any:
        table = np.rint(np.arange(256) * factor).clip(0, 255)
        return cv2.LUT(img, table.astype(np.uint8))

    module: Any = types.ModuleType("others")
    module.functions = types.SimpleNamespace(
        adjust_contrast_torchvision=rounded
    )
    assert ours._contrast_of(module) == (None, ())
    assert ours._contrast_of(types.ModuleType("empty")) == (None, ())
