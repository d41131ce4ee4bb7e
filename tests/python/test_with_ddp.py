# SPDX-License-Identifier: Apache-2.0
"""Plain DistributedDataParallel: shards, epochs, and going on after a stop."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch.distributed as dist  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402

import ranks  # noqa: E402
import training  # noqa: E402
from feedline.torch import DataLoader  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def share(folder: str, epochs: int) -> Dict[str, Any]:
    """One rank: the epochs of both loaders, and a network trained on ours."""
    dataset = training.dataset(folder)
    indices = []
    samplers = [DistributedSampler(dataset, seed=3) for _ in range(2)]
    ours = DataLoader(dataset, 4, sampler=samplers[0], num_workers=2)
    theirs = torch.utils.data.DataLoader(dataset, 4, sampler=samplers[1])
    for epoch in range(epochs):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        training.assert_equal_epochs(ours, theirs, epochs=1)
        indices.append(list(samplers[0]))
    model = torch.nn.parallel.DistributedDataParallel(training.network())
    with training.natively():
        losses = training.steps(ours, model)
    return {
        "indices": indices,
        "length": len(ours),
        "samples": training.delivered(ours),
        "steps": len(losses),
        "weights": [float(p.detach().sum()) for p in model.parameters()],
    }


def example(folder: str, checkpoints: str) -> Dict[str, Any]:
    """One rank of examples/python/ddp.py: at one go, and in two runs."""
    sys.path.insert(0, str(EXAMPLES))
    import ddp

    weights = {}
    for name, parts in (("whole", [5]), ("parts", [2, 5])):
        path = "%s/%s.pt" % (checkpoints, name)
        for steps in parts:
            torch.manual_seed(11)  # of the network and of the draws
            args = argparse.Namespace(
                epochs=4,
                steps=steps,
                batch_size=4,
                size=32,
                checkpoint=path,
                save_every=None,
            )
            ddp.train(args, folder)
        network = torch.load(path)["network"]
        weights[name] = [w.flatten().tolist() for w in network.values()]
    return weights


def rank(folder: str, checkpoints: str) -> Dict[str, Any]:
    """What each process does."""
    dist.init_process_group("gloo")
    try:
        return {
            "share": share(folder, 2),
            "example": example(folder, checkpoints),
        }
    finally:
        dist.destroy_process_group()


@pytest.fixture(scope="module")
def both(image_folder: Path, tmp_path_factory: Any) -> Any:
    """What two processes found."""
    return ranks.launch(
        "test_with_ddp:rank",
        2,
        folder=str(image_folder),
        checkpoints=str(tmp_path_factory.mktemp("checkpoints")),
    )


def test_each_rank_reads_its_share(both: Any) -> None:
    results = [result["share"] for result in both]
    for epoch in range(2):
        came = [i for r in results for i in r["indices"][epoch]]
        assert sorted(came) == list(range(24))
    assert results[0]["indices"][0] != results[0]["indices"][1]
    for result in results:
        assert result["length"] == result["steps"] == 3
        assert result["samples"] == 36  # two epochs compared, one trained
        assert result["weights"] == results[0]["weights"]


def test_example_goes_on_where_it_stopped(both: Any) -> None:
    for result in both:
        assert result["example"]["whole"] == result["example"]["parts"]


def test_example_under_torchrun(image_folder: Path) -> None:
    if torch.__version__.startswith("1.") and sys.version_info >= (3, 11):
        pytest.skip("torchrun of torch 1 does not start on Python 3.11")
    command = [sys.executable, "-m", "torch.distributed.run"]
    command += ["--nproc_per_node", "2", "--master_port"]
    command += [str(ranks.free_port()), str(EXAMPLES / "ddp.py")]
    command += ["--data", str(image_folder), "--epochs", "1"]
    command += ["--batch-size", "4", "--size", "32"]
    done = subprocess.run(
        command,
        env=ranks.quiet(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=ranks.SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for rank in range(2):
        line = "rank %d of 2: 12 samples, step 3" % rank
        assert line in done.stdout, done.stdout
    assert done.stdout.count("native True") == 2, done.stdout
