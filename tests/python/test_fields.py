# SPDX-License-Identifier: Apache-2.0
"""Fields of samples: what was written is delivered, from every format."""

from __future__ import annotations

import json
import math
import random
import struct
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import feedline
import shard_writers
from feedline import Dataset
from shard_writers import beton_image, bytes_feature, float_feature, int_feature
from shard_writers import message, recordio_image, refused, varint
from shard_writers import write_beton_fields, write_examples, write_litdata
from shard_writers import write_mds_rows

Sample = Dict[str, Any]  # field: its value; "image": bytes
COUNT = 23
FIELDS = ("text", "meta", "mask", "number")


@pytest.fixture(scope="module")
def samples() -> List[Sample]:
    """Some have no mask; the last has nothing but its image."""
    draw = random.Random(3)
    made = [
        {
            "image": draw.randbytes(draw.randrange(1, 5000)),
            "text": "caption \u00e4 %d" % i * draw.randrange(3),
            "meta": {"i": i, "deep": [None, "x" * draw.randrange(50)]},
            "mask": draw.randbytes(draw.randrange(3000)),
            "number": i * 7 - 30,
        }
        for i in range(COUNT)
    ]
    for i in (2, 3, 11):
        del made[i]["mask"]
    return made


# ---- Writers ---------------------------------------------------------------

# By format: the name of each field.
NAMES = {
    "beton": {"text": "t", "meta": "m", "mask": "k", "number": "n"},
    "tar": {"text": "txt", "meta": "json", "mask": "mask.npy", "number": "id"},
    "mds": {"text": "caption", "meta": "m", "mask": "z", "number": "a"},
    "tfrecord": {"text": "t/t", "meta": "m", "mask": "k", "number": "n"},
    "zip": {"text": "txt", "meta": "json", "mask": "mask.npy", "number": "id"},
}
HAS_ALL = ("beton", "mds")  # every field in every sample, if only empty


def parts_of(sample: Sample) -> Dict[str, bytes]:
    """What is in a shard, as bytes."""
    found = {
        "text": sample["text"].encode(),
        "meta": json.dumps(sample["meta"]).encode(),
        "number": b"%d\n" % sample["number"],
    }
    if "mask" in sample:
        found["mask"] = sample["mask"]
    return found


def write_tar(path: Path, samples: List[Sample]) -> None:
    """Parts in any order, the image among them."""
    draw = random.Random(9)
    names, members = NAMES["tar"], []
    for i, sample in enumerate(samples):
        parts = [(names[k], v) for k, v in parts_of(sample).items()]
        parts += [("jpg", sample["image"]), ("other", b"?" * 2000)]
        draw.shuffle(parts)
        members += [("f/%03d.%s" % (i, name), data) for name, data in parts]
    shard_writers.write_tar(path, members)


def write_mds(path: Path, samples: List[Sample]) -> None:
    names = NAMES["mds"]
    write_mds_rows(
        path,
        [
            {
                "image": ("jpeg", sample["image"]),
                names["text"]: ("str", sample["text"]),
                names["meta"]: ("json", json.dumps(sample["meta"])),
                names["mask"]: ("ndarray", sample.get("mask", b"")),
                names["number"]: ("int", sample["number"]),
            }
            for sample in samples
        ],
    )


def write_tfrecord(path: Path, samples: List[Sample]) -> None:
    names, examples = NAMES["tfrecord"], []
    for sample in samples:
        parts = parts_of(sample)
        del parts["number"]
        example = {names[k]: bytes_feature(v) for k, v in parts.items()}
        example["image"] = bytes_feature(sample["image"])
        example[names["number"]] = int_feature(sample["number"])
        examples.append(example)
    write_examples(path, examples)


def write_zip(path: Path, samples: List[Sample]) -> None:
    """Images first, so that what belongs to them is anywhere."""
    names, members = NAMES["zip"], []
    with zipfile.ZipFile(path, "w") as archive:
        for i, sample in enumerate(samples):
            image = zipfile.ZipInfo("f/%03d.jpg" % i)
            archive.writestr(image, sample["image"])
            for k, v in parts_of(sample).items():
                members.append(("f/%03d.%s" % (i, names[k]), v))
        random.Random(9).shuffle(members)
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)


def write_beton(path: Path, samples: List[Sample]) -> None:
    names = NAMES["beton"]
    fields = [(2, "image"), (3, names["text"]), (5, names["meta"])]
    fields += [(3, names["mask"]), (1, names["number"])]
    rows, contents = [], []
    for sample in samples:
        parts = {"mask": b"", **parts_of(sample)}
        parts["meta"] += b"\0"
        content = [parts[k] for k in ("text", "meta", "mask")]
        row = [struct.pack("<8sQ", b"{at....}", len(v)) for v in content]
        number = struct.pack("<3xq", sample["number"])
        rows.append((beton_image(), *row, number))
        contents.append((sample["image"], *content))
    write_beton_fields(path, fields, rows, contents)


WRITERS: Dict[str, Callable[[Path, List[Sample]], None]] = {
    "beton": write_beton,
    "mds": write_mds,
    "tar": write_tar,
    "tfrecord": write_tfrecord,
    "zip": write_zip,
}
each_format = pytest.mark.parametrize("kind", sorted(WRITERS))


def opened(
    folder: Path, kind: str, samples: List[Sample], more: str = ""
) -> Dataset:
    """From two shards, with all fields."""
    half = len(samples) // 2
    WRITERS[kind](folder / ("0.%s" % kind), samples[:half])
    WRITERS[kind](folder / ("1.%s" % kind), samples[half:])
    names = ",".join(NAMES[kind][field] for field in FIELDS)
    return Dataset.open("%s:%s?fields=%s%s" % (kind, folder, names, more))


def wanted(kind: str, sample: Sample, field: str) -> Any:
    """Not all say that bytes are text or JSON."""
    bytes_only = {"tfrecord": ("text", "meta"), "beton": ("text",)}
    if field in bytes_only.get(kind, ()):
        return parts_of(sample)[field]
    return sample.get(field, b"")


# ---- The table -------------------------------------------------------------


@each_format
def test_the_fields_are_those_written(
    tmp_path: Path, samples: List[Sample], kind: str
) -> None:
    dataset = opened(tmp_path, kind, samples)
    names = NAMES[kind]
    assert dataset.fields == [names[field] for field in FIELDS]
    for i, sample in enumerate(samples):
        assert dataset.read(i) == sample["image"]
        for field in FIELDS:
            found = dataset.field(i, names[field])
            assert found == wanted(kind, sample, field)
    with pytest.raises(KeyError):
        dataset.field(0, "image")


@each_format
def test_missing_fields(
    tmp_path: Path, samples: List[Sample], kind: str
) -> None:
    if kind not in HAS_ALL:
        with pytest.raises(feedline.NotFound, match="0.%s.*no field" % kind):
            opened(tmp_path, kind, samples, "&missing_field=raise")
    opened(tmp_path, kind, samples)
    uri = "%s:%s?fields=nowhere" % (kind, tmp_path)
    refused(uri, "no sample has.*'nowhere'", feedline.NotFound)
    for names, why in (("a,a", "two fields"), (",", "without a name")):
        refused("%s:%s?fields=%s" % (kind, tmp_path, names), why)
    many = ",".join(map(str, range(33)))
    refused("%s:%s?fields=%s" % (kind, tmp_path, many), "more than 32")


@each_format
def test_changed_anywhere(
    tmp_path: Path, samples: List[Sample], kind: str
) -> None:
    """No crash, and no field outside the file."""
    opened(tmp_path, kind, samples)
    path = tmp_path / ("0.%s" % kind)
    whole = path.read_bytes()
    names = ",".join(NAMES[kind].values())
    draw = random.Random(13)
    for _ in range(60):
        changed = bytearray(whole[: draw.randrange(1, len(whole))])
        for _ in range(draw.randrange(20)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        path.write_bytes(changed)
        uri = "%s:%s?damaged=skip&fields=%s" % (kind, path, names)
        try:
            dataset = Dataset.open(uri)
        except feedline.Error:
            continue
        for i in range(len(dataset)):
            for k in range(len(FIELDS)):
                info = feedline._c.sample_field()
                feedline.errors.check(
                    feedline._library.lib.dataset_get_field(
                        dataset.handle, i, k, info
                    )
                )
                if info.file:
                    assert info.offset + info.bytes <= len(changed)


def test_tar_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.tar"
    names = ("a.jpg", "a.txt", "a.id", "a.txt")
    shard_writers.write_tar(path, [(name, b"x") for name in names])
    for options, why in (
        ("fields=txt", "second field 'txt'"),
        ("fields=id", "a.id is no integer"),
        ("fields=txt&group=none", "group=none samples have no fields"),
    ):
        refused("tar:%s?%s" % (path, options), why)


def test_kinds_differ(tmp_path: Path) -> None:
    """The first sample does not decide silently: the other one is named."""
    path = tmp_path / "x.tfrecord"
    image = {"image/encoded": bytes_feature(b"image")}
    whole, half = int_feature(1), float_feature(0.5)
    write_examples(path, [{**image, "x": whole}, {**image, "x": half}])
    with pytest.raises(feedline.InvalidArgument, match="sample 1.* field x"):
        feedline.Dataset.open(f"tfrecord:{path}?fields=x")


def test_the_image_may_be_a_field(tmp_path: Path) -> None:
    path = tmp_path / "s.tar"
    members = [("a.jpg", b"image"), ("a.seg.png", b"mask")]
    shard_writers.write_tar(path, members)
    dataset = Dataset.open("tar:%s?fields=jpg,seg.png" % path)
    assert dataset.read(0) == dataset.field(0, "jpg") == b"image"
    assert dataset.field(0, "seg.png") == b"mask"


def test_tfrecord_numbers(tmp_path: Path) -> None:
    path = tmp_path / "s.tfrecord"
    image = bytes_feature(b"x")
    unpacked = message(2, varint(1 << 3 | 5) + struct.pack("<f", 0.5))
    examples = [
        {"image": image, "f": float_feature(1.25), "i": int_feature(-5)},
        {"image": image, "f": unpacked, "i": b""},
        {"f": float_feature(), "image": image},
    ]
    write_examples(path, examples)
    dataset = Dataset.open("tfrecord:%s?fields=f,i" % path)
    assert [dataset.field(i, "f") for i in range(3)] == [1.25, 0.5, None]
    assert [dataset.field(i, "i") for i in range(3)] == [-5, None, None]
    for key, feature in (("f", float_feature(1, 2)), ("i", int_feature(1, 2))):
        write_examples(path, [{"image": image, key: feature}])
        refused(
            "tfrecord:%s?fields=%s" % (path, key),
            "'%s' has several values" % key,
        )
    write_examples(
        path,
        [
            {"image": image, "f": float_feature(1)},
            {"image": image, "f": int_feature(1)},
        ],
    )
    refused("tfrecord:%s?fields=f" % path, "another kind")


def test_recordio_labels(tmp_path: Path) -> None:
    """One stands in the header, several behind it."""
    path = tmp_path / "s.rec"
    path.write_bytes(
        recordio_image(7, [3.0], b"image") + recordio_image(9, [1.0, 2.5], b"x")
    )
    dataset = Dataset.open("recordio:%s?fields=id,labels" % path)
    assert [dataset.field(i, "id") for i in range(2)] == [7, 9]
    found = [dataset.field(i, "labels") for i in range(2)]
    assert found == [struct.pack("<f", 3), struct.pack("<2f", 1, 2.5)]
    assert [dataset.label(i) for i in range(2)] == [3, 1]


def test_mds_numbers(tmp_path: Path) -> None:
    path = tmp_path / "s.mds"
    rows = [
        {
            "image": ("jpeg", b"x"),
            "half": ("float32", value),
            "whole": ("float64", -value),
        }
        for value in (0.5, math.inf)
    ]
    write_mds_rows(path, rows)
    dataset = Dataset.open("mds:%s?fields=whole,half" % path)
    for i, value in enumerate((0.5, math.inf)):
        assert dataset.field(i, "half") == value
        assert dataset.field(i, "whole") == -value


def test_beton_values(tmp_path: Path) -> None:
    """Lengths of arrays are in the table, and a second image is one too."""
    path = tmp_path / "s.beton"
    fields = [(2, "image"), (2, "mask"), (4, "array"), (0, "f"), (6, "tensor")]
    row = (beton_image(), beton_image(), bytes(6), b"{at....}")
    row += (struct.pack("<d", 0.5), b"{at....}")
    contents = (b"image", b"mask!", b"array...", b"tensor")
    write_beton_fields(path, fields, [row], [contents])
    names = "mask,array,f,tensor"
    dataset = Dataset.open("beton:%s?image=image&fields=%s" % (path, names))
    assert dataset.read(0) == b"image"
    found = [dataset.field(0, name) for name in names.split(",")]
    assert found == [b"mask!", b"array...", 0.5, b"tensor"]
    row = (beton_image(), beton_image(1), *row[2:])
    write_beton_fields(path, fields, [row], [contents])
    refused(
        "beton:%s?image=image&fields=mask" % path,
        "raw pixels",
        feedline.NotSupported,
    )


def test_litdata_values(tmp_path: Path, samples: List[Sample]) -> None:
    rows = [
        [
            sample["text"].encode(),
            sample["image"],
            struct.pack("<q", sample["number"]),
            struct.pack("<d", i / 4),
            sample.get("mask", b""),
        ]
        for i, sample in enumerate(samples)
    ]
    kinds = ["str", "jpeg", "int", "float", "bytes"]
    write_litdata(tmp_path, [rows[:9], rows[9:]], kinds)
    dataset = Dataset.open("litdata:%s?fields=4,0,2,3" % tmp_path)
    for i, sample in enumerate(samples):
        assert dataset.read(i) == sample["image"]
        found = [dataset.field(i, name) for name in dataset.fields]
        mask, text = sample.get("mask", b""), sample["text"]
        assert found == [mask, text, sample["number"], i / 4]
    for name in ("5", "x", "-1"):
        uri = "litdata:%s?fields=%s" % (tmp_path, name)
        refused(uri, "5 values.*none is")
    rows[3][3] = b"short"
    write_litdata(tmp_path, [rows], kinds)
    uri = "litdata:%s?fields=3" % tmp_path
    refused(uri, "a float of 5 bytes")
    assert len(Dataset.open(uri + "&damaged=skip")) == 3


def test_zip_of_two_images_with_a_name(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a/1.txt", "a/1.JPG", "a/1.png", "b/1.Jpg", "b/1.seg.png"):
            archive.writestr(name, name)
    dataset = Dataset.open("zip:%s?fields=txt,seg.png,jpg" % path)
    found = [
        (dataset.read(i), *(dataset.field(i, f) for f in dataset.fields))
        for i in range(len(dataset))
    ]
    assert found == [
        (b"a/1.JPG", "a/1.txt", b"", b"a/1.JPG"),
        (b"a/1.png", "a/1.txt", b"", b"a/1.JPG"),
        (b"b/1.Jpg", "", b"b/1.seg.png", b"b/1.Jpg"),
    ]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b/1.txt", "x" * 99, zipfile.ZIP_DEFLATED)
    refused("zip:%s?fields=txt" % path, "1.txt is compressed")


# ---- Batches -----------------------------------------------------------------

READERS = ("auto", "pread", "memory")


@pytest.fixture(scope="module")
def pictures(samples: List[Sample]) -> List[Sample]:
    images = pytest.importorskip("images")
    return [
        {**sample, "image": images.encoded((40, 30), seed=i)}
        for i, sample in enumerate(samples)
    ]


def delivered(loader: feedline.Loader, kind: str) -> Dict[int, Any]:
    """What the batches of an epoch have of each sample."""
    found = {}
    for batch in loader:
        fields = batch.fields
        for i, index in enumerate(batch.sample_index):
            row = {f: fields[NAMES[kind][f]][i] for f in FIELDS}
            found[index] = (row, batch.images.numpy()[i].tobytes())
    return found


@each_format
@pytest.mark.parametrize("reader", READERS)
def test_batches_have_the_fields_written(
    tmp_path: Path, pictures: List[Sample], kind: str, reader: str
) -> None:
    """Whatever rank, epoch and reader; pixels are those without fields."""
    streams = pytest.importorskip("streams", reason="no numpy")
    dataset = opened(tmp_path, kind, pictures)
    plain = Dataset.open("%s:%s" % (kind, tmp_path))
    found: Dict[int, Any] = {}
    order = dict(shuffle=True, reader=reader, epochs=2, shard_tail="drop")
    for rank in range(2):
        with streams.loader_of(dataset, world=2, rank=rank, **order) as loader:
            found.update(delivered(loader, kind))
            found.update(delivered(loader, kind))
    assert len(found) >= COUNT - 1
    for index, (row, _) in found.items():
        for field in FIELDS:
            assert row[field] == wanted(kind, pictures[index], field)
    hashes = {
        streams.stream_hash(d, shuffle=True, reader=reader)
        for d in (dataset, plain)
    }
    assert len(hashes) == 1


def test_a_resumed_epoch_has_the_same_fields(
    tmp_path: Path, pictures: List[Sample]
) -> None:
    streams = pytest.importorskip("streams", reason="no numpy")
    dataset = opened(tmp_path, "tar", pictures)
    with streams.loader_of(dataset, shuffle=True) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.save()
        rest = [b.fields["txt"].tolist() for b in batches]
    with streams.loader_of(dataset, shuffle=True) as loader:
        loader.restore(state)
        assert [b.fields["txt"].tolist() for b in loader] == rest


def test_arrays_of_a_field(tmp_path: Path, pictures: List[Sample]) -> None:
    numpy = pytest.importorskip("numpy")
    streams = pytest.importorskip("streams")
    dataset = opened(tmp_path, "tar", pictures)
    with streams.loader_of(dataset, epochs=1) as loader:
        batch = next(iter(loader))
        masks, ids = batch.fields["mask.npy"], batch.fields["id"]
        names = list(batch.fields)
        batch.release()
        with pytest.raises(feedline.ReleasedError):
            batch.fields
    assert names == [NAMES["tar"][field] for field in FIELDS]
    assert len(masks) == 4 and not masks.is_number and ids.is_number
    for i, sample in enumerate(pictures[:4]):
        begin, n = int(masks.offsets[i]), int(masks.lengths[i])
        assert masks.data[begin : begin + n].tobytes() == sample.get(
            "mask", b""
        )
    assert ids.numpy().dtype == numpy.int64
    assert ids.numpy().tolist() == [s["number"] for s in pictures[:4]]
    with pytest.raises(TypeError):
        masks.numpy()


def test_views_of_a_sample_have_its_fields(
    tmp_path: Path, pictures: List[Sample]
) -> None:
    pytest.importorskip("numpy")
    dataset = opened(tmp_path, "tar", pictures)
    views = feedline.Pipeline().add("five_crop", width=16, height=16)
    with feedline.Loader(dataset, views, batch_size=10, epochs=1) as loader:
        batch = next(iter(loader))
        texts = [s["text"] for s in pictures[:2] for _ in range(5)]
        assert batch.fields["txt"].tolist() == texts
        assert batch.fields["id"].tolist() == [-30] * 5 + [-23] * 5


def spread(path: Path, samples: List[Sample]) -> Dataset:
    """First all images, then a long gap, then all captions."""
    every = list(enumerate(samples))
    images = [("%03d.jpg" % i, sample["image"]) for i, sample in every]
    texts = [("%03d.txt" % i, sample["text"].encode()) for i, sample in every]
    gap = [("gap.bin", bytes(300000))]
    shard_writers.write_tar(path, images + gap + texts)
    return Dataset.open("tar:%s?group=key&missing=skip&fields=txt" % path)


@pytest.mark.parametrize("reader", READERS)
def test_fields_far_from_the_image(
    tmp_path: Path, pictures: List[Sample], reader: str
) -> None:
    streams = pytest.importorskip("streams", reason="no numpy")
    dataset = spread(tmp_path / "s.tar", pictures)
    order = dict(shuffle=True, epochs=2, reader=reader)
    with streams.loader_of(dataset, **order) as loader:
        for _ in range(2):
            for batch in loader:
                assert batch.fields["txt"].tolist() == [
                    pictures[index]["text"] for index in batch.sample_index
                ]


@pytest.mark.parametrize("reader", READERS)
def test_a_field_that_is_gone_fails_its_sample(
    tmp_path: Path, pictures: List[Sample], reader: str
) -> None:
    """The archive was cut since, where the captions are."""
    streams = pytest.importorskip("streams", reason="no numpy")
    path = tmp_path / "s.tar"
    dataset = spread(path, pictures)
    info = feedline._c.sample_field()
    lib = feedline._library.lib
    assert lib.dataset_get_field(dataset.handle, 4, 0, info) == 0
    with open(path, "r+b") as file:
        file.truncate(info.offset)
    order = dict(epochs=1, reader=reader, on_error="zero", batch_size=COUNT)
    with streams.loader_of(dataset, **order) as loader:
        batch = next(iter(loader))
        lengths = [len(s["text"].encode()) for s in pictures]
        for i, sample in enumerate(pictures):
            is_there = i < 4 or lengths[i] == 0
            assert (batch.sample_status[i] == 0) == is_there
            assert batch.fields["txt"][i] == (
                sample["text"] if is_there else ""
            )
    with streams.loader_of(dataset, epochs=1, reader=reader) as loader:
        with pytest.raises(feedline.ReadError, match="field 'txt' in .*s.tar"):
            list(loader)


@each_format
def test_failed_samples(
    tmp_path: Path, pictures: List[Sample], kind: str
) -> None:
    """Zeros have no fields, and another sample comes with its own."""
    streams = pytest.importorskip("streams", reason="no numpy")
    damaged = list(pictures)
    for i in (1, 5, 6, 20):
        damaged[i] = {**pictures[i], "image": b"no image at all"}
    dataset = opened(tmp_path, kind, damaged)
    order = dict(epochs=1, batch_size=COUNT)
    names = NAMES[kind]
    with streams.loader_of(dataset, on_error="zero", **order) as loader:
        batch = next(iter(loader))
        assert batch.fields[names["number"]][1] is None
        for field in ("text", "meta", "mask"):
            assert batch.fields[names[field]].bytes(1) == b""
        assert batch.fields[names["number"]][2] == pictures[2]["number"]
    with streams.loader_of(dataset, on_error="skip", **order) as loader:
        for index, (row, _) in delivered(loader, kind).items():
            assert index not in (1, 5, 6, 20)
            for field in FIELDS:
                assert row[field] == wanted(kind, pictures[index], field)


def test_a_slab_grows(tmp_path: Path, pictures: List[Sample]) -> None:
    """From nothing to a megabyte and on, while one batch is held."""
    streams = pytest.importorskip("streams", reason="no numpy")
    path = tmp_path / "s.tar"
    sizes = [0, 1, 70000, 3, 0, 900000, 5, 0, 65536, 65537, 2, 1000000]
    members = []
    for i, size in enumerate(sizes):
        members.append(("%02d.bin" % i, bytes([i]) * size))
        members.append(("%02d.jpg" % i, pictures[i]["image"]))
    shard_writers.write_tar(path, members)
    dataset = Dataset.open("tar:%s?fields=bin" % path)
    options = dict(batch_size=3, workers=3, depth=2)
    with streams.loader_of(dataset, epochs=3, **options) as loader:
        for _ in range(3):
            held = []
            for batch in loader:
                held.append((batch.sample_index, batch.fields["bin"]))
                held = held[-2:]
                for indices, field in held:
                    for i, index in enumerate(indices):
                        assert field[i] == bytes([index]) * sizes[index]


# ---- Without pixels ----------------------------------------------------------


@each_format
def test_encoded_images_are_delivered(
    tmp_path: Path, samples: List[Sample], kind: str
) -> None:
    """Also of what cannot be decoded."""
    streams = pytest.importorskip("streams", reason="no numpy")
    dataset = opened(tmp_path, kind, samples)
    order = dict(decode="none", epochs=1, shuffle=True)
    seen = 0
    with streams.loader_of(dataset, **order) as loader:
        for batch in loader:
            assert batch.images.shape == (len(batch), 3, 0, 0)
            for i, index in enumerate(batch.sample_index):
                sample = samples[index]
                assert batch.fields["image"][i] == sample["image"]
                text = batch.fields[NAMES[kind]["text"]][i]
                assert text == wanted(kind, sample, "text")
                seen += 1
    assert seen == COUNT


@pytest.mark.parametrize("reader", READERS)
def test_columns_of_a_list(tmp_path: Path, reader: str) -> None:
    streams = pytest.importorskip("streams", reason="no numpy")
    images = pytest.importorskip("images")
    rows = ["path\tlabel\tcaption\tscore:float\tmeta:json\tbox:floats\tt:ints"]
    for i in range(9):
        (tmp_path / str(i)).write_bytes(images.encoded((40, 30), seed=i))
        numbers = "" if i == 4 else "%d.5 %d\t-%d,7" % (i, i, i)
        rows.append(
            "%d\t%d\tcaption %d\t%d.5\t[%d]\t" % (i, i, i, i, i)
            + (numbers or "\t")
        )
    path = tmp_path / "l.tsv"
    path.write_text("\n".join(rows))
    dataset = Dataset.open("list:%s?fields=caption,meta,t,box,score" % path)
    assert dataset.field(3, "caption") == "caption 3"
    assert list(dataset.field(3, "box")) == [3.5, 3]
    assert dataset.field(4, "box") is None
    order = dict(epochs=1, shuffle=True, reader=reader)
    seen = 0
    with streams.loader_of(dataset, **order) as loader:
        for batch in loader:
            for i, index in enumerate(batch.sample_index):
                assert batch.fields["caption"][i] == "caption %d" % index
                assert batch.fields["meta"][i] == [index]
                assert batch.fields["score"][i] == index + 0.5
                box, t = batch.fields["box"], batch.fields["t"]
                assert box.numpy().shape == t.numpy().shape == (len(batch), 2)
                if index == 4:
                    assert box[i] is t[i] is None
                    assert (box.numpy()[i] != box.numpy()[i]).all()
                    assert t.numpy()[i].tolist() == [-(2**63)] * 2
                else:
                    assert box.numpy()[i].tolist() == [index + 0.5, index]
                    assert list(box[i]) == [index + 0.5, index]
                    assert list(t[i]) == t.numpy()[i].tolist() == [-index, 7]
                seen += 1
    assert seen == 9


@pytest.mark.parametrize("reader", READERS)
def test_encoded_files(tmp_path: Path, reader: str) -> None:
    """Whole files, whose sizes nobody knew, and images in memory."""
    streams = pytest.importorskip("streams", reason="no numpy")
    draw = random.Random(1)
    images = [draw.randbytes(draw.choice((0, 9, 90000))) for _ in range(12)]
    paths = [tmp_path / str(i) for i in range(len(images))]
    for path, data in zip(paths, images):
        path.write_bytes(data)
    order = dict(decode="none", reader=reader, shuffle=True, world=2, rank=1)
    for dataset in (Dataset.paths(paths), Dataset.memory(images)):
        with streams.loader_of(dataset, epochs=2, **order) as loader:
            for _ in range(2):
                for batch in loader:
                    found = batch.fields["image"].tolist()
                    assert found == [images[i] for i in batch.sample_index]


def test_a_field_may_not_have_the_image_s_name(tmp_path: Path) -> None:
    write_examples(tmp_path / "a.tfrecord", [{"image": bytes_feature(b"x")}])
    dataset = Dataset.open("tfrecord:%s?fields=image" % tmp_path)
    with pytest.raises(feedline.InvalidArgument, match="two fields 'image'"):
        with feedline.Loader(dataset, decode="none", batch_size=1) as loader:
            next(iter(loader))
