#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torch 2.15.0: samples of different types in one batch, as where a cast is made for
# some samples only (a transform with p=0.5 that gives floats, labels of two sources).
# With num_workers=0 a batch has the type that holds all of them. With workers it has
# the type of whichever sample comes first: numbers that it does not hold wrap around
# in silence (a class 300 of int64 becomes 44 in a batch of uint8), doubles are rounded
# to floats, and floats behind integers are an error. So the same data set trains on
# other labels once num_workers is set, and on others again in another order.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 numpy==2.4.6

observed <<'PROGRAM'
import torch
from torch.utils.data import DataLoader, Dataset

VALUES = {
    "uint8": torch.tensor([7], dtype=torch.uint8),
    "int64": torch.tensor([300], dtype=torch.int64),
    "float32": torch.tensor([0.5], dtype=torch.float32),
    "float64": torch.tensor([1 / 3], dtype=torch.float64),
}


class Mixed(Dataset):
    def __init__(self, *names):
        self.names = names

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return VALUES[self.names[index]]


def batch_of(names, workers):
    try:
        batch = next(iter(DataLoader(Mixed(*names), 2, num_workers=workers)))
    except TypeError:
        return "TypeError"
    return "%s %s" % (str(batch.dtype)[6:], batch.flatten().tolist())


if __name__ == "__main__":
    for names in (("uint8", "int64"), ("int64", "uint8"), ("float32", "float64"),
                  ("float64", "float32"), ("int64", "float32")):
        for workers in 0, 1:
            print("%-16s workers %d  %s" % (
                ", ".join(names), workers, batch_of(names, workers)))
PROGRAM

expected <<'SEEN'
uint8, int64     workers 0  int64 [7, 300]
uint8, int64     workers 1  uint8 [7, 44]
int64, uint8     workers 0  int64 [300, 7]
int64, uint8     workers 1  int64 [300, 7]
float32, float64 workers 0  float64 [0.5, 0.3333333333333333]
float32, float64 workers 1  float32 [0.5, 0.3333333432674408]
float64, float32 workers 0  float64 [0.3333333333333333, 0.5]
float64, float32 workers 1  float64 [0.3333333333333333, 0.5]
int64, float32   workers 0  float32 [300.0, 0.5]
int64, float32   workers 1  TypeError
SEEN
