# SPDX-License-Identifier: Apache-2.0
"""Objects: moved as their images are, to the numbers of torchvision v2, and
together with masks; and what Dataset.set_objects takes."""

from __future__ import annotations

import importlib
import io
import pickle
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from streams import pipeline_of  # noqa: E402

COUNT = 200


def size_of(number: int) -> Tuple[int, int]:
    return 30 + number * 7 % 41, 30 + number * 13 % 37


def boxes_of(number: int) -> Any:
    """Up to five, some of them beyond the edge."""
    rng = np.random.default_rng(number)
    corners = rng.random((number % 6, 2, 2), dtype="f4")
    corners.sort(axis=1)
    scale = np.array(size_of(number), "f4") * np.float32(1.05)
    return (corners * scale).reshape(-1, 4)


def points_of(number: int) -> Any:
    rng = np.random.default_rng(number)
    return rng.random((number % 6, 3, 2), dtype="f4") * 40


def encoded(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size_of(number), (number, 99, 9)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def images() -> List[bytes]:
    return [encoded(i) for i in range(COUNT)]


def data_set(images: List[bytes]) -> feedline.Dataset:
    ds = feedline.Dataset.memory(images)
    every = range(len(images))
    ds.set_objects(
        [boxes_of(i) for i in every],
        [np.arange(i % 6) + 10 * i for i in every],
        [points_of(i) for i in every],
    )
    return ds


def delivered(loader: feedline.Loader) -> Iterator[Tuple[int, Any]]:
    with loader:
        for batch in loader:
            yield from zip(batch.sample_index, batch.objects)


# ---- The same as torchvision -------------------------------------------------

RESIZE = "resize width=44 height=52"
COLOURS = ("color_jitter", "gaussian_blur")
MAPS = ("random_rotation", "random_affine", "random_perspective")
CASES = [
    ["random_resized_crop width=40 height=30", "horizontal_flip"],
    ["resize size=37", "center_crop width=31 height=25", "vertical_flip"],
    ["horizontal_flip", "vertical_flip", "resize width=90 height=33"],
    [
        RESIZE,
        "color_jitter hue=0.1",
        "random_crop width=30 height=41 padding=9",
    ],
    [RESIZE, "pad padding=5,9", "gaussian_blur kernel_size=5"],
    [RESIZE, "random_rotation degrees=90"],
    [RESIZE, "random_rotation degrees=180 center=3,9", "horizontal_flip p=1"],
    [RESIZE, "random_affine degrees=60 translate=0.2,0.1 scale=0.5:2"],
    [RESIZE, "random_affine degrees=9 shear=-20,20 center=20,9"],
    [RESIZE, "random_perspective p=0.8", "sanitize_boxes min_size=3"],
    ["scale_jitter width=60 height=50", "fixed_size_crop width=48 height=48"],
    ["random_shortest_size min_size=30,44,60 max_size=80", "horizontal_flip"],
    ["random_zoom_out p=0.8", "random_iou_crop", "horizontal_flip"],
    ["random_iou_crop", RESIZE, "sanitize_boxes min_area=20"],
    [
        RESIZE,
        "random_iou_crop overlaps=0:0.3 trials=9",
        "random_rotation degrees=20",
        "sanitize_boxes",
    ],
]


class Target:
    """Boxes and keypoints, for functions that are about images."""

    def __init__(self, boxes: Any, points: Any, source: Any) -> None:
        self.boxes, self.points, self.source = boxes, points, source
        self.height, self.width = boxes.canvas_size
        self.size = self.width, self.height

    def getbands(self) -> str:
        return "RGB"


class Functions:
    """Those of torchvision v2, for a Target."""

    def __init__(self) -> None:
        self.F = importlib.import_module("torchvision.transforms.v2.functional")

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.F, name)

        def call(target: Target, *args: Any, **more: Any) -> Target:
            moved = (
                function(x, *args, **more)
                for x in (target.boxes, target.points)
            )
            return Target(*moved, target.source)

        return call


def perspective(F: Any, target: Target, drawn: Any) -> Target:
    if not drawn["done"]:
        return target
    found = drawn["coefficients"]
    return F.perspective(target, None, None, coefficients=found)


def iou_crop(F: Any, target: Target, drawn: Any) -> Target:
    """As its transform() does; that the crop is a good one is checked, too."""
    if not drawn["done"]:
        return target
    x, y, width, height = (drawn[k] for k in ("x", "y", "width", "height"))
    middle = (target.boxes[:, :2] + target.boxes[:, 2:]) * 0.5
    inside = (x < middle[:, 0]) & (middle[:, 0] < x + width)
    inside &= (y < middle[:, 1]) & (middle[:, 1] < y + height)
    assert inside.any() and 0.5 <= width / height <= 2
    target = F.crop(target, y, x, height, width)
    target.boxes[~inside] = 0
    return target


def sanitized(F: Any, target: Target, given: Any) -> Target:
    least = {key: value[0] for key, value in given.items()}
    boxes, valid = F.F.sanitize_bounding_boxes(target.boxes, **least)
    tv = importlib.import_module("torchvision.tv_tensors")
    points = tv.wrap(target.points[valid], like=target.points)
    return Target(boxes, points, target.source[valid])


def moved(parity: Any, target: Target, text: str, drawn: Any) -> Target:
    name, _, rest = text.partition(" ")
    given = parity.arguments(rest)
    if name in COLOURS:
        return target
    if name == "random_perspective":
        return perspective(parity.F, target, drawn)
    if name == "random_iou_crop":
        return iou_crop(parity.F, target, drawn)
    if name == "sanitize_boxes":
        return sanitized(parity.F, target, given)
    found: Target = parity.ON_IMAGES[name](target, given, drawn)
    return found


def target_of(number: int) -> Target:
    torch = importlib.import_module("torch")
    tv = importlib.import_module("torchvision.tv_tensors")
    size = size_of(number)[::-1]
    return Target(
        tv.BoundingBoxes(
            torch.from_numpy(boxes_of(number)), format="XYXY", canvas_size=size
        ),
        tv.KeyPoints(torch.from_numpy(points_of(number)), canvas_size=size),
        torch.arange(number % 6),
    )


@pytest.fixture()
def parity(monkeypatch: Any) -> Any:
    pytest.importorskip("torch")
    tv = pytest.importorskip("torchvision.tv_tensors")
    if not hasattr(tv, "KeyPoints"):
        pytest.skip("this torchvision has no KeyPoints")
    module = importlib.import_module("ops_parity")
    monkeypatch.setattr(module, "F", Functions())
    return module


@pytest.mark.parametrize("operations", CASES, ids=" ".join)
def test_objects_move_as_tv_tensors_do(
    images: List[bytes], parity: Any, operations: List[str]
) -> None:
    done = 0
    loader = feedline.Loader(
        data_set(images),
        pipeline_of(operations),
        batch_size=16,
        epochs=1,
        dtype="u8",
        max_sample_bytes="1m",
    )
    maps = any(o.split()[0] in MAPS for o in operations)
    once = "padding=9" in operations[-1]  # torchvision pads, then crops
    limit = 1e-7 if maps or once else 0
    for index, found in delivered(loader):
        wanted = target_of(index)
        drawn = loader.draws(0, index, *size_of(index))["operations"]
        for text, values in zip(operations, drawn):
            wanted = moved(parity, wanted, text, values)
        assert np.array_equal(found.source, wanted.source), index
        assert np.array_equal(found.labels, found.source + 10 * index)
        for have, want in (
            (found.boxes, wanted.boxes.numpy()),
            (found.keypoints, wanted.points.numpy()),
        ):
            assert have.shape == want.shape
            assert np.allclose(have, want, 0, limit * 100), index
        done += 1
    assert done == COUNT


# ---- With masks --------------------------------------------------------------


def test_mask_box_and_keypoint_stay_together(tmp_path: Path) -> None:
    """A mask shows its sample's boxes, and in each a keypoint."""
    boxes = [[[4, 6, 19, 20], [25, 30, 55, 48]] for _ in range(40)]
    points = [[[[9, 12]], [[40, 33]]] for _ in range(40)]
    mask = np.zeros((60, 70), "uint8")
    for i, (box, point) in enumerate(zip(boxes[0], points[0])):
        mask[box[1] : box[3], box[0] : box[2]] = 1 + 2 * i
        mask[point[0][1], point[0][0]] = 2 + 2 * i
    path = tmp_path / "mask.png"
    Image.fromarray(mask).save(path)
    photo = io.BytesIO()
    Image.new("RGB", (70, 60)).save(photo, "PNG")
    ds = feedline.Dataset.memory([photo.getvalue()] * 40)
    ds.add_files("mask", [path] * 40)
    ds.set_objects(boxes, keypoints=points)
    moves = "random_iou_crop random_zoom_out horizontal_flip vertical_flip"
    seen, cut = 0, 0
    with feedline.Loader(
        ds,
        pipeline_of([*moves.split(), "random_crop size=50 pad_if_needed=true"]),
        batch_size=8,
        epochs=1,
        dtype="u8",
        masks="mask",
    ) as loader:
        for batch in loader:
            for image, objects in zip(batch.masks, batch.objects):
                seen += check_together(image, objects)
                cut += not (image == 3).any()
    assert seen > 20 and cut > 0


def check_together(mask: Any, objects: Any) -> int:
    seen = 0
    for box, points, i in zip(objects.boxes, objects.keypoints, objects.source):
        if box[2] <= box[0] or box[3] <= box[1]:
            continue  # random_iou_crop lost its middle
        rows, columns = np.nonzero((mask + 1) // 2 == i + 1)
        shown = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
        assert list(box) == list(shown)
        x, y = points[0].astype(int)
        if box[0] <= x < box[2] and box[1] <= y < box[3]:
            assert mask[y, x] == 2 + 2 * i
            seen += 1
    return seen


# ---- The table ---------------------------------------------------------------


def one_batch(ds: feedline.Dataset, **options: Any) -> Any:
    pipeline = pipeline_of(["center_crop size=90"])
    loader = feedline.Loader(
        ds, pipeline, batch_size=len(ds), dtype="u8", **options
    )
    return next(iter(loader))


def test_arrays_outlive_their_batch(images: List[bytes]) -> None:
    batch = one_batch(data_set(images[:12]))
    objects = batch.objects
    batch.release()
    assert len(objects) == 12 and objects.boxes.shape == (30, 4)
    assert list(objects.first) == [0, *np.cumsum([i % 6 for i in range(12)])]
    assert objects[-1].keypoints.shape == (5, 3, 2)
    assert objects[-1].source.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        objects[12]
    with pytest.raises(feedline.ReleasedError):
        batch.objects


def test_what_is_given_may_be_lists(images: List[bytes]) -> None:
    ds = feedline.Dataset.memory(images[:3])
    ds.set_objects([[[1, 2, 3, 4]], [], [[5, 6, 7, 8], [9, 9, 9, 9]]])
    objects = one_batch(ds).objects
    assert objects.labels.tolist() == [0, 0, 0]
    assert objects.keypoints is None and objects[1].keypoints is None
    assert objects.first.tolist() == [0, 1, 1, 3]
    other = feedline.Dataset.memory(images[:2])
    other.set_objects([[], []], [[], []])
    assert one_batch(other).objects.boxes.shape == (0, 4)


def test_objects_are_pickled_and_taken_away(images: List[bytes]) -> None:
    ds = pickle.loads(pickle.dumps(data_set(images[:9])))
    ds.set_objects(None)
    with pytest.raises(feedline.StateError, match="has none"):
        one_batch(ds).objects
    ds = pickle.loads(pickle.dumps(data_set(images[:9])))
    assert one_batch(ds).objects[5].labels.tolist() == [50, 51, 52, 53, 54]
    with feedline.Loader(ds, pipeline_of(["center_crop size=9"])):
        with pytest.raises(feedline.StateError, match="a loader"):
            ds.set_objects(None)


@pytest.mark.parametrize(
    "columns, words",
    [
        (([[], []],), "boxes of 2 samples for 3"),
        (([[], [], [[1, 2, 3]]],), r"boxes of sample 2 are \[1, 3\]"),
        (([[], [], [[1, 2, 3, 4]]], [[], [], []]), "labels of sample 2"),
        (([[], [], [[1, 2, 3, 4]]], [[], [], [[1]]]), "labels of sample 2"),
        (
            ([[], [], [[1, 2, 3, 4]]], None, [[], [], [[1, 2]]]),
            "keypoints of sample 2",
        ),
        (([[], [], [[1, 2, float("nan"), 4]]],), "boxes of object 0"),
    ],
)
def test_other_shapes_are_refused(
    images: List[bytes], columns: Any, words: str
) -> None:
    ds = feedline.Dataset.memory(images[:3])
    with pytest.raises(feedline.InvalidArgument, match=words):
        ds.set_objects(*columns)
