#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torchdata 0.11.0: StatefulDataLoader resumes in the middle of an epoch with
# shuffle=True exactly. With torch's own samplers given by hand it resumes without a
# word too, but in a new random order, of which it drops as many samples as had been
# seen: some come twice in that epoch, as many never. That is so of RandomSampler, which
# shuffle=True stands for, alone or in a BatchSampler, of SubsetRandomSampler (the usual
# split into training and validation) and of WeightedRandomSampler (classes of unequal
# size). Seeding as at the program's start helps in the first epoch alone. The state
# holds how many samples were taken, and not what they were drawn from; only the sampler
# that shuffle=True makes is one that saves its generator.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 torchdata==0.11.0

observed <<'PROGRAM'
import collections
import torch
from torch.utils.data import (BatchSampler, RandomSampler, SubsetRandomSampler,
                              WeightedRandomSampler)
from torchdata.stateful_dataloader import StatefulDataLoader

DATA = list(range(20))


def loader(**sampling):
    torch.manual_seed(0)  # as the program does when it starts
    return StatefulDataLoader(DATA, **sampling)


def try_it(name, **sampling):
    first = loader(**sampling)
    list(first)  # the first epoch
    batches = iter(first)
    before = [next(batches).tolist() for _ in range(5)]
    state = first.state_dict()
    uninterrupted = [batch.tolist() for batch in batches]

    second = loader(**sampling)  # a new process has nothing but the state
    second.load_state_dict(state)
    resumed = [batch.tolist() for batch in second]
    count = collections.Counter(sum(before + resumed, []))
    print("%-22s resumed as if uninterrupted: %-5s  twice or more: %d  never: %d"
          % (name, resumed == uninterrupted,
             sum(n > 1 for n in count.values()), sum(i not in count for i in DATA)))


try_it("shuffle=True", batch_size=2, shuffle=True)
try_it("RandomSampler", batch_size=2, sampler=RandomSampler(DATA))
try_it("BatchSampler", batch_sampler=BatchSampler(RandomSampler(DATA), 2, False))
try_it("SubsetRandomSampler", batch_size=2, sampler=SubsetRandomSampler(DATA))
try_it("WeightedRandomSampler", batch_size=2,
       sampler=WeightedRandomSampler([1.0] * 20, 20, replacement=False))
PROGRAM

expected <<'SEEN'
shuffle=True           resumed as if uninterrupted: True   twice or more: 0  never: 0
RandomSampler          resumed as if uninterrupted: False  twice or more: 5  never: 5
BatchSampler           resumed as if uninterrupted: False  twice or more: 5  never: 5
SubsetRandomSampler    resumed as if uninterrupted: False  twice or more: 4  never: 4
WeightedRandomSampler  resumed as if uninterrupted: False  twice or more: 6  never: 6
SEEN
