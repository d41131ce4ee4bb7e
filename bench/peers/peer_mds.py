#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MosaicML's streaming (MDS), torchvision's transforms, DataLoader."""
import os

import streaming
import torch

import peer
import peer_torchvision

PACKAGES = ("mosaicml-streaming", "torch", "torchvision", "pillow")


class Images(streaming.StreamingDataset):
    def __init__(self, job):
        super().__init__(local=os.path.join(job.shards, "mds"), shuffle=True,
                         batch_size=job.batch_size)
        self.change = peer_torchvision.transform(job)

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return self.change(sample["image"].convert("RGB")), sample["label"]


def batches(job):
    loader = torch.utils.data.DataLoader(
        Images(job), batch_size=job.batch_size,
        num_workers=0 if job.workers == 1 else job.workers,
        persistent_workers=job.workers > 1)
    while True:
        for pixels, _labels in loader:
            yield pixels


def settings(job):
    return {**peer_torchvision.settings(job), "source": "MDS"}


if __name__ == "__main__":
    streaming.base.util.clean_stale_shared_memory()
    peer.main(batches, settings, PACKAGES, __doc__)
