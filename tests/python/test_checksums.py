# SPDX-License-Identifier: Apache-2.0
"""What a container's checksum says is damaged has failed, and nothing else.

Each container holds the same images; bits are flipped in what its checksums are
of. FEEDLINE_FLIPS: how many in each (30).
"""

from __future__ import annotations

import ctypes
import os
import random
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

import feedline
import shard_writers
from feedline import Dataset
from feedline._library import lib
from shard_writers import bytes_feature, int_feature

images = pytest.importorskip("images", reason="no Pillow to make images")
np = pytest.importorskip("numpy")

N = 6
FLIPS = int(os.environ.get("FEEDLINE_FLIPS", "30"))
READERS = ("uring", "pread", "memory")
JPEGS = [images.encoded((90 + i, 70), i) for i in range(N)]
CAPTIONS = [b"a caption of %d" % i for i in range(N)]

Checked = List[Tuple[int, int]]  # for each sample, begin and end in the file


def jpeg_pack(jpeg: bytes) -> bytes:
    made, size = ctypes.c_void_p(), ctypes.c_uint64()
    lib.jpeg_pack(jpeg, len(jpeg), ctypes.byref(made), ctypes.byref(size))
    try:
        return ctypes.string_at(made.value or 0, size.value)
    finally:
        ctypes.CDLL(None).free(made)


def found(path: Path, parts: List[bytes]) -> Checked:
    """Where each part is in the file."""
    content = path.read_bytes()
    begins = [content.index(part) for part in parts]
    return [(at, at + len(part)) for at, part in zip(begins, parts)]


def make_zip(path: Path) -> Checked:
    with zipfile.ZipFile(path, "w") as file:
        for i, jpeg in enumerate(JPEGS):
            file.writestr("%s/%d.jpg" % ("ab"[i % 2], i), jpeg)
            file.writestr("%s/%d.txt" % ("ab"[i % 2], i), CAPTIONS[i])
    return found(path, JPEGS)


def record(i: int, more: bytes = b"") -> Dict[str, bytes]:
    """A record with something in front of the image, and behind it."""
    features = {"caption": bytes_feature(CAPTIONS[i])}
    if more:
        features["depth"] = bytes_feature(more)
    features["image/encoded"] = bytes_feature(JPEGS[i])
    features["image/class/label"] = int_feature(i % 2)
    features["image/filename"] = bytes_feature(b"%d.jpg" % i)
    return features


def make_tfrecord(path: Path) -> Checked:
    """The image, or what is in front of it. Not what says how a record is
    built: damage there shows when the shard is listed."""
    shard_writers.write_examples(path, [record(i) for i in range(N)])
    parts = [JPEGS[i] if i % 3 else CAPTIONS[i] for i in range(N)]
    return found(path, parts)


def packed(i: int) -> bytes:
    return jpeg_pack(JPEGS[i])


def make_packed_zip(path: Path) -> Checked:
    parts = [packed(i) for i in range(N)]
    with zipfile.ZipFile(path, "w") as file:
        for i, part in enumerate(parts):
            file.writestr("%s/%d.jpg" % ("ab"[i % 2], i), part)
    return found(path, parts)


def make_packed_tar(path: Path) -> Checked:
    """The archive has no checksums of contents; the samples do."""
    parts = [packed(i) for i in range(N)]
    members = [
        member
        for i, part in enumerate(parts)
        for member in (("%d.jpg" % i, part), ("%d.cls" % i, b"%d" % (i % 2)))
    ]
    shard_writers.write_tar(path, members)
    return found(path, parts)


CONTAINERS = {
    "zip": make_zip,
    "tfrecord": make_tfrecord,
    "packed.zip": make_packed_zip,
    "packed.tar": make_packed_tar,
}
each_container = pytest.mark.parametrize("kind", list(CONTAINERS))
each_decodable = pytest.mark.parametrize(
    "kind",
    [k for k in CONTAINERS if "packed" in feedline.features() or "." not in k],
)


def uri_of(path: Path) -> str:
    return "%s:%s" % (path.suffix[1:], path)


Delivered = Dict[int, Tuple[Any, int]]  # pixels and status, by sample


def deliver(uri: str, **options: Any) -> Delivered:
    pipeline = feedline.Pipeline().add("resize", width=32, height=32)
    out = {}
    arguments = {"epochs": 1, "on_error": "zero", "dtype": "u8", **options}
    with feedline.Loader(
        Dataset.open(uri), pipeline, batch_size=1, **arguments
    ) as loader:
        for batch in loader:
            out[int(batch.sample_index[0])] = (
                np.asarray(batch.images)[0].copy(),
                int(batch.sample_status[0]),
            )
    return out


def flipped(path: Path, places: Checked) -> Iterator[int]:
    """Flips one bit at a time; yields the sample that has it."""
    sound = path.read_bytes()
    draw = random.Random(7)
    for k in range(FLIPS):
        sample = k % N
        begin, end = places[sample]
        damaged = bytearray(sound)
        damaged[draw.randrange(begin, end)] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        yield sample
    path.write_bytes(sound)


@each_decodable
def test_a_flipped_bit_fails_its_sample(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("x." + kind)
    places = CONTAINERS[kind](path)
    good = deliver(uri_of(path))
    assert [status for _, status in good.values()] == [0] * N
    for k, sample in enumerate(flipped(path, places)):
        got = deliver(uri_of(path), reader=READERS[k % len(READERS)])
        for i, (pixels, status) in got.items():
            assert status == (-5 if i == sample else 0), (k, i)
            assert i == sample or np.array_equal(pixels, good[i][0])
    assert deliver(uri_of(path)).keys() == good.keys()


@each_decodable
def test_the_reason_says_where_and_what_to_do(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / ("x." + kind)
    begin, end = CONTAINERS[kind](path)[2]
    data = bytearray(path.read_bytes())
    data[(begin + end) // 2] ^= 8
    path.write_bytes(data)
    with pytest.raises(feedline.DecodeError) as error:
        deliver(uri_of(path), on_error="raise")
    text = str(error.value)
    assert str(path) in text and "2.jpg" in text or kind == "packed.tar"
    assert "loaderbench scan" in text and "offset " in text
    if kind.endswith("zip"):
        crc = zlib.crc32(data[begin:end])
        assert "offset %d: %d bytes of the file" % (begin, end - begin) in text
        assert "CRC-32 %08x, stored is" % crc in text
    elif kind == "tfrecord":
        assert "masked CRC-32C" in text
    else:
        assert "bytes of the packed JPEG" in text and "CRC-32C" in text


@each_decodable
def test_without_checksums_it_is_as_it_was_stored(
    tmp_path: Path, kind: str
) -> None:
    """Pixels that only a checksum tells from the true ones."""
    path = tmp_path / ("x." + kind)
    places = CONTAINERS[kind](path)
    good = deliver(uri_of(path))
    other = 0
    for sample in flipped(path, places):
        pixels, status = deliver(uri_of(path), checksums=False)[sample]
        other += status == 0 and not np.array_equal(pixels, good[sample][0])
    assert other > 0


def test_what_was_damaged_is_read_again(tmp_path: Path) -> None:
    """With reader=memory a sample is kept once its checksum was right; what
    happens to the file then does not matter."""
    path = tmp_path / "x.zip"
    begin, _ = make_zip(path)[1]

    def flip() -> None:
        with open(path, "r+b") as file:
            file.seek(begin + 700)
            byte = file.read(1)[0]
            file.seek(begin + 700)
            file.write(bytes([byte ^ 1]))

    flip()
    with feedline.Loader(
        Dataset.open("zip:%s" % path),
        feedline.Pipeline().add("resize", width=32, height=32),
        batch_size=N,
        epochs=20,
        reader="memory",
        depth=1,
        on_error="zero",
    ) as loader:
        epochs = [[int(s) for b in loader for s in b.sample_status]]
        assert epochs == [[0, -5, 0, 0, 0, 0]]
        flip()
        while epochs[-1][1] != 0:  # what was read ahead had failed
            assert len(epochs) < 10
            epochs.append([int(s) for b in loader for s in b.sample_status])
        flip()
        for _ in range(6):
            assert [int(s) for b in loader for s in b.sample_status] == [0] * N


@each_container
def test_bytes_that_are_read_are_compared(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("x." + kind)
    places = CONTAINERS[kind](path)
    data_set = Dataset.open(uri_of(path))
    sound = [data_set.read(i) for i in range(N)]
    stored = [packed(i) for i in range(N)] if "packed" in kind else JPEGS
    assert sound == stored
    for sample in flipped(path, places):
        with pytest.raises(feedline.DecodeError, match="CRC-32|header is dam"):
            data_set.read(sample)
        other = (sample + 1) % N
        assert data_set.read(other) == sound[other]


@pytest.mark.parametrize("kind", ("zip", "tfrecord"))
def test_behind_torchs_loader(tmp_path: Path, kind: str) -> None:
    """Pillow, which is asked about what the engine refuses, is not given such
    bytes either."""
    pytest.importorskip("torch")
    transforms = pytest.importorskip("torchvision.transforms")
    from feedline.torch import DataLoader, Images

    path = tmp_path / ("x." + kind)
    places = CONTAINERS[kind](path)
    transform = transforms.Compose(
        [transforms.Resize((32, 32)), transforms.ToTensor()]
    )
    sample = next(flipped(path, places[1:2] * N))
    assert sample == 0  # the first of those places
    for native in (True, False):
        images_of = Images(Dataset.open(uri_of(path)), transform)
        if native:
            loader = DataLoader(images_of, batch_size=1, num_workers=1)
            assert loader.native, loader.fallback_reason
            seen = iter(loader)
            next(seen)
            with pytest.raises(feedline.DecodeError, match="CRC-32"):
                next(seen)
            assert len(list(seen)) == N - 2
        else:
            with pytest.raises(feedline.DecodeError, match="CRC-32"):
                images_of[1]


# ---- Fields ------------------------------------------------------------------


def captions_of(uri: str, **options: Any) -> List[Tuple[Any, int]]:
    with feedline.Loader(
        Dataset.open(uri),
        feedline.Pipeline().add("resize", width=32, height=32),
        batch_size=N,
        epochs=1,
        on_error="zero",
        **options,
    ) as loader:
        (batch,) = loader
        return list(zip(batch.fields["txt"], map(int, batch.sample_status)))


@pytest.mark.parametrize("far", (False, True))
@pytest.mark.parametrize("reader", READERS)
def test_fields_in_a_zip(tmp_path: Path, far: bool, reader: str) -> None:
    """Read with their image, or by themselves."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as file:
        for i, jpeg in enumerate(JPEGS):
            file.writestr("a/%d.jpg" % i, jpeg)
        if far:
            file.writestr("unknown", bytes(1 << 17))
        for i, caption in enumerate(CAPTIONS):
            file.writestr("a/%d.txt" % i, caption)
    uri = "zip:%s?fields=txt" % path
    assert captions_of(uri, reader=reader) == [
        (caption.decode(), 0) for caption in CAPTIONS
    ]
    data = bytearray(path.read_bytes())
    data[data.index(CAPTIONS[4]) + 2] ^= 1  # "c" becomes "b"
    path.write_bytes(data)
    statuses = [status for _, status in captions_of(uri, reader=reader)]
    assert statuses == [0, 0, 0, 0, -5, 0]
    unchecked = captions_of(uri, reader=reader, checksums=False)
    assert unchecked[4] == ("a baption of 4", 0)


def test_a_number_in_a_zip(tmp_path: Path) -> None:
    """It is read when the archive is listed."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as file:
        for i, jpeg in enumerate(JPEGS):
            file.writestr("a/%d.jpg" % i, jpeg)
            file.writestr("a/%d.cls" % i, b"100%d" % i)
    uri = "zip:%s?fields=cls" % path
    assert len(Dataset.open(uri)) == N
    data = bytearray(path.read_bytes())
    at = data.index(b"1003")
    data[at + 1] ^= 1
    path.write_bytes(data)
    shard_writers.refused(
        uri, "%s at %d: a/3.cls: .*CRC-32 .*stored.*damaged=skip" % (path, at)
    )
    left = Dataset.open(uri + "&damaged=skip")
    names = [left.path(i) for i in range(len(left))]
    assert names == ["%s:a/%d.jpg" % (path, i) for i in (0, 1, 2, 4, 5)]
    with feedline.Loader(
        left,
        feedline.Pipeline().add("resize", width=32, height=32),
        batch_size=N - 1,
        epochs=1,
    ) as loader:
        (batch,) = loader
        assert list(batch.fields["cls"]) == [1000, 1001, 1002, 1004, 1005]


@pytest.mark.parametrize("damage", ("number", "header"))
def test_a_sample_whose_field_is_damaged(tmp_path: Path, damage: str) -> None:
    """Left out alone, though those behind it are listed after that."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as file:
        for i, jpeg in enumerate(JPEGS):
            file.writestr("a/%d.cls" % i, b"%d" % i)
            file.writestr("a/%d.jpg" % i, jpeg)
        at = file.getinfo("a/0.cls").header_offset
    data = bytearray(path.read_bytes())
    data[at if damage == "header" else at + 30 + len("a/0.cls")] ^= 0x40
    path.write_bytes(data)
    uri = "zip:%s?fields=cls" % path
    why = (
        "no header of a/0.cls"
        if damage == "header"
        else "a/0.cls is no integer"
    )
    shard_writers.refused(uri, why)
    left = Dataset.open(uri + "&damaged=skip")
    assert [left.read(i) for i in range(len(left))] == JPEGS[1:]


def test_a_length_without_checksum(tmp_path: Path) -> None:
    """No option makes that a TFRecord; the message says what does."""
    path = tmp_path / "x.tfrecord"
    shard_writers.write_examples(path, [record(i) for i in range(N)])
    data = bytearray(path.read_bytes())
    data[8:12] = bytes(4)
    path.write_bytes(data)
    shard_writers.refused(
        "tfrecord:%s" % path, "%s at 0: .*length is wrong.*write the" % path
    )


# ---- How far -----------------------------------------------------------------


@pytest.mark.parametrize("more", (60000, 70000))
def test_a_large_record(tmp_path: Path, more: int) -> None:
    """Above 64 KiB that nobody else needs it is read only if that was asked
    for."""
    path = tmp_path / "x.tfrecord"
    depth = random.Random(3).randbytes(more)
    shard_writers.write_examples(path, [record(i, depth) for i in range(N)])
    data = bytearray(path.read_bytes())
    data[data.index(depth) + 5] ^= 1
    path.write_bytes(data)
    uri = "tfrecord:%s" % path

    auto = {i: s for i, (_, s) in deliver(uri).items()}
    asked = {i: s for i, (_, s) in deliver(uri, checksums=True).items()}
    none = {i: s for i, (_, s) in deliver(uri, checksums=False).items()}
    bad = {**none, 0: -5}
    assert set(none.values()) == {0}
    assert asked == bad
    assert auto == (bad if more < 1 << 16 else none)
