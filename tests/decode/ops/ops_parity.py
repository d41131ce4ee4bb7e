# SPDX-License-Identifier: Apache-2.0
"""Every operation against torchvision on Pillow images, for drawn parameters.

    ops_parity.py LIBFEEDLINE [--write docs/pixels.md] [--draws N]

For each row of CASES a pipeline runs through the public interface; what was
drawn for a sample is asked for (feedline_loader_draw_json) and done again with
torchvision. u8 has to be identical, but for a share of APART where torchvision
sums floats in an order of its library's; f32 within 1e-6. Every kernel level of
the machine is tried, the highest with all the draws. --write puts the table
into the page, between its two marks; without it the table there has to be the
one that would be written. Exit status 77: no torchvision here.
"""
import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
try:
    import numpy as np
    import PIL
    import torch
    import torchvision
    import torchvision.transforms.functional as F
    from PIL import Image, ImageFilter, ImageOps
    from torchvision.transforms import InterpolationMode as Mode
    from torchvision.transforms.autoaugment import _apply_op
    from timm_functions import camel, timm_again
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
from tensor_reference import SIZE, TENSORS, on_tensor, tensor_resize

torch.set_num_threads(1)  # there are other processes
FLOAT_LIMIT = 1e-6
APART = 5e-5  # of all values, by one level
BEGIN, END = "<!-- contract: begin -->", "<!-- contract: end -->"


# ---- Operations, done again --------------------------------------------------

def arguments(text):
    """{'fill': [1, 2, 3], ...} of "fill=1,2,3 ..."."""
    found = {}
    for word in text.split():
        key, value = word.split("=")
        try:
            found[key] = [float(v) for v in value.replace(":", ",").split(",")]
        except ValueError:
            found[key] = value
    return found


def fill_of(given, image):
    fill = tuple(int(v) for v in given.get("fill", [0]))
    fill = fill * len(image.getbands()) if len(fill) == 1 else fill
    return fill if len(fill) > 1 else fill[0]


def margins(given):
    """Left, top, right, bottom."""
    pad = [int(v) for v in given.get("padding", [0])]
    return (pad * 4)[:4]


def sides(given):
    return int(given["width"][0]), int(given["height"][0])


def colours(given, name, image, *arguments):
    """A function of torchvision, on whichever pixels."""
    if given.get("pixels") == "tensor":
        return on_tensor(name, image, *arguments)
    return getattr(F, name)(image, *arguments)


def adjusted(name):
    return lambda i, g, d: colours(g, "adjust_" + name, i, d["factor"])


def jitter(image, given, drawn):
    for name in drawn["order"]:
        image = colours(given, "adjust_" + name, image, drawn[name])
    return image


def pad(image, given, drawn):
    return F.pad(image, margins(given), fill_of(given, image),
                 given.get("padding_mode", "constant"))


def random_crop(image, given, drawn):
    mode = given.get("padding_mode", "constant")
    fill = fill_of(given, image)
    left, top, right, bottom = margins(given)
    if left or top or right or bottom:
        image = F.pad(image, [left, top, right, bottom], fill, mode)
    width, height = sides(given)
    if "pad_if_needed" in given:
        wide, high = max(width - image.width, 0), max(height - image.height, 0)
        before = [wide, high] if given["pad_if_needed"] == "true" else [0, 0]
        image = F.pad(image, [*before, wide, high], fill, mode)
        left, top = left + before[0], top + before[1]
    return F.crop(image, drawn["y"] + top, drawn["x"] + left, height, width)


def rotate(image, given, drawn):
    mode = Mode(given.get("interpolation", "nearest"))
    return F.rotate(image, drawn["angle"], mode, center=given.get("center"),
                    fill=fill_of(given, image))


def affine(image, given, drawn):
    shift = [int(drawn["translate_x"]), int(drawn["translate_y"])]
    return F.affine(image, drawn["angle"], shift, drawn["scale"],
                    [drawn["shear_x"], drawn["shear_y"]],
                    Mode(given.get("interpolation", "nearest")),
                    fill_of(given, image), center=given.get("center"))


def perspective(image, given, drawn):
    """With the coefficients that were drawn: theirs differ in a last bit."""
    if not drawn["done"]:
        return image
    mode = given.get("interpolation", "bilinear")
    return F.F_pil.perspective(image, drawn["coefficients"],
                         Image.Resampling[mode.upper()],
                         fill_of(given, image))


def gaussian_blur(image, given, drawn):
    size = [int(v) for v in given["kernel_size"]]
    return F.gaussian_blur(image, (size * 2)[:2], [drawn["sigma"]])


def pil_blur(image, given, drawn):
    if not drawn["blurs"]:
        return image
    return image.filter(ImageFilter.GaussianBlur(drawn["radius"]))


def posterize(image, given):
    """Pillow 13 refuses 0 bits; earlier ones make it black."""
    bits = int(given["bits"][0])
    return F.posterize(image, bits) if bits else image.point(lambda v: 0)


def if_done(function):
    """What torchvision's Random... makes of a function."""
    return lambda i, g, d: function(i, g) if d["done"] else i


def permute(image, given, drawn):
    bands = image.split()
    if len(bands) == 1 or "permutation" not in drawn:
        return image
    return Image.merge("RGB", [bands[k] for k in drawn["permutation"]])


def distort(image, given, drawn):
    return permute(jitter(image, given, drawn), given, drawn)


def crops(image, given, drawn):
    """The one view that was asked for, of five or of ten."""
    width, height = sides(given)
    if drawn["op"] == "five_crop":
        return F.five_crop(image, [height, width])[drawn["view"]]
    vertical = given.get("vertical_flip") == "true"
    return F.ten_crop(image, [height, width], vertical)[drawn["view"]]


def filter_of(given):
    return given.get("interpolation", "bilinear").upper()


def resized_crop(image, given, drawn):
    width, height = sides(given)
    if given.get("pixels") == "tensor":
        image = F.crop(image, drawn["y"], drawn["x"], drawn["height"],
                       drawn["width"])
        return tensor_resize(image, width, height, filter_of(given))
    return F.resized_crop(image, drawn["y"], drawn["x"], drawn["height"],
                          drawn["width"], [height, width],
                          Mode[filter_of(given)])


def resized(image, given, width, height):
    if given.get("pixels") == "tensor":
        return tensor_resize(image, width, height, filter_of(given))
    return F.resize(image, [height, width], Mode[filter_of(given)])


def resize(image, given, drawn):
    if "size" in given:
        return F.resize(image, int(given["size"][0]), Mode[filter_of(given)])
    return resized(image, given, *sides(given))


def resize_pad(image, given, drawn):
    return ImageOps.pad(image, sides(given),
                        Image.Resampling[filter_of(given)],
                        fill_of(given, image))


def center_crop(image, given, drawn):
    width, height = sides(given)
    wide, high = max(width - image.width, 0), max(height - image.height, 0)
    if "fill" in given or "padding_mode" in given:  # timm's CenterCropOrPad
        image = F.pad(image, [wide // 2, high // 2, -(-wide // 2),
                              -(-high // 2)], fill_of(given, image),
                      given.get("padding_mode", "constant"))
    return F.center_crop(image, [height, width])


def window(image, given, drawn):
    x, y, width, height = (drawn[k] for k in ("x", "y", "width", "height"))
    border = [max(-x, 0), max(-y, 0), max(x + width - image.width, 0),
              max(y + height - image.height, 0)]
    image = F.pad(image, border, fill_of(given, image),
                  given.get("padding_mode", "constant"))
    return F.crop(image, max(y, 0), max(x, 0), height, width)


def trim(image, given, drawn):
    by = int(given["size"][0])
    return F.crop(image, by, by, image.height - 2 * by, image.width - 2 * by)


def scaled(ratio):
    """Resized by what a function says."""
    return lambda i, g, d: resized(
        i, g, *(max(int(side * ratio(i, g, d)), 1) for side in i.size))


def jittered(image, given, drawn):
    width, height = sides(given)
    return (min(height / image.height, width / image.width)
            * torch.tensor([drawn["scale"]]))


def shortest(image, given, drawn):
    most = given.get("max_size", [np.inf])[0]
    return min(drawn["min_size"] / min(image.size), most / max(image.size))


def keep_ratio(image, given, drawn):
    width, height = sides(given)
    longest, name = given.get("longest", [0.0])[0], drawn.get("interpolation")
    shares = image.height / height, image.width / width
    ratio = max(shares) * longest + min(shares) * (1.0 - longest)
    size = [round(image.height * drawn["height_factor"] / ratio),
            round(image.width * drawn["width_factor"] / ratio)]
    return F.resize(image, size, Mode[(name or filter_of(given)).upper()])


def augment(image, given, drawn):
    """v2 does what v1 does, with thresholds of 0 to 1 as parts of 255."""
    for op in drawn["ops"]:
        name, magnitude = op["op"], op.get("magnitude", 0.0)
        if name == "solarize" and given.get("version") == "v2":
            magnitude *= 255.0
        image = _apply_op(
            image, camel(name), magnitude,
            Mode(op.get("interpolation", "nearest")), fill_of(given, image))
    return image


def timm_augment(image, given, drawn):
    fill = fill_of({"fill": [128], **given}, image)
    return timm_again(image, drawn["ops"], fill)


def normalize(pixels, given, drawn):
    return F.normalize(pixels, given["mean"], given["std"])


def erase(pixels, given, drawn):
    if not drawn["erases"]:
        return pixels
    value = torch.tensor(given.get("value", [0])).to(pixels.dtype)
    return F.erase(pixels, drawn["y"], drawn["x"], drawn["height"],
                   drawn["width"], value[:, None, None])


ON_IMAGES = {
    **{name: adjusted(name)
       for name in ("brightness", "contrast", "saturation", "hue")},
    "color_jitter": jitter,
    "grayscale": lambda i, g, d: colours(g, "to_grayscale", i, 3),
    "random_grayscale": lambda i, g, d:
        colours(g, "to_grayscale", i, 3) if d["gray"] else i,
    "gaussian_blur": gaussian_blur,
    "pil_gaussian_blur": pil_blur,
    "random_invert": if_done(lambda i, g: F.invert(i)),
    "random_posterize": if_done(posterize),
    "random_solarize": if_done(lambda i, g: F.solarize(i, *g["threshold"])),
    "random_autocontrast": if_done(lambda i, g: colours(g, "autocontrast", i)),
    "random_equalize": if_done(lambda i, g: F.equalize(i)),
    "random_adjust_sharpness":
        if_done(lambda i, g: colours(g, "adjust_sharpness", i,
                                     *g["sharpness_factor"])),
    "random_channel_permutation": permute,
    "random_photometric_distort": distort,
    "horizontal_flip": lambda i, g, d: F.hflip(i) if d["flip"] else i,
    "vertical_flip": lambda i, g, d: F.vflip(i) if d["flip"] else i,
    "pad": pad,
    "random_crop": random_crop,
    "center_crop": center_crop,
    "fixed_size_crop": window,
    "random_crop_or_pad": window,
    "random_zoom_out": lambda i, g, d: window(i, g, d) if d["done"] else i,
    "trim_border": trim,
    "scale_jitter": scaled(jittered),
    "random_shortest_size": scaled(shortest),
    "random_resize": lambda i, g, d: F.resize(i, d["size"], Mode[filter_of(g)]),
    "resize_keep_ratio": keep_ratio,
    "five_crop": crops,
    "ten_crop": crops,
    "random_rotation": rotate,
    "trivial_augment_wide": augment,
    "rand_augment": augment,
    "auto_augment": augment,
    "timm_augment": timm_augment,
    "random_affine": affine,
    "random_perspective": perspective,
    "random_resized_crop": resized_crop,
    "resize": resize,
    "resize_pad": resize_pad,
}
ON_TENSORS = {"normalize": normalize, "random_erasing": erase}


def flipped(name):
    """Flips in front of a resampling: some filters take one side of a tie."""
    flips, how = ["horizontal_flip", "vertical_flip"], " interpolation=" + name
    return [[*flips, "resize width=32 height=64" + how],
            [*flips, "resize size=60" + how, "center_crop width=40 height=36"],
            [*flips, "random_resized_crop width=24 height=16" + how],
            [*flips, "resize_pad width=40 height=80" + how]]


def family(how):
    """The AutoAugment family with one filter."""
    how = " interpolation=" + how
    return [
        [[SIZE, "trivial_augment_wide" + how],
         [SIZE, "trivial_augment_wide version=v2 fill=9" + how],
         [SIZE, "trivial_augment_wide num_magnitude_bins=7" + how]],
        [[SIZE, "rand_augment" + how],
         [SIZE, "rand_augment version=v2 num_ops=4 magnitude=25 fill=77" + how],
         [SIZE, "rand_augment num_ops=1 magnitude=9 num_magnitude_bins=10"
          + how, "horizontal_flip"]],
        [[SIZE, "auto_augment fill=3" + how],
         [SIZE, "auto_augment policy=cifar10 version=v2" + how],
         [SIZE, "auto_augment policy=svhn" + how]]]


def timm_family(how):
    how = " interpolation=" + how
    return [[SIZE, "timm_augment config=" + config + how] for config in (
        "rand-m9-mstd0.5-inc1", "rand-m9-n3-p1-mstd2-mmax20-inc1",
        "rand-m7-n5-p1", "rand-mstd101-n3-tweights fill=124",
        "rand-m6-p1-mstd1-t3a", "rand-n14-p1-t3aw", "original-mstd0.5",
        "originalr-mstd1", "v0", "v0r-mstd3", "3a")]


def augmix(how):
    how = " interpolation=" + how
    return [[SIZE, "timm_augment config=" + config + how] for config in (
        "augmix-m5", "augmix-m9-w4-d2 fill=124", "augmix-m3-w1-mstd0.5")]


def affines(name):
    """Everything at once, then what the engine does in a way of its own."""
    how = " interpolation=" + name
    return [[SIZE, "random_affine degrees=180 translate=0.2,0.1 scale=0.3:2 "
                   "shear=-40,40,-9,20 fill=1,2,250" + how],
            [SIZE, "random_affine degrees=0 translate=1,0.4 fill=9" + how],
            [SIZE, "random_affine degrees=0 scale=0.2:3" + how],
            [SIZE, "random_affine degrees=0 shear=60 center=0,0" + how],
            [SIZE, "random_affine degrees=0 shear=0,0,-50,50" + how],
            [SIZE, "random_affine degrees=3 center=-5.3,70 fill=200" + how]]


# Operation, the reference, pipelines: a list of operations, and what they have
# to be resized to first, if anything. Each one gets its share of the draws.
NORMALIZE = "normalize mean=0.485,0.456,0.406 std=0.229,0.224,0.225"
CASES = [
    ("brightness", "adjust_brightness",
     [[SIZE, "brightness factor=0:1"], [SIZE, "brightness factor=1:9"]]),
    ("contrast", "adjust_contrast",
     [[SIZE, "contrast factor=0:1"], [SIZE, "contrast factor=1:9"],
      [SIZE, "contrast factor=0:2", "center_crop width=20 height=31"]]),
    ("saturation", "adjust_saturation",
     [[SIZE, "saturation factor=0:1"], [SIZE, "saturation factor=1:9"]]),
    ("hue", "adjust_hue", [[SIZE, "hue factor=-0.5:0.5"]]),
    ("color_jitter", "ColorJitter",
     [[SIZE, "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1"],
      [SIZE, "color_jitter brightness=0:3 hue=-0.5:0.5", "horizontal_flip"],
      [SIZE, "color_jitter contrast=0.8 saturation=2", "vertical_flip"]]),
    ("grayscale", "Grayscale(3)",
     [[SIZE, "grayscale", "horizontal_flip"],
      [SIZE, "grayscale", "center_crop width=13 height=9"]]),
    ("random_grayscale", "RandomGrayscale",
     [[SIZE, "random_grayscale p=0.5"]]),
    ("pad", "Pad",
     [[SIZE, "pad padding=3"], [SIZE, "pad padding=5,9 fill=1,2,255"],
      [SIZE, "pad padding=70,3,0,99 padding_mode=edge"],
      [SIZE, "pad padding=0,60,33,1 padding_mode=reflect"],
      [SIZE, "pad padding=200,48,62,0 padding_mode=symmetric"]]),
    ("random_crop", "RandomCrop",
     [["resize width=32 height=32",
       "random_crop width=32 height=32 padding=4"],
      [SIZE, "random_crop width=40 height=41"],
      [SIZE, "random_crop width=55 height=60 padding=9,7 fill=9,99,199"],
      [SIZE, "random_crop width=50 height=50 padding=4,3,2,8 "
             "padding_mode=reflect"],
      [SIZE, "random_crop width=100 height=40 pad_if_needed=true fill=7"],
      [SIZE, "random_crop width=7 height=90 pad_if_needed=true "
             "padding_mode=symmetric"],
      [SIZE, "random_crop width=5 height=3 padding=100 fill=50"]]),
    ("center_crop", "CenterCrop",
     [[SIZE, "center_crop width=24 height=13"],
      [SIZE, "center_crop width=71 height=90"],
      [SIZE, "center_crop width=70 height=20"],
      [SIZE, "random_rotation degrees=9", "center_crop width=24 height=13"]]),
    ("five_crop", "FiveCrop",
     [["resize size=47", "five_crop width=40 height=31"],
      [SIZE, "five_crop width=61 height=2"],
      [SIZE, "random_rotation degrees=9", "five_crop width=24 height=14"],
      [SIZE, "five_crop width=24 height=13",
       "color_jitter contrast=0.8 hue=0.1", "horizontal_flip",
       "random_crop width=24 height=13 padding=2"]]),
    ("ten_crop", "TenCrop",
     [["resize size=47", "ten_crop width=40 height=31"],
      [SIZE, "ten_crop width=24 height=14 vertical_flip=true"],
      [SIZE, "contrast factor=0:2", "ten_crop width=32 height=32"]]),
    ("random_resized_crop", "RandomResizedCrop",
     [["random_resized_crop width=33 height=29"]]),
    ("resize", "Resize",
     [[SIZE], ["resize size=40", "center_crop width=32 height=32"],
      *flipped("bilinear")]),
    *(("resampling, " + name, "Resize, RandomResizedCrop, ImageOps.pad",
       [["resize width=61 height=147 interpolation=" + name],
        ["resize size=23 interpolation=" + name,
         "center_crop width=20 height=21"],
        ["random_resized_crop width=33 height=29 interpolation=" + name],
        ["random_resized_crop width=150 height=3 interpolation=" + name],
        ["resize_pad width=81 height=64 interpolation=" + name],
        *flipped(name)])
      for name in ("nearest", "box", "hamming", "bicubic", "lanczos")),
    ("resize_pad", "ImageOps.pad",
     [["resize_pad width=80 height=64 fill=114"],
      ["resize_pad width=31 height=90 fill=1,2,3"],
      ["resize_pad width=90 height=31"]]),
    ("horizontal_flip", "RandomHorizontalFlip",
     [[SIZE, "horizontal_flip"],
      [SIZE, "random_rotation degrees=45", "horizontal_flip"]]),
    ("vertical_flip", "RandomVerticalFlip",
     [[SIZE, "vertical_flip"],
      [SIZE, "random_rotation degrees=45", "vertical_flip"]]),
    ("random_rotation, nearest", "RandomRotation",
     [[SIZE, "random_rotation degrees=180"],
      [SIZE, "random_rotation degrees=0.3 fill=3,2,1"],
      ["resize width=40 height=40", "random_rotation degrees=90:90"],
      ["resize width=40 height=40", "random_rotation degrees=-90:-90"],
      [SIZE, "random_rotation degrees=90:90"],
      [SIZE, "random_rotation degrees=-180:-180"],
      [SIZE, "random_rotation degrees=360:360"]]),
    ("random_rotation, bilinear", "RandomRotation",
     [[SIZE, "random_rotation degrees=180 interpolation=bilinear"],
      [SIZE, "random_rotation degrees=15 interpolation=bilinear fill=9,8,7"],
      [SIZE, "random_rotation degrees=90:90 interpolation=bilinear"],
      ["resize width=1 height=9",
       "random_rotation degrees=180 interpolation=bilinear"]]),
    ("random_rotation, bicubic", "RandomRotation",
     [[SIZE, "random_rotation degrees=180 interpolation=bicubic"],
      [SIZE, "random_rotation degrees=15 interpolation=bicubic fill=9,8,7"],
      [SIZE, "random_rotation degrees=30:60 center=9.7,40 "
             "interpolation=bicubic"],
      [SIZE, "random_rotation degrees=90:90 center=30.5,23.5"],
      [SIZE, "random_rotation degrees=0:0 center=30.1,23.7 "
             "interpolation=bicubic"],
      ["resize width=3 height=2",
       "random_rotation degrees=180 interpolation=bicubic"]]),
    ("random_erasing, u8", "RandomErasing",
     [[SIZE, "random_erasing p=1 value=77"],
      [SIZE, "random_erasing p=0.6 value=1,2,3 scale=0.5:1 ratio=0.1:9"]]),
    ("random_erasing, f32", "RandomErasing",
     [[SIZE, NORMALIZE, "random_erasing p=1"],
      [SIZE, NORMALIZE, "random_erasing p=1 value=-1.5,0.25,3"]]),
    ("normalize", "Normalize", [[SIZE, NORMALIZE]]),
    ("all of them, u8", "Compose",
     [["random_resized_crop width=48 height=40", "horizontal_flip",
       "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1",
       "random_grayscale p=0.2", "vertical_flip", "random_rotation degrees=20 "
       "interpolation=bilinear fill=128", "horizontal_flip",
       "random_crop width=48 height=40 padding=4", "pad padding=1"]]),
    ("all of them, f32", "Compose",
     [["random_resized_crop width=48 height=40", "horizontal_flip",
       "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1",
       "random_grayscale p=0.2", NORMALIZE, "random_erasing p=0.5"]]),
]


# Compared over as many photos as there are draws.
AUGMENTATIONS = [
    ("scale_jitter", "ScaleJitter",
     [["scale_jitter width=90 height=70 scale=0.3:2"],
      ["scale_jitter width=64 height=99 scale=0.01:1.5 interpolation=bicubic",
       "horizontal_flip", "fixed_size_crop width=80 height=60 fill=1,2,250"]]),
    ("random_shortest_size", "RandomShortestSize",
     [["random_shortest_size min_size=48,56,64,72,80,88,96,104,112,120,128 "
       "max_size=133", "horizontal_flip"],
      ["random_shortest_size min_size=31,70 interpolation=nearest"]]),
    ("random_resize", "RandomResize",
     [["random_resize min_size=52 max_size=209", "horizontal_flip",
       "random_crop width=96 height=80 pad_if_needed=end fill=7"],
      ["random_resize min_size=9 max_size=11"]]),
    ("random_zoom_out", "RandomZoomOut",
     [["random_zoom_out p=0.8 side_range=1:2 fill=123,117,104",
       "horizontal_flip"],
      ["random_photometric_distort", "random_zoom_out side_range=1:1.1 p=1"]]),
    ("fixed_size_crop", "FixedSizeCrop",
     [["fixed_size_crop width=130 height=70 fill=1,2,250"],
      [SIZE, "hue factor=0.2:0.3",
       "fixed_size_crop width=70 height=40 padding_mode=reflect"],
      [SIZE, "fixed_size_crop width=30 height=90 padding_mode=edge"]]),
    ("resize_keep_ratio", "timm: ResizeKeepRatio",
     [["resize_keep_ratio width=97 height=64 interpolation=bicubic"],
      ["resize_keep_ratio width=60 height=60 longest=1",
       "center_crop width=64 height=60 fill=124,116,104"],
      ["resize_keep_ratio width=64 height=64 longest=0.3 "
       "random_scale_prob=0.5 random_scale_range=0.8:1 random_scale_area=true "
       "random_aspect_prob=0.5 random_aspect_range=0.9:1.1111 "
       "interpolation=random", "center_crop width=64 height=64 "
       "padding_mode=reflect"],
      ["resize_keep_ratio width=64 height=64 random_scale_prob=0.5",
       "random_crop_or_pad width=64 height=64 padding_mode=reflect"]]),
    ("random_crop_or_pad", "timm: RandomCropOrPad",
     [["random_crop_or_pad width=130 height=70 fill=1,2,250"],
      [SIZE, "random_crop_or_pad width=30 height=90 padding_mode=edge"]]),
    ("trim_border", "timm: TrimBorder",
     [["trim_border size=3", "resize width=61 height=47"]]),
    *(("random_affine, " + name, "RandomAffine", affines(name))
      for name in ("nearest", "bilinear", "bicubic")),
    *(("random_perspective, " + name, "RandomPerspective",
       [[SIZE, "random_perspective p=1 interpolation=" + name],
        [SIZE, "random_perspective distortion_scale=1 p=0.8 fill=1,2,250 "
               "interpolation=" + name]])
      for name in ("nearest", "bilinear", "bicubic")),
    *TENSORS,
    ("random_invert", "RandomInvert", [[SIZE, "random_invert p=0.9"]]),
    ("random_posterize", "RandomPosterize",
     [[SIZE, f"random_posterize p=0.9 bits={bits}"] for bits in range(9)]),
    ("random_solarize", "RandomSolarize",
     [[SIZE, f"random_solarize p=0.9 threshold={threshold}"]
      for threshold in (0, 0.5, 127, 128, 178.5, 255, 256)]),
    ("random_autocontrast", "RandomAutocontrast",
     [[SIZE, "random_autocontrast p=0.9", "horizontal_flip"],
      [SIZE, "random_autocontrast p=0.9", "center_crop width=20 height=31"],
      ["resize width=7 height=5", "random_autocontrast p=0.9"]]),
    ("random_equalize", "RandomEqualize",
     [[SIZE, "random_equalize p=0.9", "vertical_flip"],
      [SIZE, "random_equalize p=0.9", "center_crop width=20 height=31"],
      ["resize width=30 height=9", "random_equalize p=0.9"]]),
    ("random_adjust_sharpness", "RandomAdjustSharpness",
     [[SIZE, f"random_adjust_sharpness p=0.9 sharpness_factor={factor}",
       "horizontal_flip", "vertical_flip"] for factor in (0, 0.37, 1.9, 9)]
     + [[f"resize {size}", "random_adjust_sharpness p=0.9 sharpness_factor=2",
         "random_crop padding=1 " + size]
        for size in ("width=2 height=30", "width=3 height=3")]),
    ("point operations in a row", "Compose",
     [["random_resized_crop width=48 height=40", "horizontal_flip",
       "random_posterize bits=5", "random_equalize", "random_invert",
       "random_crop width=40 height=39", "random_autocontrast",
       "random_solarize threshold=99.5", "brightness factor=0.5:1.5",
       "random_equalize", "random_adjust_sharpness sharpness_factor=1.5",
       "random_posterize bits=7", "brightness factor=1:3"]]),
    ("random_channel_permutation", "RandomChannelPermutation",
     [[SIZE, "random_channel_permutation", "horizontal_flip"]]),
    ("random_photometric_distort", "RandomPhotometricDistort",
     [[SIZE, "random_photometric_distort"],
      [SIZE, "random_photometric_distort p=0.9 hue=-0.5:0.5 contrast=0:3",
       "vertical_flip"]]),
    ("gaussian_blur", "GaussianBlur",
     [[SIZE, "gaussian_blur kernel_size=23 sigma=0.1:2", "horizontal_flip"],
      [SIZE, "gaussian_blur kernel_size=9 sigma=0.1:5", "vertical_flip"],
      [SIZE, "gaussian_blur kernel_size=1,93 sigma=30"],
      [SIZE, "gaussian_blur kernel_size=121,3 sigma=0.3:0.6"]]),
    ("pil_gaussian_blur", "ImageFilter.GaussianBlur",
     [[SIZE, "pil_gaussian_blur radius=0.1:2", "horizontal_flip"],
      [SIZE, "pil_gaussian_blur radius=0:2.7 p=0.8", "vertical_flip"],
      ["resize width=5 height=9", "pil_gaussian_blur radius=0:9"],
      [SIZE, "pil_gaussian_blur radius=2:100"]]),
    ("random_apply, _choice, _order", "RandomApply, RandomChoice, RandomOrder",
     [[SIZE, "random_apply p=0.5 count=2", "hue factor=-0.5:0.5",
       "horizontal_flip", "contrast factor=0:2"],
      [SIZE, "random_choice count=3 weights=1,2,1", "pil_gaussian_blur",
       "random_apply p=0.8 count=2", "contrast factor=0:3", "vertical_flip",
       "grayscale", "random_rotation degrees=20"],
      [SIZE, "random_order count=4", "random_rotation degrees=30",
       "contrast factor=0.5:2", "horizontal_flip", "random_choice count=2",
       "grayscale", "pil_gaussian_blur radius=1:3"]]),
    ("augmentations, gray", "Compose",
     [[SIZE, "random_posterize bits=5", "random_equalize", "random_invert",
       "random_adjust_sharpness sharpness_factor=0.5",
       "random_channel_permutation"],
      [SIZE, "random_solarize threshold=90.5", "random_photometric_distort",
       "random_autocontrast"]]),
    *((f"{name}, {how}", other, pipelines)
      for how in ("nearest", "bilinear", "bicubic")
      for name, other, pipelines in zip(
          ("trivial_augment_wide", "rand_augment", "auto_augment"),
          ("TrivialAugmentWide", "RandAugment", "AutoAugment"),
          family(how))),
    *(("timm_augment, " + how, "timm: RandAugment, AutoAugment",
       timm_family(how)) for how in ("bilinear", "bicubic", "random")),
    *(("timm_augment, AugMix, " + how, "timm: AugMix", augmix(how))
      for how in ("bilinear", "random")),
    *((name + ", gray", other, pipelines) for name, other, pipelines in zip(
        ("trivial_augment_wide", "rand_augment", "auto_augment"),
        ("TrivialAugmentWide", "RandAugment", "AutoAugment"),
        family("bilinear"))),
    ("timm_augment, gray", "timm: RandAugment, AutoAugment",
     timm_family("random")),
]
PHOTO_SIDE = 160


# Images with alpha, half of the draws with 2 channels and half with 4; {} and
# {small} are as many numbers, the last one for alpha.
ALPHA = [
    ("resize, alpha", "Resize", [[SIZE], ["resize width=160 height=47"]]),
    ("random_resized_crop, alpha", "RandomResizedCrop",
     [["random_resized_crop width=33 height=29"]]),
    ("crops and flips, alpha", "Compose",
     [["random_crop width=20 height=25", "horizontal_flip"],
      [SIZE, "center_crop width=24 height=13", "vertical_flip"],
      [SIZE, "ten_crop width=24 height=14"]]),
    ("pad, alpha", "Pad",
     [[SIZE, "pad padding=5,9 fill={}"], [SIZE, "pad padding=3 fill=7"],
      [SIZE, "pad padding=9 padding_mode=reflect"]]),
    ("resize_pad, alpha", "ImageOps.pad",
     [["resize_pad width=80 height=64 fill={}"]]),
    ("random_rotation, alpha", "RandomRotation",
     [[SIZE, "random_rotation degrees=180 fill={}"],
      [SIZE, "random_rotation degrees=180 interpolation=bilinear"],
      [SIZE, "random_rotation degrees=20 interpolation=bilinear fill={}"],
      [SIZE, "random_rotation degrees=180:180 interpolation=bilinear"]]),
    ("random_affine, alpha", "RandomAffine",
     [[SIZE, "random_affine translate=0.3,0.1 shear=9 fill={}"],
      [SIZE, "random_affine degrees=0 translate=1,1 fill={} "
             "interpolation=bilinear"],
      [SIZE, "random_affine degrees=0 interpolation=bicubic"],
      [SIZE, "random_affine scale=0.5:2 fill={} interpolation=bicubic"]]),
    ("random_perspective, alpha", "RandomPerspective",
     [[SIZE, "random_perspective p=0.9 fill={}"]]),
    ("color_jitter, alpha", "ColorJitter",
     [[SIZE, "color_jitter brightness=0.4 contrast=0.4 saturation=0.4"],
      [SIZE, "color_jitter brightness=2 contrast=2 saturation=2"]]),
    ("random_adjust_sharpness, alpha", "RandomAdjustSharpness",
     [[SIZE, "random_adjust_sharpness sharpness_factor=1.7"]]),
    ("blurs, alpha", "GaussianBlur",
     [[SIZE, "gaussian_blur kernel_size=5", "pil_gaussian_blur"]]),
    ("random_erasing, alpha", "RandomErasing",
     [[SIZE, "random_erasing p=1 value={}"]]),
    ("normalize, alpha", "Normalize",
     [[SIZE, "normalize mean={small} std={small}"]]),
]
NUMBERS = {2: "70,200", 4: "1,99,255,30"}
SMALL = {2: "0.4,0.7", 4: "0.485,0.456,0.406,0.5"}


def is_float(operations):
    return any(o.startswith("normalize") for o in operations)


def views_of(operations):
    names = [o.split()[0] for o in operations]
    return 5 if "five_crop" in names else 10 if "ten_crop" in names else 1


RAGGED = ("scale_jitter", "random_shortest_size", "random_resize",
          "random_zoom_out", "resize_keep_ratio")


def is_ragged(operations):
    """No crop makes one size of what these leave."""
    names = " ".join(o.split()[0] for o in operations)
    return any(n in names for n in RAGGED) and "crop" not in names


DECIDE = ("random_apply", "random_choice", "random_order")


def done(operations, drawn):
    """Each operation that is done, as text and with what was drawn for it."""
    if not any(o.startswith(DECIDE) for o in operations):
        yield from zip(operations, drawn)
        return
    names = {o.split()[0]: o for o in operations}
    for values in drawn:
        if values["op"] in DECIDE:
            yield from done(operations, values["operations"])
        else:
            yield names[values["op"]], values


def reference(image, operations, drawn):
    """What torchvision makes of it, an array [channels, height, width]."""
    tensor = None
    for text, values in done(operations, drawn):
        name, _, rest = text.partition(" ")
        given = arguments(rest)
        assert values["op"] == name, (values, name)
        if name in ON_IMAGES:
            image = ON_IMAGES[name](image, given, values)
            continue
        if tensor is None:
            tensor = (F.to_tensor(image) if is_float(operations)
                      else F.pil_to_tensor(image))
        tensor = ON_TENSORS[name](tensor, given, values)
    if tensor is None:
        tensor = F.pil_to_tensor(image)
    return tensor.numpy()


# ---- The library -------------------------------------------------------------

def package_on(library):
    """The package of this tree, on that library."""
    os.environ["FEEDLINE_LIBRARY"] = library
    root = pathlib.Path(__file__).resolve().parents[3]
    sys.path.insert(0, str(root / "python"))
    return importlib.import_module("feedline")


def pipeline_of(feedline, operations):
    pipeline = feedline.Pipeline()
    for text in operations:
        name, *words = text.split()
        pipeline.add(name, **dict(word.split("=") for word in words))
    return pipeline


def samples(loader):
    """(epoch, index, view, pixels as [channels, height, width]) of an epoch."""
    for batch in loader:
        for i, index in enumerate(batch.sample_index):
            yield batch.epoch, index, i % batch.views, batch.image(i)


# ---- Checking ----------------------------------------------------------------

def write_images(folder):
    """Small files of every kind: smooth, noise, saturated, gray."""
    rng = np.random.default_rng(20)
    paths = []
    for number, (width, height) in enumerate(
            [(160, 120), (121, 163), (75, 75), (97, 31), (64, 200), (90, 80)]):
        yy, xx = np.mgrid[0:height, 0:width]
        waves = np.stack([128 + 120 * np.sin(xx / (4 + 3 * c) + yy / (9 - c))
                          for c in range(3)], -1)
        noise = rng.normal(0, 10 + 25 * (number % 3), waves.shape)
        pixels = np.clip(waves + noise, 0, 255)
        if number == 2:
            pixels = rng.integers(0, 2, waves.shape) * 255
        image = Image.fromarray(pixels.astype(np.uint8))
        if number == 5:
            image = image.convert("L")
        paths.append(str(folder / f"{number}.jpg"))
        image.save(paths[-1], quality=95)
    return paths


def write_photos(folder, source):
    """200 of those below `source`, made smaller; none if there are none."""
    found = sorted(pathlib.Path(source).rglob("*.JPEG")) if source else []
    paths = []
    for number, path in enumerate(found[::max(1, len(found) // 200)][:200]):
        image = Image.open(path)
        image.draft("RGB", (PHOTO_SIDE, PHOTO_SIDE))
        image = image.convert("L" if number % 20 == 0 else "RGB")
        image.thumbnail((PHOTO_SIDE, PHOTO_SIDE))
        paths.append(str(folder / f"photo-{number}.jpg"))
        image.save(paths[-1], quality=95)
    return paths


def check_photos(feedline, paths, images, draws):
    """Each pipeline has photos of its own, once; the first ones come again
    where that is not enough."""
    rows = []
    for name, other, pipelines in AUGMENTATIONS:
        share = -(-draws // len(pipelines))
        results, mode = [], "L" if name.endswith("gray") else "RGB"
        for k, pipeline in enumerate(pipelines):
            which = [i % len(paths) for i in range(k * share, (k + 1) * share)]
            results.append(check_pipeline(
                feedline, [paths[i] for i in which],
                [images[i].convert(mode) for i in which], pipeline, share,
                len(mode)))
        rows.append(row_of(name, other, results))
    return rows


def write_clear_images(folder):
    """PNGs with alpha: smooth, noise, only 0 and 255, and none."""
    rng = np.random.default_rng(21)
    paths = []
    for number, (mode, width, height) in enumerate(
            [("RGBA", 160, 47), ("LA", 121, 63), ("RGBA", 75, 75),
             ("RGBA", 97, 31), ("LA", 64, 90), ("RGB", 90, 80)]):
        bands = len(mode)
        yy, xx = np.mgrid[0:height, 0:width]
        pixels = np.stack([128 + 150 * np.sin(xx / (4 + 3 * c) + yy / (9 - c))
                           for c in range(bands)], -1)
        if number in (1, 3):
            pixels = rng.integers(0, 256, pixels.shape)
        if number == 2:
            pixels[..., -1] = rng.integers(0, 2, (height, width)) * 255
        pixels = np.clip(pixels, 0, 255).astype(np.uint8)
        paths.append(str(folder / f"{number}.png"))
        Image.fromarray(pixels, mode).save(paths[-1])
    return paths


def check_alpha(feedline, folder, draws):
    rows = []
    paths = write_clear_images(folder)
    for name, other, pipelines in ALPHA:
        share = -(-draws // len(pipelines) // 2)
        results = []
        for channels, mode in ((2, "LA"), (4, "RGBA")):
            images = [Image.open(p).convert(mode) for p in paths]
            for pipeline in pipelines:
                filled = [o.format(NUMBERS[channels], small=SMALL[channels])
                          for o in pipeline]
                results.append(check_pipeline(feedline, paths, images, filled,
                                              share, channels))
        rows.append(row_of(name, other, results))
    return rows


def limit_of(operations):
    if any(o.startswith("gaussian_blur") for o in operations):
        return 1
    return FLOAT_LIMIT if is_float(operations) else 0


def off_by(image, operations, drawn, pixels):
    """How far the pixels are from torchvision's, and how many."""
    wanted = reference(image, operations, drawn)
    if pixels.shape != wanted.shape:
        sys.exit(f"{operations}: {pixels.shape}, not {wanted.shape}")
    apart = np.abs(pixels.astype(np.float64) - wanted)
    if apart.max() > limit_of(operations):
        sys.exit(f"{image} {operations} {drawn}: off by {apart.max()}")
    return float(apart.max()), np.mean(apart >= 1)


def check_pipeline(feedline, paths, images, operations, draws, channels=3):
    """The largest difference over at least so many draws, how many there were,
    and the sum of their shares of values that differ."""
    views = views_of(operations)
    loader = feedline.Loader(
        feedline.Dataset.paths(paths), pipeline_of(feedline, operations),
        dtype="f32" if is_float(operations) else "u8", workers=2,
        batch_size=2 * views if views > 1 else 8, channels=channels,
        max_sample_bytes=1 << 21 if is_ragged(operations) else 0)
    worst, done, apart = 0, 0, 0
    while done < draws:
        for epoch, index, view, pixels in samples(loader):
            drawn = loader.draws(epoch, index, *images[index].size, view=view)
            largest, share = off_by(images[index], operations,
                                    drawn["operations"], pixels)
            worst, apart = max(worst, largest), apart + share
            done += 1
    loader.close()
    return worst, done, apart


def row_of(name, other, results):
    """Of a row's pipelines together: single ones have too few values."""
    draws, apart = sum(r[1] for r in results), sum(r[2] for r in results)
    if apart > APART * draws:
        sys.exit(f"{name}: {apart / draws:g} of the values differ")
    return name, other, draws, max(r[0] for r in results)


def check_all(library, draws, photos):
    rows, feedline = [], package_on(library)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_images(pathlib.Path(folder))
        images = [Image.open(p).convert("RGB") for p in paths]
        for name, other, pipelines in CASES:
            share = -(-draws // len(pipelines))
            results = [check_pipeline(feedline, paths, images, p, share)
                       for p in pipelines]
            rows.append(row_of(name, other, results))
        found = write_photos(pathlib.Path(folder), photos)
        if found:
            paths, images = found, [Image.open(p).convert("RGB") for p in found]
        rows += check_photos(feedline, paths, images, draws)
        rows += check_alpha(feedline, pathlib.Path(folder), draws)
    return rows


def table_of(rows):
    lines = [
        "Reference: torchvision "
        f"{torchvision.__version__.split('+')[0]} on Pillow {PIL.__version__} "
        "images.",
        "",
        "| operation | reference | draws | largest difference |",
        "|---|---|---|---|",
    ]
    for name, other, draws, worst in rows:
        # What it is beyond 0 depends on the machine; the limit does not.
        text = "0" if worst == 0 else f"below {FLOAT_LIMIT:g}"
        if other == "GaussianBlur":
            text = f"1, in less than {APART * 1e5:g} of 100,000"
        lines.append(f"| {name} | {other} | {draws} | {text} |")
    return "\n".join(lines)


def rows_in(text):
    """Without the versions: those of another machine may differ."""
    return [line for line in text.splitlines() if line.startswith("|")]


def put_table(page, table, write):
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    if not rest or not tail:
        sys.exit(f"{page}: lacks {BEGIN} and {END}")
    new = f"\n{table}\n"
    if write:
        page.write_text(head + BEGIN + new + END + tail, encoding="utf-8")
    elif rows_in(old) != rows_in(new):
        sys.exit(f"{page}: the table is out of date; run with --write")


def start(library, level, draws, photos):
    return subprocess.Popen(
        [sys.executable, "-B", __file__, library, "--one-level",
         "--draws", str(draws), "--photos", photos],
        env=dict(os.environ, FDL_CPU_MASK=level), stdout=subprocess.PIPE,
        text=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--photos", default="",
                        help="a folder; without it generated images")
    parser.add_argument("--one-level", action="store_true")
    args = parser.parse_args()
    if args.one_level:
        print(json.dumps(check_all(args.library, args.draws, args.photos)))
        return
    # All at once, or this would be the longest of CI's tests. That levels agree
    # is shown by kernels/; here each is seen to be the one that was asked for.
    levels = {"c": args.draws // 4, "avx2": args.draws // 4,
              "avx512": args.draws}
    running = [(level, start(args.library, level, draws, args.photos))
               for level, draws in levels.items()]
    for level, process in running:
        stdout, _ = process.communicate()
        if process.returncode:
            sys.exit(f"{level}: {stdout}status {process.returncode}")
        rows = json.loads(stdout)
        print(level + ":", sum(r[2] for r in rows), "draws of",
              len(rows), "rows")
    if args.page:
        put_table(args.page, table_of(rows), args.write)


if __name__ == "__main__":
    main()
