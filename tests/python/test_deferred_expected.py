# SPDX-License-Identifier: Apache-2.0
"""Questions about pixels that are answered before there are any, and classes
that are written into arrays of zeros."""

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

from PIL import Image  # noqa: E402

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

VALUES = 0, 90, 200


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    """A photo, its mask of three values, one of 0 and 1, and a black one."""
    root = tmp_path_factory.mktemp("files")
    images.picture((64, 50), 1).save(root / "photo.jpg")
    y, x = np.mgrid[0:50, 0:64]
    classes = np.array(VALUES, np.uint8)[(x // 9 + y // 7) % 3]
    Image.fromarray(classes).save(root / "mask.png")
    Image.fromarray((classes > 90).astype(np.uint8)).save(root / "binary.png")
    Image.fromarray(np.zeros((50, 64, 3), np.uint8)).save(root / "black.png")
    names = ("photo.jpg", "mask.png", "binary.png", "black.png")
    return [str(root / name) for name in names]


def photo(paths: List[str]) -> Any:
    image = Image.open(paths[0]).convert("RGB").resize((40, 30))
    return np.asarray(image)


def mask(paths: List[str]) -> Any:
    return np.array(Image.open(paths[1]).resize((40, 30), Image.NEAREST))


# ---- Answers ----------------------------------------------------------------


def by_max(paths: List[str]) -> Any:
    image = photo(paths)
    if image.max() > 1:
        image = image / 255.0
    return image.transpose(2, 0, 1).astype("float32")


def by_any(paths: List[str]) -> Any:
    image = photo(paths).transpose((2, 0, 1))
    if (image > 1).any():
        image = image / 255.0
    return torch.as_tensor(image.copy()).float().contiguous()


def by_function(paths: List[str]) -> Any:
    image = photo(paths)
    assert np.max(image) >= 2 and not np.amax(image) <= 1
    assert 1 < image.max() and np.any(image > 3)
    return image


def of_floats(paths: List[str]) -> Any:
    image = photo(paths).astype(np.float32)
    assert image.max() > 1.5 and not image.max() < 1
    return image[::-1] / 255


def certain(paths: List[str]) -> Any:
    image = mask(paths)
    assert not image.max() > 255 and image.max() >= 0
    assert not (image > 300).any()
    return image


def by_min(paths: List[str]) -> Any:
    image = photo(paths)
    assert image.min() < 250 and not np.min(image) >= 240
    assert not np.amin(image) > 230 and image.min() <= 225
    assert image.min() >= 0 and not image.min() < 0
    return (image - np.float32(127.5)) / 127.5


def by_all(paths: List[str]) -> Any:
    image = photo(paths)
    assert (image <= 255).all() and np.all(image >= 0)
    assert not (image == 0).all() and not (image > 255).all()
    return image


def in_a_mask(paths: List[str]) -> Any:
    found = mask(paths)
    if found.max() > 1:
        found = found / 255
    found[found > 0.5] = 1
    found[found <= 0.5] = 0
    return found


DEFERRED: Dict[str, Callable[[List[str]], Any]] = {
    f.__name__: f
    for f in (
        by_max,
        by_any,
        by_function,
        of_floats,
        certain,
        by_min,
        by_all,
        in_a_mask,
    )
}


@pytest.mark.parametrize("name", DEFERRED)
def test_is_answered(name: str, files: List[str]) -> None:
    program = DEFERRED[name]
    found = cases.check(program, files)
    assert found and all(found)
    engine_makes([lambda: program(files)])


def as_a_number(paths: List[str]) -> Any:
    image = photo(paths)
    least = image.min()
    return image / image.max(), int(image.max()), float(least), least - 3.5


def unlikely(paths: List[str]) -> Any:
    found = mask(paths)
    least = found.min() > 0, found.min() == 0, (found > 100).all()
    return found, found.max() > 100, found.max() == 200, least


def printed(paths: List[str]) -> Any:
    most = photo(paths).max()
    assert isinstance(most, np.integer) and isinstance(most, np.uint8)
    return "%d %s %r" % (most, most, most), abs(most), most + 1.5, most.dtype


def written_meanwhile(paths: List[str]) -> Any:
    image = photo(paths).copy()
    most = image.max()
    image //= 2
    return most + 0, image


def given_as_it_is(paths: List[str]) -> Any:
    image = photo(paths)
    return image.max(), mask(paths).max()


def of_an_axis(paths: List[str]) -> Any:
    dark = photo(paths) < 30
    return photo(paths).max(axis=0), dark.any(axis=(0, 1)), dark.all(axis=2)


REAL = {
    f.__name__: f
    for f in (
        as_a_number,
        unlikely,
        printed,
        written_meanwhile,
        given_as_it_is,
        of_an_axis,
    )
}


@pytest.mark.parametrize("name", REAL)
def test_is_looked_at(name: str, files: List[str]) -> None:
    cases.check(REAL[name], files)


@pytest.mark.parametrize("number", (2, 3))
def test_a_wrong_answer_is_an_error(number: int, files: List[str]) -> None:
    """The engine's; and where no image has it along, Python's."""

    def program() -> Any:
        image = np.asarray(Image.open(files[number]))
        return image / 255 if image.max() > 1 else image

    recorder = Recorder()
    made = recorder.run(program)
    assert list(recorder.unfinished([deferred_of(made)], [1])) == []
    from feedline.deferred.alone import made_alone

    assert made_alone(deferred_of(made)) is None
    before = recorder.guesses
    ((part, error),) = recorder.unfinished([], [1])
    assert part == 0 and "answer" in str(error)
    assert recorder.guesses == before - 1


QUESTIONS: Dict[str, Callable[[Any], Any]] = {
    "min": lambda image: (255 - image).min() < 250,
    "all": lambda image: not (image < 2).all(),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("number", (0, 2, 3))
def test_an_answer_about_what_is_gone(
    number: int, question: str, files: List[str]
) -> None:
    """The engine looks at what is made of the same pixels; or Python, where
    nothing is."""

    def program() -> Any:
        image = np.asarray(Image.open(files[number]))
        asked = QUESTIONS[question](image)
        image = image[::-1] + np.uint8(0)
        return image / 255 if asked else image

    from feedline.deferred.alone import made_alone

    recorder = Recorder()
    made = recorder.run(program)
    found = deferred_of(made)
    assert found is not None and not recorder.touches
    assert list(recorder.unfinished([found], [1])) == []
    assert (made_alone(found) is None) == (number != 0)
    wrong = list(recorder.unfinished([], [1]))
    assert len(wrong) == (number != 0)


# ---- Classes ----------------------------------------------------------------


def classes(make: str, *given: Any) -> Callable[[List[str]], Any]:
    def program(paths: List[str]) -> Any:
        found = mask(paths)
        h, w = found.shape
        into = getattr(np, make)((h, w), *given)
        for number, value in enumerate(VALUES):
            into[found == value] = number + 1
        return torch.as_tensor(into).long()

    return program


def by_comparison_of_two(paths: List[str]) -> Any:
    found = mask(paths)
    into = np.zeros(found.shape, np.uint8)
    into[(found > 50) & (found < 100)] = 1
    return into


CLASSES: Dict[str, Callable[[List[str]], Any]] = {
    "zeros": classes("zeros", np.int64),
    "of bytes": classes("zeros", np.uint8),
    "of floats": classes("zeros"),
    "ones": classes("ones", np.int32),
    "full": classes("full", 255, np.uint8),
    "of two": by_comparison_of_two,
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str, files: List[str]) -> None:
    program = CLASSES[name]
    found = cases.check(program, files)
    assert found and all(found)
    engine_makes([lambda: program(files)])


def heat_map(paths: List[str]) -> Any:
    into = np.zeros(mask(paths).shape, np.float32)
    into[3, 4] = 2
    into[5:9, 7:] += 1
    return into, np.zeros(mask(paths).shape), into.sum(), into.ctypes.data > 0


def by_another_image(paths: List[str]) -> Any:
    into = np.zeros(mask(paths).shape, np.int64)
    into[mask(paths) == 90] = 1
    into[photo(paths)[..., 0] > 100] = 2
    return into


def by_numbers(paths: List[str]) -> Any:
    into = np.zeros(mask(paths).shape, np.uint8)
    into[np.eye(30, 40, dtype=bool)] = 9
    return into, torch.from_numpy(np.zeros(mask(paths).shape, np.int64))


def by_array(paths: List[str]) -> Any:
    found = mask(paths)
    into = np.zeros(found.shape, np.uint8)
    into[found == 90] = np.arange(int((np.asarray(found) == 90).sum()))
    return into


@pytest.mark.parametrize(
    "program",
    (heat_map, by_another_image, by_numbers, by_array),
    ids=lambda p: p.__name__,
)
def test_other_arrays_of_zeros(program: Any, files: List[str]) -> None:
    cases.check(program, files)


def test_zeros_of_no_image(files: List[str]) -> None:
    def program() -> Any:
        before = np.zeros((30, 40))
        found = mask(files)
        return before, np.zeros((31, 40)), np.zeros((30, 40, 1)), found

    made = Recorder().run(program)
    assert [type(one) is np.ndarray for one in made[:3]] == [True] * 3


def test_zeros_are_no_touch(files: List[str]) -> None:
    recorder = Recorder()
    made = recorder.run(lambda: (mask(files), heat_map(files)))
    assert not recorder.touches and deferred_of(made[0]) is not None


# ---- In a loader ------------------------------------------------------------


class Some(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """kept: the answer goes along with no image."""

    def __init__(self, paths: List[str], kept: bool = True) -> None:
        self.paths, self.kept = paths, kept

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = np.array(Image.open(self.paths[index]).convert("RGB"))
        other = np.array(Image.open(self.paths[0]).convert("RGB"))
        bright = image.max() > 1
        shown = image if self.kept else other
        shown = shown / 255 if bright else shown * 2.0
        most = other.max() if self.kept else image.max()
        return torch.from_numpy(shown).float(), bright, most


def batches_of(kind: Any, dataset: Any, **more: Any) -> Any:
    torch.manual_seed(2)
    return kind(dataset, batch_size=4, num_workers=1, **more)


@pytest.mark.parametrize("kept", (True, False))
@pytest.mark.parametrize("dark", ((), (5,), (0, 1, 2), range(1, 20, 2)))
def test_in_a_loader(files: List[str], kept: bool, dark: Any) -> None:
    from feedline.torch import DataLoader

    paths = [files[3] if n in dark else files[0] for n in range(20)]
    dataset = Some(paths, kept)
    theirs = list(batches_of(torch.utils.data.DataLoader, dataset))
    ours = batches_of(DataLoader, dataset, draws="torch")
    for _ in range(2):
        for want, got in zip(theirs, ours):
            for a, b in zip(want, got):
                cases.same(a, b)
    assert ours.native or not kept, ours.fallback_reason


def test_the_program_sees_no_error(files: List[str]) -> None:
    """Also where the wrong answer is followed by a look at the pixels."""
    from feedline.torch import DataLoader

    class Careful(Some):
        def __getitem__(self, index: int) -> Any:
            try:
                image = np.array(Image.open(self.paths[index]).convert("RGB"))
                if image.max() > 1:
                    image = image / 255.0
                mean = float(image.mean()) if index % 2 else 0.0
                return torch.from_numpy(image).float(), mean
            except Exception:
                return torch.zeros(50, 64, 3), -1.0

    dataset = Careful([files[3 * (n % 3 == 1)] for n in range(16)])
    theirs = list(batches_of(torch.utils.data.DataLoader, dataset))
    ours = batches_of(DataLoader, dataset, draws="torch")
    for want, got in zip(theirs, ours):
        cases.same(want[0], got[0])
        cases.same(want[1], got[1])
    assert ours.native, ours.fallback_reason


def test_masks_of_zeros_and_ones(files: List[str], tmp_path: Path) -> None:
    """Each answer is wrong; the images stay the engine's."""
    from feedline.torch import DataLoader

    class Pairs(Some):
        def __getitem__(self, index: int) -> Any:
            image = np.array(Image.open(self.paths[0]).convert("RGB"))
            found = np.array(Image.open(self.paths[2]))
            if found.max() > 1:
                found = found / 255
            return torch.from_numpy(image), torch.as_tensor(found).float()

    dataset = Pairs(files)
    theirs = list(batches_of(torch.utils.data.DataLoader, dataset))
    ours = batches_of(DataLoader, dataset, draws="torch")
    for want, got in zip(theirs, ours):
        cases.same(want[0], got[0])
        cases.same(want[1], got[1])
    assert ours.native and ours.recorded, ours.fallback_reason
