# SPDX-License-Identifier: Apache-2.0
"""Device idle as the loader measures it, against the truth.

A training loop of torch with a validation between epochs. The truth is from
events around the kernels of each step: the time from the end of one step to the
beginning of the next is what the stream was idle; of the pause between epochs,
from where the program asks for a batch again. Once the loader is slower than
the step, once the step slower than the loader.
"""
import time

import outcome

EPOCHS = 3
POINTS = 0.03  # of a fraction


def train_epoch(loader, gpu, step_ms, is_first):
    """Idle and whole time of the stream, in ms, by events. It was idle when
    the epoch began, but the first wait of all does not count."""
    batches = iter(loader)
    begin = gpu.mark()
    marks = [] if is_first else [(begin, begin)]
    for _images, _labels in batches:
        first = gpu.mark()
        gpu.work_ms(step_ms)
        marks.append((first, gpu.mark()))
    idle = sum(gpu.between(last, first) for (_, last), (first, _) in
               zip(marks, marks[1:]))
    return idle, gpu.between(marks[0][0], marks[-1][1])


def validate(gpu, seconds):
    """What stands between two epochs: some work, and none."""
    gpu.work_ms(seconds * 300)
    gpu.synchronise()
    time.sleep(seconds * 0.7)


def batch_ms(loader):
    """The loader's own time for a batch."""
    began, count = time.monotonic(), 0
    for _batch in loader:
        count += 1
    return (time.monotonic() - began) * 1e3 / count


def measure(step, gpu, loader, what, step_ms, pause):
    """One consumer: EPOCHS epochs, and both measures of them."""
    list(zip(range(2), loader))  # the statistics' first batches are special
    loader.reset_stats()
    idle = span = 0.0
    for epoch in range(EPOCHS):
        one = train_epoch(loader, gpu, step_ms, epoch == 0)
        idle, span = idle + one[0], span + one[1]
        validate(gpu, pause)
    truth = idle / span
    transfer = loader.stats()["transfer"]
    told = None
    if transfer and transfer["span_seconds"]:
        told = transfer["idle_seconds"] / transfer["span_seconds"]
    step.number("%s: idle by events" % what, truth)
    step.number("%s: idle by the statistics, less the truth" % what,
                None if told is None else told - truth, low=-POINTS,
                high=POINTS)


def run(step):
    import image_sets
    from feedline.torch import DataLoader
    from torch_gpu import gpu as gpu_of

    gpu = gpu_of(step)
    pause = 0.05 if step.rehearsal else 1.0
    images, batch_size = (48, 4) if step.rehearsal else (512, 32)
    loader = DataLoader(image_sets.plain(step, 128, images),
                        batch_size=batch_size, num_workers=1,
                        prefetch_factor=4, backend="native", **gpu.for_loader)
    batch_ms(loader)
    alone = batch_ms(loader)
    step.note("the loader needs %.1f ms for a batch" % alone)
    measure(step, gpu, loader, "loader slower", 0.6 * alone, pause)
    measure(step, gpu, loader, "step slower", 1.3 * alone, pause)


if __name__ == "__main__":
    outcome.main(run)
