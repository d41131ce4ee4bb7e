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
    cases: List[Dict[str, Any]] = [
        {"shuffle": True, "seed": 3},
        {"shuffle": True, "world": 2, "rank": 1},
    ]
    for options in cases:
        wanted = streams.stream_hash(whole, **options)
        assert streams.stream_hash(parts, **options) == wanted
        assert streams.stream_hash(again, **options) == wanted


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
