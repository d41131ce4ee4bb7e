# SPDX-License-Identifier: Apache-2.0
"""A process of a job in which ranks are compared: agreeing_rank.py JSON says
"came N" batches of its first epoch, or its error. The JSON has what kind of
loader it makes, of what, with which options, as which rank."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict

import feedline


def plain(job: Dict[str, Any]) -> Any:
    return feedline.Loader(
        feedline.Dataset.open("folder:%s" % job["data"]),
        feedline.Pipeline().add("random_resized_crop", width=16, height=16),
        world=job["world"],
        rank=job["rank"],
        batch_size=job.get("batch_size", 1),
        seed=job.get("seed", 3),
        shuffle=True,
        workers=1,
        tuner="off",
    )


def of_torch(job: Dict[str, Any]) -> Any:
    from torch.utils.data.distributed import DistributedSampler
    from torchvision import datasets, transforms

    from feedline.torch import DataLoader

    steps = [transforms.RandomResizedCrop(16), transforms.ToTensor()]
    dataset = datasets.ImageFolder(job["data"], transforms.Compose(steps))
    sampler = DistributedSampler(
        dataset,
        num_replicas=job["world"],
        rank=job["rank"],
        seed=job.get("seed", 3),
    )
    return DataLoader(
        dataset, job.get("batch_size", 1), sampler=sampler, num_workers=1
    )


def main() -> None:
    job = json.loads(sys.argv[1])
    if job["group"]:
        import torch.distributed as dist

        store = dist.FileStore(job["group"], job["world"])
        dist.init_process_group(
            "gloo", store=store, rank=job["place"], world_size=job["world"]
        )
    loader = plain(job) if job["kind"] == "loader" else of_torch(job)
    try:
        print("came %d" % sum(1 for _ in loader))
    except feedline.Error as error:
        print(error)


if __name__ == "__main__":
    main()
