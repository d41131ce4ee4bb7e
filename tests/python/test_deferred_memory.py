# SPDX-License-Identifier: Apache-2.0
"""Images of arrays that the program has in memory."""

from __future__ import annotations

from typing import Any, Callable, Dict

import deferred_cases as cases
import images
import needs
import pytest

torch = cases.torch
np = cases.np
Image = images.Image

needs.deferred_tensors()

ImageDraw = pytest.importorskip("PIL.ImageDraw")

from feedline.deferred.memory_image import MOST_BYTES  # noqa: E402
from test_deferred_engine import check as engine_makes  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402


def pixels(*shape: int) -> Any:
    rng = np.random.RandomState(len(shape))
    return rng.randint(0, 256, shape).astype(np.uint8)


ARRAYS: Dict[str, Callable[[], Any]] = {
    "gray": lambda: pixels(28, 31),
    "colours": lambda: pixels(32, 30, 3),
    "alpha": lambda: pixels(32, 30, 4),
    "gray and alpha": lambda: pixels(9, 11, 2),
    "one pixel": lambda: pixels(1, 1),
    "flipped": lambda: pixels(20, 21)[::-1, ::-1],
    "turned colours": lambda: pixels(3, 20, 21).transpose(1, 2, 0),
    "BGR": lambda: pixels(20, 21, 3)[..., ::-1],
    "some of more": lambda: pixels(40, 50, 4)[3:20, 4:30],
    "columns": lambda: np.asfortranarray(pixels(20, 21)),
    "a row of a tensor": lambda: torch.from_numpy(pixels(3, 8, 9))[1].numpy(),
    "read-only": lambda: np.frombuffer(bytes(range(200)), np.uint8).reshape(
        10, 20
    ),
}

# Of the image; deferred to the end.
STEPS: Dict[str, Callable[[Any], Any]] = {
    "to_tensor": F.to_tensor,
    "pil_to_tensor": F.pil_to_tensor,
    "array": lambda im: np.array(im),
    "resize": lambda im: im.resize((40, 33), Image.BICUBIC),
    "crop": lambda im: im.crop((-2, 0, 9, 8)),
    "convert": lambda im: im.convert("RGB").transpose(0),
    "chain": T.Compose(
        [T.Pad(4), T.RandomCrop(9, pad_if_needed=True), T.ToTensor()]
    ),
    "and back": lambda im: Image.fromarray(np.array(im.convert("L"))).resize(
        (5, 6)
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_images_are_recorded(name: str) -> None:
    array = ARRAYS[name]()
    runs = [
        lambda step=step: step(Image.fromarray(array))
        for step in STEPS.values()
    ]
    for run in runs:
        assert cases.check(run) == [True]
    engine_makes(runs)


def test_what_is_made_real_is_no_image_in_memory() -> None:
    """Steps that Pillow carries out by way of arrays."""

    def run() -> Any:
        im = Image.fromarray(pixels(32, 30, 3))
        padded = F.pad(im, 5, padding_mode="reflect")
        bright = F.to_pil_image(F.to_tensor(im) * 0.5)
        gray = np.asarray(im.convert("L")) // 2
        return padded, padded.getpixel((1, 1)), bright, gray

    cases.check(run)
    recorder = cases.Recorder()
    made = recorder.run(run)
    assert type(made[0]) is Image.Image
    assert [touch.asked for touch in recorder.touches] == ["getpixel"]


@pytest.mark.parametrize("name", ARRAYS)
def test_an_image_of_its_own(name: str) -> None:
    array = ARRAYS[name]()
    cases.check(lambda: Image.fromarray(array))
    cases.check(lambda: [Image.fromarray(array)] * 2)


def drawn(im: Any) -> Any:
    ImageDraw.Draw(im).line((0, 0, 9, 9), fill=7)
    return im, im.resize((9, 9))


def put(im: Any) -> Any:
    im.putpixel((0, 0), 0 if im.mode == "L" else (0,) * len(im.mode))
    return im, im.resize((9, 9))


def overwritten(array: Any) -> Any:
    """Some of Pillow's images show it, others are of the pixels before."""
    image = Image.fromarray(array)
    before = image.resize((7, 8))
    copy = image.copy()
    array[:] = 255 - array
    after = image.resize((7, 8))
    array[:] = 255 - array
    return image, before, copy, after, image.getpixel((0, 0))


def reused(array: Any) -> Any:
    """A buffer of the program's, for one image after the other."""
    made = []
    for number in range(3):
        array[:] = number * 60
        made.append(Image.fromarray(array))
        made.append(F.to_tensor(made[-1]))
    return made


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("change", [overwritten, reused])
def test_arrays_that_change(change: Any, name: str) -> None:
    if name != "read-only":
        cases.check(lambda: change(ARRAYS[name]().copy()))
        cases.check(lambda: change(ARRAYS[name]()))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("change", [drawn, put])
def test_images_that_are_drawn_on(change: Any, name: str) -> None:
    array = ARRAYS[name]()
    before = array.copy()
    cases.check(lambda: change(Image.fromarray(array)))
    assert np.array_equal(array, before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pixels(8, 9).astype(np.int32),
        lambda: pixels(8, 9).astype(np.float32),
        lambda: pixels(8, 9) > 100,
        lambda: pixels(8, 9, 1),
        lambda: pixels(8, 9, 5),
        lambda: pixels(8),
        lambda: pixels(0, 9),
        lambda: pixels(MOST_BYTES // 64 + 1, 64),
        lambda: pixels(8, 9).view(np.recarray),
        lambda: memoryview(pixels(8, 9)),
    ],
)
def test_other_arrays_are_pillows(make: Any) -> None:
    array = make()

    def run() -> Any:
        try:
            return Image.fromarray(array).resize((4, 5))
        except Exception as error:
            return type(error), str(error)

    cases.check(run)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["L", "P", "RGB", "YCbCr"])
def test_a_mode_is_given(mode: str) -> None:
    array = pixels(8, 9, 3) if mode in ("RGB", "YCbCr") else pixels(8, 9)
    cases.check(lambda: Image.fromarray(array, mode).resize((4, 5)))


def test_a_data_set_in_memory_is_native() -> None:
    from feedline.torch import DataLoader

    class Squares(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
        data = pixels(12, 32, 32, 3)
        transform = T.Compose([T.Resize(40), T.ToTensor()])

        def __len__(self) -> int:
            return len(self.data)

        def __getitem__(self, index: int) -> Any:
            return self.transform(Image.fromarray(self.data[index])), index

    ours = DataLoader(Squares(), batch_size=4, num_workers=1)
    theirs = torch.utils.data.DataLoader(Squares(), batch_size=4)
    got, want = list(ours), list(theirs)
    assert ours.native, ours.fallback_reason
    for (x, n), (y, m) in zip(got, want):
        cases.same(y, x)
        cases.same(m, n)


def test_what_is_made_of_a_files_pixels(tmp_path: Any) -> None:
    """Is real, for Python has had the work."""
    from feedline.deferred import Recorder, deferred_of

    path = str(tmp_path / "a.png")
    images.picture((31, 22), 3).save(path)

    def program(read: bool) -> Any:
        image = Image.open(path)
        if read:
            image.getpixel((0, 0))
        return Image.fromarray(pixels(32, 30, 3)).resize((9, 9))

    for read in (True, False):
        found = Recorder().run(program, read)
        assert (deferred_of(found) is None) is read
