#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""webdataset with Pillow, torchvision's transforms and torch's DataLoader."""
import torch
import webdataset

import peer
import peer_torchvision

PACKAGES = ("webdataset", "torch", "torchvision", "pillow")


def batches(job):
    shards = job.list_shards("tar")
    change = peer_torchvision.transform(job)
    data = (webdataset.WebDataset(shards, shardshuffle=len(shards))
            .repeat().shuffle(1000).decode("pil").to_tuple("jpg", "cls")
            .map_tuple(lambda image: change(image.convert("RGB")), int))
    loader = torch.utils.data.DataLoader(
        data, batch_size=job.batch_size,
        num_workers=0 if job.workers == 1 else job.workers)
    for pixels, _labels in loader:
        yield pixels


def settings(job):
    return {**peer_torchvision.settings(job),
            "source": "tar, a buffer of 1,000"}


if __name__ == "__main__":
    peer.main(batches, settings, PACKAGES, __doc__)
