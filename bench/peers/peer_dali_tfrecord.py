#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DALI on the CPU, from TFRecord shards and their index files."""
import glob
import os

from nvidia.dali import fn, tfrecord

import peer
import peer_dali


def read_tfrecord(job):
    shards = sorted(glob.glob(os.path.join(job.shards, "tfrecord",
                                           "*.tfrecord")))
    sample = fn.readers.tfrecord(
        path=shards, index_path=[s + ".idx" for s in shards],
        features={
            "image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "image/class/label": tfrecord.FixedLenFeature([1],
                                                          tfrecord.int64, -1)},
        random_shuffle=True, initial_fill=min(1024, len(job.files)),
        name="tfrecord")
    return sample["image/encoded"], sample["image/class/label"]


def settings(job):
    return {**peer_dali.settings(job), "source": "TFRecord, a buffer of 1,024"}


if __name__ == "__main__":
    peer.main(lambda job: peer_dali.batches(job, read_tfrecord), settings,
              peer_dali.PACKAGES, __doc__)
