#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's datasets (Arrow), torchvision's transforms, DataLoader."""
import os

import datasets

import peer
import peer_torchvision

PACKAGES = ("datasets", "pyarrow", "torch", "torchvision", "pillow")


def batches(job):
    change = peer_torchvision.transform(job)

    def prepare(rows):
        return {"image": [change(i.convert("RGB")) for i in rows["image"]],
                "label": rows["label"]}

    data = datasets.load_from_disk(os.path.join(job.shards, "arrow"))
    for batch in peer_torchvision.data_loader(data.with_transform(prepare),
                                              job):
        yield batch["image"]


def settings(job):
    return {**peer_torchvision.settings(job), "source": "Arrow"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
