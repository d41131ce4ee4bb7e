# SPDX-License-Identifier: Apache-2.0
"""Images of Pillow's that others are pasted into."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import images
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np

from PIL import Image, ImageDraw  # noqa: E402
from torchvision import transforms  # noqa: E402

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

SIZE = 96, 80


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    root = tmp_path_factory.mktemp("files")
    made = []
    for n, end in enumerate(("jpg", "png", "jpg", "webp")):
        path = root / ("%d.%s" % (n, end))
        images.picture((64 + n, 50 - n), n).save(path)
        made.append(str(path))
    gray = root / "gray.png"
    images.picture((64, 50), 9).convert("L").save(gray)
    palette = root / "palette.png"
    images.picture((64, 50), 11).quantize(9).save(palette)
    return [*made, str(gray), str(palette)]


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


def boxed(
    paths: List[str], size: Any = SIZE, color: Any = (128, 128, 128)
) -> Any:
    """As YOLO's programs have it."""
    image = rgb(paths[0])
    w, h = size
    scale = min(w / image.size[0], h / image.size[1])
    nw, nh = int(image.size[0] * scale), int(image.size[1] * scale)
    whole = Image.new("RGB", size, color)
    small = image.resize((nw, nh), Image.BICUBIC)
    whole.paste(small, ((w - nw) // 2, (h - nh) // 2))
    return whole


def at(*corners: int, mode: str = "RGB", number: int = 0) -> Any:
    def program(paths: List[str]) -> Any:
        whole = Image.new(mode, SIZE, "white")
        whole.paste(Image.open(paths[number]), corners)
        return whole

    return program


def mosaic(paths: List[str]) -> Any:
    whole = Image.new("RGB", SIZE)
    for n, path in enumerate(paths[:4]):
        place = (n % 2) * 48, (n // 2) * 40
        whole.paste(rgb(path).crop((3, 2, 51, 42)), place)
    return whole.transpose(0)


def over_a_file(paths: List[str]) -> Any:
    whole, other = rgb(paths[0]), rgb(paths[1]).resize((20, 20))
    before, array = whole.copy(), np.array(whole)
    whole.paste(other, (10, 12))
    whole.paste(other.rotate(180), (-5, 33, 15, 53))
    return whole, before, array, other


def rectangles(paths: List[str]) -> Any:
    whole = rgb(paths[0])
    whole.paste((1, 2, 3), (5, 6, 20, 30))
    whole.paste("red", (50, 40, 90, 90))
    whole.paste(7, (-9, -9, 4, 4))
    whole.paste(9, (200, 200, 210, 210))
    return whole


def label(paths: List[str]) -> Any:
    """Of classes, beside its image."""
    image = Image.fromarray(np.array(Image.open(paths[4])))
    whole = Image.new("L", SIZE, 0)
    whole.paste(image.resize((60, 47), Image.NEAREST), (7, 9))
    classes = np.array(whole)
    classes[classes >= 200] = 200
    return boxed(paths), classes


def tensor(paths: List[str]) -> Any:
    data = np.array(boxed(paths), np.uint8)
    return torch.from_numpy(
        np.transpose(data, (2, 0, 1)).astype(np.float32) / 255.0
    )


def as_floats(paths: List[str]) -> Any:
    data = np.array(boxed(paths), np.float32)
    data /= 255.0
    data -= np.array([0.485, 0.456, 0.406], np.float32)
    data /= np.array([0.229, 0.224, 0.225], np.float32)
    return np.transpose(data, (2, 0, 1))


def with_torchvision(paths: List[str]) -> Any:
    chain = [transforms.Resize((40, 50)), transforms.ToTensor()]
    return transforms.Compose(chain)(boxed(paths))


def in_arrays(paths: List[str]) -> Any:
    """Pasted by Pillow, put together by NumPy."""
    whole = np.zeros((120, 110, 3), np.uint8)
    whole[:80, :96] = np.array(boxed(paths))
    whole[80:, 10:70] = np.array(boxed(paths[1:], (60, 40), 3))
    return Image.fromarray(whole)


def copied(paths: List[str]) -> Any:
    first = boxed(paths)
    second = first.copy()
    second.paste(rgb(paths[1]).crop((0, 0, 9, 9)), (1, 1))
    first.paste(second.resize((30, 30)), (60, 50))
    second.paste(second, (20, 20))
    return first, second, first.crop((40, 40, 90, 80))


def blank(paths: List[str]) -> Any:
    return (
        Image.new("RGB", SIZE, (3, 4, 5)),
        Image.new("L", SIZE),
        rgb(paths[0]),
    )


DEFERRED: Dict[str, Callable[[List[str]], Any]] = {
    "boxed": boxed,
    "in a list": lambda paths: boxed(paths, [70, 90], "gray"),
    "inside": at(10, 20),
    "four corners": at(10, 20, 74, 70),
    "of WebP": at(3, 3, number=3),
    "beyond, left": at(-10, -20),
    "beyond, right": at(70, 60),
    "outside": at(96, 0),
    "gray in colour": at(5, 5, number=4),
    "palette in colour": at(5, 5, number=5),
    "gray": at(5, 5, mode="L", number=4),
    "colour in gray": at(5, 5, mode="L"),
    "palette in gray": at(5, 5, mode="L", number=5),
    "mosaic": mosaic,
    "over a file": over_a_file,
    "rectangles": rectangles,
    "label": label,
    "tensor": tensor,
    "as floats": as_floats,
    "with torchvision": with_torchvision,
    "in arrays": in_arrays,
    "copied": copied,
    "blank": blank,
}


@pytest.mark.parametrize("name", DEFERRED)
def test_is_put_together(name: str, files: List[str]) -> None:
    program = DEFERRED[name]
    found = cases.check(program, files)
    assert found and all(found)
    engine_makes([lambda: program(files)])


# ---- What Pillow makes ------------------------------------------------------


def by_mask(paths: List[str]) -> Any:
    whole = Image.new("RGB", SIZE)
    mask = Image.open(paths[4]).point(lambda v: 255 * (v > 90))
    whole.paste(rgb(paths[0]), (0, 0), mask)
    return whole


def with_alpha(paths: List[str]) -> Any:
    whole = Image.new("RGB", SIZE)
    whole.paste(Image.open(paths[0]).convert("RGBA"), (3, 3))
    return whole


def drawn_on(paths: List[str]) -> Any:
    whole = boxed(paths)
    ImageDraw.Draw(whole).rectangle((3, 4, 50, 60), fill=(1, 2, 3))
    return whole


def into_an_opened_file(paths: List[str]) -> Any:
    whole = Image.open(paths[1])
    whole.paste(rgb(paths[0]).crop((0, 0, 20, 20)))
    return whole


def of_a_real_one(paths: List[str]) -> Any:
    whole = Image.new("RGB", SIZE)
    real = rgb(paths[0])
    real.getpixel((1, 1))
    whole.paste(real, (1, 1))
    return whole


def onto_an_array(paths: List[str]) -> Any:
    array = np.full((50, 60), 9, np.uint8)
    whole = Image.fromarray(array)
    whole.paste(3, (1, 1, 40, 40))
    return whole, array


def put_pixel(paths: List[str]) -> Any:
    whole = boxed(paths)
    whole.putpixel((3, 3), (9, 8, 7))
    whole.paste(rgb(paths[1]), (40, 40))
    return whole


REAL = {
    f.__name__: f
    for f in (
        by_mask,
        with_alpha,
        drawn_on,
        into_an_opened_file,
        of_a_real_one,
        put_pixel,
    )
}


@pytest.mark.parametrize("name", REAL)
def test_is_made_by_pillow(name: str, files: List[str]) -> None:
    assert not any(cases.check(REAL[name], files))


def test_memory_of_the_programs(files: List[str]) -> None:
    cases.check(onto_an_array, files)


def test_what_is_no_canvas() -> None:
    def program() -> Any:
        yield Image.new("RGB", (8, 8), 3)
        yield Image.new("RGBA", SIZE, 3)
        yield Image.new("P", SIZE, 3)
        yield Image.new("F", SIZE, 3.5)
        yield Image.new("RGB", (0, 2000), 3)

    for made in Recorder().run(lambda: list(program())):
        assert type(made) is Image.Image


def test_drawing_on_nothing_is_no_touch() -> None:
    def program() -> Any:
        mask = Image.new("L", SIZE, 0)
        ImageDraw.Draw(mask).polygon([(3, 3), (40, 9), (30, 60)], fill=1)
        return mask

    recorder = Recorder()
    made = recorder.run(program)
    cases.same(program(), made)
    assert not recorder.touches


def test_what_pillow_refuses(files: List[str]) -> None:
    def without_size() -> None:
        Image.new("RGB", SIZE).paste((1, 2, 3))

    def of_another_size() -> None:
        Image.new("RGB", SIZE).paste(rgb(files[0]), (0, 0, 5, 5))

    def of_fractions() -> None:
        Image.new("RGB", SIZE).paste(rgb(files[0]), (0.5, 0.5))

    for program in (without_size, of_another_size, of_fractions):
        with pytest.raises(Exception) as theirs:
            program()
        with pytest.raises(type(theirs.value)) as ours:
            Recorder().run(program)
        assert str(ours.value) == str(theirs.value)


def test_many_parts(files: List[str]) -> None:
    def program(paths: List[str]) -> Any:
        whole = Image.new("RGB", SIZE)
        part = rgb(paths[0]).resize((7, 7))
        for n in range(90):
            whole.paste(part, (n, n % 70))
        return whole

    assert cases.check(program, files) == [False]


# ---- In a loader ------------------------------------------------------------


class Boxed(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        size = random.choice(((96, 80), (80, 96)))
        whole = boxed([self.paths[index]], size)
        if random.random() < 0.5:
            whole = whole.transpose(Image.FLIP_LEFT_RIGHT)
        whole = whole.resize((64, 64))
        return transforms.ToTensor()(whole), index


@pytest.mark.parametrize("damaged", (False, True))
def test_in_a_loader(files: List[str], tmp_path: Path, damaged: bool) -> None:
    from feedline.torch import DataLoader

    paths = files[:4] * 5
    if damaged:
        cut_off = tmp_path / "cut.jpg"
        data = Path(files[0]).read_bytes()
        cut_off.write_bytes(data[: len(data) * 2 // 3])
        paths[9] = str(cut_off)
    ours = DataLoader(
        Boxed(paths), batch_size=4, num_workers=1, draws="torch", shuffle=True
    )
    theirs = torch.utils.data.DataLoader(
        Boxed(paths), batch_size=4, num_workers=1, shuffle=True
    )
    errors = []
    for loader in (theirs, ours):
        torch.manual_seed(3)
        found, batches = [], iter(loader)
        for _ in range(5):
            try:
                found.append(next(batches))
            except Exception as error:
                found.append(type(error).__name__)
        errors.append(found)
    for want, got in zip(*errors):
        if isinstance(want, str):
            assert isinstance(got, str)
        else:
            cases.same(want[0], got[0])
            cases.same(want[1], got[1])
    assert ours.native and ours.recorded, ours.fallback_reason


def test_a_kept_one_is_real(files: List[str]) -> None:
    recorder = Recorder()
    kept = recorder.run(boxed, files)
    recorder.run(boxed, files)
    assert deferred_of(kept) is None
    cases.same(boxed(files), kept)
