# SPDX-License-Identifier: Apache-2.0
"""The AutoAugment family of torchvision and timm, unchanged, in the engine:
what is drawn, done again by their own functions, gives the same pixels."""
from __future__ import annotations

from typing import Any, Dict

import pytest

from replay import DRAWN, check, mode_of
from test_torch_recognise import ops, refusal
from timm_functions import camel, timm_again
from torch_cases import T as v1, families, torch

auto = pytest.importorskip("torchvision.transforms.autoaugment")


def again(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    for op in d["ops"]:
        name, magnitude = camel(op["op"]), op.get("magnitude", 0.0)
        if type(t).__module__.startswith("torchvision.transforms.v2"):
            image = t._apply_image_or_video_transform(
                image, name, magnitude, mode_of(t), t._fill
            )
        else:
            image = auto._apply_op(image, name, magnitude, mode_of(t), t.fill)
    return image


@pytest.fixture(autouse=True)
def replayed(monkeypatch: Any) -> None:
    for name, op in (
        ("TrivialAugmentWide", "trivial_augment_wide"),
        ("RandAugment", "rand_augment"),
        ("AutoAugment", "auto_augment"),
    ):
        monkeypatch.setitem(DRAWN, name, (op, again))


@families
def test_torchvisions_pixels(T: Any, samples: Any) -> None:
    mode = v1.InterpolationMode
    for transform in (
        T.TrivialAugmentWide(),
        T.TrivialAugmentWide(num_magnitude_bins=9, interpolation=mode.BICUBIC),
        T.RandAugment(interpolation=mode.BILINEAR, fill=(9, 99, 199)),
        T.RandAugment(num_ops=4, magnitude=30, fill=128),
        T.AutoAugment(interpolation=mode.BILINEAR),
        T.AutoAugment(auto.AutoAugmentPolicy.CIFAR10, fill=[1, 2, 3]),
    ):
        chain = [T.Resize((40, 30)), transform, T.PILToTensor()]
        check(samples, T.Compose(chain), 4)


@families
def test_a_modern_recipe(T: Any, samples: Any) -> None:
    floats = [T.PILToTensor(), T.ConvertImageDtype(torch.float32)]
    chain = [
        T.RandomResizedCrop(24),
        T.RandomHorizontalFlip(),
        T.TrivialAugmentWide(interpolation=v1.InterpolationMode.BILINEAR),
        *floats,
        T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        T.RandomErasing(0.5),
    ]
    check(samples, T.Compose(chain))


@families
def test_torchvisions_arguments(T: Any) -> None:
    chain = [T.RandAugment(3, 7, 15, fill=5), T.PILToTensor()]
    version = "v1" if T is v1 else "v2"
    assert ops(T.Compose(chain)) == [
        (
            "rand_augment",
            {
                "interpolation": "nearest",
                "fill": (5,),
                "version": version,
                "num_ops": 3,
                "magnitude": 7,
                "num_magnitude_bins": 15,
            },
        )
    ]


@families
def test_what_is_refused_of_torchvisions(T: Any) -> None:
    mode = v1.InterpolationMode
    changed = T.AutoAugment()
    name = "policies" if hasattr(changed, "policies") else "_policies"
    setattr(changed, name, getattr(changed, name)[:3])
    for transform, why in (
        (T.RandAugment(magnitude=-1), "magnitude=-1"),
        (T.RandAugment(num_ops=17), "num_ops=17"),
        (T.RandAugment(magnitude=31), "magnitude=31"),
        (T.TrivialAugmentWide(1), "num_magnitude_bins=1"),
        (T.TrivialAugmentWide(interpolation=mode.LANCZOS), "Pillow maps"),
        (changed, "policies were changed"),
    ):
        assert why in refusal(T.Compose([transform, T.PILToTensor()]))
    chain = [T.PILToTensor(), T.TrivialAugmentWide()]
    assert "before" in refusal(T.Compose(chain))


# ---- timm -------------------------------------------------------------------


def timms_again(t: Any, image: Any, d: Dict[str, Any]) -> Any:
    first = (getattr(t, "ops", None) or t.policy[0])[0]
    return timm_again(image, d["ops"], first.kwargs["fillcolor"])


CONFIGS = (
    "rand-m9-mstd0.5-inc1",
    "rand-m15-n3-p0.8-mstd101-mmax20",
    "rand-m7-tweights-p1",
    "rand-m5-n1-t3a-p1",
    "rand-t3aw-n4",
    "original-mstd0.5",
    "originalr",
    "v0",
    "v0r-mstd1",
    "3a",
    "augmix-m5-w4-d2",
    "augmix-mstd2",
)


@pytest.mark.parametrize("config", CONFIGS)
def test_timms_pixels(config: str, samples: Any, monkeypatch: Any) -> None:
    timm_data = pytest.importorskip("timm.data")
    for name in ("RandAugment", "AutoAugment", "AugMixAugment"):
        monkeypatch.setitem(DRAWN, name, ("timm_augment", timms_again))
    for interpolation in ("bicubic", "random"):
        transform = timm_data.create_transform(
            (40, 30),
            is_training=True,
            no_aug=False,
            auto_augment=config,
            interpolation=interpolation,
        )
        check(samples, transform, 3)


def test_timms_texts_come_back() -> None:
    timm = pytest.importorskip("timm.data.auto_augment")
    hparams = {"img_mean": (124, 116, 104), "interpolation": 3}
    for config, wanted in (
        ("rand-m9-mstd0.5-inc1", "rand-m9-n2-p0.5-mstd0.5-inc1"),
        ("rand-n3-mmax12-p1", "rand-m10-n3-p1.0-mstd0-mmax12-inc0"),
        ("rand-mstd200-tweights", "rand-m10-n2-p0.5-mstd101-tweights"),
        ("rand-t3aw", "rand-m10-n2-p0.5-mstd0-t3aw"),
    ):
        made = timm.rand_augment_transform(config, dict(hparams))
        assert ops(v1.Compose([made, v1.PILToTensor()]))[0] == (
            "timm_augment",
            {
                "config": wanted,
                "interpolation": "bicubic",
                "fill": (124, 116, 104),
                "translate_pct": 0.45,
            },
        )
    made = timm.auto_augment_transform("v0r-mstd0.5", {})
    mixed = timm.augment_and_mix_transform("augmix-m5-d2", {})
    found = dict(ops(v1.Compose([mixed, v1.PILToTensor()])))["timm_augment"]
    assert found["config"] == "augmix-m5-w3-d2"
    found = dict(ops(v1.Compose([made, v1.PILToTensor()])))["timm_augment"]
    assert found["config"] == "v0r-mstd0.5" and found["fill"] == (128,) * 3
    assert found["interpolation"] == "random"


def test_what_is_refused_of_timms() -> None:
    timm = pytest.importorskip("timm.data.auto_augment")

    def why(transform: Any) -> str:
        return refusal(v1.Compose([transform, v1.PILToTensor()]))

    make = timm.rand_augment_transform
    one = make("rand-m9", {})
    one.ops[3].aug_fn = timm.invert
    assert "not one of timm's own" in why(one)
    one = make("rand-m9", {})
    one.ops[3].magnitude = 3
    assert "different parameters" in why(one)
    one = make("rand-m9", {})
    one.ops.pop()
    assert "not a set of timm's" in why(one)
    one = make("rand-tweights", {})
    one.choice_weights = one.choice_weights[::-1]
    assert "operations and weights" in why(one)
    one = timm.auto_augment_transform("original", {})
    one.policy.pop()
    assert "policy is not one" in why(one)
    for text in ("augmix-b1", "augmix-a2"):
        assert "AugMix" in why(timm.augment_and_mix_transform(text, {}))
