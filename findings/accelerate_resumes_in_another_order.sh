#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# accelerate 1.15.0: a run that goes on after save_state and load_state in the middle of
# a shuffled epoch draws a new order and takes the rest of that: samples of the epoch come
# twice, and as many never, without a word. It is so by both ways that accelerate has, with
# use_stateful_dataloader=True and with skip_first_batches, and by default, although the
# program sets the same seed. With use_seedable_sampler=True skip_first_batches is exact;
# the stateful loader (torchdata 0.11.0) then, too, but not with workers.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages torch==2.15.0 accelerate==1.15.0 torchdata==0.11.0

observed <<'PROGRAM'
import itertools
import tempfile
import torch.multiprocessing as mp
from torch.utils.data import DataLoader

DATA = list(range(240))
BATCHES = 24
SAVED = 10


def train(process, results, folder, stateful, seedable, workers):
    """The first process saves and stops, the second goes on."""
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed
    set_seed(1)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(
        use_stateful_dataloader=stateful, use_seedable_sampler=seedable))
    loader = accelerator.prepare(DataLoader(
        DATA, batch_size=10, shuffle=True, num_workers=workers))
    seen = []
    if process == "second":
        accelerator.load_state(folder)
        if not stateful:
            loader = accelerator.skip_first_batches(loader, SAVED)
    for number, batch in enumerate(loader, 1):
        seen += batch.tolist()
        if process == "first" and number == SAVED:
            accelerator.save_state(folder)
            break
    results[process] = seen


def resume(*how):
    context = mp.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, context.Manager() as manager:
        results = manager.dict()
        for name in ("first", "second"):
            process = context.Process(target=train, args=(name, results, folder, *how))
            process.start()
            process.join()
        return results["first"] + results["second"]


if __name__ == "__main__":
    for stateful, seedable, workers in itertools.product(
            (True, False), (False, True), (0, 2)):
        seen = resume(stateful, seedable, workers)
        print("%-18s %-26s num_workers=%d: %d samples, %2d twice, %2d never" % (
            "stateful" if stateful else "skip_first_batches",
            "use_seedable_sampler=True" if seedable else "", workers, len(seen),
            len(seen) - len(set(seen)), len(set(DATA) - set(seen))))
PROGRAM

expected <<'SEEN'
stateful                                      num_workers=0: 240 samples, 60 twice, 60 never
stateful                                      num_workers=2: 240 samples, 60 twice, 60 never
stateful           use_seedable_sampler=True  num_workers=0: 240 samples,  0 twice,  0 never
stateful           use_seedable_sampler=True  num_workers=2: 240 samples, 56 twice, 56 never
skip_first_batches                            num_workers=0: 240 samples, 60 twice, 60 never
skip_first_batches                            num_workers=2: 240 samples, 60 twice, 60 never
skip_first_batches use_seedable_sampler=True  num_workers=0: 240 samples,  0 twice,  0 never
skip_first_batches use_seedable_sampler=True  num_workers=2: 240 samples,  0 twice,  0 never
SEEN
