# SPDX-License-Identifier: Apache-2.0
"""torch's batches on the GPU are those of the CPU to the bit, in every form.
"""
import warnings

import outcome

IMAGES = 200
FORMS = (
    ("f32", {}),
    ("f32, channels_last", {"layout": "nhwc"}),
    ("f16", {"dtype": "f16"}),
    ("bf16, channels_last", {"dtype": "bf16", "layout": "nhwc"}),
    ("pin_memory and device", {"pin_memory": True}),
    ("num_workers=0", {"num_workers": 0}),
    ("shuffled", {"shuffle": True}),
    ("finished on the host", {"options": {"finish": "host"}}),
)


def flipped(images, labels):
    """A collate function on whole batches."""
    return images.flip(-1), labels + 1


def epoch(dataset, gpu, **arguments):
    """The tensors of an epoch, on the CPU."""
    import torch
    from feedline.torch import DataLoader

    given = {"batch_size": 8, "num_workers": 2, "backend": "native",
             **arguments}
    if given.get("shuffle"):
        given["generator"] = torch.Generator().manual_seed(5)
    found = []
    for batch in DataLoader(dataset, **given):
        assert not gpu.for_loader or given.get("device") is None or all(
            tensor.is_cuda for tensor in batch), "a batch is not on the GPU"
        found.append([tensor.cpu() for tensor in batch])
    return found


def differing(ours, theirs):
    """Values that are not the same to the bit."""
    count = 0
    for one, other in zip(ours, theirs):
        for a, b in zip(one, other):
            if a.shape != b.shape or a.dtype != b.dtype:
                return a.numel()
            count += int((a != b).sum())
    return count


def compare(step, gpu, what, dataset, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about pinning without a GPU
        there = epoch(dataset, gpu, **gpu.for_loader, **arguments)
        here = epoch(dataset, gpu, **arguments)
    more = differing(there, here)
    values = sum(tensor.numel() for batch in here for tensor in batch)
    step.truth("%s: values that differ" % what, 0,
               "%d of %d" % (more, values), len(there) == len(here) and
               not more and values)


def compare_pinned(step, gpu, dataset):
    """pin_memory without a device: the recipe of most programs."""
    from feedline.torch import DataLoader

    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True,
                        backend="native")
    found, pinned = [], 0
    for batch in loader:
        pinned += all(tensor.is_pinned() for tensor in batch)
        on_gpu = [tensor.to(gpu.device, non_blocking=True) for tensor in batch]
        found.append([tensor.cpu() for tensor in on_gpu])
    more = differing(found, epoch(dataset, gpu))
    step.truth("pin_memory alone: values that differ on the GPU", 0, more,
               not more)
    if not step.rehearsal:
        step.truth("pin_memory alone: batches that are pinned", len(found),
                   pinned, pinned == len(found))


def run(step):
    import image_sets
    from feedline.torch import collated
    from torch_gpu import gpu as gpu_of

    gpu = gpu_of(step)
    floats = image_sets.plain(step, 32, IMAGES)
    for what, arguments in FORMS:
        compare(step, gpu, what, floats, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_pinned(step, gpu, floats)
    compare(step, gpu, "u8", image_sets.plain(step, 32, IMAGES, as_bytes=True))
    compare(step, gpu, "collated", floats, collate_fn=collated(flipped))
    compare(step, gpu, "on_error=zero", image_sets.damaged(step, 32),
            on_error="zero")


if __name__ == "__main__":
    outcome.main(run)
