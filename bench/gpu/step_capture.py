# SPDX-License-Identifier: Apache-2.0
"""A CUDA graph captured while the loader fills its depth, 50 times.

torch captures in the mode in which calls of *other* threads can break the
capture. The captures, their replays and every batch must be whole. Then a graph
that reads a fixed tensor is fed with an epoch, as captured training is.
"""
import outcome

ROUNDS = 50


class Round:
    """A small network's step in a graph, and what it must compute."""

    def __init__(self, gpu):
        import torch

        self._gpu, self._torch = gpu, torch
        self._input = torch.randn(256, 256, device=gpu.device)
        self._weight = torch.randn(256, 256, device=gpu.device)
        self._output = torch.zeros_like(self._input)
        self._step()  # libraries make their workspaces
        gpu.synchronise()

    def _step(self):
        self._output.copy_(
            self._torch.relu(self._input @ self._weight).sin_())

    def capture(self):
        """Raises, or says whether the replay is right."""
        with self._gpu.capture(self._step) as replay:
            self._input.normal_()
            replay()
            found = self._output.clone()
            self._step()
            return bool(self._torch.allclose(found, self._output, atol=1e-3))


def same_epoch(batches, expected):
    """Whether the batches are those of the first epoch."""
    import torch

    found = list(batches)
    return len(found) == len(expected) and all(
        torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])
        for a, b in zip(found, expected))


def fed_graph(gpu, loader, expected):
    """Batches of an epoch, written into a graph's tensors, whose replay
    computes what the batch itself says."""
    import torch

    fixed, labels = (torch.empty_like(tensor) for tensor in expected[0])
    found = torch.zeros(len(fixed), device=gpu.device)

    def work():
        found.copy_(fixed.flatten(1).double().sum(1))

    work()
    gpu.synchronise()
    right = 0
    with gpu.capture(work) as replay:
        for (_, given), images in zip(loader.into(fixed, labels),
                                            expected):
            replay()
            right += bool(torch.allclose(
                found, images[0].flatten(1).double().sum(1).float(),
                rtol=1e-5, atol=1e-2) and torch.equal(given, images[1]))
    return right


def attempt(step, what, function, *arguments):
    """Its result; an exception is False and a line on the page."""
    try:
        return function(*arguments)
    except Exception as error:  # whatever it is, the rounds go on
        step.note("%s: %s: %s" % (
            what, type(error).__name__, str(error).split("\n")[0]))
        return False


def run(step):
    import image_sets
    from feedline.torch import DataLoader
    from torch_gpu import gpu as gpu_of

    rounds = 3 if step.rehearsal else ROUNDS
    gpu = gpu_of(step)
    loader = DataLoader(image_sets.plain(step, 64, 192), batch_size=16,
                        num_workers=4, prefetch_factor=2, backend="native",
                        **gpu.for_loader)
    expected = [[tensor.clone() for tensor in batch] for batch in loader]
    work = Round(gpu)
    captured = epochs = 0
    for number in range(rounds):
        batches = iter(loader)  # from here on the engine fills its depth
        captured += bool(attempt(step, "capture %d" % number, work.capture))
        epochs += bool(attempt(step, "epoch %d" % number, same_epoch, batches,
                               expected))
        del batches
    step.truth("captures that are whole and replay", rounds, captured,
               captured == rounds)
    step.truth("epochs that are whole beside them", rounds, epochs,
               epochs == rounds)
    fed = attempt(step, "the fed graph", fed_graph, gpu, loader,
                  expected)
    step.truth("batches that a graph computes from a fixed tensor",
               len(expected), fed, fed == len(expected))


if __name__ == "__main__":
    outcome.main(run)
