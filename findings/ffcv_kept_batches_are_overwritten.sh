#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# FFCV 1.0.2: the tensors of a batch lie in one of batches_ahead + 2 slots of memory,
# and a later batch is written into the same slot. So batches that are kept, in a list,
# a queue, a buffer of hard examples, a validation set that is to stay in memory, change
# while they are kept: sixteen batches of a list show the samples of five, or of three.
# Used one after the other they are right, which is what everybody tries. A clone() of
# each tensor helps.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages ffcv==1.0.2 torch==2.15.0

observed <<'PROGRAM'
import contextlib
import io

from ffcv.fields import IntField
from ffcv.fields.decoders import IntDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import ToTensor
from ffcv.writer import DatasetWriter


class Numbers:
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return (i,)


def numbers_of(batch):
    return batch[0].flatten().tolist()


def try_it(batches_ahead):
    loader = Loader(
        "numbers.beton", batch_size=4, num_workers=1,
        order=OrderOption.SEQUENTIAL, batches_ahead=batches_ahead,
        pipelines={"number": [IntDecoder(), ToTensor()]})
    at_once = [n for batch in loader for n in numbers_of(batch)]
    kept = [n for batch in list(loader) for n in numbers_of(batch)]
    print("batches_ahead=%d: used at once %d different samples of 64, kept in a "
          "list %d" % (batches_ahead, len(set(at_once)), len(set(kept))))


if __name__ == "__main__":
    with contextlib.redirect_stderr(io.StringIO()):  # a bar of progress
        DatasetWriter(
            "numbers.beton", {"number": IntField()}, num_workers=1
        ).from_indexed_dataset(Numbers())
    try_it(1)
    try_it(3)
PROGRAM

expected <<'SEEN'
batches_ahead=1: used at once 64 different samples of 64, kept in a list 12
batches_ahead=3: used at once 64 different samples of 64, kept in a list 20
SEEN
