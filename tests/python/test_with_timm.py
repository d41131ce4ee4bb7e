# SPDX-License-Identifier: Apache-2.0
"""timm: create_loader with a native loader within timm's PrefetchLoader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
timm = pytest.importorskip("timm")

import timm.data  # noqa: E402
from timm.data.loader import PrefetchLoader  # noqa: E402
from timm.data.mixup import FastCollateMixup  # noqa: E402

import numpy  # noqa: E402
import training  # noqa: E402
from feedline.integrations.timm import (  # noqa: E402
    MixedBatch,
    create_loader,
    native_loader,
)
from feedline.torch import FallbackWarning  # noqa: E402

CPU = torch.device("cpu")
SHAPE = (3, 32, 32)


def dataset(folder: Any) -> Any:
    return timm.data.create_dataset("", root=str(folder))


def evaluation(make: Any, folder: Any, **arguments: Any) -> Any:
    return make(dataset(folder), SHAPE, 5, device=CPU, **arguments)


def for_training(make: Any, folder: Any, **arguments: Any) -> Any:
    """Nothing is drawn but the order, so that batches can be compared."""
    arguments = {"no_aug": True, "num_workers": 2, **arguments}
    size = arguments.pop("batch_size", 5)
    return make(
        dataset(folder), SHAPE, size, is_training=True, device=CPU, **arguments
    )


def test_evaluation_as_timms(image_folder: Path) -> None:
    ours = evaluation(create_loader, image_folder)
    theirs = evaluation(timm.data.create_loader, image_folder)
    assert isinstance(ours, PrefetchLoader)
    with training.natively():
        training.assert_equal_batches(ours, theirs)
    inside = native_loader(ours)
    assert training.delivered(inside) == 24
    images, labels = next(iter(inside))
    assert images.dtype == torch.uint8 and labels.dtype == torch.int64
    assert ours.dataset is inside.dataset and len(ours) == len(theirs)
    assert ours.sampler is inside.sampler and not ours.mixup_enabled


def test_without_prefetcher(image_folder: Path) -> None:
    ours = evaluation(create_loader, image_folder, use_prefetcher=False)
    theirs = evaluation(
        timm.data.create_loader, image_folder, use_prefetcher=False
    )
    with training.natively():
        training.assert_equal_batches(ours, theirs)
    assert training.delivered(native_loader(ours)) == 24


@pytest.mark.parametrize("epochs_in_one", [False, True])
def test_training_order(image_folder: Path, epochs_in_one: bool) -> None:
    ours = for_training(
        create_loader, image_folder, use_multi_epochs_loader=epochs_in_one
    )
    theirs = for_training(timm.data.create_loader, image_folder)
    training.assert_equal_epochs(ours, theirs)
    assert len(ours) == len(theirs) == 4


def test_a_network_of_timms_trains(image_folder: Path) -> None:
    torch.manual_seed(0)
    loader = create_loader(
        dataset(image_folder),
        SHAPE,
        8,
        is_training=True,
        num_workers=2,
        device=CPU,
        re_prob=0.2,
        color_jitter=None,
    )
    model = timm.create_model(
        "test_resnet", pretrained=False, num_classes=training.CLASSES
    )
    with training.natively():
        losses = training.steps(loader, model, epochs=2)
    assert len(losses) == 6 and numpy.isfinite(losses).all()
    tracked = [b for n, b in model.named_buffers() if n.endswith("tracked")]
    assert tracked and all(int(number) == 6 for number in tracked)
    assert training.delivered(native_loader(loader)) == 48


def test_mixup(image_folder: Path) -> None:
    mixup = FastCollateMixup(
        mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=training.CLASSES
    )
    loader = for_training(
        create_loader, image_folder, batch_size=4, collate_fn=mixup
    )
    assert loader.mixup_enabled
    with training.natively():
        batches = list(loader)
    assert training.delivered(native_loader(loader)) == 24
    for images, labels in batches:
        assert images.shape == (4, *SHAPE)
        assert labels.shape == (4, training.CLASSES)
        torch.testing.assert_close(labels.sum(1), torch.ones(4))
    loader.mixup_enabled = False
    assert not loader.mixup_enabled and not mixup.mixup_enabled
    with training.natively():
        assert all(b[1].max() > 0.9 for b in loader)


@pytest.mark.parametrize("mode", ["batch", "elem", "pair"])
def test_mixup_of_a_batch_is_timms(mode: str) -> None:
    mixup = FastCollateMixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode)
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8)
    labels = torch.arange(6)
    samples = list(zip(images.clone().unbind(0), labels.tolist()))
    numpy.random.seed(4)
    expected = mixup(samples)
    numpy.random.seed(4)
    got = MixedBatch(mixup).of_batch((images, labels))
    assert torch.equal(got[0], expected[0])
    torch.testing.assert_close(got[1], expected[1])


def test_what_is_not_native_is_timms(image_folder: Path) -> None:
    loader = for_training(
        create_loader,
        image_folder,
        no_aug=False,
        auto_augment="augmix-m5-b1",
        num_workers=0,
    )
    with pytest.warns(FallbackWarning):
        batches = list(loader)
    assert [images.shape for images, _ in batches] == [(5, *SHAPE)] * 4
    assert native_loader(loader).fallback_reason


def test_other_loaders_have_no_native_one(image_folder: Path) -> None:
    theirs = evaluation(timm.data.create_loader, image_folder)
    with pytest.raises(TypeError, match="create_loader"):
        native_loader(theirs)
