# SPDX-License-Identifier: Apache-2.0
"""albumentations' targets, groups and bad input, through a loader: batches are
torch's, to the bit, and so are boxes, keypoints and errors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

import needs
from recorded_sets import equal
from test_torch_albumentations import Photos, batches, make_photos
from torch_cases import Ours, Theirs, torch

np = pytest.importorskip("numpy")
cv2 = pytest.importorskip("cv2", reason="no OpenCV")
A = pytest.importorskip("albumentations", reason="no albumentations")
from albumentations.pytorch import ToTensorV2  # noqa: E402

needs.deferred_tensors()
pytestmark = pytest.mark.filterwarnings("ignore:torch loads the samples")

SIDE = 48
# (a compose, image, mask, which one): a sample.
Sample = Callable[[Any, Any, Any, int], Any]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"))


def chain() -> List[Any]:
    return [
        A.HorizontalFlip(p=0.5),
        A.Affine(rotate=20, translate_percent=0.2, p=0.7),
        A.RandomCrop(40, 36),
        A.RandomBrightnessContrast(p=0.5),
        A.Normalize(),
        ToTensorV2(),
    ]


class Sampled(Photos):
    """compose: a whole one."""

    def __init__(self, root: Path, compose: Any, sample: Sample) -> None:
        super().__init__(root, lambda: [])
        self.chain, self.sample = compose, sample

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.files[index])
        mask = cv2.imread(self.files[index][:-3] + "png", 0)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        return self.sample(self.chain, image, mask, index)


def assert_torchs(
    root: Path, compose: Callable[[], Any], sample: Sample
) -> Any:
    """The loader, behind two epochs of lists of samples."""
    both: List[Any] = []
    loader: Any = None
    kinds: List[Tuple[Any, Any]] = [(Theirs, {}), (Ours, {"draws": "torch"})]
    for kind, more in kinds:
        torch.manual_seed(3)
        random.seed(3)
        np.random.seed(3)
        data = Sampled(root, compose(), sample)
        arguments = {"collate_fn": list, "num_workers": 1, **more}
        loader = kind(data, 5, True, **arguments)
        both.append(batches(loader))
    theirs, ours = both
    assert len(ours) == len(theirs)
    assert all(equal(a, b) for a, b in zip(ours, theirs))
    return loader


def assert_native(loader: Any) -> None:
    assert loader.native and loader.recorded, loader.fallback_reason
    assert "made in Python" not in loader.explain()


# ---- Boxes and keypoints ----------------------------------------------------

# Pascal VOC's.
BOXES = [[5, 4, 20, 30], [30, 10, 47, 40], [0, 0, 48, 48], [40, 40, 44, 44]]
FORMATS: Dict[str, Callable[..., List[float]]] = {
    "pascal_voc": lambda l, t, r, b: [l, t, r, b],
    "coco": lambda l, t, r, b: [l, t, r - l, b - t],
    "albumentations": lambda *box: [side / SIDE for side in box],
    "yolo": lambda l, t, r, b: [
        v / SIDE for v in ((l + r) / 2, (t + b) / 2, r - l, b - t)
    ],
}
LIMITS: List[Dict[str, Any]] = [
    {},
    {"min_area": 60, "min_visibility": 0.4},
    {"min_width": 5, "clip": True},
]


@pytest.mark.parametrize("name", FORMATS)
def test_boxes(root: Path, name: str) -> None:
    def sample(composes: Any, image: Any, mask: Any, index: int) -> Any:
        boxes = [FORMATS[name](*box) for box in BOXES[: index % 5]]
        given = np.array(boxes).reshape(-1, 4) if index % 2 else boxes
        names = ["%d of %d" % (n, index) for n in range(len(boxes))]
        return [
            compose(image=image, mask=mask, bboxes=given, names=names)
            for compose in composes
        ]

    def composes() -> Any:
        made = {"format": name, "label_fields": ["names"]}
        params = [A.BboxParams(**made, **limits) for limits in LIMITS]
        return [A.Compose(chain(), bbox_params=p, seed=4) for p in params]

    assert_native(assert_torchs(root, composes, sample))


@pytest.mark.parametrize("name", ["xy", "xya", "xys", "xyas", "xysa"])
def test_keypoints(root: Path, name: str) -> None:
    points = [[5, 6, 0.3, 1.5], [40, 30, 1.0, 2.0], [47, 47, 0, 1]]

    def sample(compose: Any, image: Any, mask: Any, index: int) -> Any:
        some = [point[: len(name)] for point in points]
        return compose(image=image, keypoints=some, names=["a", "b", "c"])

    def compose() -> Any:
        params = A.KeypointParams(
            format=name,
            label_fields=["names"],
            remove_invisible=name != "xya",
        )
        return A.Compose(chain(), keypoint_params=params, seed=4)

    assert_native(assert_torchs(root, compose, sample))


# ---- More images and masks --------------------------------------------------


def several_masks(compose: Any, image: Any, mask: Any, index: int) -> Any:
    masks = [mask, (mask > 1).astype(np.uint8), mask // 2][: 2 + index % 2]
    return compose(image=image, masks=masks)


def more_targets(compose: Any, image: Any, mask: Any, index: int) -> Any:
    other, depth = cv2.flip(image, 0), mask.copy()
    return compose(image=image, mask=mask, other=other, depth=depth)


def replayed(compose: Any, image: Any, mask: Any, index: int) -> Any:
    made = compose(image=image)
    other = cv2.flip(image, 0)
    again = A.ReplayCompose.replay(made["replay"], image=other, mask=mask)
    return made["image"], again["image"], again["mask"]


def replay_compose() -> Any:
    made = A.ReplayCompose(chain())
    made.set_random_seed(4)
    return made


def test_additional_targets(root: Path) -> None:
    kinds = {"other": "image", "depth": "mask"}
    loader = assert_torchs(
        root,
        lambda: A.Compose(chain(), additional_targets=kinds, seed=4),
        more_targets,
    )
    assert_native(loader)


def test_replay(root: Path) -> None:
    assert_native(assert_torchs(root, replay_compose, replayed))


def test_several_masks(root: Path) -> None:
    """They are one array in the library."""
    loader = assert_torchs(
        root, lambda: A.Compose(chain(), seed=4), several_masks
    )
    assert_native(loader)


# ---- Groups, and Normalize by pixels ----------------------------------------


def only_image(compose: Any, image: Any, mask: Any, index: int) -> Any:
    return compose(image=image, mask=mask)


GROUPS: Dict[str, Callable[[], Any]] = {
    "OneOrOther": lambda: A.OneOrOther(A.HorizontalFlip(p=1), A.Blur(p=1)),
    "nested": lambda: A.OneOf(
        [
            A.SomeOf([A.Transpose(), A.ToGray(), A.CLAHE()], n=2),
            A.Sequential([A.VerticalFlip(p=1), A.InvertImg(p=0.5)], p=0.7),
        ],
        p=0.8,
    ),
    "a Compose": lambda: A.Compose([A.Rotate(), A.RandomGamma()], p=0.5),
    "never": lambda: A.Compose([A.FancyPCA(p=1)], p=0),
    "a function of the program's": lambda: A.Lambda(
        image=lambda image, **more: 255 - image, p=0.5
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(root: Path, name: str) -> None:
    def compose() -> Any:
        return A.Compose([GROUPS[name](), A.Normalize()], seed=4)

    assert_native(assert_torchs(root, compose, only_image))


@pytest.mark.parametrize("mode", ["image", "image_per_channel", "min_max"])
def test_pixels_that_normalize_needs_are_counted(root: Path, mode: str) -> None:
    def compose() -> Any:
        return A.Compose([A.Blur(), A.Normalize(normalization=mode)], seed=4)

    loader = assert_torchs(root, compose, only_image)
    assert loader.native, loader.fallback_reason  # the mask
    assert "made in Python for" in loader.explain()


# ---- Input of other kinds ---------------------------------------------------


class Inverted(A.ImageOnlyTransform):  # type: ignore[misc]
    def apply(self, img: Any, **params: Any) -> Any:
        return 255 - img


class Darkened(A.ImageOnlyTransform):  # type: ignore[misc]
    """Pixels are needed, and written to in place."""

    def apply(self, img: Any, **params: Any) -> Any:
        img[img > img.mean()] = 0
        img[3:9, :4] += 9
        return img


class Rolled(A.DualTransform):  # type: ignore[misc]
    def get_params(self) -> Any:
        return {"by": self.py_random.randint(0, 5)}

    def apply(self, img: Any, by: int, **params: Any) -> Any:
        return np.roll(img, by, axis=1)


@pytest.mark.parametrize("kind", [Inverted, Darkened, Rolled])
def test_transforms_of_the_program(root: Path, kind: Any) -> None:
    def compose() -> Any:
        ends = [A.RandomCrop(32, 32), A.Normalize()]
        return A.Compose([A.Blur(), kind(p=0.8), *ends], seed=4)

    loader = assert_torchs(root, compose, only_image)
    if kind is Inverted:
        assert_native(loader)


IMAGES: Dict[str, Callable[[Any], Any]] = {
    "gray": lambda image: cv2.cvtColor(image, cv2.COLOR_RGB2GRAY),
    "of one channel": lambda image: image[..., 1][:, :, None],
    "of two": lambda image: image[..., :2],
    "of four": lambda image: np.dstack([image, image[..., 0]]),
    "of five": lambda image: np.concatenate([image, image[..., :2]], 2),
    "floats": lambda image: image.astype(np.float32) / 255,
    "doubles": lambda image: image / 255,
    "16 bits": lambda image: image.astype(np.uint16) * 257,
    "a view": lambda image: image[:, ::-1],
    "a row": lambda image: image[:1],
    "nothing": lambda image: image[:0],
    "a list": lambda image: image.tolist(),
}
OF_THESE: Dict[str, Callable[[], List[Any]]] = {
    "moved": lambda: [A.HorizontalFlip(), A.RandomRotate90(), A.Pad(3)],
    "warped": lambda: [A.Affine(rotate=20, p=1), A.Resize(20, 30)],
    "colours": lambda: [A.RandomBrightnessContrast(p=1), A.RandomGamma()],
    "blurred": lambda: [A.Blur(p=1), A.Normalize()],
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_of_other_kinds(root: Path, name: str) -> None:
    """As torch's, or its error."""

    def sample(composes: Any, image: Any, mask: Any, index: int) -> Any:
        return [
            attempted(lambda: compose(image=IMAGES[name](image))["image"])
            for compose in composes
        ]

    def composes() -> Any:
        return [A.Compose(each(), seed=4) for each in OF_THESE.values()]

    assert_torchs(root, composes, sample)


def attempted(function: Callable[[], Any]) -> Any:
    """What it gives, or its error."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


WRONG: Dict[str, Callable[[Any, Any, Any], Any]] = {
    "a smaller mask": lambda c, image, mask: c(image=image, mask=mask[:20]),
    "an empty mask": lambda c, image, mask: c(image=image, mask=mask[:0]),
    "no mask": lambda c, image, mask: c(image=image, mask=None),
    "another name": lambda c, image, mask: c(image=image, label=mask),
    "by position": lambda c, image, mask: c(image),
    "a tensor": lambda c, image, mask: c(image=torch.from_numpy(image)),
    "a box outside": lambda c, image, mask: c(
        image=image, bboxes=[[9, 9, 99, 20]], names=["a"]
    ),
    "labels that are missing": lambda c, image, mask: c(
        image=image, bboxes=[[9, 9, 19, 20]]
    ),
}


def test_wrong_input_is_refused_as_in_torch(root: Path) -> None:
    def sample(compose: Any, image: Any, mask: Any, index: int) -> Any:
        return [
            attempted(lambda: give(compose, image, mask))
            for give in WRONG.values()
        ]

    def compose() -> Any:
        params = A.BboxParams(format="pascal_voc", label_fields=["names"])
        return A.Compose([A.HorizontalFlip()], bbox_params=params, seed=4)

    assert_torchs(root, compose, sample)


# ---- Any chain --------------------------------------------------------------

Choice = Tuple[Any, Dict[str, Any]]


def any_transform(draw: random.Random) -> Any:
    by = draw.choice((0, 1, 3, 4))
    border = draw.choice((0, 1, 2, 4))
    resampled = {"interpolation": by, "border_mode": border}
    side = draw.randint(8, 70)
    choices: List[Choice] = [
        (A.HorizontalFlip, {}),
        (A.RandomRotate90, {}),
        (A.Rotate, {"limit": draw.randint(1, 180), **resampled}),
        (A.Affine, {"scale": (0.5, 1.5), "shear": 20, **resampled}),
        (A.Perspective, {"fit_output": draw.random() < 0.5, **resampled}),
        (A.GridDistortion, {"num_steps": draw.randint(2, 6), **resampled}),
        (A.ElasticTransform, {"alpha": draw.uniform(1, 40), **resampled}),
        (A.Resize, {"height": side, "width": 40, "interpolation": by}),
        (A.RandomResizedCrop, {"size": (40, side), "interpolation": by}),
        (A.RandomCrop, {"height": side, "width": 30, "pad_if_needed": True}),
        (A.PadIfNeeded, {"min_height": side, "border_mode": border}),
        (A.CropAndPad, {"px": draw.choice((5, -5, (-4, 6)))}),
        (A.Downscale, {"scale_range": (0.3, 0.8)}),
        (A.RandomBrightnessContrast, {"brightness_by_max": False}),
        (A.RandomGamma, {"gamma_limit": (20, 250)}),
        (A.HueSaturationValue, {"hue_shift_limit": draw.randint(0, 90)}),
        (A.RGBShift, {"r_shift_limit": draw.randint(0, 99)}),
        (A.CLAHE, {"tile_grid_size": draw.choice(((8, 8), (4, 3)))}),
        (A.Equalize, {}),
        (A.Posterize, {"num_bits": (1, 7)}),
        (A.ToGray, {}),
        (A.Blur, {"blur_limit": (3, 9)}),
        (A.MedianBlur, {"blur_limit": (3, 7)}),
        (A.MotionBlur, {"blur_limit": (3, 11)}),
        (A.Sharpen, {}),
        (A.ChannelDropout, {"fill": draw.randint(0, 255)}),
        (A.CoarseDropout, {"fill": draw.choice((0, 9, (1, 2, 3), "random"))}),
        (A.RandomToneCurve, {"per_channel": draw.random() < 0.5}),
        (A.GlassBlur, {}),
        (A.GridDropout, {}),
        (A.RandomShadow, {}),
    ]
    kind, more = draw.choice(choices)
    return kind(**more, p=draw.choice((1, 0.5)))


@pytest.mark.parametrize("seed", range(8))
def test_any_chain(root: Path, seed: int) -> None:
    def compose() -> Any:
        draw = random.Random(seed)
        some = [any_transform(draw) for _ in range(draw.randint(2, 6))]
        if draw.random() < 0.3:
            some[:2] = [A.OneOf(some[:2], p=0.8)]
        return A.Compose([*some, A.Normalize()], seed=seed)

    assert_torchs(root, compose, only_image)
