# SPDX-License-Identifier: Apache-2.0
"""What is recognised, what is not, and whether changes are noticed.

Pixels are the matter of test_torch_pixels; here are the operations that a chain
comes to, the reasons for saying no, and the plan of each kind of data set.
"""
from __future__ import annotations

import gc
import inspect
import os
import pickle
from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest

import forks
from images import Image
from torch_cases import T as v1, engine_of, epoch_of, families, torch
from torch_cases import torchvision, v2

from feedline.torch.chain import READERS
from feedline.torch.folders import ImageFolder, ImageList
from feedline.torch.native import NotNative, plan, read_chain
from feedline.transforms import Python

np = pytest.importorskip("numpy")
datasets = torchvision.datasets
ConcatDataset = torch.utils.data.ConcatDataset
Subset = torch.utils.data.Subset

Mode = v1.InterpolationMode


def ops(transform: Any, channels: int = 3, size: Any = None) -> List[Any]:
    chain = read_chain(transform, channels, size)
    return [(name, dict(arguments)) for name, arguments, _ in chain.ops]


def refusal(transform: Any, channels: int = 3, size: Any = None) -> str:
    with pytest.raises(NotNative) as caught:
        read_chain(transform, channels, size)
    return caught.value.reasons[0]


# ---- Chains -----------------------------------------------------------------


@families
def test_a_training_chain(T: Any) -> None:
    chain = read_chain(
        T.Compose(
            [
                T.RandomResizedCrop((20, 30), scale=(0.2, 1)),
                T.Compose([T.RandomHorizontalFlip(0.25)]),
                T.ColorJitter(0.4, hue=0.1),
                T.PILToTensor(),
                T.ConvertImageDtype(torch.float32),
                T.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.1)),
                T.RandomErasing(0.3, value="random"),
            ]
        ),
        3,
        None,
    )
    assert chain.dtype == "f32" and chain.channels == 3
    assert chain.random and chain.size == (30, 20)
    assert [op[0] for op in chain.ops] == [
        "random_resized_crop",
        "horizontal_flip",
        "color_jitter",
        "normalize",
        "random_erasing",
    ]
    assert chain.ops[1][2] == (
        "transforms[1].transforms[0] RandomHorizontalFlip"
    )
    found = dict(chain.ops[0][1])
    assert (found["width"], found["height"]) == (30, 20)
    assert dict(chain.ops[2][1]) == {
        "brightness": (0.6, 1.4),
        "hue": (-0.1, 0.1),
    }
    assert dict(chain.ops[4][1])["noise"] is True


@families
def test_bytes_when_nothing_scales_them(T: Any) -> None:
    chain = read_chain(T.Compose([T.Resize((4, 6)), T.PILToTensor()]), 3, None)
    assert chain.dtype == "u8" and not chain.random and chain.size == (6, 4)


@families
@pytest.mark.parametrize(
    "given, wanted",
    [(9, {"size": 9}), ([9], {"size": 9}), ((7, 9), {"width": 9, "height": 7})],
)
def test_sizes_of_resize(T: Any, given: Any, wanted: Any) -> None:
    chain = [T.Resize(given, Mode.BICUBIC), T.CenterCrop(5), T.PILToTensor()]
    wanted["interpolation"] = "bicubic"
    assert ops(T.Compose(chain))[0] == ("resize", wanted)


@families
@pytest.mark.parametrize(
    "given, wanted",
    [
        (None, (0, 0, 0, 0)),
        (4, (4, 4, 4, 4)),
        ((1, 2), (1, 2, 1, 2)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
    ],
)
def test_padding_of_random_crop(T: Any, given: Any, wanted: Any) -> None:
    """v2 keeps it in another order than v1."""
    chain = [T.RandomCrop(8, padding=given, fill=(1, 2, 3)), T.PILToTensor()]
    name, arguments = ops(T.Compose(chain))[0]
    assert name == "random_crop" and arguments["padding"] == wanted
    assert arguments["fill"] == (1, 2, 3)


@families
def test_known_sizes_are_followed(T: Any) -> None:
    def size(*chain: Any) -> Any:
        whole = T.Compose(list(chain) + [T.PILToTensor()])
        return read_chain(whole, 1, (28, 20)).size

    assert size() == (28, 20)
    assert size(T.Pad((1, 2, 3, 4))) == (32, 26)
    assert size(T.Resize(10)) == (14, 10)
    assert size(T.Resize(31)) == (43, 31)
    assert size(T.RandomCrop(9, padding=4)) == (9, 9)
    assert size(T.CenterCrop((5, 6))) == (6, 5)


@families
def test_a_border_before_resampling(T: Any) -> None:
    """Only a size that is known says that there is none."""
    chain = T.Compose([T.CenterCrop(20), T.Resize((8, 8)), T.PILToTensor()])
    assert "put CenterCrop after it" in refusal(chain)
    assert "put CenterCrop after it" in refusal(chain, 3, (28, 19))
    assert len(ops(chain, 3, (28, 20))) == 2


@families
def test_gray_comes_first_or_not_at_all(T: Any) -> None:
    tail = [T.PILToTensor()]
    early = [T.RandomVerticalFlip(), T.Grayscale(), T.Resize((5, 5))] + tail
    chain = read_chain(T.Compose(early), 3, None)
    assert chain.channels == 1
    assert [op[0] for op in chain.ops] == ["vertical_flip", "resize"]
    late = [T.Resize((5, 5)), T.Grayscale()] + tail
    assert "put it first" in refusal(T.Compose(late))
    three = [T.Resize((5, 5)), T.Grayscale(3)] + tail
    assert ops(T.Compose(three))[1] == ("grayscale", {})
    colours = [T.ColorJitter(0.5), T.Grayscale(3)] + tail
    assert "put it first" in refusal(T.Compose(colours), 1, (8, 8))
    gray = read_chain(T.Compose([T.Grayscale(3)] + tail), 1, (8, 8))
    assert gray.channels == 3 and gray.ops == ()


@families
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda T: T.ElasticTransform(), "no such operation"),
        (lambda T: T.Lambda(abs), "feedline.transforms.PIL(Lambda(...))"),
        (lambda T: T.Resize(9, max_size=20), "max_size=20"),
        (lambda T: T.RandomRotation(9, expand=True), "expand=True"),
        (lambda T: T.RandomRotation(9, Mode.LANCZOS), "'lanczos'"),
        (lambda T: T.Pad(1, fill=(1, 2)), "3 channels"),
        (lambda T: T.Pad(1, fill=256), "0 to 255"),
        (lambda T: T.Pad(-1), "padding=-1"),
        (lambda T: T.Normalize([0.5] * 3, [1] * 3), "ToTensor"),
        (lambda T: T.RandomErasing(), "needs a tensor"),
        (lambda T: abs, "not a transform that feedline knows"),
    ],
)
def test_reasons(T: Any, make: Callable[[Any], Any], words: str) -> None:
    chain = T.Compose([T.RandomHorizontalFlip(), make(T), T.PILToTensor()])
    reason = refusal(chain)
    assert words in reason and reason.startswith("transforms[1] "), reason


@families
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda T: T.Resize(9), "before the transform that makes the tensor"),
        (lambda T: T.RandomResizedCrop(9), "before the transform"),
        (lambda T: T.ColorJitter(0.5), "before the transform"),
        (lambda T: T.RandomRotation(5), "before the transform"),
        (lambda T: T.Pad(1), "put it before ToTensor"),
        (lambda T: T.RandomCrop(3, padding=1), "put it before ToTensor"),
        (lambda T: T.CenterCrop(50), "border"),
        (lambda T: T.Normalize([0.5] * 2, [1] * 3), "second one"),
        (lambda T: T.ConvertImageDtype(torch.float64), "float64"),
        (lambda T: Python(abs), "before the transform"),
    ],
)
def test_reasons_behind_normalize(T: Any, make: Any, words: str) -> None:
    chain = T.Compose(
        [
            T.Resize((20, 20)),
            T.PILToTensor(),
            T.ConvertImageDtype(torch.float32),
            T.Normalize([0.5], [0.5]),
            make(T),
        ]
    )
    assert words in refusal(chain)


@families
def test_wrong_numbers_of_channels(T: Any) -> None:
    head = [T.PILToTensor(), T.ConvertImageDtype(torch.float32)]
    three = T.Normalize((0.1, 0.2, 0.3), (1, 1, 1))
    assert "1 channels" in refusal(T.Compose(head + [three]), 1, (8, 8))
    erasing = T.RandomErasing(value=(1.0, 2.0))
    assert "3 channels" in refusal(T.Compose(head + [erasing]), 3, (8, 8))
    tail = T.Compose(head + [T.RandomErasing(), three])
    assert "RandomErasing goes last" in refusal(tail, 3, (8, 8))


@families
def test_erasing_bytes(T: Any) -> None:
    head = [T.PILToTensor()]
    good = T.Compose(head + [T.RandomErasing(value=7)])
    assert ops(good)[0][1]["value"] == (7.0,)
    for value in (0.5, 256, "random"):
        bad = T.Compose(head + [T.RandomErasing(value=value)])
        assert "tensor of bytes" in refusal(bad)


def test_what_a_chain_must_end_in() -> None:
    assert "end in Pillow images" in refusal(v1.Compose([v1.CenterCrop(3)]))
    assert "no transform" in refusal(None)
    assert "tensor already" in refusal(
        v1.Compose([v1.ToTensor(), v1.ToTensor()])
    )


def test_the_default_type_of_torch_counts() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert "float32" in refusal(v1.ToTensor())
    finally:
        torch.set_default_dtype(torch.float32)
    assert ops(v1.ToTensor()) == []


@families
def test_subclasses_with_another_constructor(T: Any) -> None:
    """As in DINOv2's and timm's recipes."""

    class Square(T.RandomResizedCrop):  # type: ignore[misc]
        """Of a size."""

        kept: int

        def __init__(self, side: int) -> None:
            super().__init__((side, side), scale=(0.9, 1))
            self.side = side

        def __repr__(self) -> str:
            return "Square"

    class Longer(Square):
        def __init__(self) -> None:
            super().__init__(9)

    for made in (Square(9), Longer()):
        name, arguments = ops(T.Compose([made, T.PILToTensor()]))[0]
        assert name == "random_resized_crop" and arguments["width"] == 9
        assert arguments["scale"] == (0.9, 1)
    odd = Square(9)
    odd.get_params = lambda *unused: (0, 0, 1, 1)
    assert "'get_params'" in refusal(odd)


def to_rgb(image: Any) -> Any:
    return image.convert("RGB")


def maybe_to_rgb(picture: Any) -> Any:
    """Another name, and a test before."""
    if picture.mode != "RGB":
        picture = picture.convert("RGB")
    return picture


class MaybeConvert:
    def __init__(self, mode: str = "RGB") -> None:
        self.mode = mode

    def __call__(self, image: Any) -> Any:
        return image if image.mode == "RGB" else image.convert("RGB")


@families
def test_conversions_to_rgb(T: Any) -> None:
    """CLIP's _convert_image_to_rgb, and what others call it."""
    for convert in (
        to_rgb,
        maybe_to_rgb,
        MaybeConvert(),
        T.Lambda(to_rgb),
        T.Lambda(lambda x: x.convert("RGB")),
        lambda x: x,
    ):
        chain = T.Compose([T.Resize((8, 8)), convert, T.PILToTensor()])
        assert [name for name, _ in ops(chain)] == ["resize"], convert
    gray = T.Compose([to_rgb, T.PILToTensor()])
    assert read_chain(gray, 1, (8, 8)).channels == 3
    for convert in (
        lambda x: x.convert("L"),
        lambda x, mode="L": x.convert(mode),
        lambda *x: x[0].convert("RGB"),
        lambda x: x.crop("RGB"),
        lambda x: x.copy().convert("RGB"),
    ):
        reason = refusal(T.Compose([convert, T.PILToTensor()]))
        assert "not a transform that feedline knows" in reason
    assert "before the transform" in refusal(
        T.Compose([T.PILToTensor(), to_rgb])
    )


@families
def test_halves(T: Any) -> None:
    """Floats of 16 bits, as the last conversion and no other."""
    bytes_, floats = T.PILToTensor(), T.ConvertImageDtype(torch.float32)
    for half in (
        T.ConvertImageDtype(torch.float16),
        T.Lambda(lambda x: x.half()),
        lambda image: image.to(torch.float16),
    ):
        chain = T.Compose([bytes_, floats, half])
        assert read_chain(chain, 3, (8, 8)).dtype == "f16"
        late = T.Compose([bytes_, floats, half, T.Normalize([0.5], [0.5])])
        assert "conversion to float16; put it before" in refusal(late)
    brain = T.Compose([bytes_, floats, lambda x: x.bfloat16()])
    assert read_chain(brain, 3, (8, 8)).dtype == "bf16"
    early = T.Compose([bytes_, lambda x: x.half()])
    assert "floats of 0 to 1" in refusal(early)


def test_subclasses_and_strange_attributes_are_refused() -> None:
    class Mine(v1.CenterCrop):
        def forward(self, image: Any) -> Any:
            return image.rotate(1)

    assert "subclass of CenterCrop that has its own forward" in refusal(Mine(3))
    odd = v1.CenterCrop(3)
    odd.forward = lambda image: image
    assert "'forward'" in refusal(odd)
    hooked = v1.CenterCrop(3)
    hooked.register_forward_hook(lambda *unused: None)
    assert "hooks" in refusal(hooked)


def test_a_sequential_is_a_chain() -> None:
    inner = torch.nn.Sequential(v1.CenterCrop(3), torch.nn.Identity())
    chain = v1.Compose([inner, v1.PILToTensor()])
    assert [name for name, _ in ops(chain)] == ["center_crop"]


@pytest.mark.skipif(v2 is None, reason="no torchvision.transforms.v2 here")
def test_v2_leaves_alone_what_it_is_not_for() -> None:
    chain = v2.Compose(
        [
            v2.ToDtype(torch.float32, scale=True),
            v2.RGB(),
            v2.Identity() if hasattr(v2, "Identity") else v2.RGB(),
            v2.ToImage(),
            v2.PILToTensor(),
        ]
    )
    assert read_chain(chain, 3, (4, 4)).dtype == "u8"
    unscaled = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)])
    assert "scale=True" in refusal(unscaled)
    as_dict = v2.ToDtype({"others": None})
    assert "dict" in refusal(v2.Compose([v2.ToImage(), as_dict]))
    dict_fill = v2.Pad(1, fill={"others": 3, Image.Image: 4})
    assert "dict" in refusal(v2.Compose([dict_fill, v2.ToImage()]))


def test_every_reader_knows_every_attribute() -> None:
    """An argument that a new torchvision adds is refused, not ignored."""
    makers = {
        "Compose": [[v1.ToTensor()]],
        "RandomApply": [[v1.ToTensor()]],
        "RandomChoice": [[v1.ToTensor()]],
        "RandomOrder": [[v1.ToTensor()]],
        "GaussianBlur": [3],
        "Lambda": [abs],
        "Resize": [4],
        "RandomResizedCrop": [4],
        "CenterCrop": [4],
        "Pad": [1],
        "RandomCrop": [4],
        "ScaleJitter": [(4, 4)],
        "RandomShortestSize": [4],
        "RandomResize": [4, 5],
        "RandomRotation": [4],
        "RandomPosterize": [4],
        "RandomSolarize": [128],
        "RandomAdjustSharpness": [2],
        "RandomAffine": [4],
        "ConvertImageDtype": [torch.float32],
        "ConvertBoundingBoxFormat": ["XYXY"],
        "ToDtype": [torch.float32],
        "Normalize": [[0.5], [0.5]],
    }
    seen = 0
    for family, name in READERS:
        module = {"v1": v1, "v2": v2}.get(family)
        cls = getattr(module, name, None)
        if cls is None:
            continue
        made = cls(*makers.get(name, []))
        public = {a for a in vars(made) if a[0] != "_"} - {"training"}
        assert public <= READERS[family, name].fields, name
        arguments = set(inspect.signature(cls.__init__).parameters)
        # What is kept under another name is not ours to guess.
        assert arguments - {"self", "args", "kwargs"} <= (
            READERS[family, name].fields
        ), name
        seen += 1
    assert seen > 15


def test_random_is_what_torch_would_draw_for() -> None:
    for transform in (
        v1.RandomHorizontalFlip(0),
        v1.ColorJitter(),
        v1.RandomCrop(4),
        v1.RandomRotation(0),
        v1.RandomGrayscale(0),
    ):
        chain = v1.Compose([transform, v1.ToTensor()])
        assert read_chain(chain, 3, (8, 8)).random, transform

    def noisy(pixels: Any, rng: Any) -> None:
        pixels[:] = rng.below(256)

    for fn in (noisy, np.fliplr):  # which may draw, as nobody can see
        chain = v1.Compose([Python(fn), v1.ToTensor()])
        assert read_chain(chain, 3, (8, 8)).random


class Preset:
    """As in torchvision's reference scripts."""

    def __init__(self, chain: Any) -> None:
        self.transforms = chain
        self.crop = 3

    def __call__(self, img: Any) -> Any:
        return self.transforms(img)


def test_a_class_that_passes_images_on() -> None:
    chain = v1.Compose([v1.CenterCrop(3), v1.ToTensor()])
    assert ops(Preset(chain)) == ops(chain)
    reason = refusal(
        Preset(v1.Compose([v1.Resize(3, max_size=9), v1.ToTensor()]))
    )
    assert reason.startswith("transforms.transforms[0] Resize: ")

    class Renamed(Preset):
        def __init__(self, chain: Any) -> None:
            self.inner = chain

        def __call__(self, x: Any) -> Any:
            return self.inner(x)

    assert ops(Renamed(chain)) == ops(chain)

    class Twice(Preset):
        def __call__(self, img: Any) -> Any:
            return self.transforms(self.transforms(img))

    class Defaults(Preset):
        def __call__(self, img: Any = None) -> Any:
            return self.transforms(img)

    class Swapped(Preset):
        def __call__(img: Any, self: Any) -> Any:
            return img.transforms(img)

    class Itself(Preset):
        def __call__(img: Any, self: Any) -> Any:
            return img

    class Property(Preset):
        @property
        def transforms(self) -> Any:
            return chain

        def __init__(self) -> None:
            pass

    for cls in (Twice, Defaults, Swapped, Itself):
        assert "not a transform that feedline knows" in refusal(cls(chain))
    assert "not a transform that feedline knows" in refusal(Property())


# ---- timm -------------------------------------------------------------------


def test_arguments_of_timms() -> None:
    """Pixels are compared in test_torch_pixels.py."""
    timm_data = pytest.importorskip("timm.data")
    wild = timm_data.create_transform(
        32,
        is_training=True,
        interpolation="random",
        re_prob=0.25,
        re_mode="rand",
        re_count=3,
    )
    found = dict(ops(wild))
    assert found["random_resized_crop"]["interpolation"] == "random"
    erasing = found["random_erasing"]
    assert erasing["p"] == 0.25 and erasing["scale"] == (0.02, 1 / 3)
    assert erasing["ratio"] == pytest.approx((0.3, 1 / 0.3))
    assert (erasing["noise"], erasing["count"]) == ("box", 3)
    wide = timm_data.create_transform((32, 48), crop_pct=0.5)
    found = read_chain(wide, 3, (100, 99))
    assert found.size == (48, 32) and not found.random


# ---- Data sets --------------------------------------------------------------

SMALL = v1.Compose([v1.Resize((8, 8)), v1.ToTensor()])


def make_images(folder: Path) -> Path:
    for name in ("ant", "bee"):
        (folder / name).mkdir(parents=True)
        for i in range(3):
            level = 40 * i + (90 if name == "bee" else 0)
            image = Image.new("RGB", (10 + i, 12), (level, 20, 255 - level))
            image.save(folder / name / f"{i}.jpg")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_images(tmp_path / "train")


def reason_of(dataset: Any) -> str:
    with pytest.raises(NotNative) as caught:
        plan(dataset)
    return caught.value.reasons[0]


def in_memory(cls: Any, data: Any, labels: Any, name: str = "targets") -> Any:
    """A torchvision data set without its files."""
    made = cls.__new__(cls)
    made.transform, made.target_transform = SMALL, None
    made.data = data
    setattr(made, name, labels)
    return made


def check_plan(dataset: Any) -> None:
    """Every sample of the plan, decoded, is the data set's own."""
    found = plan(dataset)
    assert len(found) == len(dataset)
    engine = engine_of(found, batch_size=len(found))
    images, labels = epoch_of(engine, 0, found.indices or range(len(found)))
    engine.close()
    assert tuple(images.shape[1:]) == found.shape
    for i in range(len(dataset)):
        image, label = dataset[i]
        assert label == int(labels[i])
        assert torch.allclose(images[i], image, rtol=0, atol=1e-6)


def test_a_folder(folder: Path) -> None:
    dataset = datasets.ImageFolder(str(folder), SMALL)
    found = plan(dataset)
    assert found.indices is None and found.options["channels"] == 3
    assert found.options["dtype"] == "f32" and not found.random
    check_plan(dataset)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_halves_are_equal(folder: Path, half: Any) -> None:
    chain = [v1.Resize((8, 8)), v1.ToTensor(), v1.Normalize([0.4], [0.3])]
    chain.append(v1.ConvertImageDtype(half))
    dataset = datasets.ImageFolder(str(folder), v1.Compose(chain))
    found = plan(dataset)
    engine = engine_of(found)
    images = epoch_of(engine, 0, range(len(found)))[0]
    engine.close()
    assert images.dtype is half
    assert all(torch.equal(images[i], dataset[i][0]) for i in range(len(found)))


def test_subsets_and_concatenations(folder: Path) -> None:
    whole = datasets.ImageFolder(str(folder), SMALL)
    check_plan(Subset(whole, [5, 0, -1, 2]))
    check_plan(Subset(Subset(whole, [5, 0, 3, 2]), torch.tensor([3, 0])))
    both = ConcatDataset([whole, Subset(whole, [4, 1])])
    check_plan(both)
    check_plan(Subset(both, [7, 6, 0]))
    assert "Subset" in reason_of(Subset(whole, [6]))
    other = datasets.ImageFolder(str(folder), v1.ToTensor())
    reason = reason_of(ConcatDataset([whole, other]))
    assert "the data set.datasets[1] has another transform" in reason
    whole.samples.append(whole.samples[0])
    assert "has grown" in reason_of(both)


def arrays(*shape: int) -> Any:
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


def test_images_in_memory() -> None:
    gray = torch.from_numpy(arrays(5, 28, 20))
    mnist = in_memory(datasets.MNIST, gray, torch.arange(5))
    check_plan(mnist)
    assert plan(mnist).shape == (1, 8, 8)
    check_plan(in_memory(datasets.FashionMNIST, gray, torch.arange(5)))
    check_plan(in_memory(datasets.USPS, arrays(4, 16, 16), [3, 1, 2, 0]))
    rows = torch.arange(10).reshape(5, 2)
    qmnist = in_memory(datasets.QMNIST, gray, rows)
    qmnist.compat = True
    check_plan(qmnist)
    qmnist.compat = False
    assert "compat" in reason_of(qmnist)
    # As the files give them: CIFAR's transposed, SVHN's channels first.
    cifar = arrays(4, 3, 9, 7).transpose(0, 2, 3, 1)
    check_plan(in_memory(datasets.CIFAR10, cifar, [3, 1, 2, 0]))
    check_plan(in_memory(datasets.CIFAR100, arrays(4, 9, 7, 3), [0] * 4))
    one = in_memory(datasets.CIFAR10, arrays(4, 9, 7, 1), [0] * 4)
    assert "1 channels" in reason_of(one)  # Pillow takes no such array
    svhn = arrays(9, 7, 3, 4).transpose(3, 2, 0, 1)
    labels = np.arange(4, dtype=np.int64)
    check_plan(in_memory(datasets.SVHN, svhn, labels, "labels"))
    check_plan(in_memory(datasets.STL10, arrays(4, 3, 8, 8), labels, "labels"))
    two = ConcatDataset([mnist, in_memory(datasets.MNIST, gray, rows[:, 0])])
    check_plan(two)
    mixed = ConcatDataset(
        [mnist, in_memory(datasets.MNIST, gray[:, :9], torch.arange(5))]
    )
    assert "different sizes" in reason_of(mixed)
    elsewhere = in_memory(
        datasets.MNIST,
        torch.zeros(5, 8, 8, dtype=torch.uint8, device="meta"),
        torch.arange(5),
    )
    assert "on meta" in reason_of(elsewhere)
    unlabelled = in_memory(datasets.STL10, arrays(2, 3, 8, 8), None, "labels")
    assert "no labels" in reason_of(unlabelled)


def test_labels_of_other_types() -> None:
    data = arrays(2, 8, 8, 3)
    for labels in ([0.5, 1.5], [True, False], np.zeros(2, np.int32)):
        made = plan(in_memory(datasets.CIFAR10, data, labels))
        assert made.targets is not None
        assert made.targets.of([1]) == (labels[1],)
    dataset = in_memory(datasets.CIFAR10, data, [1])
    assert "fewer labels" in reason_of(dataset)


def test_lists(folder: Path) -> None:
    paths = sorted(str(p) for p in folder.glob("*/*.jpg"))
    check_plan(ImageList([(p, 7 * i) for i, p in enumerate(paths)], SMALL))
    ours = ImageFolder(folder, SMALL)
    theirs = datasets.ImageFolder(str(folder), SMALL)
    check_plan(ours)
    assert ours.samples == theirs.samples and ours.classes == theirs.classes
    assert plan(ours).fingerprint == plan(theirs).fingerprint


def test_subclasses_that_leave_samples_alone(folder: Path) -> None:
    class Fine(datasets.ImageFolder):
        def find_classes(self, directory: Any) -> Any:
            return ["bee"], {"bee": 0}

        def extra(self) -> int:
            return 1

    check_plan(Fine(str(folder), SMALL))

    class Own(datasets.ImageFolder):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)

    assert "Own, whose __getitem__" in reason_of(Own(str(folder), SMALL))

    class Shorter(datasets.ImageFolder):
        def __len__(self) -> int:
            return 2

    assert "overrides __len__" in reason_of(Shorter(str(folder), SMALL))

    class Batched(datasets.ImageFolder):
        def __getitems__(self, indices: Any) -> Any:
            return [self[i] for i in indices]

    assert "__getitems__" in reason_of(Batched(str(folder), SMALL))


def test_reasons_of_data_sets(folder: Path) -> None:
    make = datasets.ImageFolder
    parts = [make(str(folder), SMALL, target_transform=t) for t in (str, None)]
    assert "target_transform" in reason_of(ConcatDataset(parts))
    assert "loader of its own" in reason_of(
        make(str(folder), SMALL, loader=Image.open)
    )
    check_plan(make(str(folder), SMALL, loader=datasets.folder.pil_loader))
    assert "sizes of their own" in reason_of(make(str(folder), v1.ToTensor()))
    assert "ImageList" in reason_of([(torch.zeros(3), 1)])
    assert "ImageList" in reason_of(
        torch.utils.data.TensorDataset(torch.zeros(3))
    )
    twice = v1.Compose([v1.Resize(9), v1.RandomResizedCrop(8), v1.ToTensor()])
    reason = reason_of(make(str(folder), twice))
    assert reason.startswith("transforms[1] RandomResizedCrop: "), reason
    assert "two resamplings" in reason
    for sample, words in (
        ((str(folder / "a.bmp"), 0), "a.bmp"),
        ((str(folder / "a\0.jpg"), 0), "NUL"),
        (("\ud800.jpg", 0), "surrogates"),
        ((os.fsencode(folder / "a.jpg"), 0), "bytes"),
        ((str(folder / "a.jpg"), 1 << 70), "does not fit the engine"),
        ([str(folder / "a.jpg"), 0], "not tuples"),
        ((str(folder / "a.jpg"), 0, 0), "not pairs"),
    ):
        dataset = make(str(folder), SMALL)
        dataset.samples[2] = sample
        assert words in reason_of(dataset), sample


def test_a_patched_data_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = datasets.ImageFolder(str(folder), SMALL)
    check_plan(dataset)
    monkeypatch.setattr(
        datasets.DatasetFolder, "__getitem__", lambda self, index: index
    )
    assert "__getitem__" in reason_of(dataset)


def test_settings_of_pillow(folder: Path) -> None:
    from PIL import Image as pillow, ImageFile

    dataset = datasets.ImageFolder(str(folder), SMALL)
    first = plan(dataset)
    assert "accept_truncated" not in first.options
    assert first.options["max_pixels"] == 2 * pillow.MAX_IMAGE_PIXELS
    limit = pillow.MAX_IMAGE_PIXELS
    try:
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        pillow.MAX_IMAGE_PIXELS = None
        found = plan(dataset)
        assert 0 < found.options["accept_truncated"] < 1e-6
        assert found.options["max_pixels"] > 1 << 39
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
        pillow.MAX_IMAGE_PIXELS = limit


def test_timm_data_set(folder: Path) -> None:
    timm_data = pytest.importorskip("timm.data")
    dataset = timm_data.ImageDataset(str(folder), transform=SMALL)
    check_plan(dataset)
    dataset.load_bytes = True
    assert "load_bytes" in reason_of(dataset)
    gray = timm_data.ImageDataset(
        str(folder), transform=SMALL, input_img_mode="L"
    )
    check_plan(gray)
    assert plan(gray).shape[0] == 1


# ---- Changes between epochs -------------------------------------------------


def test_the_same_plan_as_long_as_nothing_changes(folder: Path) -> None:
    dataset = datasets.ImageFolder(str(folder), SMALL)
    assert plan(dataset) is plan(dataset)
    subset = Subset(dataset, [1, 2])
    assert plan(subset) is plan(subset)


def changes(dataset: Any) -> List[Tuple[str, Callable[[], None]]]:
    def set_label() -> None:
        path, label = dataset.samples[1]
        dataset.samples[1] = (path, label + 1)

    def resize() -> None:
        dataset.transform.transforms[0].size = (9, 9)

    def replace() -> None:
        dataset.transform = v1.Compose([v1.CenterCrop(5), v1.ToTensor()])

    return [
        ("append", lambda: dataset.samples.append(dataset.samples[0])),
        ("remove", lambda: dataset.samples.__delitem__(0)),
        ("label", set_label),
        ("swap", lambda: dataset.samples.reverse()),
        ("transform", replace),
        ("its list", lambda: dataset.transform.transforms.pop(0)),
        ("its size", resize),
    ]


@pytest.mark.parametrize("which", range(7))
def test_changes_of_a_folder_are_noticed(folder: Path, which: int) -> None:
    transform = v1.Compose([v1.Resize((8, 8)), v1.CenterCrop(6), v1.ToTensor()])
    dataset = datasets.ImageFolder(str(folder), transform)
    before = plan(dataset)
    changes(dataset)[which][1]()
    after = plan(dataset)
    assert after is not before
    assert plan(dataset) is after
    check_plan(dataset)


def test_changes_in_memory_are_noticed() -> None:
    cifar = in_memory(
        datasets.CIFAR10,
        arrays(6, 3, 9, 8).transpose(0, 2, 3, 1),
        list(range(6)),
    )
    first = plan(cifar)
    cifar.data[2, 3, 4, 1] ^= 1
    second = plan(cifar)
    assert second is not first
    cifar.data[[0, 5]] = cifar.data[[5, 0]]
    assert plan(cifar) is not second
    check_plan(cifar)
    cifar.targets[0] = 9
    check_plan(cifar)
    mnist = in_memory(
        datasets.MNIST, torch.from_numpy(arrays(6, 8, 8)), torch.arange(6)
    )
    kept = plan(mnist)
    mnist.data[3] += 1  # shared, so there is nothing to notice
    assert plan(mnist) is kept
    check_plan(mnist)
    mnist.targets[3] = 0
    assert plan(mnist) is not kept
    mnist.data = mnist.data.clone()
    check_plan(mnist)
    subset = Subset(mnist, [0, 1])
    kept = plan(subset)
    subset.indices[1] = 4
    assert plan(subset) is not kept
    check_plan(subset)


def test_plans_go_with_their_data_sets(folder: Path) -> None:
    from feedline.torch import native

    dataset = datasets.ImageFolder(str(folder), SMALL)
    plan(dataset)
    key = id(dataset)
    assert key in native._plans
    del dataset
    gc.collect()
    assert key not in native._plans


def test_fingerprints_name_data_and_order(tmp_path: Path) -> None:
    one = datasets.ImageFolder(str(make_images(tmp_path / "a")), SMALL)
    two = datasets.ImageFolder(str(make_images(tmp_path / "b")), SMALL)
    assert plan(one).fingerprint == plan(two).fingerprint
    two.transform = v1.Compose([v1.CenterCrop(5), v1.ToTensor()])
    assert plan(one).fingerprint == plan(two).fingerprint
    assert len(plan(one).fingerprint) == 16
    others = [Subset(one, [1, 0]), Subset(one, [0, 1]), one]
    assert len({plan(other).fingerprint for other in others}) == 3
    path, label = two.samples[0]
    two.samples[0] = (path, label + 1)
    assert plan(one).fingerprint != plan(two).fingerprint


def test_a_child_makes_its_own_plan(folder: Path) -> None:
    dataset = datasets.ImageFolder(str(folder), SMALL)
    plan(dataset)

    def use() -> None:  # of a data set that this process may use
        assert plan(dataset).dataset.label(5) == 1

    assert forks.run(use) == 0


def test_python_transforms_are_picklable() -> None:
    made = pickle.loads(pickle.dumps(Python(np.fliplr, name="mirror")))
    assert made.fn is np.fliplr and made.name == "mirror"
