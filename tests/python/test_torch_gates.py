# SPDX-License-Identifier: Apache-2.0
"""RandomApply, RandomChoice, RandomOrder and blurs: what they come to, the
same pixels for what was drawn, and the classes that recipes have of their own.
"""

from __future__ import annotations

import random
from typing import Any, List

import numpy as np
import pytest
from PIL import ImageFilter, ImageOps

from torch_cases import T as v1, engine_of, families, torch
from replay import DRAWN, F, check, images_of, open_image
from feedline.torch.folders import ImageList
from feedline.torch.native import NotNative, plan, read_chain


def ops(transform: Any) -> List[Any]:
    chain = read_chain(transform, 3, None)
    assert chain.random
    return [(name, dict(arguments)) for name, arguments, _ in chain.ops]


def names(transform: Any) -> str:
    """Operations, those that decide with their count."""
    found = []
    for name, arguments in ops(transform):
        count = arguments.get("count", "")
        found.append(f"{name}{count}".replace("random_", ""))
    return " ".join(found)


def refusal(transform: Any) -> str:
    with pytest.raises(NotNative) as caught:
        read_chain(transform, 3, None)
    return caught.value.reason


def chain(T: Any, *transforms: Any) -> Any:
    return T.Compose([*transforms, T.PILToTensor()])


# ---- What they come to ------------------------------------------------------


@families
def test_they_nest(T: Any) -> None:
    jitter, gray = T.ColorJitter(0.4, 0.4), T.RandomGrayscale(0.3)
    flip = T.RandomHorizontalFlip()
    assert ops(chain(T, T.RandomApply([jitter, gray], 0.8)))[0] == (
        "random_apply",
        {"count": 2, "p": 0.8},
    )
    modules = torch.nn.ModuleList([jitter])
    assert names(chain(T, T.RandomApply(modules))) == "apply1 color_jitter"
    nested = T.RandomApply(
        [
            T.RandomChoice([T.Compose([jitter, flip]), gray]),
            T.RandomOrder([gray, T.RandomApply([flip], 0.1)]),
        ],
        0.5,
    )
    assert names(chain(T, nested, flip)) == (
        "apply2 choice2 apply2 color_jitter horizontal_flip grayscale "
        "order2 grayscale apply1 horizontal_flip horizontal_flip"
    )
    nothing = T.RandomChoice([jitter, torch.nn.Identity()], p=[1, 3])
    found = ops(chain(T, nothing))
    assert names(chain(T, nothing)) == "choice2 color_jitter apply0"
    weights = found[0][1]["weights"]
    assert weights[1] == pytest.approx(3 * weights[0])


@families
def test_sizes_inside(T: Any) -> None:
    """Those of RandomChoice may all be the same, others must not change."""
    crops = T.RandomChoice([T.CenterCrop(20), T.RandomCrop(20)])
    assert read_chain(chain(T, crops), 3, (30, 30)).size == (20, 20)
    some = chain(T, T.RandomApply([T.CenterCrop(20)]))
    assert read_chain(some, 3, (30, 30)).size is None
    order = T.RandomOrder([T.CenterCrop(20), T.RandomGrayscale()])
    assert "changes the size" in refusal(chain(T, order))


@families
def test_what_does_not_go_inside(T: Any) -> None:
    crop = T.RandomResizedCrop(20)
    assert "put it outside" in refusal(chain(T, T.RandomApply([crop])))
    gray = T.RandomChoice([T.Grayscale(1), T.RandomGrayscale()])
    assert "more than pixels" in refusal(chain(T, gray))
    tensor = T.Compose([T.RandomApply([T.PILToTensor()])])
    assert "more than pixels" in refusal(tensor)
    five = T.RandomChoice([T.RandomGrayscale()] * 5, p=[1, 2, 3, 4, 5])
    assert "nest" in refusal(chain(T, five))


def test_unknown_inside_stays_outside() -> None:
    """torch does all of a RandomApply with something unknown in it."""
    odd = v1.RandomApply([v1.Compose([v1.ColorJitter(0.4), Invert()])])
    with pytest.raises(NotNative) as caught:
        read_chain(chain(v1, v1.CenterCrop(9), odd), 3, None)
    cut = caught.value.cut
    assert cut is not None and cut.tail[0] is odd
    assert [op[0] for op in cut.head._ops] == ["center_crop"]


@families
def test_blurs(T: Any) -> None:
    found = ops(chain(T, T.GaussianBlur((5, 9), sigma=(0.1, 2.0))))
    assert found == [
        ("gaussian_blur", {"kernel_size": (5, 9), "sigma": (0.1, 2.0)})
    ]
    assert ops(T.Compose([T.PILToTensor(), T.GaussianBlur(3)]))
    assert "put it before" in refusal(
        T.Compose([T.ToTensor(), T.GaussianBlur(3)])
    )
    assert "up to" in refusal(chain(T, T.GaussianBlur(301)))
    with pytest.raises(NotNative, match="too small"):
        read_chain(chain(T, T.GaussianBlur(9)), 3, (4, 9))


# ---- Pixels -----------------------------------------------------------------


@families
def test_the_same_pixels(T: Any, samples: Any) -> None:
    jitter = T.ColorJitter(0.4, 0.4, 0.2, 0.1)
    turn = T.RandomRotation(30)
    transform = chain(
        T,
        T.RandomApply([jitter, T.RandomGrayscale(0.5)], 0.6),
        T.RandomChoice([T.RandomVerticalFlip(), turn], p=[0.2, 0.8]),
        T.RandomOrder(
            [
                T.Compose([T.RandomHorizontalFlip(), T.ColorJitter(0, 0.9)]),
                T.RandomApply([turn], 0.7),
                T.RandomCrop(24),
            ][:2]
        ),
        T.RandomCrop(24),
    )
    check(samples, transform, 6)


@families
def test_blurred_pixels(T: Any, samples: Any) -> None:
    """A level at most, in few of the values (docs/pixels.md)."""
    transform = chain(T, T.CenterCrop(31), T.GaussianBlur((23, 5), (0.1, 3)))
    engine = engine_of(plan(ImageList(samples, transform)))
    apart, total = 0, 0
    for epoch in range(6):
        images = images_of(engine, epoch, len(samples))
        for index, (path, _) in enumerate(samples):
            image = open_image(path)
            drawn = engine.draws(epoch, index, image.width, image.height)
            sigma = drawn["operations"][1]["sigma"]
            cut = F.center_crop(image, [31, 31])
            blurred = F.gaussian_blur(cut, [23, 5], [sigma, sigma])
            wanted = torch.as_tensor(np.array(blurred)).permute(2, 0, 1)
            difference = (images[index].int() - wanted.int()).abs()
            assert difference.max() <= 1
            apart += int(difference.sum())
            total += difference.numel()
    engine.close()
    assert apart <= max(4, 5e-5 * total)


# ---- Classes of the user's --------------------------------------------------


class PairBlur:
    """A range as one attribute."""

    def __init__(self, sigma: Any = (0.1, 2.0)) -> None:
        self.sigma = sigma

    def __call__(self, x: Any) -> Any:
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        x = x.filter(ImageFilter.GaussianBlur(radius=sigma))
        return x


class EndsBlur:
    """Probability and ends of its own."""

    def __init__(self, p: float) -> None:
        self.prob, self.low, self.high = p, 0.1, 2.0

    def __call__(self, img: Any) -> Any:
        """With words of its own."""
        do_it = random.random() <= self.prob
        if not do_it:
            return img
        return img.filter(
            ImageFilter.GaussianBlur(radius=random.uniform(self.low, self.high))
        )


class FixedBlur:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        if np.random.rand() < self.p:
            sigma = np.random.rand() * 1.9 + 0.1
            return img.filter(ImageFilter.GaussianBlur(sigma))
        else:
            return img


class OtherBlur(PairBlur):
    """Another arithmetic."""

    def __call__(self, x: Any) -> Any:
        sigma = random.uniform(self.sigma[0], self.sigma[0])
        x = x.filter(ImageFilter.GaussianBlur(radius=sigma))
        return x


class Solarization:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        if random.random() < self.p:
            return ImageOps.solarize(img)
        else:
            return img


class AlwaysSolarize:
    def __call__(self, x: Any) -> Any:
        return ImageOps.solarize(x)


class Invert:
    def __call__(self, x: Any) -> Any:
        return ImageOps.invert(x)


class FalseFriend(PairBlur):
    """`random` is not Python's here."""

    def __call__(self, x: Any) -> Any:
        sigma = np_random.uniform(self.sigma[0], self.sigma[1])
        x = x.filter(ImageFilter.GaussianBlur(radius=sigma))
        return x


np_random = random.Random(3)


class OneMinusP(v1.RandomApply):
    """As DINOv2 has it, with its slip: never for 1."""

    def __init__(self, *, p: float = 0.5) -> None:
        super().__init__([v1.GaussianBlur(9, (0.1, 2.0))], p=1 - p)


def test_classes_of_recipes() -> None:
    for transform, p in ((PairBlur(), 1), (EndsBlur(0.3), 0.3)):
        assert ops(chain(v1, transform)) == [
            ("pil_gaussian_blur", {"radius": (0.1, 2.0), "p": p})
        ]
    assert ops(chain(v1, FixedBlur(0.1)))[0][1]["p"] == 0.1
    assert ops(chain(v1, Solarization(0.2))) == [
        ("random_solarize", {"threshold": 128, "p": 0.2})
    ]
    (gate, blur) = ops(chain(v1, OneMinusP(p=1.0)))
    assert gate == ("random_apply", {"count": 1, "p": 0.0})
    assert blur[0] == "gaussian_blur"
    solarize = v1.RandomApply([AlwaysSolarize()], p=0.2)
    assert ops(chain(v1, solarize))[1] == (
        "random_solarize",
        {"threshold": 128, "p": 1.0},
    )
    for other in (OtherBlur(), Invert(), FalseFriend()):
        assert "knows" in refusal(chain(v1, other))


def test_pixels_of_classes(
    samples: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blur, solarize = ImageFilter.GaussianBlur, ImageOps.solarize
    for name, op, run in (
        (
            "PairBlur",
            "pil_gaussian_blur",
            lambda t, i, d: i.filter(blur(d["radius"])),
        ),
        (
            "Solarization",
            "random_solarize",
            lambda t, i, d: solarize(i) if d["done"] else i,
        ),
    ):
        monkeypatch.setitem(DRAWN, name, (op, run))
    transform = chain(
        v1,
        v1.RandomApply([PairBlur((0.1, 4.0))], 0.7),
        v1.CenterCrop(31),
        Solarization(0.5),
    )
    check(samples, transform)
