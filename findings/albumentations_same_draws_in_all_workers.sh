#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# albumentations 2.0.8: in a DataLoader with workers each worker draws the same
# augmentations, and each epoch draws them again. A.Compose makes its own generator when
# it is made, whatever seed it is given or not; workers begin with copies of it, and the
# main process, from which the next epoch's workers are copied, never draws. So with N
# workers an epoch has an N-th of the variety that it should have, and training goes
# over the same crops in each epoch; seeds of torch and NumPy change nothing. With
# persistent_workers=True only the epochs differ. Nothing is wrong with num_workers=0,
# where one would look.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 albumentations==2.0.8

observed <<'PROGRAM'
import os

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"

import albumentations as A
import numpy as np
import torch

COLUMNS = np.tile(np.arange(1_000_003, dtype=np.float32), (8, 1))  # all are different


class Crops(torch.utils.data.Dataset):
    """The place of a random crop is the whole sample."""

    def __init__(self, **seed):
        self.augment = A.Compose([A.RandomCrop(8, 8)], **seed)

    def __len__(self):
        return 64

    def __getitem__(self, i):
        return float(self.augment(image=COLUMNS)["image"][0, 0])


def try_it(workers, persistent=False, **seed):
    torch.manual_seed(0)
    np.random.seed(0)
    loader = torch.utils.data.DataLoader(
        Crops(**seed), batch_size=1, num_workers=workers,
        persistent_workers=persistent)
    first, second = ([float(x) for x in loader] for _ in range(2))
    variety = len(set(first))
    print("%-8s workers %d%-12s different crops of 64: %-10s the next epoch: %s" % (
        ", ".join("%s=%s" % pair for pair in seed.items()), workers,
        ", persistent" if persistent else "",
        "most" if variety > 60 else variety,
        "the same crops" if first == second else "others"))


if __name__ == "__main__":
    for seed in {}, {"seed": 42}:
        try_it(0, **seed)
        for workers in 2, 8:
            try_it(workers, **seed)
            try_it(workers, True, **seed)
PROGRAM

expected <<'SEEN'
         workers 0             different crops of 64: most       the next epoch: others
         workers 2             different crops of 64: 32         the next epoch: the same crops
         workers 2, persistent different crops of 64: 32         the next epoch: others
         workers 8             different crops of 64: 8          the next epoch: the same crops
         workers 8, persistent different crops of 64: 8          the next epoch: others
seed=42  workers 0             different crops of 64: most       the next epoch: others
seed=42  workers 2             different crops of 64: 32         the next epoch: the same crops
seed=42  workers 2, persistent different crops of 64: 32         the next epoch: others
seed=42  workers 8             different crops of 64: 8          the next epoch: the same crops
seed=42  workers 8, persistent different crops of 64: 8          the next epoch: others
SEEN
