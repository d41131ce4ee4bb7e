# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 on files that are really decoded: images per second with the tuner
from one worker, against torch's own DataLoader at its best number of workers,
and against the GPU with no loader at all.
"""
import os
import time

import outcome


def network(rehearsal):
    """ResNet-50, or some convolutions with about its shape."""
    from torch import nn

    if has_torchvision() and not rehearsal:
        from torchvision.models import resnet50
        return resnet50(num_classes=4), "ResNet-50"
    layers, channels = [nn.Conv2d(3, 64, 7, 4, 3), nn.ReLU()], 64
    for wider in (256, 512, 1024)[:1 if rehearsal else 3]:
        layers += [nn.Conv2d(channels, wider, 3, 2, 1), nn.ReLU()]
        for _ in range(0 if rehearsal else 4):
            layers += [nn.Conv2d(wider, wider, 3, 1, 1), nn.ReLU()]
        channels = wider
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 4)]
    return nn.Sequential(*layers), "convolutions in its place"


class Trainer:
    """Steps of training on one device."""

    def __init__(self, gpu, rehearsal):
        import torch

        self.torch, self.gpu = torch, gpu
        model, self.name = network(rehearsal)
        self._model = model.to(gpu.device, memory_format=torch.channels_last)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01)
        self._loss = torch.nn.CrossEntropyLoss()

    def step(self, images, labels):
        kind = self.gpu.device.split(":")[0]
        with self.torch.autocast(kind, dtype=self.torch.bfloat16):
            loss = self._loss(self._model(images), labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()

    def rate(self, batches, seconds):
        """Images per second over a window, to the end of its last step."""
        self.gpu.synchronise()
        began, images = time.monotonic(), 0
        while time.monotonic() < began + seconds:
            batch = next(batches)
            self.step(*batch)
            images += len(batch[0])
        self.gpu.synchronise()
        return images / (time.monotonic() - began)


def long_epoch(dataset):
    """An epoch that outlasts the step, as ImageNet's would: with the few files
    there are, the pauses between epochs would be what is measured."""
    import torch.utils.data

    return torch.utils.data.RandomSampler(dataset, replacement=True,
                                          num_samples=1 << 20)


def on_device(loader, device):
    import torch

    for images, labels in loader:
        yield (images.to(device, non_blocking=True,
                         memory_format=torch.channels_last),
               labels.to(device, non_blocking=True))


def plain_loader(step, trainer, batch_size, side):
    """The engine without torchvision's transforms: what reads as its data set
    there is a pipeline here. Yields (images, labels) for ever."""
    import feedline
    import pixels

    pipeline = feedline.Pipeline().add("random_resized_crop", width=side,
                                       height=side)
    pipeline.add("horizontal_flip").add("normalize")
    device = {"device": trainer.gpu.device} if not step.rehearsal else {}
    loader = feedline.Loader(
        feedline.Dataset.open("folder:" + step.path("images")), pipeline,
        batch_size=batch_size, shuffle=True, drop_last=True, dtype="f32",
        layout="nhwc", workers_start=1, **device)
    for batch in pixels.endless(loader):
        images = trainer.torch.from_dlpack(batch.images).permute(0, 3, 1, 2)
        labels = trainer.torch.from_dlpack(batch.labels)
        batch.release()  # the tensors keep it
        yield images, labels


def one_batch(trainer, batch_size, side):
    """The same batch for ever: what the GPU does without a loader."""
    torch = trainer.torch
    images = torch.randn(batch_size, 3, side, side, device=trainer.gpu.device)
    batch = (images.contiguous(memory_format=torch.channels_last),
             torch.zeros(batch_size, dtype=torch.long,
                         device=trainer.gpu.device))
    while True:
        yield batch


def theirs(step, trainer, dataset, batch_size, seconds):
    """torch's best rate over numbers of workers."""
    import torch.utils.data

    cores = len(os.sched_getaffinity(0))
    best = 0.0
    for workers in sorted({cores // 2, cores - 1, cores} - {0}):
        loader = torch.utils.data.DataLoader(
            dataset, batch_size=batch_size, sampler=long_epoch(dataset),
            num_workers=workers, persistent_workers=True,
            pin_memory=not step.rehearsal)
        batches = on_device(loader, trainer.gpu.device)
        trainer.rate(batches, seconds / 2)  # workers start, buffers fill
        found = trainer.rate(batches, seconds)
        batches.close()
        step.note("torch's DataLoader with %d workers: %.0f images/s" % (
            workers, found))
        best = max(best, found)
        del loader
    return best


def tuned_rate(step, trainer, batches, seconds):
    """The rate after the tuner had some seconds."""
    windows = [trainer.rate(batches, seconds / 2) for _ in range(6)]
    step.note("ours, each %.1f s: %s images/s" % (seconds / 2, ", ".join(
        "%.0f" % rate for rate in windows)))
    return trainer.rate(batches, seconds)


def ours(step, trainer, dataset, batch_size, seconds):
    """Our rate from one worker on."""
    from feedline.torch import DataLoader

    loader = DataLoader(
        dataset, batch_size=batch_size, sampler=long_epoch(dataset),
        num_workers="auto", layout="nhwc", backend="native",
        options={"workers_start": 1}, **trainer.gpu.for_loader)
    batches = on_device(loader, trainer.gpu.device)
    found = tuned_rate(step, trainer, batches, seconds)
    step.note("the tuner ends with %d workers; verdict: %s" % (
        loader.engine.get("workers"), loader.stats()["verdict"]["code"]))
    batches.close()
    return found


def compare(step, trainer, batch_size, side, seconds):
    """Our rate beside torch's."""
    import image_sets

    dataset = image_sets.training(step, side)
    found = ours(step, trainer, dataset, batch_size, seconds)
    best = theirs(step, trainer, dataset, batch_size, seconds)
    step.number("torch's DataLoader at its best, images/s", best, form="%.0f")
    step.number("ours, the tuner from one worker, images/s", found, low=best,
                form="%.0f")
    return found


def alone(step, trainer, batch_size, side, seconds):
    """Our rate where torch has no transforms to decode with."""
    batches = plain_loader(step, trainer, batch_size, side)
    found = tuned_rate(step, trainer, batches, seconds)
    batches.close()
    step.note("no torchvision, so nothing of torch's to compare with")
    step.number("ours, the tuner from one worker, images/s", found,
                form="%.0f")
    return found


def has_torchvision():
    try:
        import torchvision
    except ImportError:
        return False
    return bool(torchvision)


def run(step):
    from torch_gpu import gpu as gpu_of

    batch_size, side, seconds = (4, 32, 0.2) if step.rehearsal else (64, 224, 6)
    trainer = Trainer(gpu_of(step), step.rehearsal)
    synthetic = one_batch(trainer, batch_size, side)
    trainer.rate(synthetic, seconds / 3)
    ceiling = trainer.rate(synthetic, seconds / 3)
    step.number("%s, batch %d: without a loader, images/s" % (
        trainer.name, batch_size), ceiling, form="%.0f")
    measure = compare if has_torchvision() else alone
    found = measure(step, trainer, batch_size, side, seconds)
    step.number("of the rate without a loader", found / ceiling)


if __name__ == "__main__":
    outcome.main(run)
