#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# accelerate 1.15.0: with use_seedable_sampler=True, "for better reproducibility", and
# a seed of its own on each process (accelerate's own set_seed(seed,
# device_specific=True), so that augmentations differ), each process shuffles the data
# set in an order of its own and takes its share of that: in every epoch a part of the
# samples is seen by several processes, and as many by none. A generator given to the
# DataLoader with the same seed everywhere does not help: it is not used. With the
# default, use_seedable_sampler=False, the same program is right; data_seed= mends it
# for shuffle=True alone.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 accelerate==1.15.0

observed <<'PROGRAM'
import os
import socket
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, SubsetRandomSampler

DATA = list(range(1000))
LOADERS = {
    "shuffle=True": lambda: DataLoader(DATA, batch_size=10, shuffle=True),
    "shuffle=True, generator": lambda: DataLoader(
        DATA, batch_size=10, shuffle=True, generator=torch.Generator().manual_seed(5)),
    "SubsetRandomSampler": lambda: DataLoader(
        DATA, batch_size=10, sampler=SubsetRandomSampler(DATA)),
}


def train(rank, port, results, settings):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed
    accelerator = Accelerator(
        cpu=True, dataloader_config=DataLoaderConfiguration(**settings))
    set_seed(0, device_specific=True)
    for name, make in LOADERS.items():
        loader = accelerator.prepare(make())
        seen = [i for batch in loader for i in batch.tolist()]
        results[rank, name] = seen
    accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    for settings in ({}, {"use_seedable_sampler": True},
                     {"use_seedable_sampler": True, "data_seed": 1}):
        with mp.Manager() as manager:
            results = manager.dict()
            mp.spawn(train, (free_port(), results, settings), nprocs=2)
            print(settings or "defaults")
            for name in LOADERS:
                both = [set(results[rank, name]) for rank in (0, 1)]
                print("    %-24s %d + %d samples, %3d by both, %3d by neither" % (
                    name, *map(len, both), len(both[0] & both[1]),
                    len(DATA) - len(both[0] | both[1])))
PROGRAM

expected <<'SEEN'
defaults
    shuffle=True             500 + 500 samples,   0 by both,   0 by neither
    shuffle=True, generator  500 + 500 samples,   0 by both,   0 by neither
    SubsetRandomSampler      500 + 500 samples,   0 by both,   0 by neither
{'use_seedable_sampler': True}
    shuffle=True             500 + 500 samples, 249 by both, 249 by neither
    shuffle=True, generator  500 + 500 samples, 249 by both, 249 by neither
    SubsetRandomSampler      500 + 500 samples, 249 by both, 249 by neither
{'use_seedable_sampler': True, 'data_seed': 1}
    shuffle=True             500 + 500 samples,   0 by both,   0 by neither
    shuffle=True, generator  500 + 500 samples,   0 by both,   0 by neither
    SubsetRandomSampler      500 + 500 samples, 249 by both, 249 by neither
SEEN
