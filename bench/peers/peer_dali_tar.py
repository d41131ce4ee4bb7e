#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DALI on the CPU, from WebDataset's tar shards and their index files."""
import glob
import os

from nvidia.dali import fn, types

import peer
import peer_dali


def read_tar(job):
    shards = sorted(glob.glob(os.path.join(job.shards, "tar", "*.tar")))
    jpegs, labels = fn.readers.webdataset(
        paths=shards, index_paths=[os.path.splitext(s)[0] + ".idx"
                                   for s in shards],
        ext=["jpg", "cls"], random_shuffle=True,
        initial_fill=min(1024, len(job.files)),
        missing_component_behavior="error", dtypes=[types.UINT8] * 2,
        name="tar")
    return jpegs, labels


def settings(job):
    return {**peer_dali.settings(job), "source": "tar, a buffer of 1,024"}


if __name__ == "__main__":
    peer.main(lambda job: peer_dali.batches(job, read_tar), settings,
              peer_dali.PACKAGES, __doc__)
