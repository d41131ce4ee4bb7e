# SPDX-License-Identifier: Apache-2.0
"""Calls that are remembered: what they did to an image of the same outline is
done to the next one, and to no other."""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest

needs.deferred_tensors()

import images  # noqa: E402
import test_deferred_arrays as arrays  # noqa: E402
from feedline.deferred import Recorder, deferred_of, remembered  # noqa: E402
from feedline.deferred import array_functions, array_views  # noqa: E402

np, torch, Image = cases.np, cases.torch, images.Image
W, H = 46, 39


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    """Of one size; gray ones, and some with an alpha channel."""
    root, found = tmp_path_factory.mktemp("alike"), []
    for n, mode in enumerate(("RGB", "L", "RGBA", "RGB", "L", "LA")):
        path = root / ("%d.%s" % (n, "jpg" if mode in ("RGB", "L") else "png"))
        images.picture((W, H), n, mode).save(path)
        found.append(str(path))
    return found


def cropped(path: str, n: int, gray: bool = False) -> Any:
    image = Image.open(path).convert("L" if gray else "RGB")
    return np.array(image)[n : n + 34, 2 * n : 2 * n + 36].copy()


Change = Callable[[Any], Any]
CASES: Dict[str, Change] = {**arrays.OF_COLORS, **arrays.TENSORS_OF_COLORS}


@pytest.mark.parametrize("name", CASES)
def test_of_other_images(name: str, files: List[str]) -> None:
    for n in range(5):
        path = files[n % 3]
        cases.check(lambda p, n=n: CASES[name](cropped(p, n)), path)


@pytest.mark.parametrize("name", arrays.OF_GRAY)
def test_of_other_gray_images(name: str, files: List[str]) -> None:
    change = arrays.OF_GRAY[name]
    for n in range(5):
        path = files[n % 3]
        cases.check(lambda p, n=n: change(cropped(p, n, True)), path)


TENSORS: List[Change] = [
    lambda t: t.permute(1, 2, 0),
    lambda t: t.flip(0).contiguous(),
    lambda t: t.flip(-1).transpose(1, 2).contiguous(),
    lambda t: t.unsqueeze(0).squeeze(0).float() / 255,
    lambda t: t[[2, 1, 0]].to(torch.float32).clone(),
    lambda t: t.clone().float().mul_(2).add_(1),
    lambda t: t.rot90(1, (1, 2)).reshape(1, 3, -1, 34),
    lambda t: t.to(torch.uint8).contiguous().detach(),
    lambda t: torch.nn.functional.pad(t, (1, 2, 3, 4)).half(),
    lambda t: t.float().sub(0.5).clamp(0, 90).narrow(1, 2, 20),
    lambda t: t.type(),
    lambda t: (
        t.float(),
        t.float().double(),
        t.to("cpu").requires_grad_(False),
    ),
]


@pytest.mark.parametrize("n", range(len(TENSORS)))
def test_of_tensors(n: int, files: List[str]) -> None:
    for i in range(5):

        def program(path: str, i: int = i) -> Any:
            array = cropped(path, i).transpose(2, 0, 1).copy()
            return TENSORS[n](torch.from_numpy(array))

        cases.check(program, files[i % 3])


def test_views_show_what_is_written_to_them(files: List[str]) -> None:
    def program(path: str) -> Any:
        array = cropped(path, 3)
        turned = array.transpose(2, 0, 1)
        tensor = torch.from_numpy(turned)
        array[3:9, 4:7] = 7
        other = torch.from_numpy(cropped(path, 2)).permute(2, 0, 1)
        other[:, 2:5, 3:8] = 1
        return array, turned, tensor, other

    for path in files:
        cases.check(program, path)


MEAN = np.array([124, 116, 104], np.float32)


def _less(array: Any, by: Any) -> Any:
    """Written to, where it is not a view."""
    made = array.astype(np.float32)
    made -= by
    return made


_OPS: List[Change] = [
    lambda a: _less(a, 1),
    lambda a: _less(a, 1.5),
    lambda a: _less(a, MEAN[0:1]),
    lambda a: a - MEAN[:1],
    lambda a: a - MEAN[:1].astype(np.float64),
    lambda a: np.round(a / 4, 1),
    lambda a: np.round(a / 4),
    lambda a: np.clip(a, 3.0, 200),
    lambda a: a[1:, :-1],
    lambda a: a[..., ::-1],
    lambda a: a[:, ::-1].copy(),
    lambda a: a.transpose(1, 0, 2),
    lambda a: a[..., [2, 0, 1]],
    lambda a: a[..., :1].repeat(3, 2),
    lambda a: np.stack([a[..., 1], a[..., 0], a[..., 2]], 2),
    lambda a: a * 2,
    lambda a: a + 1,
    lambda a: a / 2.0,
    lambda a: np.clip(a, 3, 200),
    lambda a: a.astype(np.float32),
    lambda a: np.ascontiguousarray(a),
]
_READ: List[Callable[[str], Any]] = [
    lambda p: np.array(Image.open(p).convert("RGB")),
    lambda p: np.array(Image.open(p).convert("L").convert("RGB")),
    lambda p: np.array(Image.open(p).convert("RGB").transpose(1)),
    lambda p: np.array(Image.open(p).convert("RGB").transpose(0)),
    lambda p: np.array(Image.open(p).convert("RGB").transpose(3)),
    lambda p: np.array(Image.open(p).convert("RGB").crop((1, 2, 41, 36))),
    lambda p: np.array(Image.open(p).convert("RGB").crop((4, 0, 44, 34))),
    lambda p: np.array(Image.open(p).convert("RGB").resize((40, 34))),
    lambda p: np.array(Image.open(p).convert("RGB").resize((40, 34), 0)),
    lambda p: np.array(Image.open(p).convert("YCbCr")),
    lambda p: np.array(Image.open(p).convert("RGB").getchannel(1)),
    lambda p: np.array(Image.open(p).convert("RGBA"))[..., :3],
]


@pytest.mark.parametrize("seed", range(12))
def test_histories_are_told_apart(seed: int, files: List[str]) -> None:
    """Few functions, so that all have been seen of one image or another."""
    rng = random.Random(seed)
    for _ in range(25):
        read = rng.choice(_READ)
        changes = [rng.choice(_OPS) for _ in range(rng.randint(1, 5))]

        def program(path: str, read: Any = read, changes: Any = changes) -> Any:
            array = read(path)
            if array.ndim == 2:
                array = np.stack([array] * 3, axis=2)
            for change in changes:
                array = change(array)
            return array.copy()

        for path in rng.sample(files[:3], 2) * 2:
            cases.check(program, path)


def test_steps_that_are_written_anew(files: List[str]) -> None:
    """Taking channels rewrites the steps before; those of the first image that
    did so are not the next one's, which was turned another way."""
    turns: List[Change] = [
        lambda image: image.transpose(0),
        lambda image: image.transpose(1),
        lambda image: image.transpose(3),
        lambda image: image.crop((2, 0, W, H)).transpose(0),
        lambda image: image.crop((3, 0, W, H)).transpose(1),
    ]
    behind: List[Change] = [
        lambda a: a[..., 1],
        lambda a: a[..., ::-1],
        lambda a: a[..., [2, 0]],
        lambda a: a.transpose(2, 0, 1)[1:],
        lambda a: np.stack([a[..., 2], a[..., 0], a[..., 1]], 2),
    ]
    for change in behind:
        for turn in turns:

            def program(path: str, turn: Any = turn, then: Any = change) -> Any:
                return then(np.array(turn(Image.open(path).convert("RGB"))))

            for _ in range(3):
                cases.check(program, files[0])


def test_what_has_been_seen_is_not_asked_again(
    files: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(path: str, n: int) -> Any:
        return cropped(path, n)[:, :].transpose(1, 0, 2)

    def never(*args: Any) -> Any:
        raise AssertionError("it was asked")

    for n in range(3):
        Recorder().run(program, files[0], n)
    monkeypatch.setattr(array_views, "permuted", never)
    made = Recorder().run(program, files[3], 4)
    found = deferred_of(made)
    assert found is not None and found.shape == (36, 34, 3)
    with pytest.raises(AssertionError, match="it was asked"):
        Recorder().run(lambda p: cropped(p, 1)[1:].transpose(1, 0, 2), files[0])


def test_arithmetic_is_not_computed_again(
    files: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(path: str, mean: Any, n: int = 1) -> Any:
        array = cropped(path, n).astype(np.float32)
        array -= mean
        array /= MEAN
        return np.clip(np.round(array, 2), -1, 1)

    def never(*args: Any) -> Any:
        raise AssertionError("it was computed")

    for n in range(8):  # each call is seen once more than the one before it
        Recorder().run(program, files[0], MEAN, n % 5)
    monkeypatch.setattr(array_functions, "_made", never)
    assert deferred_of(Recorder().run(program, files[3], MEAN.copy(), 4))
    for other in (MEAN + 1, MEAN.astype(np.float64), MEAN[None], 0.5):
        with pytest.raises(AssertionError, match="it was computed"):
            Recorder().run(program, files[0], other)


def test_no_more_is_kept_than_some(files: List[str]) -> None:
    """Numbers that are drawn at random are never seen again."""

    def program(path: str, factor: float) -> Any:
        return cropped(path, 1) * factor

    for n in range(remembered.MOST + 50):
        Recorder().run(program, files[0], 1 + n / 4096)
    kept = sum(len(each) for each in remembered.outlines.values())
    assert kept < 2 * remembered.MOST
