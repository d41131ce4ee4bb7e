#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a folder of images as the shards that the comparison reads.

    make_shards.py FOLDER OUT [SHARDS]

Each format by its own writer: tar by Python's tarfile as WebDataset names
members, with DALI's index; TFRecord by TensorFlow, with DALI's index; MDS by
MosaicML's streaming; Arrow by Hugging Face's datasets. Encoded bytes are
those of the files.
"""
import os
import random
import struct
import sys
import tarfile

import datasets
import streaming
import tensorflow as tf

import peer


def add_bytes(tar, name, data):
    """Returns where the data begin."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    begin = tar.offset + tarfile.BLOCKSIZE
    with open(os.memfd_create(name), "w+b") as f:
        f.write(data)
        f.seek(0)
        tar.addfile(member, f)
    return begin


def write_tar(samples, stem):
    rows = []
    with tarfile.open(stem + ".tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for number, (data, label) in enumerate(samples):
            text = str(label).encode()
            row = []
            for ending, value in (("jpg", data), ("cls", text)):
                name = "%08d.%s" % (number, ending)
                row.append((ending, add_bytes(tar, name, value), len(value),
                            name))
            rows.append(row)
    with open(stem + ".idx", "w", encoding="ascii") as f:
        f.write("v1.2 %d\n" % len(rows))
        for row in rows:
            f.write(" ".join("%s %d %d %s" % part for part in row) + "\n")


def write_tfrecord(samples, stem):
    path = stem + ".tfrecord"
    with tf.io.TFRecordWriter(path) as f:
        for data, label in samples:
            feature = {
                "image/encoded": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[data])),
                "image/class/label": tf.train.Feature(
                    int64_list=tf.train.Int64List(value=[label]))}
            f.write(tf.train.Example(features=tf.train.Features(
                feature=feature)).SerializeToString())
    with open(path, "rb") as f, open(path + ".idx", "w",
                                     encoding="ascii") as out:
        begin = 0
        while head := f.read(8):
            bytes_of_record = 16 + struct.unpack("<Q", head)[0]
            out.write("%d %d\n" % (begin, bytes_of_record))
            begin += bytes_of_record
            f.seek(begin)


def write_arrow(files, labels, names, out):
    features = datasets.Features({
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=names)})
    rows = {"image": [{"bytes": read(f), "path": None} for f in files],
            "label": labels}
    datasets.Dataset.from_dict(rows, features).save_to_disk(out)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, out = sys.argv[1:3]
    shards = int(sys.argv[3]) if len(sys.argv) == 4 else 8
    files, labels = peer.list_images(folder)
    order = list(range(len(files)))
    random.Random(0).shuffle(order)
    for kind in ("tar", "tfrecord"):
        os.makedirs(os.path.join(out, kind))
    for s in range(shards):
        samples = [(read(files[i]), labels[i]) for i in order[s::shards]]
        write_tar(samples, os.path.join(out, "tar", "%06d" % s))
        write_tfrecord(samples, os.path.join(out, "tfrecord", "%06d" % s))
    with streaming.MDSWriter(out=os.path.join(out, "mds"),
                             columns={"image": "jpeg", "label": "int"}) as mds:
        for i in order:
            mds.write({"image": jpeg(files[i]), "label": labels[i]})
    write_arrow([files[i] for i in order], [labels[i] for i in order],
                sorted(os.listdir(folder)), os.path.join(out, "arrow"))


def jpeg(path):
    from PIL import Image

    # streaming keeps the bytes of an image that was opened from a file.
    return Image.open(path)


if __name__ == "__main__":
    main()
