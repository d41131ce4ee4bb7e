# SPDX-License-Identifier: Apache-2.0
"""Two GPUs: as two ranks, a process each, and as two loaders of one process.

Each rank has its half of the data set, exactly, and neither stops the other.
"""
import json
import os
import subprocess
import sys
import threading
import time

import outcome

IMAGES, BATCH = 1024, 32


def loader_of(device, **options):
    import feedline
    import pixels

    data = pixels.dataset(pixels.raw(IMAGES, 64))
    return feedline.Loader(data, batch_size=BATCH, dtype="u8", layout="nhwc",
                           device=device, tuner="off", workers=4,
                           **options)


def take_epochs(loader, stream, epochs):
    """Positions of the samples that each epoch delivered, and its seconds."""
    began = time.monotonic()
    seen = []
    for _ in range(epochs):
        epoch = []
        for batch in loader:
            batch.wait(stream)
            epoch += batch.sample_index
            batch.release()
        seen.append(sorted(epoch))
    return seen, time.monotonic() - began


def run_rank(rank):
    """The second process and the first: prints what it took, as JSON."""
    from busy import busy

    device = "cuda:%d" % rank
    with busy(device) as gpu, loader_of(device, rank=rank, world=2,
                                        shuffle=True, seed=1) as loader:
        seen, seconds = take_epochs(loader, gpu.stream, 5)
    print(json.dumps({"seen": seen, "seconds": seconds}))


def two_processes():
    """What each rank took. RuntimeError if one failed."""
    command = [sys.executable, "-B", os.path.abspath(__file__), "--rank"]
    ranks = [subprocess.Popen(command + [str(rank)], stdout=subprocess.PIPE)
             for rank in range(2)]
    texts = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise RuntimeError("ranks end with %s" % [
            rank.returncode for rank in ranks])
    return [json.loads(text) for text in texts]


def two_loaders():
    """What each loader of this process took, on threads of their own."""
    from busy import busy

    found = [None, None]

    def one(number):
        device = "cuda:%d" % number
        with busy(device) as gpu, loader_of(device) as loader:
            found[number] = take_epochs(loader, gpu.stream, 5)[0]

    threads = [threading.Thread(target=one, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def run(step):
    import feedline

    if len(feedline.devices()) < 2:
        outcome.skip("one GPU")
    whole = list(range(IMAGES))
    ranks = two_processes()
    epochs = [sorted(first + second) for first, second in
              zip(ranks[0]["seen"], ranks[1]["seen"])]
    right = sum(epoch == whole for epoch in epochs)
    step.truth("epochs that two ranks share without gap or overlap",
               "all of 5", right, right == 5)
    for number, rank in enumerate(ranks):
        step.note("rank %d: %.0f images/s" % (
            number, len(rank["seen"]) * IMAGES / 2 / rank["seconds"]))
    right = sum(epoch == whole for found in two_loaders()
                for epoch in found or [])
    step.truth("whole epochs of two loaders in one process, a GPU each",
               "all of 10", right, right == 10)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        run_rank(int(sys.argv[2]))
    else:
        outcome.main(run)
