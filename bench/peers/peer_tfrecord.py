#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tf.data on TFRecord: shards interleaved, a shuffle buffer, tf.Example."""
import glob
import os

import tensorflow as tf  # pylint: disable=wrong-import-order

import peer
import peer_tfdata

FEATURES = {"image/encoded": tf.io.FixedLenFeature((), tf.string),
            "image/class/label": tf.io.FixedLenFeature((), tf.int64)}


def load(record):
    sample = tf.io.parse_single_example(record, FEATURES)
    return sample["image/encoded"], sample["image/class/label"]


def read_tfrecord(job):
    shards = sorted(glob.glob(os.path.join(job.shards, "tfrecord",
                                           "*.tfrecord")))
    data = tf.data.Dataset.from_tensor_slices(shards).shuffle(len(shards))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=4,
                           num_parallel_calls=job.workers,
                           deterministic=False)
    return data.shuffle(1024).repeat(), load


def settings(job):
    return {**peer_tfdata.settings(job),
            "source": "TFRecord, a buffer of 1,024"}


if __name__ == "__main__":
    peer.main(lambda job: peer_tfdata.batches(job, read_tfrecord), settings,
              peer_tfdata.PACKAGES, __doc__)
