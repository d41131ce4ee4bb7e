# SPDX-License-Identifier: Apache-2.0
"""Images that are put together of others of their sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import images
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np
cv2 = pytest.importorskip("cv2", reason="no OpenCV")

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

H, W = 90, 120


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    root = tmp_path_factory.mktemp("files")
    made = []
    for n, end in enumerate(("jpg", "png", "jpg", "webp")):
        path = root / ("%d.%s" % (n, end))
        images.picture((64 + n, 50 - n), n).save(path)
        made.append(str(path))
    return made


def canvas(fill: Any = 114) -> Any:
    return np.full((H, W, 3), fill, dtype=np.uint8)


def mosaic(paths: List[str], into: Any = None) -> Any:
    whole = canvas() if into is None else into
    for n, path in enumerate(paths):
        part = cv2.imread(path)
        h, w = part.shape[:2]
        y, x = (n // 2) * 45, (n % 2) * 60
        h, w = min(h, H - y), min(w, W - x)
        whole[y : y + h, x : x + w] = part[:h, :w]
    return whole


def both(paths: List[str]) -> Any:
    """Two images of one size."""
    found = (cv2.resize(cv2.imread(path), (W, H)) for path in paths[:2])
    return tuple(found)


def blank(make: str, *fill: Any) -> Callable[[List[str]], Any]:
    def program(paths: List[str]) -> Any:
        into = getattr(np, make)((H, W, 3), *fill, dtype=np.uint8)
        return mosaic(paths, into)

    return program


def filled(value: Any) -> Callable[[List[str]], Any]:
    def program(paths: List[str]) -> Any:
        into = np.empty((H, W, 3), np.uint8)
        into[:] = value
        into[3:20, 80:] = 5
        into = mosaic(paths, into)
        into[70:, :, :] = 9, 8, 7
        return into

    return program


def by_fill(paths: List[str]) -> Any:
    into = np.empty([H, W, 3], "uint8")
    into.fill(33)
    return mosaic(paths, into)


def by_ones(paths: List[str]) -> Any:
    return mosaic(paths, np.ones((H, W, 3), np.uint8) * 114)


def like(paths: List[str]) -> Any:
    a, b = both(paths)
    whole = np.full_like(a, 7)
    whole[10:40, 5:50] = b[:30, :45]
    other = np.zeros_like(a)
    other[:] = a
    return whole, other


def warped(paths: List[str]) -> Any:
    matrix = cv2.getRotationMatrix2D((50.0, 40.0), 12, 0.7)
    return cv2.warpAffine(
        mosaic(paths), matrix, (60, 70), borderValue=(114, 114, 114)
    )


def mapped(
    scale: float, shift: float, border: int = 0, angle: float = 12
) -> Callable[[List[str]], Any]:
    matrix = cv2.getRotationMatrix2D((60.0, 45.0), angle, scale)
    matrix[:, 2] += shift

    def program(paths: List[str]) -> Any:
        whole = mosaic(paths)
        kind = {"borderMode": border}
        if border == 0:
            kind["borderValue"] = (1, 2, 3)
        return cv2.warpAffine(whole, matrix, (50, 60), **kind)

    return program


def tilted(paths: List[str]) -> Any:
    matrix = np.array([[1.1, 0.1, -3], [0.05, 0.9, 2], [2e-3, -1e-3, 1]])
    return cv2.warpPerspective(mosaic(paths), matrix, (70, 50))


def in_hsv(paths: List[str]) -> Any:
    return cv2.cvtColor(mosaic(paths), cv2.COLOR_BGR2HSV)


def tensor(paths: List[str]) -> Any:
    whole = np.fliplr(mosaic(paths)).transpose(2, 0, 1)[::-1]
    return torch.from_numpy(np.ascontiguousarray(whole)).float() / 255


def cut(paths: List[str]) -> Any:
    a, b = both(paths)
    a[10:40, 20:70] = b[10:40, 20:70]
    return a, b


def cut_again(paths: List[str]) -> Any:
    a, b = both(paths)
    kept = a.copy()
    a[10:40, 20:70] = b[5:35, :50]
    b[:45] = a[45:]
    a[0:20, 0:20] = kept[70:, 100:]
    return a, b, kept


def levels_then_cut(paths: List[str]) -> Any:
    a, b = both(paths)
    a = cv2.LUT(a, np.arange(255, -1, -1).astype(np.uint8))
    a[10:40, 20:70] = b[5:35, :50] // 2
    return a


def mixed(r: Any) -> Callable[[List[str]], Any]:
    def program(paths: List[str]) -> Any:
        a, b = both(paths)
        return (a * r + b * (1 - r)).astype(np.uint8)

    return program


def mixed_thrice(paths: List[str]) -> Any:
    a, b = both(paths)
    c = mosaic(paths)
    return (0.25 * a + b * 0.5 + c * 0.25).astype(np.uint8)


def mixed_by_add(paths: List[str]) -> Any:
    a, b = both(paths)
    return np.add(a * 0.3, b * 0.7).astype("uint8")


def mixed_mosaics(paths: List[str]) -> Any:
    a, b = mosaic(paths), mosaic(paths[::-1])
    whole = (a * 0.45 + b * 0.55).astype(np.uint8)
    hsv = cv2.cvtColor(whole, cv2.COLOR_BGR2HSV)
    return cv2.flip(cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR), 0)


def as_image(paths: List[str]) -> Any:
    whole = mosaic(paths)[:, :, ::-1]
    return images.Image.fromarray(np.ascontiguousarray(whole)).resize((50, 60))


def nested(paths: List[str]) -> Any:
    inner = cv2.resize(mosaic(paths), (40, 50))
    whole = canvas((1, 2, 3))
    whole[:50, :40] = inner
    whole[40:, 80:] = inner
    return whole


DEFERRED: Dict[str, Callable[[List[str]], Any]] = {
    "mosaic": mosaic,
    "colours": blank("full", (1, 2, 3)),
    "zeros": blank("zeros"),
    "ones": blank("ones"),
    "filled": filled(114),
    "filled by channel": filled((114, 3, 255)),
    "by fill": by_fill,
    "by ones": by_ones,
    "like": like,
    "warped": warped,
    "mapped, near": mapped(4.0, -90.0),
    "mapped, far": mapped(0.3, 5.0),
    "mapped, turned": mapped(1.5, -20.0, angle=170),
    "mapped, beyond": mapped(1.0, 1e4),
    "mapped, with edges": mapped(0.8, 30.0, border=1),
    "mapped, mirrored": mapped(0.8, 30.0, border=4),
    "tilted": tilted,
    "in HSV": in_hsv,
    "tensor": tensor,
    "cut": cut,
    "cut again": cut_again,
    "levels, then cut": levels_then_cut,
    "mixed": mixed(0.37),
    "mixed by float64": mixed(np.float64(0.71)),
    "mixed by float32": mixed(np.float32(0.123)),
    "mixed of nothing": mixed(1.0),
    "mixed thrice": mixed_thrice,
    "mixed by add": mixed_by_add,
    "mixed mosaics": mixed_mosaics,
    "as an image": as_image,
    "nested": nested,
}


@pytest.mark.parametrize("name", DEFERRED)
def test_is_put_together(name: str, files: List[str]) -> None:
    program = DEFERRED[name]
    found = cases.check(program, files)
    assert found and all(found)
    engine_makes([lambda: program(files), lambda: program(files[::-1])])


# ---- What Python makes ------------------------------------------------------


def seen_first(paths: List[str]) -> Any:
    whole = canvas()
    shown = whole[:40]
    whole[:30, :40] = cv2.imread(paths[0])[:30, :40]
    return whole, shown


def repeated(paths: List[str]) -> Any:
    whole = canvas()
    whole[:30] = cv2.resize(cv2.imread(paths[0]), (W, 30))[:1]
    return whole


def of_one_value(paths: List[str]) -> Any:
    whole = canvas()
    whole[::2] = cv2.resize(cv2.imread(paths[0]), (W, H))[::2]
    return whole


def of_floats(paths: List[str]) -> Any:
    whole = canvas()
    whole[2:] = cv2.resize(cv2.imread(paths[0]), (W, H - 2)) / 255
    return whole


def sum_of_bytes(paths: List[str]) -> Any:
    a, b = both(paths)
    return a // 2 + b // 2


def sum_that_is_kept(paths: List[str]) -> Any:
    a, b = both(paths)
    return a * 0.5 + b * 0.5


def sum_in_another_order(paths: List[str]) -> Any:
    a, b = both(paths)
    return (a * 0.3 + (b * 0.3 + mosaic(paths) * 0.4)).astype(np.uint8)


def drawn_on(paths: List[str]) -> Any:
    whole = mosaic(paths)
    cv2.rectangle(whole, (3, 4), (50, 60), (1, 2, 3), 2)
    return whole


def by_a_mask(paths: List[str]) -> Any:
    """One that the program has, as of a polygon."""
    where = np.zeros((H, W), bool)
    where[10:30, 20:50] = True
    whole, other = mosaic(paths), canvas()
    whole[where] = 5
    other[:, :, torch.tensor([0, 2])] = 7
    with pytest.raises(IndexError):
        whole[where[:-1]] = 3
    return whole, other


def color_used_again(paths: List[str]) -> Any:
    color, list_of_one = np.array([1, 2, 3]), [4, 5, 6]
    whole = canvas()
    whole[:9, :9], whole[20:, 20:] = color, list_of_one
    color[:], list_of_one[0] = 99, 99
    return whole + mosaic(paths)


def never_used(paths: List[str]) -> Any:
    return canvas(), np.zeros((H, W, 3), np.uint8)[..., 0].copy()


REAL = {
    f.__name__: f
    for f in (
        seen_first,
        repeated,
        of_one_value,
        of_floats,
        sum_of_bytes,
        sum_that_is_kept,
        sum_in_another_order,
        drawn_on,
        by_a_mask,
        color_used_again,
    )
}


@pytest.mark.parametrize("name", REAL)
def test_is_made_by_numpy(name: str, files: List[str]) -> None:
    found = cases.check(REAL[name], files)
    assert not any(found)


def test_without_any_image(files: List[str]) -> None:
    assert cases.check(never_used, files) == [True, True]
    engine_makes([lambda: never_used(files)])


def test_what_is_no_canvas() -> None:
    def program() -> Any:
        yield np.zeros((H, W), np.uint8)
        yield np.zeros((H, W, 3))
        yield np.zeros((H, W, 3), np.float32)
        yield np.full((H, W, 4), 3, np.uint8)
        yield np.full((3, H, W), 3, np.uint8)
        yield np.full((8, 8, 3), 3, np.uint8)
        yield np.zeros(5, np.uint8)
        yield np.full((H, W, 3), 3)
        yield np.full((H, W, 3), 1, np.uint8, "F")

    for made in Recorder().run(lambda: list(program())):
        assert type(made) is np.ndarray


def test_what_numpy_refuses(files: List[str]) -> None:
    def program() -> None:
        whole = canvas()
        whole[:30, :30] = cv2.imread(files[0])

    with pytest.raises(ValueError, match="broadcast"):
        program()
    with pytest.raises(ValueError, match="broadcast"):
        Recorder().run(program)


# ---- In a loader ------------------------------------------------------------


class Mosaics(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        n = len(self.paths)
        whole = mosaic([self.paths[(index + k) % n] for k in range(3)])
        return torch.from_numpy(whole), index


def test_damaged_parts(files: List[str], tmp_path: Path) -> None:
    """The whole sample is made again, by Python."""
    from feedline.torch import DataLoader

    cut_off = tmp_path / "cut.jpg"
    data = Path(files[0]).read_bytes()
    cut_off.write_bytes(data[: len(data) * 2 // 3])
    paths = [*files, *files, str(cut_off), *files, *files]
    ours = DataLoader(Mosaics(paths), batch_size=4, num_workers=1)
    theirs = torch.utils.data.DataLoader(Mosaics(paths), batch_size=4)
    for _ in range(2):
        for got, want in zip(ours, theirs):
            cases.same(want[0], got[0])
            cases.same(want[1], got[1])
    assert ours.native, ours.fallback_reason


def test_a_kept_canvas_is_real(files: List[str]) -> None:
    recorder = Recorder()
    kept = recorder.run(mosaic, files)
    recorder.run(mosaic, files)
    assert deferred_of(kept) is None
    cases.same(mosaic(files), kept._feedline_real)
