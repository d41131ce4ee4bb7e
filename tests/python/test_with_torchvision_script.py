# SPDX-License-Identifier: Apache-2.0
"""A script in the manner of torchvision's reference training.

What such a script does with its loaders: a sampler of its own, to which it says
the epoch; batches mixed in a collate_fn; pinned memory; `len` of the loader and
of its data set; and an evaluation in order.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Tuple

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import training  # noqa: E402
from feedline.torch import DataLoader, FallbackWarning, collated  # noqa: E402
from torch.utils.data.dataloader import default_collate  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402

TorchLoader = torch.utils.data.DataLoader


def mix(images: Any, labels: Any) -> Tuple[Any, Any]:
    """MixUp: half of each image is that of another one of its batch."""
    amount = torch.distributions.Beta(0.5, 0.5).sample()
    other = torch.randperm(len(images))
    hot = torch.nn.functional.one_hot(labels, training.CLASSES).float()
    return (
        torch.lerp(images, images[other], amount),
        torch.lerp(hot, hot[other], amount),
    )


def epoch_of(loader: Any, seed: int) -> Tuple[Any, Any]:
    """The batches of an epoch, and the generator's state behind it."""
    torch.manual_seed(seed)
    return training.copies(loader), torch.get_rng_state()


def assert_same_mix(ours: Any, theirs: Any) -> None:
    assert len(ours) == len(theirs)
    for (a, b), (c, d) in zip(ours, theirs):
        torch.testing.assert_close(a, c)
        torch.testing.assert_close(b, d)


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


def test_mixing_without_workers_is_torchs(image_folder: Path) -> None:
    data = training.dataset(image_folder)
    collate = collated(mix)
    ours = DataLoader(data, 4, shuffle=True, collate_fn=collate)
    theirs = TorchLoader(data, 4, shuffle=True, collate_fn=collate)
    with training.natively():
        mine, state = epoch_of(ours, 1)
    other, expected = epoch_of(theirs, 1)
    assert_same_mix(mine, other)
    assert torch.equal(state, expected)


def test_mixing_with_workers_leaves_the_generator(image_folder: Path) -> None:
    data = training.dataset(image_folder)
    epochs, states = [], []
    for workers in (1, 2):
        loader = DataLoader(
            data, 4, True, num_workers=workers, collate_fn=collated(mix)
        )
        numbers = random.getstate()
        with training.natively():
            batches, state = epoch_of(loader, 1)
        assert random.getstate() == numbers
        epochs.append(batches)
        states.append(state)
    assert_same_mix(*epochs)
    assert not torch.equal(epochs[0][0][1], epochs[0][1][1])
    plain = TorchLoader(data, 4, True, num_workers=1)
    _, expected = epoch_of(plain, 1)
    assert all(torch.equal(state, expected) for state in states)


def test_samples_as_a_collate_fn_gets_them(image_folder: Path) -> None:
    data = training.dataset(image_folder)

    def collate(samples: Any) -> Any:
        assert all(type(label) is int for _, label in samples)
        images, labels = default_collate(samples)
        return images.flip(-1), labels

    ours = DataLoader(
        data, 5, num_workers=1, collate_fn=collated(collate, samples=True)
    )
    with training.natively():
        mine = training.copies(ours)
    training.assert_equal_batches(
        mine, TorchLoader(data, 5, collate_fn=collate)
    )


def test_a_collate_fn_that_cannot_be_seen(image_folder: Path) -> None:
    data = training.dataset(image_folder)
    loader = DataLoader(
        data, 4, collate_fn=lambda batch: mix(*list(default_collate(batch)))
    )
    with pytest.warns(FallbackWarning, match="collate_fn"):
        batches = training.copies(loader)
    assert not loader.native and len(batches) == 6


def test_mixing_classes_of_torchvision(image_folder: Path) -> None:
    try:
        from torchvision.transforms import v2
    except ImportError:
        pytest.skip("torchvision %s has no MixUp" % torchvision.__version__)
    choice = v2.RandomChoice(
        [
            v2.MixUp(num_classes=training.CLASSES),
            v2.CutMix(num_classes=training.CLASSES),
        ]
    )
    loader = DataLoader(
        training.dataset(image_folder),
        4,
        num_workers=2,
        collate_fn=collated(choice),
    )
    with training.natively():
        for images, labels in loader:
            assert images.shape == (4, 3, training.SIZE, training.SIZE)
            assert labels.shape == (4, training.CLASSES)
    assert training.delivered(loader) == 24


def test_collated_says_what_it_is() -> None:
    assert repr(collated(mix, samples=True)).endswith("samples=True)")
    with pytest.raises(TypeError, match="takes a function, but got int"):
        collated(3)  # type: ignore[arg-type]
