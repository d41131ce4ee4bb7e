#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# DALI 2.4.0: an iterator over fn.readers.file(random_shuffle=True) gives as many
# samples in each epoch as the data set has, but from the second epoch on some of
# them come twice and others not at all, more of them in each epoch that was tried,
# unless the batch size divides the data set or the reader has pad_last_batch=True,
# which is not its default. The batch at the end of an epoch is completed from the
# next one, so that one begins in the middle of what the buffer has shuffled; samples
# are counted, and not which they are. LastBatchPolicy.PARTIAL, as here, FILL and DROP
# are alike. Without random_shuffle each sample comes once.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages nvidia-dali-cuda120==2.4.0 torch==2.15.0 pillow==13.0.0

observed <<'PROGRAM'
import collections

from nvidia.dali import fn, pipeline_def
from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy
from PIL import Image

COUNT = 5000
Image.new("L", (8, 8)).save("one.jpg")


def epochs(batch_size, **of_reader):
    @pipeline_def(batch_size=batch_size, num_threads=1, device_id=None, seed=3)
    def numbers():
        _, labels = fn.readers.file(
            files=["one.jpg"] * COUNT, labels=list(range(COUNT)),
            name="reader", **of_reader)
        return labels

    loader = DALIGenericIterator(
        numbers(), ["label"], reader_name="reader", auto_reset=True,
        last_batch_policy=LastBatchPolicy.PARTIAL)
    for _ in range(4):
        yield collections.Counter(
            label for batch in loader
            for label in batch[0]["label"].flatten().tolist())


def try_it(batch_size, **of_reader):
    print("batches of %d, %s" % (
        batch_size, ", ".join("%s=%s" % x for x in of_reader.items())))
    for number, seen in enumerate(epochs(batch_size, **of_reader)):
        print("  epoch %d: %d samples, %d never, %d more than once" % (
            number, sum(seen.values()), COUNT - len(seen),
            sum(times > 1 for times in seen.values())))


try_it(96, random_shuffle=True)
try_it(96, random_shuffle=True, pad_last_batch=True)
try_it(100, random_shuffle=True)
try_it(96, random_shuffle=False)
PROGRAM

expected <<'SEEN'
batches of 96, random_shuffle=True
  epoch 0: 5000 samples, 0 never, 0 more than once
  epoch 1: 5000 samples, 83 never, 83 more than once
  epoch 2: 5000 samples, 142 never, 142 more than once
  epoch 3: 5000 samples, 196 never, 196 more than once
batches of 96, random_shuffle=True, pad_last_batch=True
  epoch 0: 5000 samples, 0 never, 0 more than once
  epoch 1: 5000 samples, 0 never, 0 more than once
  epoch 2: 5000 samples, 0 never, 0 more than once
  epoch 3: 5000 samples, 0 never, 0 more than once
batches of 100, random_shuffle=True
  epoch 0: 5000 samples, 0 never, 0 more than once
  epoch 1: 5000 samples, 0 never, 0 more than once
  epoch 2: 5000 samples, 0 never, 0 more than once
  epoch 3: 5000 samples, 0 never, 0 more than once
batches of 96, random_shuffle=False
  epoch 0: 5000 samples, 0 never, 0 more than once
  epoch 1: 5000 samples, 0 never, 0 more than once
  epoch 2: 5000 samples, 0 never, 0 more than once
  epoch 3: 5000 samples, 0 never, 0 more than once
SEEN
