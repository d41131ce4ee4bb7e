#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# datasets 5.2.0: the usual split of a stream, stream.take(n) to validate and
# stream.skip(n) to train, depends on num_workers of torch's DataLoader. With workers,
# take(n) takes n / workers samples from the start of each worker's shards, not the
# first n of the stream; skip(n) likewise. So two loaders with different numbers of
# workers, usually fewer for validation, share samples: the model is validated on
# images it was trained on, as many others are in neither set, and every count is
# right. take(n) by itself is another set on a machine with another number of workers.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 datasets==5.2.0

observed <<'PROGRAM'
from datasets import Dataset
from torch.utils.data import DataLoader

stream = Dataset.from_dict({"i": range(1000)}).to_iterable_dataset(num_shards=8)


def seen(part, workers):
    loader = DataLoader(part, batch_size=10, num_workers=workers)
    return [int(i) for batch in loader for i in batch["i"]]


if __name__ == "__main__":
    for validate, train in ((0, 0), (1, 1), (4, 4), (0, 4), (1, 4), (2, 8)):
        held = seen(stream.take(200), validate)
        used = seen(stream.skip(200), train)
        print("workers to validate %d, to train %d: %d and %d samples, %3d in both,"
              " %3d in neither" % (validate, train, len(held), len(used),
                                   len(set(held) & set(used)),
                                   1000 - len(set(held) | set(used))))
    print("take(8) with 0, 2 and 4 workers:",
          *(sorted(seen(stream.take(8), n)) for n in (0, 2, 4)))
PROGRAM

expected <<'SEEN'
workers to validate 0, to train 0: 200 and 800 samples,   0 in both,   0 in neither
workers to validate 1, to train 1: 200 and 800 samples,   0 in both,   0 in neither
workers to validate 4, to train 4: 200 and 800 samples,   0 in both,   0 in neither
workers to validate 0, to train 4: 200 and 800 samples, 100 in both, 100 in neither
workers to validate 1, to train 4: 200 and 800 samples, 100 in both, 100 in neither
workers to validate 2, to train 8: 200 and 800 samples, 150 in both, 150 in neither
take(8) with 0, 2 and 4 workers: [0, 1, 2, 3, 4, 5, 6, 7] [0, 1, 2, 3, 125, 126, 127, 128] [0, 1, 125, 126, 250, 251, 375, 376]
SEEN
