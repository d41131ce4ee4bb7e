#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# In dlio_benchmark 2.0.0, which MLPerf Storage measures with, all accelerators read
# the same part of the data set with DALI's own readers (data_loader=native_dali) and,
# for all formats but TFRecord, with data_loader=tensorflow. DALI's readers are told
# the number of shards and not which one is theirs, so all take the first. The other
# map counts each rank's files from the first one again; rank r has but its first
# sample where it should be. With N accelerators 1/N of the files is read N times, and
# no more is ever read, in whatever epoch: the data set is N times as small for every
# cache between disk and host, and storage is reported as faster than it is. Who
# chooses a loader by it compares one that reads everything with one that does not.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages dlio_benchmark==2.0.0 nvidia-dali-cuda120==2.4.0

observed <<'PROGRAM'
import os, struct
os.environ["DFTRACER_ENABLE"] = "0"
import numpy
from nvidia.dali.pipeline import Pipeline
from dlio_benchmark.common.enumerations import DatasetType, Shuffle
from dlio_benchmark.reader.dali_tfrecord_reader import DaliTFRecordReader
from dlio_benchmark.utils.config import ConfigArguments
from dlio_benchmark.utils.utility import DLIOMPI

RANKS, SAMPLES = 2, 2


def message(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


def example(name):
    image = message(1, b"image") + message(2, message(1, message(1, name)))
    size = message(1, b"size") + message(2, message(3, message(1, b"\1")))
    return message(1, message(1, image) + message(1, size))


def write(letter):
    """Two samples; DALI compares no checksums."""
    with open("data/%s.tfrecord" % letter, "wb") as file, \
            open("data/index/train/%s.tfrecord.idx" % letter, "w") as index:
        for i in range(SAMPLES):
            content = example(b"%s%d" % (letter.encode(), i))
            begin = file.tell()
            file.write(struct.pack("<Q4x", len(content)) + content + bytes(4))
            print(begin, file.tell() - begin, file=index)


def arguments(rank):
    """What dlio_benchmark has of a run when its readers are made."""
    DLIOMPI.reset()
    ConfigArguments.reset()
    DLIOMPI.get_instance().set_parent_values(rank, RANKS)
    args = ConfigArguments.get_instance()
    args.data_folder = "data"
    args.file_list_train = ["data/%s.tfrecord" % x for x in "abcd"]
    args.num_samples_per_file = SAMPLES
    args.batch_size = 4
    args.sample_shuffle = Shuffle.OFF
    args.read_threads = 1
    args.train_global_index_map = args.train_file_map = None
    return args


def with_dali(args):
    pipeline = Pipeline(batch_size=args.batch_size, num_threads=1, device_id=None)
    with pipeline:
        reader = DaliTFRecordReader(DatasetType.TRAIN, -1, 1)
        pipeline.set_outputs(reader.pipeline())
    pipeline.build()
    batch = pipeline.run()[0]
    return [bytes(numpy.asarray(batch.at(i))).decode() for i in range(len(batch))]


def with_a_map(args):
    files = ["%s.jpeg" % x for x in "abcdefgh"]
    args.num_samples_per_file = 1
    found = args.build_sample_map_iter(files, len(files), 1)
    return [os.path.basename(path)[0] for _, path, _ in found[0]]


os.makedirs("data/index/train")
for letter in "abcd":
    write(letter)
for rank in range(RANKS):
    print("native_dali, rank %d of 2:" % rank, *with_dali(arguments(rank)))
for rank in range(RANKS):
    print("tensorflow, JPEG, rank %d of 2:" % rank, *with_a_map(arguments(rank)))
PROGRAM

expected <<'SEEN'
native_dali, rank 0 of 2: a0 a1 b0 b1
native_dali, rank 1 of 2: a0 a1 b0 b1
tensorflow, JPEG, rank 0 of 2: a b c d
tensorflow, JPEG, rank 1 of 2: e b c d
SEEN
