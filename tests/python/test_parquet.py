# SPDX-License-Identifier: Apache-2.0
"""Dataset.parquet: the bytes that pyarrow reads, where they lie in the file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, List

import pytest

import feedline
from feedline import Dataset

pa = pytest.importorskip("pyarrow", reason="no pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="no pyarrow")

import cuts  # noqa: E402

DRAW = random.Random(3)
IMAGES = [DRAW.randbytes(DRAW.randrange(1, 3000)) for _ in range(60)]
LABELS = [i % 7 for i in range(60)]
PLAIN = {"compression": "none", "use_dictionary": False}


def images(kind: str) -> Any:
    if kind == "struct":
        rows = [{"bytes": data, "path": None} for data in IMAGES]
        fields = [("bytes", pa.binary()), ("path", pa.string())]
        return pa.array(rows, pa.struct(fields))
    return pa.array(IMAGES, getattr(pa, kind)())


def write(path: Path, kind: str = "binary", **how: Any) -> Path:
    columns = {"image": images(kind), "label": pa.array(LABELS)}
    pq.write_table(pa.table(columns), path, **{**PLAIN, **how})
    return path


def check(dataset: Dataset, wanted: List[bytes], labels: List[int]) -> None:
    every = range(len(dataset))
    assert [dataset.read(i) for i in every] == wanted
    assert [dataset.label(i) for i in every] == labels


@pytest.mark.parametrize("kind", ["binary", "large_binary", "struct"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"row_group_size": 17, "data_page_size": 4000},
        {"data_page_version": "2.0", "data_page_size": 4000},
        {"write_statistics": True, "write_page_index": True},
    ],
)
def test_values(tmp_path: Path, kind: str, how: Any) -> None:
    path = write(tmp_path / "x.parquet", kind, **how)
    check(Dataset.parquet(path), IMAGES, LABELS)


def test_files(tmp_path: Path) -> None:
    for name in "ba":
        write(tmp_path / (name + ".parquet"))
    dataset = Dataset.parquet(tmp_path)
    check(dataset, IMAGES * 2, LABELS * 2)
    assert dataset.path(0).startswith(str(tmp_path / "a.parquet"))
    paths = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    unlabelled = Dataset.parquet(paths, image="image", label=False)
    check(unlabelled, IMAGES * 2, [0] * 120)


def test_of_datasets(tmp_path: Path) -> None:
    hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")
    hf.disable_progress_bars()
    features = {
        "picture": hf.Image(),
        "kind": hf.ClassLabel(names=list("abcdefg")),
    }
    rows = [{"bytes": data, "path": None} for data in IMAGES]
    made = hf.Dataset.from_dict(
        {"picture": rows, "kind": LABELS}, features=hf.Features(features)
    )
    made.to_parquet(str(tmp_path / "x.parquet"))
    dataset = Dataset.parquet(tmp_path)
    check(dataset, IMAGES, LABELS)
    assert dataset.classes == list("abcdefg")


@pytest.mark.parametrize(
    "how, why",
    [
        ({"compression": "snappy"}, "compressed with SNAPPY.*load_dataset"),
        ({"use_dictionary": True}, "a dictionary.*use_dictionary=False"),
        (
            {"column_encoding": {"image": "DELTA_BYTE_ARRAY"}},
            "values that are not plain",
        ),
    ],
)
def test_other_encodings_are_refused(
    tmp_path: Path, how: Any, why: str
) -> None:
    path = write(tmp_path / "x.parquet", **how)
    with pytest.raises(feedline.InvalidArgument, match=why):
        Dataset.parquet(path)


def test_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = {
        "a": pa.array([b"1", b"2"]),
        "b": pa.array([b"3", None]),
        "label": pa.array(["x", "y"]),
        "n": pa.array([5, None]),
    }
    pq.write_table(pa.table(rows), path, **PLAIN)
    for image, label, why in (
        (None, False, "not one column; columns of images are a, b"),
        ("label", False, "no column 'label' of images"),
        ("a", None, "column 'label' has string"),
        ("a", "n", "column 'n' has rows without a value"),
        ("a", "m", "no column 'm'"),
        ("b", False, "rows without an image"),
    ):
        with pytest.raises(feedline.InvalidArgument, match=why):
            Dataset.parquet(path, image=image, label=label)
    check(Dataset.parquet(path, "a", False), [b"1", b"2"], [0, 0])
    (tmp_path / "none").mkdir()
    with pytest.raises(feedline.InvalidArgument, match="no .*parquet in it"):
        Dataset.parquet(tmp_path / "none")


def test_columns_of_another_file(tmp_path: Path) -> None:
    """What the first file has is not guessed anew for the next one."""
    paths = []
    for image, label in (("a", "label"), ("b", "label")):
        rows = {image: pa.array([b"1", b"2"]), label: pa.array([3, 4])}
        paths.append(tmp_path / (image + ".parquet"))
        pq.write_table(pa.table(rows), paths[-1], **PLAIN)
    with pytest.raises(feedline.InvalidArgument, match="'b' and 'label', and"):
        Dataset.parquet(paths)


def test_changed_pages(tmp_path: Path) -> None:
    """No crash, no endless loop, nothing outside the file."""
    path = write(tmp_path / "x.parquet", row_group_size=20, data_page_size=900)
    whole = path.read_bytes()
    for _ in range(100):
        changed = bytearray(whole)
        for _ in range(20):
            changed[DRAW.randrange(4, len(whole) // 2)] = DRAW.randrange(256)
        path.write_bytes(changed)
        try:
            dataset = Dataset.parquet(path, label=False)
        except feedline.InvalidArgument as error:
            assert str(path) in str(error)
            continue
        assert all(len(dataset.read(i)) < len(whole) for i in range(60))


def test_cut_anywhere(tmp_path: Path, image_folder: Path) -> None:
    """Before it is opened, and once it was looked at."""
    data = [path.read_bytes() for path in sorted(image_folder.glob("*/*.jpg"))]
    table = pa.table({"image": data, "label": list(range(len(data)))})
    file = tmp_path / "x.parquet"
    pq.write_table(table, file, row_group_size=7, **PLAIN)

    def before(cut: cuts.Cut) -> Dataset:
        cut()
        return Dataset.parquet(file)

    def made_of(cut: cuts.Cut) -> Dataset:
        dataset = Dataset.parquet(file)
        cut()
        return dataset

    cuts.check(file, before)
    cuts.check(file, made_of)
