#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dlio_benchmark 2.0.0, which MLPerf Storage measures with, makes the whole table of
# its samples into text before it reads one: a line for the log that is written at no
# level but debug, yet formatted at all of them. So with data_loader=pytorch and dali
# reading a sample takes longer the more files there are, whatever is in them: 9 ms of
# CPU with 24,000, so 0.4 s with the 1.2 million of MLPerf Storage's RetinaNet. Workers
# are busy all the time, so storage looks slow, or the decoder, or the number of workers
# too small; what is measured with few files says nothing about many.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages dlio_benchmark==2.0.0

observed <<'PROGRAM'
import os
os.environ["DFTRACER_ENABLE"] = "0"
import logging
from PIL import Image
from dlio_benchmark.common.enumerations import DatasetType
from dlio_benchmark.reader.image_reader import ImageReader
from dlio_benchmark.utils.config import ConfigArguments
from dlio_benchmark.utils.utility import DLIOMPI

SAMPLES = 10


class Table(dict):
    names = 0

    def __repr__(self):
        Table.names += len(self)
        return super().__repr__()


logging.basicConfig(level=logging.INFO)  # what a run has
Image.new("L", (8, 8)).save("one.jpeg")
DLIOMPI.get_instance().set_parent_values(0, 1)
args = ConfigArguments.get_instance()
for files in (10, 100, 1000):
    args.derive_configurations(["one.jpeg"] * files, [])
    table = args.get_global_map_index(args.file_list_train, files)
    args.train_global_index_map = Table(table)
    reader = ImageReader(DatasetType.TRAIN, 0, 1)
    Table.names = 0
    for i in range(SAMPLES):
        reader.read_index(i, 1)
    print("%d files: %d names made into text for a sample"
          % (files, Table.names // SAMPLES))
PROGRAM

expected <<'SEEN'
10 files: 10 names made into text for a sample
100 files: 100 names made into text for a sample
1000 files: 1000 names made into text for a sample
SEEN
