#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# webdataset 1.0.2: WebDataset(urls, shardshuffle=N) goes through the shards in the
# same order in every epoch: it draws a seed when it is made, if it is given none, and
# begins each epoch with that. detshuffle=True, whose name says the opposite, gives
# each epoch an order of its own; but the epochs are counted in the process that reads,
# so behind a DataLoader with workers they are the same again, unless it has
# persistent_workers=True. A .shuffle(1000) that follows moves samples among their
# neighbours of a few shards; which shards those are, and when they come, never
# changes.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 webdataset==1.0.2

observed <<'PROGRAM'
import io
import tarfile
import torch
import webdataset

SHARDS, PER_SHARD = 12, 4
for shard in range(SHARDS):
    with tarfile.open("%02d.tar" % shard, "w") as tar:
        for i in range(PER_SHARD):
            number = b"%d" % (shard * PER_SHARD + i)
            member = tarfile.TarInfo("%s.cls" % number.decode())
            member.size = len(number)
            tar.addfile(member, io.BytesIO(number))
URLS = ["%02d.tar" % shard for shard in range(SHARDS)]


def epochs(workers, persistent, **shuffle):
    dataset = webdataset.WebDataset(URLS, shardshuffle=SHARDS, **shuffle)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=None, num_workers=workers,
        persistent_workers=persistent)
    return [tuple(int(sample["cls"]) for sample in loader) for _ in range(5)]


def try_it(workers, persistent=False, **shuffle):
    orders = epochs(workers, persistent, **shuffle)
    print("%-24s workers %d%-12s %d samples an epoch, orders in 5 epochs: %d" % (
        ", ".join("%s=%s" % pair for pair in shuffle.items()) or "shardshuffle=12",
        workers, ", persistent" if persistent else "",
        len(set(orders[0])), len(set(orders))))


if __name__ == "__main__":
    for workers in (0, 2):
        try_it(workers)
        try_it(workers, seed=1)
        try_it(workers, seed=1, detshuffle=True)
    try_it(2, True, seed=1, detshuffle=True)
PROGRAM

expected <<'SEEN'
shardshuffle=12          workers 0             48 samples an epoch, orders in 5 epochs: 1
seed=1                   workers 0             48 samples an epoch, orders in 5 epochs: 1
seed=1, detshuffle=True  workers 0             48 samples an epoch, orders in 5 epochs: 5
shardshuffle=12          workers 2             48 samples an epoch, orders in 5 epochs: 1
seed=1                   workers 2             48 samples an epoch, orders in 5 epochs: 1
seed=1, detshuffle=True  workers 2             48 samples an epoch, orders in 5 epochs: 1
seed=1, detshuffle=True  workers 2, persistent 48 samples an epoch, orders in 5 epochs: 5
SEEN
