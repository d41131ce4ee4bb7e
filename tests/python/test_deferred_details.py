# SPDX-License-Identifier: Apache-2.0
"""What is easily overlooked: classes as keys, keywords, `info`, containers."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import deferred_cases as cases
import needs
import pytest

needs.deferred_tensors()
torch = cases.torch
np = cases.np
Image = cases.Image

from torchvision.transforms import functional as F  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


# ---- Classes as keys --------------------------------------------------------


def by_class(thing: Any) -> Any:
    """What a program sees that goes by the class of a thing."""
    known = {
        torch.Tensor: "tensor",
        np.ndarray: "array",
        Image.Image: "image",
    }
    kind = type(thing)
    return known.get(kind, "others"), kind in known, kind == np.ndarray


def test_a_class_is_the_key_of_the_real_one(files: Dict[str, str]) -> None:
    def program(path: str) -> Any:
        image = rgb(path)
        things = [Image.open(path), image, np.array(image), F.to_tensor(image)]
        things.append(torch.from_numpy(np.array(image)).float() / 2)
        return [by_class(thing) for thing in things]

    cases.check(program, files["rgb.jpg"])


def test_arguments_by_class_of_torchvision(files: Dict[str, str]) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    from torchvision import tv_tensors

    kind = tv_tensors.Image
    fill = {kind: 9, Image.Image: 7, "others": 0}
    chains = [
        v2.Pad(3, fill=fill),
        v2.RandomCrop(70, pad_if_needed=True, fill=fill),
        v2.RandomRotation((20, 30), fill=fill),
        v2.RandomZoomOut(fill=fill, p=1.0),
    ]
    for chain in chains:
        cases.check(lambda p: chain(rgb(p)), files["rgb.jpg"])
        cases.check(lambda p: chain(kind(rgb(p))), files["rgb.png"])
        cases.check(lambda p: chain(F.pil_to_tensor(rgb(p))), files["rgb.jpg"])
    halves = v2.ToDtype({kind: torch.float16, "others": None}, scale=True)
    cases.check(lambda p: halves(kind(rgb(p))), files["rgb.jpg"])
    cases.check(lambda p: halves(F.pil_to_tensor(rgb(p))), files["rgb.jpg"])


def test_a_class_of_the_programs_tensors(files: Dict[str, str]) -> None:
    class Meta(type(torch.Tensor)):  # type: ignore[misc]
        pass

    class Own(torch.Tensor, metaclass=Meta):
        pass

    def program(path: str) -> Any:
        made = F.to_tensor(rgb(path)).as_subclass(Own)
        kind = type(made)
        return made, {Own: 1}.get(kind), kind.__name__, kind.__module__

    cases.check(program, files["rgb.jpg"])


# ---- Tensors that are put together ------------------------------------------


def test_a_tensor_by_keyword_is_of_the_whole(files: Dict[str, str]) -> None:
    values = torch.tensor([0.1, 0.5, 0.7])[:, None, None]
    uses: List[Callable[[Any], Any]] = [
        lambda clip: clip.clamp(min=values),
        lambda clip: clip.clip(max=values),
        lambda clip: torch.mul(clip, other=values),
        lambda clip: torch.add(input=clip, other=values),
        lambda clip: clip.sub(other=values),
        lambda clip: clip * values,
    ]

    def frames(path: str) -> Any:
        image = F.to_tensor(rgb(path))
        return [image, image.flip(2), image * 0.5]

    for use in uses:
        for dim in (0, 1):
            cases.check(
                lambda path: use(torch.stack(frames(path), dim=dim)),
                files["rgb.jpg"],
            )
