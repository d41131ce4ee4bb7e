#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torch 2.15.0: a data set that keeps its tensors in a dict, so that each is made
# once, and a DataLoader with one worker that stays (persistent_workers=True). Where a
# batch hands such a tensor on as it is (batch_size=None, or a collate_fn that makes
# lists, as detection has), the worker sends it by moving its memory, the cached one
# itself, into memory that both processes share. From then on what the training loop
# does to a batch in place (normalize_, add_ of noise, clamp_) happens to the cache,
# too: each epoch begins with what the last one left. With num_workers=0 that is what
# anybody expects of shared objects; with processes, of which each has a copy of the
# data set, nobody does. Cached NumPy arrays are sent as copies and stay as they were.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 numpy==2.4.6

observed <<'PROGRAM'
import numpy
import torch
from torch.utils.data import DataLoader, Dataset


class Cached(Dataset):
    def __init__(self, make):
        self.make, self.cache = make, {}

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = self.make(index)
        return self.cache[index]


KINDS = {
    "tensors": lambda i: torch.full((3,), float(i)),
    "arrays": lambda i: numpy.full((3,), float(i), "f4"),
}
LOADERS = {
    "batch_size=None": dict(batch_size=None),
    "lists": dict(batch_size=2, collate_fn=lambda samples: [
        torch.as_tensor(s) for s in samples]),
    "default_collate": dict(batch_size=2),
}


def epoch(loader):
    seen = []
    for batch in loader:
        for sample in batch if isinstance(batch, list) else [batch]:
            seen += sample.reshape(-1, 3)[:, 0].tolist()
            sample += 100
    return seen


if __name__ == "__main__":
    for kind, make in KINDS.items():
        for name, arguments in LOADERS.items():
            loader = DataLoader(Cached(make), num_workers=1,
                                persistent_workers=True, **arguments)
            print("%-8s %-15s" % (kind, name), *(epoch(loader) for _ in range(3)))
PROGRAM

expected <<'SEEN'
tensors  batch_size=None [0.0, 1.0, 2.0, 3.0] [100.0, 101.0, 102.0, 103.0] [200.0, 201.0, 202.0, 203.0]
tensors  lists           [0.0, 1.0, 2.0, 3.0] [100.0, 101.0, 102.0, 103.0] [200.0, 201.0, 202.0, 203.0]
tensors  default_collate [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]
arrays   batch_size=None [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]
arrays   lists           [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]
arrays   default_collate [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]
SEEN
