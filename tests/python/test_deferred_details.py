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

from PIL import ImageEnhance, ImageOps  # noqa: E402
from torchvision import transforms  # noqa: E402
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


# ---- Pillow -----------------------------------------------------------------


@pytest.fixture(scope="module")
def transparent(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """PNG files of which one colour is transparent, by mode."""
    root, found = tmp_path_factory.mktemp("transparent"), {}
    for mode, colour in (("RGB", (10, 20, 30)), ("L", 20), ("P", 20)):
        image = Image.new(mode, (20, 24), 99)
        image.paste(colour, (3, 4, 9, 9))
        found[mode] = str(root / (mode + ".png"))
        image.save(found[mode], transparency=colour)
    return found


def test_a_transparent_colour_stays_or_goes(
    transparent: Dict[str, str],
) -> None:
    uses: List[Callable[[Any], Any]] = [
        lambda im: ImageOps.expand(im, 3),
        lambda im: ImageOps.pad(im, (40, 30)),
        lambda im: F.pad(im, [3]),
        lambda im: F.pad(im, [3], padding_mode="edge"),
        lambda im: ImageEnhance.Color(im).enhance(0.4),
        lambda im: ImageEnhance.Brightness(im).enhance(0.4),
        lambda im: ImageEnhance.Sharpness(im).enhance(0.4),
        lambda im: F.adjust_saturation(im, 0.4),
        lambda im: F.to_grayscale(im, 3),
        lambda im: im.resize((30, 30), 0).crop((1, 1, 20, 20)),
    ]
    for mode, path in transparent.items():
        for use in uses:

            def program(path: str) -> Any:
                made = use(Image.open(path))
                return made.convert("RGBA"), made

            try:
                program(path)
            except (TypeError, ValueError, OSError):
                continue  # not of this mode
            cases.check(program, path)


def test_an_enhancer_has_the_image_as_it_was(files: Dict[str, str]) -> None:
    kinds = (
        ImageEnhance.Color,
        ImageEnhance.Contrast,
        ImageEnhance.Brightness,
        ImageEnhance.Sharpness,
    )

    def program(path: str) -> Any:
        made = []
        for kind in kinds:
            image = rgb(path)
            enhancer = kind(image)
            made.append(enhancer.enhance(0.4))
            image.paste((255, 0, 9), (0, 0, 25, 30))
            made += [enhancer.enhance(0.4), enhancer.enhance(1.0)]
            enhancer.image = rgb(path).rotate(90)
            enhancer.image = enhancer.image.resize(image.size)
            made.append(enhancer.enhance(0.6))
            other = kind(rgb(path))
            other.image = other.image.transpose(0)
            made += [other.enhance(0.6), other.degenerate]
        return made

    for name in ("rgb.jpg", "alpha.png", "gray.png"):
        cases.check(program, files[name])


# ---- What the libraries refuse, or do otherwise -----------------------------


def tried(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except (TypeError, ValueError, OverflowError, RuntimeError, KeyError) as e:
        return type(e).__name__


def test_values_that_do_not_fit(files: Dict[str, str]) -> None:
    def program(path: str) -> Any:
        made = []
        for value in (-1, 300, 255, 0.5):
            array = np.array(rgb(path).convert("L"))
            tensor = F.pil_to_tensor(rgb(path))
            made += [
                tried(lambda: np.pad(array, 1, constant_values=value)),
                tried(lambda: F.pad(tensor, [1], fill=value)),
                tried(lambda: F.pad(tensor / 2, [1], fill=value)),
            ]
        return made

    cases.check(program, files["rgb.jpg"])


def test_images_of_numbers_have_a_band(files: Dict[str, str]) -> None:
    def program(path: str) -> Any:
        gray = np.array(rgb(path).convert("L"))
        made = Image.fromarray(gray.astype(np.float32))
        return made.getbands(), F.get_dimensions(made), made

    cases.check(program, files["rgb.jpg"])


def test_bytes_of_an_array(files: Dict[str, str]) -> None:
    cases.check(lambda p: bytes(np.array(rgb(p))[2:9]), files["rgb.jpg"])


def test_random_blocks_as_arrays(files: Dict[str, str]) -> None:
    erase = transforms.RandomErasing(p=1.0, value="random")
    cases.check(lambda p: erase(F.to_tensor(rgb(p))).numpy(), files["rgb.jpg"])


def test_the_class_that_torchvision_keeps(files: Dict[str, str]) -> None:
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")

    def program(path: str) -> Any:
        image = tv_tensors.Image(rgb(path))
        with tv_tensors.set_return_type("TVTensor"):
            kept = image / 2, image.shape, image[:, :4], image.float()
        return kept, image / 2

    cases.check(program, files["rgb.jpg"])
