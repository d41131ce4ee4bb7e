#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline over Hugging Face's Arrow, which only its Python package opens."""
import os

import datasets
import numpy as np

import feedline
import peer

PACKAGES = ("datasets",)


def batches(job):
    data = feedline.Dataset.huggingface(
        datasets.load_from_disk(os.path.join(job.shards, "arrow")))
    f32 = job.dtype == "f32"
    loader = feedline.Loader(
        data, "train" if f32 else "train_u8", batch_size=job.batch_size,
        workers=job.workers, shuffle=True, epochs=0, dtype=job.dtype,
        layout="nchw" if f32 else "nhwc")
    while True:
        for batch in loader:
            yield np.asarray(batch.images)


def settings(job):
    return {"layout": "nhwc" if job.dtype == "u8" else "nchw",
            "source": "Arrow"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
