# SPDX-License-Identifier: Apache-2.0
"""400 images, written by each format's own writer where it is installed: the
stream of the folder, for a rank and from mid-epoch on, too.

What CI does not install is skipped by name; test_shards.py has the same formats
by writers of its own.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

images = pytest.importorskip("images")
streams = pytest.importorskip("streams", reason="no numpy")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from feedline import Dataset  # noqa: E402

Sample = Tuple[str, bytes, int]  # path in the folder, contents, label


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    return Path(images.make_folder(root, 4, 100, size=(24, 24)))


@pytest.fixture(scope="module")
def samples(folder: Path) -> List[Sample]:
    data = Dataset.open("folder:%s" % folder)
    return [
        (os.path.relpath(data.path(i), folder), data.read(i), data.label(i))
        for i in range(len(data))
    ]


def of_webdataset(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    wds = pytest.importorskip("webdataset")
    with wds.ShardWriter(str(out / "%d.tar"), maxcount=150) as shards:
        for i, (_, data, label) in enumerate(samples):
            shards.write({"__key__": "%06d" % i, "jpg": data, "cls": label})
    return Dataset.open(str(out / "{0..2}.tar"))


def of_archive(
    command: List[str], out: Path, folder: Path, samples: List[Sample]
) -> Dataset:
    names = "".join(name + "\n" for name, _, _ in samples)
    file = str(out / ("x." + command[0]))
    subprocess.run(
        [part.format(file) for part in command],
        cwd=folder,
        input=names,
        text=True,
        check=True,
    )
    return Dataset.open(file)


def of_tar(*made_of: Any) -> Dataset:
    command = ["tar", "--format=gnu", "-cf", "{}", "-T", "-"]
    return of_archive(command, *made_of)


def of_zip(*made_of: Any) -> Dataset:
    return of_archive(["zip", "-q", "-0", "{}", "-@"], *made_of)


def of_tensorflow(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    tf = pytest.importorskip("tensorflow")
    values = tf.train.Feature
    with tf.io.TFRecordWriter(str(out / "x.tfrecord")) as file:
        for _, data, label in samples:
            image = tf.train.BytesList(value=[data])
            number = tf.train.Int64List(value=[label])
            feature = {
                "image/encoded": values(bytes_list=image),
                "image/class/label": values(int64_list=number),
            }
            features = tf.train.Features(feature=feature)
            example = tf.train.Example(features=features)
            file.write(example.SerializeToString())
    return Dataset.open(str(out / "x.tfrecord"))


def of_streaming(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    streaming = pytest.importorskip("streaming")
    columns = {"image": "bytes", "label": "int"}
    with streaming.MDSWriter(
        out=str(out / "mds"), columns=columns, size_limit=1 << 16
    ) as file:
        for _, data, label in samples:
            file.write({"image": data, "label": label})
    return Dataset.open("mds:%s" % (out / "mds"))


def of_mxnet(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    recordio = pytest.importorskip("mxnet.recordio")
    file = recordio.MXRecordIO(str(out / "x.rec"), "w")
    for i, (_, data, label) in enumerate(samples):
        header = recordio.IRHeader(0, label, i, 0)
        file.write(recordio.pack(header, data))
    file.close()
    return Dataset.open(str(out / "x.rec"))


def of_datasets(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")
    hf.disable_progress_bars()
    made = hf.Dataset.from_dict(
        {
            "image": [{"bytes": data, "path": None} for _, data, _ in samples],
            "label": [label for _, _, label in samples],
        },
        hf.Features({"image": hf.Image(), "label": hf.Value("int64")}),
    )
    made.save_to_disk(str(out / "saved"), num_shards=3)
    return Dataset.huggingface(hf.load_from_disk(str(out / "saved")))


def of_lmdb(out: Path, folder: Path, samples: List[Sample]) -> Dataset:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(out / "env"), map_size=1 << 26) as env:
        with env.begin(write=True) as transaction:
            for i, (_, data, _) in enumerate(samples):
                transaction.put(b"%d" % i, data)
    labels = [label for _, _, label in samples]
    with lmdb.open(str(out / "env"), readonly=True, lock=False) as env:
        return Dataset.lmdb(env, labels)


MAKERS: Dict[str, Callable[..., Dataset]] = {
    name[3:]: made for name, made in globals().items() if name[:3] == "of_"
}
del MAKERS["archive"]


@pytest.mark.parametrize("name", MAKERS)
def test_the_stream_of_the_folder(
    name: str, tmp_path: Path, folder: Path, samples: List[Sample]
) -> None:
    try:
        data = MAKERS[name](tmp_path, folder, samples)
    except FileNotFoundError as missing:  # the program that writes it
        pytest.skip(str(missing))
    streams.assert_same(data, Dataset.open("folder:%s" % folder))
