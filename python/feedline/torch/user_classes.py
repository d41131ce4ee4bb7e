# SPDX-License-Identifier: Apache-2.0
"""Classes of the user's that self-supervised recipes copy from each other.

MoCo, DINO, Barlow Twins and VICReg each have a GaussianBlur and a solarization
of their own, around Pillow's. One is known by what its __call__ is compiled to
(compiled.py), and by its modules being the ones that their names say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List
from typing import Optional, Tuple

from .compiled import Forms

if TYPE_CHECKING:
    from .chain import Builder

Read = Callable[["Builder", Any], None]

_BLUR = "x_.filter(ImageFilter_.GaussianBlur(%s))"
_BETWEEN = "random_.uniform(self_.low_, self_.high_)"
_OF_PAIR = "random_.uniform(self_.pair_[0], self_.pair_[1])"
_SOLARIZE = "ImageOps_.solarize(x_)"
# Where a number of [0, 1) comes from.
_UNIFORM = ("random_.random()", "numpy_.random.rand()")
_MODULES = {
    "random_": "random",
    "numpy_": "numpy",
    "ImageFilter_": "PIL.ImageFilter",
    "ImageOps_": "PIL.ImageOps",
}


def _gated(what: str) -> List[str]:
    """Done with a probability, as one writes it."""
    forms = []
    for uniform in _UNIFORM:
        for sign in ("<", "<="):
            test = f"{uniform} {sign} self_.p_"
            forms += [
                f"if {test}:\n  return {what}\n else:\n  return x_",
                f"if {test}:\n  return {what}\n return x_",
                f"if {test}:\n  x_ = {what}\n return x_",
                f"do_ = {test}\n if not do_:\n  return x_\n return {what}",
            ]
        forms.append(f"if {uniform} > self_.p_:\n  return x_\n return {what}")
    return forms


def _blurs() -> List[str]:
    forms = []
    for key in ("", "radius="):
        for drawn in (_OF_PAIR, _BETWEEN):
            forms.append(
                f"s_ = {drawn}\n x_ = {_BLUR % (key + 's_')}\n return x_"
            )
            forms.append(f"s_ = {drawn}\n return {_BLUR % (key + 's_')}")
            forms.append(f"return {_BLUR % (key + drawn)}")
            forms += _gated(_BLUR % (key + drawn))
    return forms


def _fixed_blurs() -> List[str]:
    """With a standard deviation of 0.1 to 2."""
    return [
        f"if {uniform} < self_.p_:\n"
        f"  s_ = {uniform} * 1.9 + 0.1\n  return {_BLUR % 's_'}\n"
        " else:\n  return x_"
        for uniform in _UNIFORM
    ]


def _blur(b: "Builder", t: Any, names: Dict[str, str]) -> None:
    if "pair_" in names:
        radius = b.pair(names["pair_"], getattr(t, names["pair_"], None))
    elif "low_" in names:
        ends = [getattr(t, names[end], None) for end in ("low_", "high_")]
        radius = b.pair(f"{names['low_']}, {names['high_']}", ends)
    else:
        radius = 0.1, 2.0
    b.add("pil_gaussian_blur", radius=radius, p=_probability(b, t, names))


def _solarize(b: "Builder", t: Any, names: Dict[str, str]) -> None:
    b.add("random_solarize", threshold=128, p=_probability(b, t, names))


def _probability(b: "Builder", t: Any, names: Dict[str, str]) -> float:
    if "p_" not in names:
        return 1.0
    return min(max(b.number("p", getattr(t, names["p_"], None)), 0.0), 1.0)


_ReadNamed = Callable[["Builder", Any, Dict[str, str]], None]


def _sources() -> Iterator[Tuple[str, _ReadNamed]]:
    for bodies, read in (
        (_blurs() + _fixed_blurs(), _blur),
        ([f"return {_SOLARIZE}"] + _gated(_SOLARIZE), _solarize),
    ):
        for body in bodies:
            yield f"def f(self_, x_):\n {body}", read


_FORMS = Forms(_sources, _MODULES)


def reader_of_class(call: Any) -> Optional[Read]:
    """Of objects with this __call__; None where it is not known."""
    for found in _FORMS.known(call):
        read, names = found.meaning, found.names

        def read_object(b: "Builder", transform: Any) -> None:
            b.need_image()
            b.draws()
            read(b, transform, names)

        return read_object
    return None
