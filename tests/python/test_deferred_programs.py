# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them: what is recorded is what they make."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any, Callable, Dict

import deferred_cases as cases
import images
import needs
import pytest

needs.deferred_tensors()
torch = cases.torch
np = cases.np
Image = images.Image

from PIL import ImageEnhance, ImageFilter, ImageOps  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F2
except ImportError:
    v2 = None

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


# ---- Methods and functions of an image --------------------------------------

# Recorded to the end.
KEPT: Dict[str, Callable[[Any], Any]] = {
    "convert": lambda im: im.convert("L"),
    "there and back": lambda im: im.convert("L").convert("RGB"),
    "crop": lambda im: im.crop((3, 4, 30, 31)),
    "crop beyond": lambda im: im.crop((-5, -3, 70, 31)),
    "crop rounded": lambda im: im.crop((2.5, 3.5, 30.2, 31.7)),
    "resize": lambda im: im.resize((20, 33)),
    "resize nearest": lambda im: im.resize((20, 33), Image.NEAREST),
    "resize box": lambda im: im.resize((20, 33), Image.BOX),
    "resize hamming": lambda im: im.resize((90, 33), Image.HAMMING),
    "resize lanczos": lambda im: im.resize([20, 99], Image.LANCZOS),
    "resize of a box": lambda im: im.resize(
        (20, 33), Image.BILINEAR, box=(1.5, 2.25, 30, 31)
    ),
    "resize to itself": lambda im: im.resize(im.size),
    "flip": lambda im: im.transpose(Image.FLIP_LEFT_RIGHT),
    "turn": lambda im: im.transpose(Image.ROTATE_90),
    "transverse": lambda im: im.transpose(Image.TRANSVERSE),
    "rotate": lambda im: im.rotate(13, Image.BILINEAR, fillcolor=(9, 8, 7)),
    "rotate, expand": lambda im: im.rotate(33, Image.BICUBIC, expand=True),
    "rotate by 90": lambda im: im.rotate(90, expand=True),
    "affine": lambda im: im.transform(
        (40, 30), Image.AFFINE, (1.1, 0.1, 2, -0.1, 0.9, 1)
    ),
    "perspective": lambda im: im.transform(
        (40, 30),
        Image.PERSPECTIVE,
        (1.1, 0.1, 2, -0.1, 0.9, 1, 0.001, 0.002),
        Image.BICUBIC,
        fillcolor="red",
    ),
    "point": lambda im: im.point(lambda v: v * 1.5 + 3),
    "point by list": lambda im: im.point(list(range(255, -1, -1)) * 3),
    "blur": lambda im: im.filter(ImageFilter.GaussianBlur(1.5)),
    "copy": lambda im: im.copy(),
    "chain": lambda im: im.resize((80, 60))
    .crop((5, 5, 60, 50))
    .transpose(0)
    .rotate(10),
    "mirror": lambda im: ImageOps.mirror(im),
    "ImageOps.flip": lambda im: ImageOps.flip(im),
    "invert": lambda im: ImageOps.invert(im),
    "autocontrast": lambda im: ImageOps.autocontrast(im),
    "equalize": lambda im: ImageOps.equalize(im),
    "posterize": lambda im: ImageOps.posterize(im, 3),
    "solarize": lambda im: ImageOps.solarize(im, 100),
    "solarize by default": lambda im: ImageOps.solarize(im),
    "grayscale": lambda im: ImageOps.grayscale(im),
    "expand": lambda im: ImageOps.expand(im, 4, fill=(1, 2, 3)),
    "expand two": lambda im: ImageOps.expand(im, (4, 5)),
    "pad": lambda im: ImageOps.pad(im, (70, 70), color="blue"),
    "pad aside": lambda im: ImageOps.pad(im, (90, 20), centering=(0.1, 0)),
    "fit": lambda im: ImageOps.fit(im, (32, 32), Image.BILINEAR),
    "contain": lambda im: ImageOps.contain(im, (32, 32)),
    "exif_transpose": lambda im: ImageOps.exif_transpose(im),
    "band": lambda im: im.split()[-1],
    "band by name": lambda im: im.getchannel(im.getbands()[0]),
    "band by number": lambda im: im.crop((1, 2, 40, 33)).getchannel(0),
    "band of a band": lambda im: im.split()[0].getchannel("L").split()[0],
    "bands merged": lambda im: Image.merge(im.mode, im.split()),
    "bands turned": lambda im: Image.merge("RGB", im.split()[2::-1]),
    "band thrice": lambda im: Image.merge("RGB", [im.getchannel(0)] * 3),
    "merged with alpha": lambda im: Image.merge(
        "RGBA",
        (*im.resize((30, 20)).split()[:3], im.resize((30, 20)).split()[1]),
    ),
    "gray and alpha": lambda im: Image.merge("LA", im.split()[:2]).resize(
        (20, 20), Image.BILINEAR
    ),
    "YCbCr": lambda im: im.convert("YCbCr"),
    "YCbCr moved": lambda im: im.convert("YCbCr")
    .crop((3, 2, 41, 40))
    .resize((17, 60))
    .transpose(2),
    "luminance": lambda im: im.convert("YCbCr").split()[0].resize((20, 33)),
    "colour": lambda im: im.convert("YCbCr").getchannel("Cr").rotate(20),
    "YCbCr as RGB": lambda im: ImageOps.invert(
        Image.merge("RGB", im.convert("YCbCr").split())
    ),
    "brightness": lambda im: ImageEnhance.Brightness(im).enhance(1.4),
    "contrast": lambda im: ImageEnhance.Contrast(im).enhance(0.4),
    "color": lambda im: ImageEnhance.Color(im).enhance(1.4),
    "sharpness": lambda im: ImageEnhance.Sharpness(im).enhance(1.9),
    "load": lambda im: (im.load(), im.crop((1, 1, 20, 20)))[1],
    "with": lambda im: im.__enter__().resize((9, 9)),
    "F.pad": lambda im: F.pad(im, [1, 2, 3, 4], fill=7),
    "F.pad edge": lambda im: F.pad(im, [1, 2, 3, 4], padding_mode="edge"),
    "F.pad reflect": lambda im: F.pad(im, 5, padding_mode="reflect"),
    "F.pad symmetric": lambda im: F.pad(im, 5, padding_mode="symmetric"),
    "F.hue": lambda im: F.adjust_hue(im, 0.2),
    "F.gamma": lambda im: F.adjust_gamma(im, 0.7),
    "F.gray": lambda im: F.to_grayscale(im, 3),
    "F.gray 1": lambda im: F.to_grayscale(im, 1),
    "to_pil": lambda im: F.to_pil_image(F.pil_to_tensor(im)),
    "to_pil of floats": lambda im: F.to_pil_image(F.to_tensor(im) * 0.5),
}

# torchvision convolves floats, in an order that is its library's business, so
# the last bits are not the engine's.
INEXACT = ("GaussianBlur", "RandomApply")

# What looks at pixels, or writes them: real from there on.
TOUCHED: Dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "no such channel": lambda im: im.getchannel(7),
    "no such name": lambda im: im.getchannel("Z"),
    "YCbCr back": lambda im: im.convert("YCbCr").convert("RGB"),
    "YCbCr turned": lambda im: im.convert("YCbCr").rotate(20, fillcolor=0),
    "YCbCr bright": lambda im: ImageEnhance.Brightness(
        im.convert("YCbCr")
    ).enhance(0.5),
    "YCbCr padded": lambda im: F.pad(im.convert("YCbCr"), 3),
    "YCbCr by points": lambda im: im.convert("YCbCr").point(lambda v: v // 2),
    "YCbCr blurred": lambda im: im.convert("YCbCr").filter(
        ImageFilter.GaussianBlur(1)
    ),
    "merged YCbCr": lambda im: Image.merge("YCbCr", im.split()[:3]),
    "merged too few": lambda im: Image.merge("RGB", im.split()[:1]),
    "merged sizes": lambda im: Image.merge(
        "LA", (im.getchannel(0), im.getchannel(0).crop((0, 0, 9, 9)))
    ),
    "merged after points": lambda im: Image.merge(
        "RGB", [band.point(lambda v: v // 2) for band in im.split()[:3]]
    ),
    "merged of two": lambda im: Image.merge(
        "LA", (im.getchannel(0), im.transpose(0).getchannel(0))
    ),
    "pixels": lambda im: (im.load()[3, 3], im.getpixel((2, 2)), im),
    "thumbnail": lambda im: (im.thumbnail((20, 20)), im)[1],
    "reduce": lambda im: im.reduce(2),
    "gap": lambda im: im.resize((10, 10), reducing_gap=2.0),
    "quantize": lambda im: im.quantize(16),
    "histogram": lambda im: im.histogram(),
    "stat": lambda im: ImageOps.autocontrast(im, cutoff=2),
    "filter": lambda im: im.filter(ImageFilter.FIND_EDGES),
    "hsv": lambda im: im.convert("HSV"),
    "matrix": lambda im: im.convert("L", (0.2, 0.3, 0.5, 0)),
    "blend": lambda im: Image.blend(im, im.transpose(0), 0.3),
    "composite": lambda im: Image.composite(
        im, im.transpose(0), Image.new("L", im.size, 90)
    ),
    "to bytes": lambda im: im.tobytes(),
    "equal": lambda im: im == im.copy(),
    "bbox": lambda im: im.getbbox(),
    "quad": lambda im: im.transform(
        (9, 9), Image.QUAD, (0, 0, 0, 30, 30, 30, 30, 0)
    ),
    "saved": lambda im: (im.save(io.BytesIO(), "PNG"), im)[1],
}


def check_or_raise(run: Callable[[], Any]) -> None:
    """What Pillow refuses is refused in the same way."""
    try:
        run()
    except Exception as error:
        with pytest.raises(type(error)) as raised:
            cases.Recorder().run(run)
        assert str(raised.value) == str(error)
    else:
        cases.check(run)


@pytest.mark.parametrize("name", KEPT)
def test_an_image_is_recorded(name: str, files: Dict[str, str]) -> None:
    for path in files.values():
        assert cases.check(lambda: KEPT[name](rgb(path))) == [True], path
        assert cases.check(lambda: F.to_tensor(KEPT[name](rgb(path)))) == [True]


@pytest.mark.parametrize("name", KEPT)
def test_an_image_as_it_is_opened(name: str, files: Dict[str, str]) -> None:
    """Without a conversion before: gray ones, palettes, alpha."""
    for path in files.values():
        check_or_raise(lambda: KEPT[name](Image.open(path)))


@pytest.mark.parametrize("name", TOUCHED)
def test_what_is_not_recorded_is_real(name: str, files: Dict[str, str]) -> None:
    for path in files.values():
        check_or_raise(lambda: TOUCHED[name](rgb(path)))
        check_or_raise(lambda: TOUCHED[name](Image.open(path)))


@pytest.mark.parametrize("name", KEPT)
def test_exif_is_kept_or_lost_as_pillow_does(
    name: str, files: Dict[str, str]
) -> None:
    """What is made anew has no orientation left to be turned by."""
    path = files["turned.jpg"]
    cases.check(lambda: ImageOps.exif_transpose(KEPT[name](rgb(path))))


def test_images_as_they_are_opened(files: Dict[str, str]) -> None:
    for path in files.values():
        assert cases.check(Image.open, path) == [True]
        assert cases.check(lambda: Image.open(path).copy()) == [True]
        assert cases.check(lambda: Image.open(path).convert()) in (
            [True],
            [False],
        )


# ---- Chains of torchvision --------------------------------------------------

CHAINS: Dict[str, Any] = {
    "RandomResizedCrop": T.RandomResizedCrop(32),
    "Resize": T.Resize(40),
    "Resize, CenterCrop": T.Compose([T.Resize(40), T.CenterCrop(32)]),
    "CenterCrop beyond": T.CenterCrop(90),
    "RandomCrop": T.RandomCrop(32, padding=4, padding_mode="reflect"),
    "RandomCrop if needed": T.RandomCrop(64, pad_if_needed=True, fill=3),
    "RandomHorizontalFlip": T.RandomHorizontalFlip(),
    "RandomVerticalFlip": T.RandomVerticalFlip(0.9),
    "ColorJitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "RandomGrayscale": T.RandomGrayscale(0.9),
    "Grayscale": T.Grayscale(3),
    "GaussianBlur": T.GaussianBlur(5),
    "RandomRotation": T.RandomRotation(30, T.InterpolationMode.BILINEAR),
    "RandomAffine": T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5, fill=4),
    "RandomPerspective": T.RandomPerspective(0.4, 1.0),
    "RandomPosterize": T.RandomPosterize(3, 1.0),
    "RandomSolarize": T.RandomSolarize(100, 1.0),
    "RandomInvert": T.RandomInvert(1.0),
    "RandomAutocontrast": T.RandomAutocontrast(1.0),
    "RandomEqualize": T.RandomEqualize(1.0),
    "RandomAdjustSharpness": T.RandomAdjustSharpness(1.7, 1.0),
    "Pad": T.Pad((2, 3), padding_mode="symmetric"),
    "RandAugment": T.RandAugment(3),
    "TrivialAugmentWide": T.TrivialAugmentWide(),
    "AutoAugment": T.AutoAugment(),
    "RandomApply": T.RandomApply([T.GaussianBlur(3)], 0.9),
    "RandomChoice": T.RandomChoice([T.Resize(20), T.CenterCrop(20)]),
}


def to_floats(chain: Any) -> Any:
    return T.Compose([chain, T.ToTensor(), T.Normalize(MEAN, STD)])


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("again", range(2))
def test_chains_of_torchvision(
    name: str, again: int, files: Dict[str, str]
) -> None:
    chain = CHAINS[name]
    for n, path in enumerate(files.values()):

        def run() -> Any:
            cases.seed(100 * again + n)
            image = chain(rgb(path))
            return image, to_floats(chain)(rgb(path))

        found = cases.check(run)
        assert found == [True, True] or name in INEXACT, path


def v2_chains() -> Dict[str, Any]:
    if v2 is None:
        return {}
    return {
        name: chain
        for name, chain in {
            "RandomResizedCrop": v2.RandomResizedCrop(32),
            "Resize": v2.Resize((40, 33)),
            "CenterCrop": v2.CenterCrop(30),
            "RandomCrop": v2.RandomCrop(32, padding=4),
            "RandomHorizontalFlip": v2.RandomHorizontalFlip(),
            "ColorJitter": v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            "RandomGrayscale": v2.RandomGrayscale(0.9),
            "RandomRotation": v2.RandomRotation(30),
            "RandomAffine": v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5),
            "RandomPerspective": v2.RandomPerspective(0.4, 1.0),
            "RandomInvert": v2.RandomInvert(1.0),
            "RandomEqualize": v2.RandomEqualize(1.0),
            "RandomAutocontrast": v2.RandomAutocontrast(1.0),
            "RandomSolarize": v2.RandomSolarize(100, 1.0),
            "RandomPosterize": v2.RandomPosterize(3, 1.0),
            "RandomAdjustSharpness": v2.RandomAdjustSharpness(1.7, 1.0),
            "RandAugment": v2.RandAugment(2),
            "TrivialAugmentWide": v2.TrivialAugmentWide(),
            "ScaleJitter": v2.ScaleJitter((50, 50), (0.5, 1.5)),
            "RandomZoomOut": v2.RandomZoomOut(p=1.0),
        }.items()
    }


@pytest.mark.parametrize("name", v2_chains())
def test_chains_of_v2(name: str, files: Dict[str, str]) -> None:
    chain = v2_chains()[name]
    floats = v2.Compose(
        [
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    for path in files.values():
        run = lambda: (
            chain(rgb(path)),
            floats(chain(rgb(path))),
        )  # noqa: E731
        assert cases.check(run) == [True, True], path
        pure = v2.Compose([floats, v2.ToPureTensor()])
        assert cases.check(lambda: pure(rgb(path))) == [True]


def v2_of_tensors() -> Dict[str, Any]:
    """Of tensors of bytes, as decode_image and ToImage make them."""
    if v2 is None:
        return {}
    bicubic = v2.InterpolationMode.BICUBIC
    nearest = v2.InterpolationMode.NEAREST
    return {
        "RandomResizedCrop": v2.RandomResizedCrop(32, antialias=True),
        "Resize": v2.Resize((40, 33), antialias=True),
        "Resize bicubic": v2.Resize(30, bicubic, antialias=True),
        "Resize nearest": v2.Resize((80, 90), nearest),
        "Resize, crop": v2.Compose([v2.Resize(50), v2.CenterCrop(30)]),
        "crop, resize twice": v2.Compose(
            [v2.RandomCrop(30), v2.Resize(50), v2.Resize(20)]
        ),
        "brightness": v2.ColorJitter(brightness=0.5),
        "contrast": v2.ColorJitter(contrast=0.5),
        "saturation": v2.ColorJitter(saturation=0.5),
        "hue": v2.ColorJitter(hue=0.3),
        "ColorJitter": v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
        "sharpness": v2.RandomAdjustSharpness(1.7, 1.0),
        "grayscale": v2.RandomGrayscale(1.0),
        "Grayscale": v2.Grayscale(1),
        "autocontrast": v2.RandomAutocontrast(1.0),
        "invert": v2.RandomInvert(1.0),
        "posterize": v2.RandomPosterize(3, 1.0),
        "flips": v2.Compose(
            [v2.RandomHorizontalFlip(0.7), v2.RandomVerticalFlip(0.7)]
        ),
    }


@pytest.mark.parametrize("name", v2_of_tensors())
@pytest.mark.parametrize("kind", ["image", "tensor"])
def test_v2_of_tensors(name: str, kind: str, files: Dict[str, str]) -> None:
    chain = v2_of_tensors()[name]
    floats = v2.ToDtype(torch.float32, scale=True)
    make = F2.to_image if kind == "image" else F2.pil_to_tensor
    for path in files.values():
        run = lambda: (  # noqa: E731
            chain(make(rgb(path))),
            floats(chain(make(rgb(path)))),
            F2.to_pil_image(chain(make(rgb(path)))),
        )
        assert cases.check(run) == [True, True, True], path


@pytest.mark.skipif(v2 is None, reason="no torchvision.transforms.v2")
def test_v2_on_tensors(files: Dict[str, str]) -> None:
    """Bytes of a tensor are cropped, flipped and padded like an image's."""
    kept = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomCrop(24),
            v2.RandomHorizontalFlip(0.7),
            v2.RandomVerticalFlip(0.7),
            v2.Pad(3),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    resized = v2.Compose([v2.ToImage(), v2.Resize(20, antialias=False)])
    for path in files.values():
        assert cases.check(lambda: kept(rgb(path))) == [True]
        assert cases.check(lambda: resized(rgb(path))) == [False]
        mask = lambda: tv_tensors.Mask(rgb(path).convert("L"))  # noqa: E731
        assert cases.check(mask) == [True]
        both = lambda: v2.RandomHorizontalFlip(1)(  # noqa: E731
            {"image": F2.to_image(rgb(path)), "mask": mask()}
        )
        assert cases.check(both) == [True, True]


# ---- Tensors ----------------------------------------------------------------

TENSORS: Dict[str, Callable[[Any], Any]] = {
    "to_tensor": lambda im: F.to_tensor(im),
    "pil_to_tensor": lambda im: F.pil_to_tensor(im),
    "/ 255": lambda im: F.pil_to_tensor(im) / 255,
    "float / 255": lambda im: F.pil_to_tensor(im).float() / 255.0,
    "* 2 - 1": lambda im: F.to_tensor(im) * 2 - 1,
    "1 - x": lambda im: 1 - F.to_tensor(im),
    "255 - x": lambda im: 255 - F.pil_to_tensor(im),
    "half": lambda im: F.to_tensor(im).half(),
    "bfloat16": lambda im: F.to_tensor(im).to(torch.bfloat16).mul(2),
    "double": lambda im: F.to_tensor(im).double().sub(0.1).div(0.3),
    "long": lambda im: F.pil_to_tensor(im).long(),
    "bool": lambda im: F.pil_to_tensor(im) > 99,
    "clamp": lambda im: (F.to_tensor(im) * 3).clamp(0.2, 1.0),
    "sqrt": lambda im: F.to_tensor(im).sqrt(),
    "in place": lambda im: F.to_tensor(im).mul_(2).sub_(1),
    "normalize": lambda im: F.normalize(F.to_tensor(im), MEAN, STD),
    "normalize in place": lambda im: F.normalize(
        F.to_tensor(im), MEAN, STD, inplace=True
    ),
    "normalize twice": lambda im: F.normalize(
        F.normalize(F.to_tensor(im), MEAN, STD), [0.5] * 3, [0.5] * 3
    ),
    "normalize by whole numbers": lambda im: F.normalize(
        F.to_tensor(im), [0, 0, 0], [1, 1, 1]
    ),
    "by tensors": lambda im: (
        F.to_tensor(im) - torch.tensor(MEAN)[:, None, None]
    )
    / torch.tensor(STD).view(3, 1, 1),
    "convert_image_dtype": lambda im: F.convert_image_dtype(
        F.pil_to_tensor(im)
    ),
    "convert to int16": lambda im: F.convert_image_dtype(
        F.pil_to_tensor(im), torch.int16
    ),
    "slice": lambda im: F.to_tensor(im)[:, 2:20, 3:30],
    "slice, dots": lambda im: F.to_tensor(im)[..., 2:20, 3:30] * 2,
    "slice of bytes": lambda im: F.pil_to_tensor(im)[:, 5:, :-3] / 255,
    "flip": lambda im: F.to_tensor(im).flip(-1),
    "flip both": lambda im: torch.flip(F.to_tensor(im), dims=(1, 2)),
    "hflip": lambda im: F.hflip(F.to_tensor(im)),
    "vflip": lambda im: F.vflip(F.pil_to_tensor(im)),
    "rot90": lambda im: torch.rot90(F.to_tensor(im), 1, (1, 2)),
    "rot90 back": lambda im: torch.rot90(F.to_tensor(im), 1, [2, 1]),
    "rot90 thrice": lambda im: torch.rot90(F.pil_to_tensor(im), 3, (-2, -1)),
    "rot180": lambda im: F.to_tensor(im).rot90(2, (1, 2)),
    "transpose": lambda im: F.to_tensor(im).transpose(1, 2),
    "transpose, slice": lambda im: F.to_tensor(im).transpose(-1, -2)[
        :, :9, 4:20
    ],
    "mT": lambda im: F.to_tensor(im).mT + 1,
    "permute": lambda im: F.to_tensor(im).permute(1, 2, 0),
    "permute, norm": lambda im: (
        F.to_tensor(im).permute(1, 2, 0) - torch.tensor(MEAN)
    )
    / torch.tensor(STD),
    "permute wide": lambda im: F.to_tensor(im).permute(2, 1, 0).contiguous(),
    "there and back": lambda im: F.pil_to_tensor(im)
    .permute(1, 2, 0)
    .permute(2, 0, 1)
    .contiguous(),
    "unsqueeze": lambda im: F.to_tensor(im).unsqueeze(0),
    "None": lambda im: F.to_tensor(im)[None, :, 3:9],
    "unsqueeze, squeeze": lambda im: F.to_tensor(im)[None].flip(3).squeeze(0),
    "reshape": lambda im: F.to_tensor(im)
    .reshape(1, 3, *im.size[::-1])
    .flip(3)
    .reshape(3, -1, im.size[0]),
    "gray view": lambda im: F.to_tensor(im.convert("L")).view(*im.size[::-1]),
    "narrow": lambda im: F.to_tensor(im).narrow(1, 3, 12).narrow(2, 1, 8),
    "gray": lambda im: F.to_tensor(im.convert("L")),
    "gray one": lambda im: F.to_tensor(im.convert("L"))[0],
    "gray squeeze": lambda im: F.pil_to_tensor(im.convert("L"))
    .squeeze()
    .long(),
    "BGR": lambda im: F.to_tensor(im)[[2, 1, 0]],
    "BGR by negatives": lambda im: F.to_tensor(im)[[-1, -2, -3]] * 255,
    "channels of bytes": lambda im: F.pil_to_tensor(im).contiguous()[[1, 1]],
    "BGR, normalized": lambda im: F.normalize(F.to_tensor(im), MEAN, STD)[
        [2, 1, 0]
    ],
    "flip of channels": lambda im: F.pil_to_tensor(im).flip(0),
    "normalized, flip of channels": lambda im: torch.flip(
        F.normalize(F.to_tensor(im), MEAN, STD), [0]
    )
    .permute(1, 2, 0)
    .flip(-1),
    "channel": lambda im: F.to_tensor(im)[1],
    "channel of bytes": lambda im: F.pil_to_tensor(im)[-1] / 3,
    "first channel": lambda im: F.to_tensor(im)[:1],
    "two channels": lambda im: F.normalize(F.to_tensor(im), MEAN, STD)[1:],
    "channel, box": lambda im: F.to_tensor(im)[2, 3:30, 4:-4].unsqueeze(0),
    "channel, last": lambda im: F.to_tensor(im).permute(1, 2, 0)[..., 0],
    "channel, table": lambda im: (
        F.to_tensor(im) - torch.tensor(MEAN)[:, None, None]
    )[1:2],
    "gray of bands": lambda im: F.to_tensor(im.convert("YCbCr")).narrow(
        0, 0, 1
    ),
    "YCbCr padded": lambda im: F.pad(F.pil_to_tensor(im.convert("YCbCr")), 3),
    "gray repeat": lambda im: F.to_tensor(im.convert("L")).repeat(3, 1, 1),
    "gray expand": lambda im: F.to_tensor(im.convert("L")).expand(3, -1, -1)
    * 2,
    "gray cat": lambda im: torch.cat([F.pil_to_tensor(im.convert("L"))] * 3),
    "gray normalize": lambda im: F.normalize(
        F.to_tensor(im.convert("L")), MEAN, STD
    )
    if False
    else F.normalize(F.to_tensor(im.convert("L")), [0.5], [0.25]),
    "gray, three means": lambda im: F.to_tensor(im.convert("L"))
    - torch.tensor(MEAN).view(3, 1, 1),
    "no alpha": lambda im: F.pil_to_tensor(im.convert("RGBA"))[:3] / 255
    if im.mode == "RGB"
    else F.to_tensor(im),
    "erase": lambda im: F.erase(
        F.to_tensor(im), 3, 4, 10, 12, torch.tensor(0.5)
    ),
    "erase colour": lambda im: F.erase(
        F.normalize(F.to_tensor(im), MEAN, STD),
        3,
        4,
        10,
        12,
        torch.tensor([0.1, 0.2, -3.0])[:, None, None],
    ),
    "erase twice, then more": lambda im: F.erase(
        F.erase(F.to_tensor(im), 3, 4, 10, 12, torch.tensor(0.5)),
        6,
        1,
        9,
        9,
        torch.tensor(0.25),
    )
    .mul(3)
    .half(),
    "RandomErasing": lambda im: T.RandomErasing(1.0, value=0.3)(
        F.to_tensor(im)
    ),
    "written": lambda im: written(F.to_tensor(im)),
    "pad": lambda im: F.pad(F.to_tensor(im), [1, 2, 3, 4]),
    "pad bytes": lambda im: F.pad(F.pil_to_tensor(im), [1, 2], fill=8),
    "pad reflect": lambda im: F.pad(F.to_tensor(im), 3, padding_mode="reflect"),
    "pad edge": lambda im: F.pad(F.to_tensor(im), 3, padding_mode="edge"),
    "nn.pad": lambda im: torch.nn.functional.pad(F.to_tensor(im), (1, 2, 3, 4)),
    "F.crop": lambda im: F.crop(F.to_tensor(im), 3, 4, 20, 30),
    "F.crop beyond": lambda im: F.crop(F.to_tensor(im), -3, 20, 30, 70),
    "center_crop": lambda im: F.center_crop(F.to_tensor(im), [20, 90]),
    "clone": lambda im: F.to_tensor(im).clone(),
    "detach": lambda im: F.to_tensor(im).detach() * 2,
    "same": lambda im: F.to_tensor(im).float().cpu().contiguous().to("cpu"),
    "asked": lambda im: (
        lambda t: (t, tuple(t.shape), t.ndim, len(t), t.numel())
    )(F.to_tensor(im)),
}


def written(t: Any) -> Any:
    t[:, 2:9, 5:11] = 0.25
    t[..., 12:, 20:30] = torch.tensor(MEAN)[:, None, None]
    return t


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_is_recorded(name: str, files: Dict[str, str]) -> None:
    for path in files.values():
        assert cases.check(lambda: TENSORS[name](rgb(path))) == [True], path


UNRECORDED: Dict[str, Callable[[Any], Any]] = {
    "mean": lambda t: t - t.mean(),
    "pow": lambda t: t**2.2,
    "exp": lambda t: t.exp(),
    "index": lambda t: t[[0, 1, 2, 1, 0]],
    "index of rows": lambda t: t[:, [2, 1, 0]],
    "index by a tensor": lambda t: t[torch.tensor([2, 1, 0])],
    "index of columns": lambda t: t.permute(1, 2, 0)[[2, 1, 0]],
    "index of bools": lambda t: t[[True, False, True]],
    "no such channel": lambda t: t[-3:][0],
    "flip of all": lambda t: t.flip(0, 1),
    "row": lambda t: t[:, 3],
    "step": lambda t: t[:, ::2, ::3],
    "mask": lambda t: t[t > 0.5],
    "stack": lambda t: torch.stack([t, t.flip(2)]),
    "view": lambda t: t.view(-1),
    "reshape": lambda t: t.reshape(3, -1),
    "reshape apart": lambda t: t.reshape(t.shape[0], -1, t.shape[2], 1)[..., 0],
    "noise": lambda t: t + torch.randn(t.shape),
    "noise like": lambda t: t + 0.1 * torch.randn_like(t),
    "pixel erased": lambda t: F.erase(t, 1, 2, 5, 5, torch.rand(3, 5, 5)),
    "set pixel": lambda t: set_item(t, (0, 3, 4), 9.0),
    "set by mask": lambda t: set_item(t, t > 0.5, 0.0),
    "written, flipped": lambda t: written(t).flip(2),
    "numpy": lambda t: t.numpy(),
    "list": lambda t: t[:, :2, :2].tolist(),
    "sum": lambda t: float(t.sum()),
    "interpolate": lambda t: F.resize(t, [20, 20], antialias=True),
    "chunk": lambda t: t.chunk(3),
    "out": lambda t: torch.add(t, 1, out=torch.empty(t.shape)),
    "where": lambda t: torch.where(t > 0.5, t, torch.zeros(())),
    "rounding": lambda t: torch.div(t, 0.3, rounding_mode="floor"),
    "alpha": lambda t: t.add(0.3, alpha=0.7),
    "pad by what is no byte": lambda t: F.pad(t, 2, fill=0.123),
    "pad by 0.0 where 0 is -0.0": lambda t: F.pad(-t, 2),
    "hue of a tensor": lambda t: F.adjust_hue(t, 0.1),
}


def set_item(t: Any, index: Any, value: Any) -> Any:
    t[index] = value
    return t


@pytest.mark.parametrize("name", UNRECORDED)
def test_other_functions_get_real_tensors(
    name: str, files: Dict[str, str]
) -> None:
    for path in files.values():
        check_or_raise(lambda: UNRECORDED[name](F.to_tensor(rgb(path))))


# ---- Views share what they show ---------------------------------------------

SHARED: Dict[str, Callable[[Any], Any]] = {
    "view, then base written": lambda t: (t[:, 2:9], t.zero_()),
    "view written": lambda t: (t, t[:, 2:9].fill_(3)),
    "view of a view": lambda t: (t, t[:, 2:9][..., 4:8].mul_(0)),
    "view item": lambda t: (t, set_item(t[:, 2:9], (0, 1, 1), 5.0)),
    "base item": lambda t: (t[:, 2:9], set_item(t, (slice(None), 3), 5.0)),
    "view added": lambda t: (t.permute(1, 2, 0), t.add_(1)),
    "made before": lambda t: (t * 2, t.add_(1)),
    "made after": lambda t: (t.add_(1), t * 2),
    "view made before": lambda t: (t[:, 2:9] * 2, t.zero_(), t * 2),
    "expand": lambda t: (t[:1], t.detach().zero_()),
    "channel written": lambda t: (t, t[1].fill_(3)),
    "channels of a copy": lambda t: (t, t[[2, 1, 0]].fill_(3)),
    "channel, then base": lambda t: (t[0], t.mul_(3)),
    "copy": lambda t: (t.clone(), t.zero_()),
    "real copy": lambda t: (t, t.float().fill_(1), t.contiguous()),
}


@pytest.mark.parametrize("name", SHARED)
def test_views_share_what_they_show(name: str, files: Dict[str, str]) -> None:
    for path in files.values():
        cases.check(lambda: SHARED[name](F.to_tensor(rgb(path))))


# ---- Written by hand --------------------------------------------------------


def paired(path: str) -> Any:
    image, mask = rgb(path), rgb(path).convert("L")
    i, j, h, w = T.RandomCrop.get_params(image, (24, 28))
    image, mask = F.crop(image, i, j, h, w), F.crop(mask, i, j, h, w)
    if random.random() < 0.5:
        image, mask = F.hflip(image), F.hflip(mask)
    return F.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.long)


def super_resolution(path: str) -> Any:
    high = F.to_tensor(rgb(path))
    low = F.to_tensor(rgb(path).resize((28, 22), Image.BICUBIC))
    y, x = random.randint(0, 5), random.randint(0, 5)
    high = high[:, y * 2 : y * 2 + 20, x * 2 : x * 2 + 20]
    low = low[:, y : y + 10, x : x + 10]
    k = random.randint(0, 3)
    return torch.rot90(high, k, (1, 2)), torch.rot90(low, k, (1, 2))


def cut_in_two(path: str) -> Any:
    both = rgb(path)
    w, h = both.size
    a, b = both.crop((0, 0, w // 2, h)), both.crop((w // 2, 0, w // 2 * 2, h))
    return {"a": F.to_tensor(a) * 2 - 1, "b": F.to_tensor(b) * 2 - 1}


def on_a_canvas(path: str) -> Any:
    image = rgb(path)
    side = max(image.size)
    canvas = Image.new("RGB", (side, side), (122, 116, 104))
    canvas.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return canvas


def drawn_on(path: str) -> Any:
    from PIL import ImageDraw

    image = rgb(path)
    before = image.crop((0, 0, 20, 20))
    ImageDraw.Draw(image).rectangle((2, 2, 9, 9), fill=(1, 2, 3))
    image.putpixel((0, 0), (9, 9, 9))
    image.load()[1, 1] = (7, 7, 7)
    return before, image, image.crop((0, 0, 20, 20))


def from_bytes(path: str) -> Any:
    with open(path, "rb") as file:
        image = Image.open(io.BytesIO(file.read())).convert("RGB")
    with open(path, "rb") as file:
        other = Image.open(file).convert("RGB")
    third = Image.open(Path(path)).convert("RGB")
    return image.resize((20, 20)), other, third


def several_views(path: str) -> Any:
    chain = to_floats(CHAINS["RandomResizedCrop"])
    image = rgb(path)
    return [chain(image) for _ in range(4)]


def substitute(path: str) -> Any:
    try:
        return rgb(path + ".gone")
    except OSError:
        return rgb(path)


def decides(path: str) -> Any:
    image = rgb(path)
    if np.asarray(image).mean() > 128:
        return F.to_tensor(image), 1
    return F.to_tensor(image.transpose(0)), 0


PROGRAMS = {
    paired: [True, True],
    super_resolution: [True, True],
    cut_in_two: [True, True],
    on_a_canvas: [True],
    drawn_on: [True, False, False],
    from_bytes: [True, True, True],
    several_views: [True] * 4,
    substitute: [True],
    decides: [False],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_by_hand(program: Any, files: Dict[str, str]) -> None:
    for path in files.values():
        assert cases.check(program, path) == PROGRAMS[program], path


# ---- torchvision.io ---------------------------------------------------------


def test_torchvision_io(files: Dict[str, str]) -> None:
    tvio = pytest.importorskip("torchvision.io")
    if not hasattr(torch.ops.image, "decode_image"):
        pytest.skip("torchvision without decoders")
    deferred = {
        "rgb.jpg",
        "progressive.jpg",
        "gray.jpg",
        "rgb.png",
        "gray.png",
    }
    for name, path in files.items():
        data = torch.frombuffer(
            bytearray(Path(path).read_bytes()), dtype=torch.uint8
        )
        rgb_mode = tvio.ImageReadMode.RGB
        uses = [
            lambda: tvio.read_image(path),
            lambda: tvio.read_image(path, rgb_mode) / 255,
            lambda: tvio.decode_image(data, mode=rgb_mode)[:, 2:9],
            lambda: tvio.decode_image(data, tvio.ImageReadMode.GRAY),
            lambda: tvio.read_image(path).float().mean(),
        ]
        if "jpg" in name:
            uses.append(lambda: tvio.decode_jpeg(data))
        for n, use in enumerate(uses):
            try:
                use()
            except RuntimeError:
                continue
            found = cases.check(use)
            if name in deferred and n < 3:
                assert found == [True], (name, n)
