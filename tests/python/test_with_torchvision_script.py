# SPDX-License-Identifier: Apache-2.0
"""A script in the manner of torchvision's reference training.

What such a script does with its loaders: a sampler of its own, to which it says
the epoch; batches mixed in a collate_fn; pinned memory; `len` of the loader and
of its data set; and an evaluation in order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Tuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import training  # noqa: E402
from feedline.torch import DataLoader, collated  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402


def mix(images: Any, labels: Any) -> Tuple[Any, Any]:
    """MixUp: half of each image is that of another one of its batch."""
    amount = torch.distributions.Beta(0.5, 0.5).sample()
    other = torch.randperm(len(images))
    hot = torch.nn.functional.one_hot(labels, training.CLASSES).float()
    return (
        torch.lerp(images, images[other], amount),
        torch.lerp(hot, hot[other], amount),
    )


def test_script(image_folder: Path) -> None:
    data = training.dataset(image_folder)
    sampler = DistributedSampler(data, num_replicas=2, rank=1)
    collate = collated(mix)
    arguments = {"batch_size": 4, "sampler": sampler, "collate_fn": collate}
    pinned = torch.cuda.is_available()
    loader = DataLoader(data, num_workers=2, pin_memory=pinned, **arguments)
    test = DataLoader(data, 5, num_workers=2, pin_memory=pinned)
    model = training.network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    with training.natively():
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for images, labels in loader:
                loss = loss_of(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        labels = torch.cat([labels for _, labels in test])
    assert len(loader) == 3 and len(loader.dataset) == 24
    assert labels.tolist() == data.targets
    assert training.delivered(loader) == training.delivered(test) == 24


def test_collated_says_what_it_is() -> None:
    assert repr(collated(mix, samples=True)).endswith("samples=True)")
    with pytest.raises(TypeError, match="takes a function, but got int"):
        collated(3)  # type: ignore[arg-type]
