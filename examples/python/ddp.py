# SPDX-License-Identifier: Apache-2.0
"""Several processes, one network: DistributedDataParallel under torchrun.

    torchrun --nproc-per-node 2 ddp.py --data FOLDER --checkpoint state.pt

Each process reads its own share of each epoch, as DistributedSampler deals it.
Run again with the same checkpoint it goes on behind the last step it saved, in
the middle of an epoch too. So it does by itself where torchrun starts it again:

    torchrun --max-restarts 3 --nproc-per-node 2 ddp.py --data FOLDER \\
        --checkpoint state.pt --save-every 100

A worker that dies costs the steps since the last save, and each sample counts
once. GPUs and nccl are used where they are, else CPUs and gloo. Without --data
it makes a few images.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import torch
import torch.distributed as dist
import torchvision
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms

from feedline.torch import DataLoader


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="a folder of images per class")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, help="end after so many in all")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--checkpoint", help="a file to go on from and to save")
    parser.add_argument("--save-every", type=int, help="steps; else at the end")
    args = parser.parse_args()
    if args.save_every and not args.checkpoint:
        parser.error("--save-every needs --checkpoint")
    return args


def own_device() -> torch.device:
    """The GPU of this process, where there is one for each."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if torch.cuda.device_count() > local:
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


def make_loader(
    args: argparse.Namespace, folder: str, device: torch.device
) -> DataLoader[Any]:
    dataset = torchvision.datasets.ImageFolder(
        folder,
        transforms.Compose(
            [
                transforms.RandomResizedCrop(args.size),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
            ]
        ),
    )
    return DataLoader(
        dataset,
        batch_size=args.batch_size,
        sampler=DistributedSampler(dataset, shuffle=True, drop_last=True),
        num_workers=2,
        device=device if device.type == "cuda" else None,
    )


def make_network(classes: int, device: torch.device) -> nn.Module:
    """A small one: this example is about the data."""
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, classes),
    ).to(device)
    ids = [device.index] if device.type == "cuda" else None
    return DistributedDataParallel(network, device_ids=ids)


class Run:
    """What a checkpoint holds: network, optimizer, place in the data."""

    def __init__(self, args: argparse.Namespace, folder: str) -> None:
        self.device = own_device()
        self.loader = make_loader(args, folder, self.device)
        classes = len(self.loader.dataset.classes)
        self.network = make_network(classes, self.device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05)
        self.loss_of = nn.CrossEntropyLoss()
        self.epoch = self.steps = 0

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        images, labels = images.to(self.device), labels.to(self.device)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(self.network(images), labels)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return float(loss.detach())

    def save(self, path: str) -> None:
        """One file for all: the loaders of all ranks are at the same place."""
        state = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "loader": self.loader.state_dict(),
            "random": torch.get_rng_state(),
            "epoch": self.epoch,
            "steps": self.steps,
        }
        if dist.get_rank() == 0:
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)
        dist.barrier()

    def restore(self, path: str) -> None:
        state = torch.load(path, map_location=self.device)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.loader.load_state_dict(state["loader"])
        torch.set_rng_state(state["random"].cpu())
        self.epoch, self.steps = state["epoch"], state["steps"]


def train(args: argparse.Namespace, folder: str) -> None:
    run = Run(args, folder)
    if args.checkpoint and os.path.exists(args.checkpoint):
        run.restore(args.checkpoint)
    rank, world = dist.get_rank(), dist.get_world_size()
    while run.epoch < args.epochs and run.steps != args.steps:
        run.loader.sampler.set_epoch(run.epoch)
        seen, loss = 0, float("nan")
        for images, labels in run.loader:
            loss = run.step(images, labels)
            seen += len(labels)
            if args.save_every and run.steps % args.save_every == 0:
                run.save(args.checkpoint)
            if run.steps == args.steps:
                break
        else:
            run.epoch += 1
        print(
            "rank %d of %d: %d samples, step %d, loss %.3f, native %s"
            % (rank, world, seen, run.steps, loss, run.loader.native),
            flush=True,
        )
    if args.checkpoint:
        run.save(args.checkpoint)


def join(backend: str) -> None:
    """init_process_group(backend), also where torchrun starts workers again.

    The store of its agent lives on, and with torch 2.15 a worker may find in it
    the address of one that is dead: each start has a part of its own here.
    """
    environ = os.environ
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        dist.init_process_group(backend)
        return
    store = dist.TCPStore(
        environ["MASTER_ADDR"],
        int(environ["MASTER_PORT"]),
        is_master=False,
        wait_for_workers=False,
    )
    start = "start-" + environ["TORCHELASTIC_RESTART_COUNT"]
    dist.init_process_group(
        backend,
        store=dist.PrefixStore(start, store),
        rank=int(environ["RANK"]),
        world_size=int(environ["WORLD_SIZE"]),
    )


def main() -> None:
    args = arguments()
    gpus = torch.cuda.device_count()
    local_world = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    join("nccl" if gpus >= local_world else "gloo")
    try:
        if args.data:
            train(args, args.data)
        else:
            train_on_samples(args)
    finally:
        dist.destroy_process_group()


def train_on_samples(args: argparse.Namespace) -> None:
    """Every process makes the same images: they need no common disk."""
    from sample_images import make_folder

    with tempfile.TemporaryDirectory() as folder:
        train(args, make_folder(folder))


if __name__ == "__main__":
    main()
