# SPDX-License-Identifier: Apache-2.0
"""Dataset.extents: samples that are parts of files."""

from __future__ import annotations

import pickle
from array import array
from pathlib import Path
from typing import Any, Dict, List

import pytest

import feedline

images = pytest.importorskip("images")
streams = pytest.importorskip("streams", reason="no numpy")


@pytest.fixture(scope="module")
def table(
    image_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Dict[str, Any]:
    """The images of the folder in two files, with gaps; the last by itself."""
    folder = tmp_path_factory.mktemp("shards")
    paths = images.paths_of(image_folder)
    files = [folder / "one", folder / "two", Path(paths[-1])]
    content = [bytearray(b"head"), bytearray()]
    found: Dict[str, List[int]] = {"file": [], "offset": [], "length": []}
    for i, path in enumerate(paths[:-1]):
        data = Path(path).read_bytes()
        found["file"].append(i % 2)
        found["offset"].append(len(content[i % 2]))
        found["length"].append(len(data))
        content[i % 2] += data + b"gap"
    for file, data in zip(files, content):
        file.write_bytes(data)
    found["file"].append(2)
    found["offset"].append(0)
    found["length"].append(feedline.Dataset.TO_END)
    labels = [i // 8 for i in range(len(paths))]
    return {"files": files, **found, "labels": labels, "classes": list("abc")}


def test_as_the_files_by_themselves(
    table: Dict[str, Any], image_folder: Path
) -> None:
    whole = feedline.Dataset.open("folder:%s" % image_folder)
    parts = feedline.Dataset.extents(**table)
    again = pickle.loads(pickle.dumps(parts))
    streams.assert_same(parts, whole)
    streams.assert_same(again, whole)


def fields_in(path: Path, count: int) -> Dict[str, Any]:
    """Captions and JSON in a file of their own; some have none."""
    at = []
    with open(path, "wb") as file:
        for i in range(count):
            at.append(file.tell())
            file.write(b"caption %02d[%02d]" % (i, i + 10))
    length = [10 * (i != 2) for i in range(count)]
    return {
        "caption": ("text", [1] * count, at, length),
        "box": ("json", [1] * count, [n + 10 for n in at], [4] * count),
        "id": ("int", array("q", range(count))),
        "score": ("float", [i / 2 for i in range(count)]),
    }


def test_fields(image_folder: Path, tmp_path: Path) -> None:
    paths = images.paths_of(image_folder)[:8]
    joined, at = tmp_path / "joined", []
    with open(joined, "wb") as file:
        for path in paths:
            at.append(file.tell())
            file.write(Path(path).read_bytes())
    sizes = [Path(path).stat().st_size for path in paths]
    fields = fields_in(tmp_path / "texts", len(paths))
    made = feedline.Dataset.extents(
        [joined, tmp_path / "texts"], [0] * 8, at, sizes, fields=fields
    )
    again = pickle.loads(pickle.dumps(made))
    for dataset in (made, again):
        assert dataset.fields == list(fields)
        found = []
        with streams.loader_of(dataset, epochs=1, shuffle=True) as loader:
            for batch in loader:
                for i, index in enumerate(batch.sample_index):
                    row = [batch.fields[name][i] for name in fields]
                    caption = "caption %02d" % index if index != 2 else ""
                    assert row == [caption, [index + 10], index, index / 2]
                    found.append(index)
        assert sorted(found) == list(range(8))


@pytest.mark.parametrize(
    "field, why",
    [
        (("text", [0], [0]), "none of"),
        (("pkl", [0]), "none of"),
        (("int", [1, 2]), "1 samples, 2 f"),
        (("text", [0], [0, 1], [1]), "1 samples, 1 file, 2 offset"),
        (("text", [1], [0], [1]), "field 'f' of sample 0 is 1 bytes at 0 of"),
        (("text", [0], [0], [feedline.Dataset.TO_END]), "cannot be"),
    ],
)
def test_fields_that_are_refused(tmp_path: Path, field: Any, why: str) -> None:
    with pytest.raises(feedline.InvalidArgument, match=why):
        feedline.Dataset.extents(
            [tmp_path / "x"], [0], [0], [1], fields={"f": field}
        )


def test_samples_say_where_they_are(table: Dict[str, Any]) -> None:
    some = feedline.Dataset.extents(**table)
    assert len(some) == 24 and some.classes == ["a", "b", "c"]
    assert some.path(0) == "%s@4" % table["files"][0]
    assert some.path(-1) == str(table["files"][2])
    assert [some.label(i) for i in (0, 8, 23)] == [0, 1, 2]
    names = ["caf\xe9 %d.jpg" % i for i in range(24)]
    named = feedline.Dataset.extents(**table, names=names)
    copy = pickle.loads(pickle.dumps(named))
    for one in (named, copy):
        assert one.path(1) == "%s:caf\xe9 1.jpg" % table["files"][1]
        assert one.classes == ["a", "b", "c"] and one.label(8) == 1


def test_bytes_of_samples(table: Dict[str, Any], image_folder: Path) -> None:
    paths = images.paths_of(image_folder)
    data = [Path(path).read_bytes() for path in paths]
    for some in (
        feedline.Dataset.extents(**table),
        feedline.Dataset.paths(paths),
        feedline.Dataset.memory(data),
    ):
        assert [some.read(i) for i in range(24)] == data
        assert some.read(-1) == data[-1]
    pixels = feedline.Dataset.pixels(memoryview(bytes(12)).cast("B", (1, 3, 4)))
    with pytest.raises(feedline.NotSupported, match="no encoded image"):
        pixels.read(0)


def test_numbers_of_any_type(table: Dict[str, Any]) -> None:
    wanted = feedline.Dataset.extents(**table)
    kinds: List[Any] = [tuple, lambda v: array("Q", v)]
    try:
        import numpy
    except ImportError:
        pass
    else:
        kinds += [numpy.uint64, numpy.array, lambda v: numpy.array(v, ">u8")]
    for kind in kinds:
        columns = {
            key: kind(table[key]) for key in ("file", "offset", "length")
        }
        some = feedline.Dataset.extents(**{**table, **columns})
        for i in range(24):
            assert some.path(i) == wanted.path(i)


@pytest.mark.parametrize(
    "wrong, kind, text",
    [
        ({"offset": [1, 2]}, feedline.InvalidArgument, "24 file, 2 offset"),
        ({"names": ["a"]}, feedline.InvalidArgument, "1 names"),
        ({"labels": [1]}, feedline.InvalidArgument, "1 labels for 24"),
        ({"file": [9] * 24}, feedline.InvalidArgument, "file 9, and there"),
        ({"length": [1 << 32] * 24}, feedline.RangeError, "lengths"),
        ({"offset": [-1] * 24}, feedline.RangeError, "offsets"),
        ({"offset": [0.5] * 24}, TypeError, "float"),
        ({"files": []}, feedline.InvalidArgument, "no extents"),
        ({"files": ["a\0b"] * 3}, feedline.InvalidArgument, "NUL"),
        ({"classes": "abc"}, TypeError, "several"),
    ],
)
def test_mistakes(
    table: Dict[str, Any], wrong: Dict[str, Any], kind: Any, text: str
) -> None:
    with pytest.raises(kind, match=text):
        feedline.Dataset.extents(**{**table, **wrong})
