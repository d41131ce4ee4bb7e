#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torch 2.15.0, Python's multiprocessing: a training that forks a child, as to write a
# snapshot beside the steps, loses its DataLoader's workers when that child ends as a
# program does, by sys.exit or at the end of its code. The child has a copy of
# multiprocessing's list of children, and at its exit sends SIGTERM to all of them that
# are daemons, which are its siblings: the workers. The training then ends, at whatever
# line it is, with "DataLoader worker is killed by signal: Terminated", and nothing points
# to the child. It happens wherever the fork is os.fork's, also a library's in C; a child
# that ends by os._exit or exec, or is multiprocessing's own, leaves the workers alone.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 numpy==2.4.6

observed <<'PROGRAM'
import multiprocessing
import os
import re
import sys

from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return index


def write():
    """A snapshot, say."""


def forked(end):
    child = os.fork()
    if child == 0:
        write()
        end(0)
    os.waitpid(child, 0)


def own(end):
    child = multiprocessing.Process(target=write)
    child.start()
    child.join()


WAYS = (("os.fork, sys.exit", forked, sys.exit),
        ("os.fork, os._exit", forked, os._exit),
        ("multiprocessing", own, None))

if __name__ == "__main__":
    for name, make, end in WAYS:
        batches = iter(DataLoader(Numbers(), batch_size=4, num_workers=2))
        workers = len(multiprocessing.active_children())
        next(batches)
        try:
            make(end)
            said = "%d more batches" % len(list(batches))
        except RuntimeError as error:
            said = re.sub(r"[(]pid \d+[)] ", "", str(error)).strip()
        print("%-18s %d workers: %s" % (name, workers, said))
PROGRAM

expected <<'SEEN'
os.fork, sys.exit  2 workers: DataLoader worker is killed by signal: Terminated.
os.fork, os._exit  2 workers: 15 more batches
multiprocessing    2 workers: 15 more batches
SEEN
