#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""feedline in Python: over Hugging Face's Arrow, which only its Python package
opens, over bytes in memory, over a folder and a list, and as a DataLoader of
torch's (--form)."""
import os

import numpy as np

import feedline
import peer

PACKAGES = ("datasets",)


def data_of(job):
    if job.list:
        return feedline.Dataset.open("list:" + job.list)
    if job.form == "bytes":
        return feedline.Dataset.memory(job.contents(), job.labels)
    if not job.shards:
        return feedline.Dataset.open("folder:" + job.folder)
    import datasets
    return feedline.Dataset.huggingface(
        datasets.load_from_disk(os.path.join(job.shards, "arrow")))


def torch_batches(job):
    import torchvision

    import feedline.torch
    from peer_torchvision import transform
    data = torchvision.datasets.ImageFolder(job.folder, transform(job))
    loader = feedline.torch.DataLoader(data, batch_size=job.batch_size,
                                       shuffle=True, num_workers=job.workers)
    while True:
        for images, _labels in loader:
            yield images


def batches(job):
    if job.form == "torch":
        yield from torch_batches(job)
    data = data_of(job)
    f32 = job.dtype == "f32"
    loader = feedline.Loader(
        data, "train" if f32 else "train_u8", batch_size=job.batch_size,
        workers=job.workers, shuffle=True, epochs=0, dtype=job.dtype,
        layout="nchw" if f32 else "nhwc")
    while True:
        for batch in loader:
            yield np.asarray(batch.images)


def settings(job):
    nhwc = job.dtype == "u8" and job.form != "torch"
    return {"layout": "nhwc" if nhwc else "nchw",
            "source": "Arrow" if job.shards else job.form}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
