# SPDX-License-Identifier: Apache-2.0
"""MixUp and CutMix: torchvision's and timm's, to the bit, for what was drawn.

A batch tells what was drawn for it. With the same values in place of their own
draws, torchvision and timm make the same images and targets of the images that
an unmixed loader gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple
from unittest import mock

import numpy
import needs
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import feedline  # noqa: E402
import training  # noqa: E402
from feedline.torch import DataLoader, collated  # noqa: E402
from feedline.torch.mixing import mix_of, recognised  # noqa: E402
from torch.utils.data.dataloader import default_collate  # noqa: E402
from training import v2  # noqa: E402

DRAWS = 20
COUNT = 8
CLASSES = 5


def batches(
    folder: Path, dtype: str, mix: Dict[str, Any]
) -> Iterator[Tuple[Any, Any, Any, Any, List[Any]]]:
    """Images and labels unmixed, images and targets mixed, what was drawn."""
    photos = feedline.Dataset.open("folder:%s" % folder)
    plain = feedline.Pipeline().add("resize", width=37, height=29)
    mixed = plain.copy().add("mix", num_classes=CLASSES, **mix)
    options: Dict[str, Any] = {"batch_size": COUNT, "dtype": dtype}
    options.update(shuffle=True, drop_last=True, tuner="off")
    with feedline.Loader(photos, plain, **options) as was:
        with feedline.Loader(photos, mixed, workers=2, **options) as now:
            for _ in range(DRAWS):
                a, b = following(was), following(now)
                yield (
                    torch.from_numpy(a.images.numpy()),
                    torch.from_numpy(a.labels.numpy()),
                    torch.from_numpy(b.images.numpy()),
                    torch.from_numpy(b.targets.numpy()),
                    b.mixes,
                )


def following(loader: feedline.Loader) -> feedline.Batch:
    batch = loader.next()
    return batch or following(loader)  # past the end of an epoch


def same(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and torch.equal(a, b))


# ---- torchvision ------------------------------------------------------------


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_torchvisions(image_folder: Path, name: str) -> None:
    option = {name.lower() + "_alpha": 0.7}
    for x, y, images, targets, drawn in batches(image_folder, "f32", option):
        theirs = training.mixed(drawn[0], x, y, CLASSES)
        assert drawn[0].kind == name.lower()
        assert same(images, theirs[0]) and same(targets, theirs[1])


# ---- timm -------------------------------------------------------------------


class Injected:
    """Draws of timm's Mixup, those of a batch of ours instead."""

    def __init__(self, drawn: List[Any], mode: str) -> None:
        self.drawn = drawn if mode != "pair" else drawn[: COUNT // 2]
        self.cuts = iter([one for one in self.drawn if one.kind == "cutmix"])

    def per_batch(self) -> Tuple[float, bool]:
        one = self.drawn[0]
        return one.share if one.kind != "none" else 1.0, one.kind == "cutmix"

    def per_elem(self, count: int) -> Tuple[Any, Any]:
        shares = [one.share for one in self.drawn[:count]]
        cuts = [one.kind == "cutmix" for one in self.drawn[:count]]
        # Not 1, which means that nothing is drawn.
        lam = numpy.array(shares, numpy.float32)
        lam[numpy.array(cuts) & (lam == 1)] = 0.5
        return lam, numpy.array(cuts)

    def box(self, *_: Any, **__: Any) -> Tuple[Any, float]:
        one = next(self.cuts)
        left, top, right, bottom = one.box
        return (top, bottom, left, right), one.share


def injected(mixup: Any, drawn: List[Any], mode: str) -> Any:
    source = Injected(drawn, mode)
    mixup._params_per_batch = source.per_batch
    mixup._params_per_elem = source.per_elem
    return mock.patch("timm.data.mixup.cutmix_bbox_and_lam", source.box)


TIMM = {
    "both": {"mixup_alpha": 0.8, "cutmix_alpha": 1.0, "label_smoothing": 0.1},
    "some": {"mixup_alpha": 0.2, "cutmix_alpha": 1.0, "p": 0.5},
    "between": {"cutmix_min": 0.2, "cutmix_max": 0.8, "p": 0.9},
    "as drawn": {"cutmix_alpha": 1.0, "correct_lam": False},
}


@pytest.mark.parametrize("mode", ["batch", "pair", "elem"])
@pytest.mark.parametrize("given", sorted(TIMM))
@pytest.mark.parametrize("dtype", ["f32", "u8"])
def test_timms(image_folder: Path, mode: str, given: str, dtype: str) -> None:
    timm = pytest.importorskip("timm.data.mixup")
    mix = {"like": "timm", "mode": mode, **TIMM[given]}
    smoothing = mix.get("label_smoothing", 0.0)
    kind = timm.Mixup if dtype == "f32" else timm.FastCollateMixup
    kinds = set()
    for x, y, images, targets, drawn in batches(image_folder, dtype, mix):
        mixup = kind(mode=mode, num_classes=CLASSES, label_smoothing=smoothing)
        kinds |= {one.kind for one in drawn}
        with injected(mixup, drawn, mode):
            if dtype == "f32":
                theirs = mixup(x.clone(), y)
            else:
                arrays = [image.numpy().copy() for image in x]
                theirs = mixup(list(zip(arrays, y.tolist())))
        assert same(images, theirs[0]) and same(targets, theirs[1])
    assert kinds & {"mixup", "cutmix"}


# ---- Recognised -------------------------------------------------------------


def epoch(loader: Any) -> List[Any]:
    with training.natively():
        return training.copies(loader)


def forms(mix: Any) -> List[Callable[..., Any]]:
    def collate(batch: Any) -> Any:
        """As in torchvision's script."""
        return mix(*default_collate(batch))

    return [
        collate,
        lambda samples: mix(*default_collate(samples)),
        lambda b: mix(*torch.utils.data.default_collate(b)),
        collated(mix),
    ]


def test_functions_over_default_collate(image_folder: Path) -> None:
    def double(images: Any, labels: Any) -> Any:
        return images * 2, labels

    plain = epoch(DataLoader(training.dataset(image_folder), 4))
    for form in forms(double):
        got = epoch(
            DataLoader(training.dataset(image_folder), 4, collate_fn=form)
        )
        assert all(
            torch.equal(a[0], 2 * b[0]) and torch.equal(a[1], b[1])
            for a, b in zip(got, plain)
        )


def test_other_functions_are_not(image_folder: Path) -> None:
    def mine(*batch: Any) -> Any:
        return batch

    def collate(batch: Any, mix: Any = mine) -> Any:
        return mix(*default_collate(batch + batch))

    for form in (
        collate,
        lambda b: mine(*mine(b)),
        lambda b: mine(default_collate(b)),
        lambda b: [mine(*default_collate(b))],
    ):
        assert recognised(form) is form
    needs.deferred_tensors()
    loader = DataLoader(training.dataset(image_folder), 4, collate_fn=collate)
    assert len(next(iter(loader))[0]) == 8 and loader.recorded


def choice(p: Any = None) -> Any:
    t = v2()
    one, other = (
        kind(alpha=alpha, num_classes=training.CLASSES)
        for kind, alpha in ((t.MixUp, 0.2), (t.CutMix, 1.0))
    )
    return t.RandomChoice([one, other], p=p)


def test_torchvisions_classes_are_mixed_natively(image_folder: Path) -> None:
    mix = choice(p=[1, 3])
    assert mix_of(mix, "f32") == {
        "mixup_alpha": 0.2,
        "cutmix_alpha": 1.0,
        "num_classes": training.CLASSES,
        "switch_prob": 0.75,
    }
    first: List[Any] = []
    for workers in (1, 3):
        for form in forms(mix):
            torch.manual_seed(1)
            data = training.dataset(image_folder)
            loader = DataLoader(
                data, 5, True, num_workers=workers, collate_fn=form
            )
            with mock.patch.object(type(mix), "forward", side_effect=[]):
                got = epoch(loader)
            assert [len(images) for images, _ in got] == [5, 5, 5, 5, 4]
            for images, targets in got:
                assert targets.shape == (len(images), training.CLASSES)
                assert torch.allclose(targets.sum(1), torch.ones(()))
            first = first or got
            training.assert_equal_batches(got, first)
    assert type(next(iter(loader))) is tuple


def test_what_torchvision_would_do_otherwise() -> None:
    t = v2()
    patched = t.MixUp(num_classes=3)
    patched.make_params = lambda flat: {"lam": 0.5}
    hooked = t.CutMix(num_classes=3)
    hooked.register_forward_hook(print)

    class Mine(t.MixUp):  # type: ignore[name-defined, misc]
        pass

    for other in (
        patched,
        hooked,
        Mine(num_classes=3),
        t.MixUp(),
        t.MixUp(num_classes=3, labels_getter=lambda batch: batch[1]),
        t.RandomChoice([t.MixUp(num_classes=3), t.CutMix(num_classes=4)]),
        t.RandomChoice([t.MixUp(num_classes=3)]),
    ):
        assert mix_of(other, "f32") is None
    assert mix_of(t.MixUp(num_classes=3), "u8") is None
    assert mix_of(t.CutMix(num_classes=3), "u8") is not None


def test_timms_class_is_mixed_natively(image_folder: Path) -> None:
    timm = pytest.importorskip("timm.data.mixup")
    mixup = timm.FastCollateMixup(
        mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=training.CLASSES
    )
    data = training.dataset(image_folder)
    data.transform.transforms[2:] = [torchvision.transforms.PILToTensor()]
    loader = DataLoader(data, 4, collate_fn=mixup, drop_last=True)
    plain = epoch(DataLoader(data, 4, drop_last=True))
    got = epoch(loader)
    assert all(images.dtype == torch.uint8 for images, _ in got)
    assert not all(torch.equal(a[0], b[0]) for a, b in zip(got, plain))
    mixup.mixup_enabled = False
    got = epoch(loader)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(got, plain))
    assert all(targets.shape == (4, training.CLASSES) for _, targets in got)
    needs.deferred_tensors()
    mixup.mode = "half"
    assert len(next(iter(loader))[1]) == 2 and loader.recorded


def test_a_sample_that_torch_can_read_is_mixed_by_torch(
    image_folder: Path, monkeypatch: Any
) -> None:
    from feedline.torch import iteration

    mix = choice()
    loader = DataLoader(
        training.dataset(image_folder), 4, collate_fn=collated(mix)
    )
    monkeypatch.setattr(iteration, "failed", lambda batch: True)
    monkeypatch.setattr(iteration.NativeIterator, "_may_miss", lambda *_: True)
    for images, targets in epoch(loader):
        assert targets.shape == (4, training.CLASSES)
