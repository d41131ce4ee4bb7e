# SPDX-License-Identifier: Apache-2.0
"""Pixels of recognised chains, against torchvision with the same draws.

replay.py does again what the engine drew; all of it has to be equal to the bit.
"""

from __future__ import annotations

import inspect
import random
from typing import Any, List

import numpy as np
import pytest

import feedline
import replay
from feedline.torch._compat import resizes_bytes
from feedline.torch.folders import ImageList
from feedline.torch.native import NotNative, plan
from feedline.transforms import Python
from images import Image
from random_chains import BORDERS, Chains, invert
from replay import DRAWN, EPOCHS, SIZES, Mode, check, compare, images_of
from replay import open_image, pixels_of
from torch_cases import T as v1, engine_of, families, torch, torchvision, v2

# ---- One transform at a time ------------------------------------------------

FILTERS = ["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"]


@families
@pytest.mark.parametrize("name", FILTERS)
def test_resampling(T: Any, name: str, samples: Any) -> None:
    mode = Mode(name)
    for head in (
        [T.Resize((40, 30), mode)],
        [T.Resize((90, 47), mode)],
        [T.Resize(33, mode), T.CenterCrop((32, 31))],
        [T.Resize([21], mode), T.CenterCrop(18)],
        [T.RandomResizedCrop((34, 44), interpolation=mode)],
        [T.RandomResizedCrop(16, (0.5, 1), (0.2, 5), mode)],
    ):
        check(samples, T.Compose(head + [T.PILToTensor()]))


@families
@pytest.mark.parametrize("name", FILTERS)
def test_flips_before_resampling(T: Any, name: str, samples: Any) -> None:
    flips = [T.RandomHorizontalFlip(), T.RandomVerticalFlip()]
    for resampling in (
        T.Resize((40, 30), Mode(name)),
        T.Resize((96, 128), Mode(name)),
        T.RandomResizedCrop((32, 16), interpolation=Mode(name)),
    ):
        check(samples, T.Compose(flips + [resampling, T.PILToTensor()]))


@pytest.mark.skipif(v2 is None, reason="this torchvision has no v2")
def test_sizes_that_are_drawn(samples: Any) -> None:
    crop = v2.RandomCrop((40, 50), pad_if_needed=True, fill=9)
    for head in (
        [v2.ScaleJitter((50, 40), (0.3, 2))],
        [v2.RandomShortestSize([30, 40, 50], 60), v2.RandomHorizontalFlip()],
        [v2.RandomShortestSize(33, interpolation=Mode.BICUBIC)],
        [v2.RandomResize(20, 90)],
        [v2.RandomZoomOut(fill=(1, 2, 3), side_range=(1, 2), p=0.8)],
    ):
        check(samples, v2.Compose(head + [crop, v2.PILToTensor()]))


needs_tensors = pytest.mark.skipif(
    v2 is None or not resizes_bytes("bilinear"),
    reason="no resizing of uint8 tensors here",
)


@pytest.fixture
def on_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are done again with the functions of v2."""
    monkeypatch.setattr(replay, "F", v2.functional)


@needs_tensors
@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos"])
def test_resampling_of_tensors(
    name: str, samples: Any, on_tensors: None
) -> None:
    mode, crop = Mode(name), v2.CenterCrop((21, 30))
    flips = [v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]
    for first, head in (
        ([], [v2.Resize((40, 30), mode)]),
        ([], [v2.Resize((90, 47), mode), *flips]),
        ([v2.Grayscale()], [v2.Resize(33, mode), v2.CenterCrop((32, 31))]),
        ([], [*flips, v2.Resize((60, 45), mode)]),
        ([], [v2.RandomResizedCrop((34, 44), interpolation=mode)]),
        ([], [v2.ScaleJitter((50, 40), (0.3, 2), mode), crop]),
        ([], [v2.RandomShortestSize([30, 50], 60, mode), crop]),
        ([], [v2.RandomResize(20, 90, mode), crop]),
        ([], [*flips, v2.RandomResizedCrop(9, (0.5, 1), (0.2, 5), mode)]),
    ):
        check(samples, v2.Compose([*first, v2.ToImage(), *head]))


@needs_tensors
def test_borders_of_tensors(samples: Any, on_tensors: None) -> None:
    for head in (
        [v2.RandomCrop(30, 9, fill=7)],
        [v2.Pad((1, 2, 3, 4), (1, 2, 3))],
        *([v2.Pad((1, 2, 3, 4), 5, mode)] for mode in BORDERS),
    ):
        crop = [v2.ToImage(), v2.RandomResizedCrop(20), *head]
        check(samples, v2.Compose(crop))


@families
def test_crops_and_borders(T: Any, samples: Any) -> None:
    for head in (
        [T.CenterCrop(24)],
        [T.CenterCrop((101, 20))],
        [T.CenterCrop([33])],
        [T.CenterCrop(30), T.Pad((1, 2, 3, 4), fill=(9, 99, 199))],
        [T.RandomCrop(24)],
        [T.RandomCrop((30, 31), padding=4)],
        [T.RandomCrop(50, padding=(9, 30), fill=(1, 2, 3))],
        [T.RandomCrop(70, pad_if_needed=True, fill=7)],
        [T.RandomCrop((70, 20), (1, 2, 3, 4), pad_if_needed=True)],
        [T.RandomCrop(90, pad_if_needed=True, padding_mode="symmetric")],
    ):
        check(samples, T.Compose(head + [T.PILToTensor()]))
    for mode in BORDERS:
        for padding in (3, (2, 5), (0, 7, 11, 1)):
            border = T.Pad(padding, fill=77, padding_mode=mode)
            check(
                samples, T.Compose([T.CenterCrop(20), border, T.PILToTensor()])
            )
            crop = T.RandomCrop(25, padding, padding_mode=mode)
            check(samples, T.Compose([crop, T.PILToTensor()]))


@families
def test_flips(T: Any, samples: Any) -> None:
    for p in (0, 0.5, 1):
        for flip in (T.RandomHorizontalFlip(p), T.RandomVerticalFlip(p)):
            check(samples, T.Compose([flip, T.CenterCrop(20), T.PILToTensor()]))
            check(samples, T.Compose([T.CenterCrop(20), T.PILToTensor(), flip]))


@families
def test_rotations(T: Any, samples: Any) -> None:
    for rotation in (
        T.RandomRotation(180),
        T.RandomRotation((10, 30), fill=(1, 2, 3)),
        T.RandomRotation((90, 90)),
        T.RandomRotation(45, Mode.BILINEAR, fill=9),
        T.RandomRotation(45, Mode.BICUBIC, center=(3.5, -2), fill=(9, 8, 7)),
    ):
        head = [T.Resize((41, 32)), rotation]
        check(samples, T.Compose(head + [T.PILToTensor()]))


@families
@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic"])
def test_maps(T: Any, name: str, samples: Any) -> None:
    mode = Mode(name)
    for warp in (
        T.RandomAffine(0, (0.3, 0.2), interpolation=mode, fill=(1, 2, 3)),
        T.RandomAffine(20, (0.1, 0.1), (0.5, 2), 10, mode, center=(1, 40.5)),
        T.RandomAffine((5, 9), None, (0.8, 0.9), (-5, 20), mode, fill=77),
        T.RandomAffine(3, shear=(-5, 20, -30, 1), interpolation=mode),
        T.RandomPerspective(interpolation=mode),
        T.RandomPerspective(1, 0.8, mode, (9, 99, 199)),
    ):
        head = [T.Resize((41, 32)), warp]
        check(samples, T.Compose(head + [T.PILToTensor()]))


@families
def test_colours(T: Any, samples: Any) -> None:
    for transform in (
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.ColorJitter(brightness=(0.5, 3)),
        T.ColorJitter(contrast=2),
        T.ColorJitter(saturation=(2, 5), hue=(-0.5, 0.5)),
        T.ColorJitter(),
        T.RandomGrayscale(0.5),
        T.Grayscale(3),
    ):
        head = [T.Resize((23, 31)), transform]
        check(samples, T.Compose(head + [T.PILToTensor()]))
    first = [T.Grayscale(), T.RandomHorizontalFlip(), T.Resize((20, 20))]
    after = [T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomGrayscale(0.5)]
    found = check(samples, T.Compose(first + after + [T.PILToTensor()]))
    assert found.shape == (1, 20, 20)


@needs_tensors
def test_colours_of_tensors(samples: Any, on_tensors: None) -> None:
    for transform in (
        v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
        v2.ColorJitter((0.5, 3), 2, (2, 5), (-0.5, 0.5)),
        v2.RandomGrayscale(0.5),
        v2.Grayscale(3),
        v2.RandomPhotometricDistort((0, 2), (0, 3), (0, 3), (-0.5, 0.5), 0.8),
        v2.RandomChannelPermutation(),
        v2.RandomInvert(),
        v2.RandomPosterize(3, p=0.7),
        v2.RandomSolarize(99.5, p=0.7),
        v2.RandomAutocontrast(0.7),
        v2.RandomEqualize(0.7),
        v2.RandomAdjustSharpness(1.7, p=0.7),
    ):
        for head in ([], [v2.Grayscale()]):
            if head and isinstance(transform, v2.Grayscale):
                continue  # of one channel
            size = [v2.ToImage(), v2.Resize((23, 31)), transform]
            check(samples, v2.Compose([*head, *size]))


@families
def test_points(T: Any, samples: Any) -> None:
    some = [
        T.RandomInvert(),
        T.RandomPosterize(3, p=0.7),
        T.RandomSolarize(99.5, p=0.7),
        T.RandomAutocontrast(0.7),
        T.RandomEqualize(0.7),
        T.RandomAdjustSharpness(1.7, p=0.7),
    ]
    for transform in some + [T.RandomSolarize(300), T.RandomSolarize(-3)]:
        head = [T.Resize((23, 31)), transform, T.RandomHorizontalFlip()]
        check(samples, T.Compose(head + [T.PILToTensor()]))
    crop = [T.RandomResizedCrop(30)]
    check(samples, T.Compose(crop + some + some[::-1] + [T.PILToTensor()]))
    first = [T.Grayscale(), T.Resize((20, 20))]
    check(samples, T.Compose(first + some + [T.PILToTensor()]))


@pytest.mark.skipif(v2 is None, reason="no torchvision.transforms.v2 here")
def test_channels(samples: Any) -> None:
    for transform in (
        v2.RandomChannelPermutation(),
        v2.RandomPhotometricDistort(),
        v2.RandomPhotometricDistort((0, 2), (0, 3), (0, 3), (-0.5, 0.5), 0.8),
    ):
        for head in ([], [v2.Grayscale()]):
            size = [v2.Resize((23, 31)), transform, v2.PILToTensor()]
            check(samples, v2.Compose(head + size))


def scaled(T: Any) -> List[Any]:
    return [T.PILToTensor(), T.ConvertImageDtype(torch.float32)]


@families
def test_floats(T: Any, samples: Any) -> None:
    three = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    for tail in (
        [],
        [three],
        [T.Normalize([0.5], [0.25])],
        [T.Normalize([0.5] * 3, torch.tensor([0.5] * 3)), T.CenterCrop(9)],
        [T.RandomErasing(0.8), T.RandomVerticalFlip(0)][:1],
        [three, T.RandomErasing(0.8, value=(0.5, -1, 2.25))],
        [three, T.RandomErasing(1, (0.3, 0.9), (0.1, 9), value=3)],
        [three, T.RandomHorizontalFlip(), T.CenterCrop(12)],
    ):
        head = [T.Resize((20, 26))] + scaled(T)
        check(samples, T.Compose(head + tail))


@families
def test_erased_bytes(T: Any, samples: Any) -> None:
    for value in (0, 77, (1, 2, 255)):
        tail = [T.PILToTensor(), T.RandomErasing(0.8, value=value)]
        check(samples, T.Compose([T.Resize((20, 26))] + tail))


@families
def test_erasing_with_noise(T: Any, samples: Any) -> None:
    """The box is the drawn one; what is in it has mean 0 and deviation 1."""
    head = T.Compose([T.Resize((40, 40))] + scaled(T))
    erasing = T.RandomErasing(1, (0.2, 0.9), value="random")
    found = plan(ImageList(samples, T.Compose([head, erasing])))
    plain = engine_of(plan(ImageList(samples, head)))
    engine = engine_of(found)
    noise = []
    for epoch in range(EPOCHS):
        images = images_of(engine, epoch, len(samples))
        wanted = images_of(plain, epoch, len(samples))
        for index in range(len(samples)):
            width, height = SIZES[index]
            drawn = engine.draws(epoch, index, width, height)
            d = drawn["operations"][-1]
            if not d["erases"]:
                continue
            box = (
                slice(None),
                slice(d["y"], d["y"] + d["height"]),
                slice(d["x"], d["x"] + d["width"]),
            )
            noise.append(images[index][box].flatten())
            images[index][box] = wanted[index][box]
            assert torch.equal(images[index], wanted[index])
    values = torch.cat(noise)
    assert len(values) > 10000
    assert abs(values.mean().item()) < 0.05
    assert abs(values.std().item() - 1) < 0.05


def test_how_far_floats_are() -> None:
    """ToTensor within one unit in the last place, for each of 256 bytes."""
    ramp = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    found = feedline.Loader(
        feedline.Dataset.pixels(ramp), None, channels=1, dtype="f32"
    )
    got = next(iter(found)).images.numpy().copy().reshape(-1)
    found.close()
    exact = torch.arange(256, dtype=torch.uint8).float().div(255).numpy()
    assert (np.abs(got - exact) <= np.spacing(exact)).all()
    assert got[0] == 0 and got[255] == 1


@pytest.mark.skipif(v2 is None, reason="no torchvision.transforms.v2 here")
def test_v2_floats_are_equal(samples: Any) -> None:
    """v2 multiplies by the same float as the engine."""
    if not hasattr(v2, "ToDtype"):
        pytest.skip("this torchvision has no ToDtype with a scale")
    tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    check(samples, v2.Compose([v2.RGB(), v2.Resize((20, 20))] + tail))


# ---- Whole chains -----------------------------------------------------------


@families
def test_chains_of_everything(T: Any, samples: Any) -> None:
    tail = [T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    chain = T.Compose(
        [
            T.RandomResizedCrop((38, 40), interpolation=Mode.BICUBIC),
            T.RandomHorizontalFlip(),
            T.ColorJitter(0.4, 0.4, 0.4, 0.1),
            T.RandomGrayscale(0.2),
            T.RandomVerticalFlip(),
            T.RandomRotation(20, Mode.BILINEAR, fill=128),
            T.RandomCrop((36, 40), padding=4),
            T.Pad(1),
        ]
        + scaled(T)
        + tail
        + [T.RandomErasing(0.5)]
    )
    check(samples, chain, 8)


@families
def test_random_chains(T: Any, samples: Any) -> None:
    chains = Chains(T, random.Random(5), certain=False)
    native = 0
    for _ in range(40):
        chain = chains.chain()
        try:
            check(samples, chain, 2)
            native += 1
        except NotNative as why:
            assert "transforms[" in why.reason or "sizes" in why.reason
    assert native >= 20


def test_what_weights_come_with(samples: Any) -> None:
    for options in (
        {"crop_size": 24, "resize_size": 30},
        {"crop_size": 40, "resize_size": 33, "interpolation": Mode.BICUBIC},
    ):
        presets = torchvision.transforms._presets
        found = check(samples, presets.ImageClassification(**options))
        assert found.shape == (3, options["crop_size"], options["crop_size"])


def test_timm_chains(samples: Any) -> None:
    timm_data = pytest.importorskip("timm.data")
    for options in (
        {"is_training": True, "interpolation": "bicubic", "re_prob": 0},
        {"is_training": True, "interpolation": "bilinear", "vflip": 0.5},
        {"is_training": True, "interpolation": "random"},
        {"is_training": True, "re_prob": 0.9, "re_count": 3},
        {"is_training": True, "no_aug": True},
        {"is_training": False},
        {"is_training": True, "train_crop_mode": "rkrc"},
        {
            "is_training": True,
            "train_crop_mode": "rkrr",
            "interpolation": "random",
        },
        {"is_training": False, "crop_mode": "squash", "crop_pct": 0.9},
        {"is_training": False, "crop_mode": "border", "crop_pct": 0.9},
        {"is_training": False, "crop_border_pixels": 4},
        {"is_training": False, "use_prefetcher": True},
    ):
        check(samples, timm_data.create_transform(32, **options))


# ---- Python -----------------------------------------------------------------


def test_a_function_of_the_users(samples: Any) -> None:
    def swap(pixels: Any) -> Any:
        return pixels[:, ::-1, ::-1]

    resize = v1.Resize((20, 30))
    for fn in (invert, swap):
        check(samples, v1.Compose([resize, Python(fn), v1.PILToTensor()]))
        gray_first = [v1.Grayscale(), resize, Python(fn), v1.PILToTensor()]
        check(samples, v1.Compose(gray_first))


def test_a_function_that_draws_repeats_itself(samples: Any) -> None:
    def noisy(pixels: Any, rng: Any) -> None:
        pixels[:] = rng.below(256)
        pixels[0] = int(rng.uniform() * 256)

    chain = v1.Compose([v1.Resize((8, 8)), Python(noisy), v1.PILToTensor()])
    found = plan(ImageList(samples, chain))
    assert found.random
    engine = engine_of(found)
    first = images_of(engine, 3, len(samples))
    assert torch.equal(first, images_of(engine, 3, len(samples)))
    assert not torch.equal(first, images_of(engine, 4, len(samples)))
    torch.manual_seed(1)
    once = chain(open_image(samples[0][0]))
    torch.manual_seed(1)
    assert torch.equal(once, chain(open_image(samples[0][0])))


def test_what_python_takes_and_gives() -> None:
    gray_image = Image.fromarray(pixels_of(0, 5, 4)).convert("L")
    assert Python(invert)(gray_image).getpixel((1, 2)) == (
        255 - gray_image.getpixel((1, 2))
    )
    pixels = pixels_of(0, 5, 4)
    assert (Python(invert)(pixels) == 255 - pixels).all()
    with pytest.raises(TypeError, match="mode L or RGB"):
        Python(invert)(gray_image.convert("CMYK"))
    with pytest.raises(TypeError, match="takes a function"):
        Python(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="of the same shape"):
        Python(lambda pixels: pixels[:2])(pixels)


# ---- Images in memory -------------------------------------------------------


class InMemory(torchvision.datasets.CIFAR10):  # type: ignore[misc]
    """CIFAR10 without its files."""

    def __init__(self, data: Any, transform: Any) -> None:
        self.data, self.targets = data, list(range(len(data)))
        self.transform, self.target_transform = transform, None


@families
def test_arrays(T: Any) -> None:
    data = np.stack([pixels_of(i, 32, 32) for i in range(6)])
    for head in (
        [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()],
        [T.Grayscale(), T.Pad(2)],
        [T.Resize(40), T.ColorJitter(0.5, hue=0.2)],
    ):
        chain = T.Compose(head + scaled(T) + [T.Normalize([0.5], [0.25])])
        found = plan(InMemory(data, chain))
        engine = engine_of(found)
        for epoch in range(EPOCHS):
            images = images_of(engine, epoch, len(data))
            for index, pixels in enumerate(data):
                drawn = engine.draws(epoch, index, 32, 32)["operations"]
                wanted = replay.replay(chain, Image.fromarray(pixels), drawn)
                compare(images[index], wanted, drawn)


def test_every_test_of_a_family_has_one() -> None:
    """What is drawn for is replayed: no reader without a test here."""
    from feedline.torch.chain import READERS

    drawing = {
        name
        for (family, name), reader in READERS.items()
        if "draws()" in inspect.getsource(reader.read)
        or "add_random_crop" in inspect.getsource(reader.read)
        or "add_drawn_size" in inspect.getsource(reader.read)
        or "sometimes(" in inspect.getsource(reader.read)
    } - {
        "Python",  # test_torch_python_ops.py
        "PIL",
        "RandomIoUCrop",  # test_torch_detection.py
    }
    assert drawing == set(DRAWN)


# ---- Real photos ------------------------------------------------------------


def test_photos(real_images: Any) -> None:
    """The recipes of ImageNet on its own files, gray and CMYK among them."""
    paths = sorted(
        path
        for path in real_images.rglob("*")
        if path.suffix.lower() in (".jpg", ".jpeg", ".png")
    )
    if not paths:
        pytest.skip("no photos in %s" % real_images)
    chosen = random.Random(1).sample(paths, min(16, len(paths)))
    samples = []
    for path in chosen:
        try:
            open_image(str(path)).load()
        except OSError:
            continue  # damaged on purpose
        samples.append((str(path), 0))
    tail = [v1.ToTensor(), v1.Normalize([0.5] * 3, [0.25] * 3)]
    train = [v1.RandomResizedCrop(224), v1.RandomHorizontalFlip()]
    check(samples, v1.Compose(train + tail), 1)
    evaluate = [v1.Resize(256, Mode.BICUBIC), v1.CenterCrop(224)]
    check(samples, v1.Compose(evaluate + tail), 1)
