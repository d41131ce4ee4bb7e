#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether feedline draws as torchvision and timm do.

    bench/augment_draws.py LIBFEEDLINE [--draws N] [--seed N] [--rows NAME ...]

For each row of ROWS as many draws of the operation, as the loader tells them
(Loader.draws, Batch.mixes), and of the library's own class, are compared
parameter by parameter: numbers by the test of Kolmogorov and Smirnov, and what
has few values by a chi-square of their counts. Printed is the least p-value of
each row; exit status 1 if one is below 0.001. Seeds are fixed: the result
repeats.

Another operation is a row: its name, the pipeline, and a function that makes a
function of no arguments, which draws once from the library and returns its
parameters under the names of the engine's. A list of operations becomes their
names and the magnitude of each.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import pathlib
import random
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "decode" / "ops"))
import ops_parity as parity  # noqa: E402
from ops_parity import Image, np, torch  # noqa: E402
from torchvision import transforms as v1  # noqa: E402

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
except ImportError:
    v2 = None
try:
    from timm.data import auto_augment as timm
    from timm.data import mixup as timm_mixup
    from timm.data import transforms as timm_sizes
except ImportError:
    timm = None

WIDTH, HEIGHT = 500, 375
LIMIT = 0.001
FEW = 100  # values: more than these are numbers
RARE = 20  # values that are seen less often, in both together, count as one


# ---- The library's draws -----------------------------------------------------

IMAGE = Image.new("RGB", (WIDTH, HEIGHT))
RAMP = Image.fromarray(
    (np.arange(32 * 32 * 3) % 256 // 2).astype(np.uint8).reshape(32, 32, 3))


def changes(make, name="done"):
    """Of a transform that has nothing to draw but whether it is done."""
    def draws():
        transform, before = make(), RAMP.tobytes()
        return lambda: {name: transform(RAMP).tobytes() != before}
    return draws


def parameters(make, names, *arguments):
    """Of a transform with torchvision's get_params."""
    def draws():
        transform = make()
        given = [getattr(transform, a) if isinstance(a, str) else a
                 for a in arguments]
        return lambda: dict(zip(names, transform.get_params(*given)))
    return draws


def jitter():
    names = ("brightness", "contrast", "saturation", "hue")
    t = v1.ColorJitter(0.4, 0.4, 0.4, 0.1)

    def draw():
        order, *factors = t.get_params(t.brightness, t.contrast, t.saturation,
                                       t.hue)
        return {"order": [names[i] for i in order], **dict(zip(names, factors))}
    return draw


def erasing():
    t, tensor = v1.RandomErasing(), torch.zeros(3, HEIGHT, WIDTH)

    def draw():
        if torch.rand(1) >= t.p:
            return {"erases": False}
        y, x, height, width, _ = t.get_params(tensor, t.scale, t.ratio, [0.0])
        if (height, width) == (HEIGHT, WIDTH):
            return {"erases": False}
        return {"erases": True, "x": x, "y": y, "width": width,
                "height": height}
    return draw


def of_v2(name, *arguments, **named):
    t = getattr(v2, name)(*arguments, **named)
    make = t.make_params if hasattr(t, "make_params") else t._get_params
    return lambda *inputs: make(list(inputs) or [RAMP])


def permutation():
    draw = of_v2("RandomChannelPermutation")
    return lambda: {"permutation": draw()["permutation"].tolist()}


def distort():
    draw = of_v2("RandomPhotometricDistort")
    names = ("brightness", "saturation", "hue")

    def once():
        p = draw()
        found = {n: p[n + "_factor"] for n in (*names, "contrast")
                 if p[n + "_factor"] is not None}
        order = [n for n in names if n in found]
        if "contrast" in found:
            early = p["contrast_before"]
            at = order.index("brightness") + 1 if "brightness" in order else 0
            order.insert(at if early else len(order), "contrast")
        found["order"] = order
        if p["channel_permutation"] is not None:
            found["permutation"] = p["channel_permutation"].tolist()
        return found
    return once


def policy(name, family=v1, **arguments):
    """What one of the AutoAugment family does, in place of doing it."""
    def draws():
        t, done = getattr(family, name)(**arguments), []

        def note(image, op, magnitude, **_):
            done.append({"op": op, "magnitude": magnitude})
            return image

        if family is v1:
            v1.autoaugment._apply_op = note
        else:
            t._apply_image_or_video_transform = note

        def draw():
            done.clear()
            t(IMAGE)
            return {"ops": list(done)}
        return draw
    return draws


def of_timm(config):
    def draws():
        done = []
        make = (timm.rand_augment_transform if config.startswith("rand")
                else timm.auto_augment_transform)
        t = make(config, {"translate_pct": 0.45})
        for op in (t.ops if hasattr(t, "ops") else
                   [o for policy in t.policy for o in policy]):
            op.aug_fn = noting(op.name, done)

        def draw():
            done.clear()
            t(IMAGE)
            return {"ops": list(done)}
        return draw
    return draws


def of_augmix(config):
    def draws():
        done = []
        t = timm.augment_and_mix_transform(config, {"translate_pct": 0.45})
        for op in t.ops:
            op.aug_fn = noting(op.name, done)
        mix = t._apply_basic

        def chains(weights, share):
            for weight in weights:
                yield weight  # its operations are noted
                done.append({"op": "mix_in", "magnitude": float(weight),
                             "share": float(share)})

        def draw():
            done.clear()
            t._apply_basic = lambda image, weights, share: mix(
                image, chains(weights, share), share)
            t(RAMP)
            return {"ops": list(done)}
        return draw
    return draws


def noting(name, done):
    def note(image, *level, **_):
        if name == "GaussianBlurRand":  # draws when it is called
            done.append({"op": "GaussianBlur",
                         "magnitude": random.uniform(0.1, 2 * level[0])})
            return image
        done.append({"op": name, **({"magnitude": level[0]} if level else {})})
        return image
    return note


def members(name, key, count, **arguments):
    """Of a transform that draws which of others are done."""
    def draws():
        done = []
        t = getattr(v1, name)([marking(i, done) for i in range(count)],
                              **arguments)

        def draw():
            done.clear()
            t(IMAGE)
            return {key: list(done) if key == "order" else done[0]}
        return draw
    return draws


def marking(number, done):
    def mark(image):
        done.append(number)
        return image
    return mark


def crop():
    t = v1.RandomCrop((30, 40), padding=4)

    def draw():
        y, x, _, _ = t.get_params(Image.new("L", (WIDTH + 8, HEIGHT + 8)),
                                  t.size)
        return {"x": x - 4, "y": y - 4}
    return draw


def affine():
    t = v1.RandomAffine(30, (0.1, 0.2), (0.8, 1.2), (-10, 10, -5, 5))

    def draw():
        angle, shift, scale, shear = t.get_params(
            t.degrees, t.translate, t.scale, t.shear, [WIDTH, HEIGHT])
        return {"angle": angle, "translate_x": shift[0],
                "translate_y": shift[1], "scale": scale, "shear_x": shear[0],
                "shear_y": shear[1]}
    return draw


def perspective():
    t = v1.RandomPerspective()

    def draw():
        if torch.rand(1) >= t.p:
            return {"done": False}
        points = t.get_params(WIDTH, HEIGHT, t.distortion_scale)
        return {"done": True, "coefficients":
                v1.functional._get_perspective_coeffs(*points)}
    return draw


def crop_or_pad():
    get = timm_sizes.RandomCropOrPad.get_params
    return lambda: dict(zip("yx", get(IMAGE, (300, 600))))


def zoom_out():
    draw, p = of_v2("RandomZoomOut"), v2.RandomZoomOut().p

    def once():
        if torch.rand(1) >= p:
            return {"done": False}
        left, top, right, bottom = draw(IMAGE)["padding"]
        return {"done": True, "x": -left, "y": -top,
                "width": left + WIDTH + right, "height": top + HEIGHT + bottom}
    return once


BOXES = [[60, 40, 200, 300], [180, 150, 480, 370], [400, 20, 440, 60]]


def iou_crop():
    draw = of_v2("RandomIoUCrop")
    boxes = tv_tensors.BoundingBoxes(BOXES, format="XYXY",
                                     canvas_size=(HEIGHT, WIDTH))

    def once():
        drawn = draw(IMAGE, boxes)
        return {"done": bool(drawn),
                **{ours: drawn[name] for ours, name in
                   (("x", "left"), ("y", "top"), ("width", "width"),
                    ("height", "height")) if drawn}}
    return once


def with_boxes(feedline, folder):
    IMAGE.save(folder / "0.jpg")
    notes = [{"id": i, "image_id": 0, "category_id": 1, "iscrowd": 0,
              "area": 1, "bbox": [left, top, right - left, bottom - top]}
             for i, (left, top, right, bottom) in enumerate(BOXES)]
    image = {"id": 0, "file_name": "0.jpg", "width": WIDTH, "height": HEIGHT}
    file = folder / "boxes.json"
    file.write_text(json.dumps({"images": [image], "annotations": notes,
                                "categories": [{"id": 1, "name": "a"}]}))
    return feedline.Dataset.open(f"coco:{file}?images={folder}")


FINE = 1000  # times the image's size, so that rounding to pixels is not seen


def jitter_scale():
    draw = of_v2("ScaleJitter", (FINE * WIDTH, FINE * HEIGHT))
    return lambda: {"scale": draw(IMAGE)["size"][0] / (FINE * HEIGHT)}


def shortest():
    sizes = 200, 300, 400
    draw = of_v2("RandomShortestSize", sizes)

    def once():
        side = min(draw(IMAGE)["size"])  # truncated
        return {"min_size": min(sizes, key=lambda size: abs(size - side))}
    return once


def drawn_size():
    draw = of_v2("RandomResize", 100, 300)
    return lambda: {"size": draw(IMAGE)["size"][0]}


def keep_ratio():
    get = timm_sizes.ResizeKeepRatio.get_params

    def draw():
        height, width = get(IMAGE, (FINE * HEIGHT, FINE * WIDTH), 0,
                            random_scale_prob=0.5, random_aspect_prob=0.5,
                            random_scale_range=(0.85, 1.05))
        return {"height_factor": height / (FINE * HEIGHT),
                "width_factor": width / (FINE * WIDTH)}
    return draw


def mixed(kind, share=1.0, box=()):
    found = {"kind": kind}
    if kind != "none":
        found[kind] = float(share)
    if kind == "cutmix":
        found.update(zip(("left", "top", "right", "bottom"), box))
    return found


def mix_up():
    draw = of_v2("MixUp", alpha=0.7)
    return lambda: mixed("mixup", draw()["lam"])


def cut_mix():
    draw = of_v2("CutMix", alpha=0.7)

    def once():
        drawn = draw()
        return mixed("cutmix", drawn["lam_adjusted"], drawn["box"])
    return once


def mix_of_timm(prob, **arguments):
    def draws():
        t = timm_mixup.Mixup(0.8, prob=prob, mode="elem", **arguments)

        def draw():
            (share,), (cuts,) = t._params_per_elem(1)
            if share == 1 or not cuts:
                return mixed("none" if share == 1 else "mixup", share)
            (top, bottom, left, right), share = timm_mixup.cutmix_bbox_and_lam(
                (3, *RAMP.size), share, t.cutmix_minmax, t.correct_lam)
            return mixed("cutmix", share, (left, top, right, bottom))
        return draw
    return draws


BOX = ("y", "x", "height", "width")
SMALL = "center_crop width=8 height=8"  # images of a batch have one size
ROWS = [
    ("RandomResizedCrop", "random_resized_crop",
     parameters(lambda: v1.RandomResizedCrop(224), BOX, IMAGE, "scale",
                "ratio")),
    ("RandomCrop", "random_crop width=40 height=30 padding=4", crop),
    ("RandomHorizontalFlip", "horizontal_flip",
     changes(v1.RandomHorizontalFlip, "flip")),
    ("RandomVerticalFlip", "vertical_flip",
     changes(v1.RandomVerticalFlip, "flip")),
    ("RandomRotation", "random_rotation degrees=30",
     lambda: (lambda: {"angle": v1.RandomRotation.get_params([-30, 30])})),
    ("RandomAffine", "random_affine degrees=30 translate=0.1,0.2 "
     "scale=0.8:1.2 shear=-10,10,-5,5", affine),
    ("RandomPerspective", "random_perspective", perspective),
    ("ColorJitter",
     "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1", jitter),
    ("RandomGrayscale", "random_grayscale",
     changes(v1.RandomGrayscale, "gray")),
    ("RandomInvert", "random_invert", changes(v1.RandomInvert)),
    ("RandomPosterize", "random_posterize p=0.3",
     changes(lambda: v1.RandomPosterize(4, 0.3))),
    ("RandomSolarize", "random_solarize p=0.2",
     changes(lambda: v1.RandomSolarize(64, 0.2))),
    ("RandomAutocontrast", "random_autocontrast",
     changes(v1.RandomAutocontrast)),
    ("RandomEqualize", "random_equalize", changes(v1.RandomEqualize)),
    ("RandomAdjustSharpness", "random_adjust_sharpness",
     changes(lambda: v1.RandomAdjustSharpness(2))),
    ("RandomChannelPermutation", "random_channel_permutation",
     v2 and permutation),
    ("RandomPhotometricDistort", "random_photometric_distort", v2 and distort),
    ("GaussianBlur", "gaussian_blur kernel_size=9",
     lambda: (lambda: {"sigma": v1.GaussianBlur.get_params(0.1, 2.0)})),
    ("RandomApply", ["random_apply p=0.3", "grayscale"],
     changes(lambda: v1.RandomApply([v1.Grayscale(3)], 0.3))),
    ("RandomChoice", ["random_choice count=3 weights=1,2,5", *["hue"] * 3],
     members("RandomChoice", "choice", 3, p=[1, 2, 5])),
    ("RandomOrder", ["random_order count=4", *["hue"] * 4],
     members("RandomOrder", "order", 4)),
    ("TrivialAugmentWide, v1", "trivial_augment_wide",
     policy("TrivialAugmentWide")),
    ("TrivialAugmentWide, v2", "trivial_augment_wide version=v2",
     v2 and policy("TrivialAugmentWide", v2)),
    ("RandAugment, v1", "rand_augment", policy("RandAugment")),
    ("RandAugment, v2", "rand_augment version=v2",
     v2 and policy("RandAugment", v2)),
    *((f"AutoAugment, {name}", f"auto_augment policy={name}",
       policy("AutoAugment", policy=v1.AutoAugmentPolicy(name)))
      for name in ("imagenet", "cifar10", "svhn")),
    *((f"timm, {config}", f"timm_augment config={config}",
       timm and of_timm(config))
      for config in ("rand-m9-mstd0.5-inc1", "rand-m7-n3-p0.7-mstd101",
                     "original-mstd0.5", "v0", "3a")),
    *((f"timm, {config}", f"timm_augment config={config}",
       timm and of_augmix(config)) for config in ("augmix-m5-w4-d2", "augmix")),
    ("RandomErasing", "random_erasing", erasing),
    ("RandomZoomOut", ["random_zoom_out", SMALL], v2 and zoom_out),
    ("RandomIoUCrop", ["random_iou_crop", SMALL], v2 and iou_crop),
    ("ScaleJitter", ["scale_jitter width=40 height=30", SMALL],
     v2 and jitter_scale),
    ("RandomShortestSize", ["random_shortest_size min_size=200,300,400", SMALL],
     v2 and shortest),
    ("RandomResize", ["random_resize min_size=100 max_size=300", SMALL],
     v2 and drawn_size),
    ("timm, ResizeKeepRatio", ["resize_keep_ratio size=224 random_scale_prob="
     "0.5 random_aspect_prob=0.5", SMALL], timm and keep_ratio),
    ("timm, RandomCropOrPad", "random_crop_or_pad width=600 height=300",
     timm and crop_or_pad),
    ("MixUp", "mix num_classes=2 mixup_alpha=0.7", v2 and mix_up),
    ("CutMix", "mix num_classes=2 cutmix_alpha=0.7", v2 and cut_mix),
    ("timm, Mixup", "mix num_classes=2 like=timm mode=elem p=0.8 "
     "mixup_alpha=0.8 cutmix_alpha=1 switch_prob=0.4",
     timm and mix_of_timm(0.8, cutmix_alpha=1, switch_prob=0.4)),
    ("timm, Mixup, cutmix_minmax", "mix num_classes=2 like=timm mode=elem "
     "mixup_alpha=0.8 cutmix_alpha=1 cutmix_min=0.2 cutmix_max=0.8",
     timm and mix_of_timm(1, cutmix_minmax=(0.2, 0.8))),
]


# ---- Comparing ---------------------------------------------------------------

def plain(name):
    """ShearX, shear_x and its increasing version are one."""
    return re.sub("increasing|original|_", "", name.lower())


def flat(drawn):
    """(parameter, value) of a draw."""
    for key, value in drawn.items():
        if key == "ops":
            names = [plain(op["op"]) for op in value]
            yield key, tuple(names)
            for name, op in zip(names, value):
                yield name, op.get("magnitude", op.get("weight", 0))
            if value and "share" in value[-1]:
                yield "share", value[-1]["share"]
        elif key == "coefficients":
            for i, coefficient in enumerate(value):
                yield f"{key}[{i}]", float(coefficient)
        elif key not in ("op", "operations"):
            yield key, tuple(value) if isinstance(value, list) else value


def collect(draw, count):
    """All values of each parameter."""
    found = collections.defaultdict(list)
    for i in range(count):
        for key, value in flat(draw(i)):
            if isinstance(value, float):
                value = float(f"{value:.5g}") + 0.0  # of floats and doubles
            found[key].append(value)
    return found


def kolmogorov(a, b):
    a, b = np.sort(np.array(a, float)), np.sort(np.array(b, float))
    both = np.concatenate([a, b])
    apart = np.abs(np.searchsorted(a, both, "right") / len(a)
                   - np.searchsorted(b, both, "right") / len(b)).max()
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    x = (root + 0.12 + 0.11 / root) * apart
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * k * k * x * x)
             for k in range(1, 101))
    return 1.0 if x < 0.2 else min(1.0, max(0.0, sum(terms)))


def chi_square(a, b):
    """Two counts of the same things."""
    common = {k for k in {*a, *b} if a[k] + b[k] >= RARE}
    pairs = [(a[k], b[k]) for k in common]
    rest = (sum(a.values()) - sum(p[0] for p in pairs),
            sum(b.values()) - sum(p[1] for p in pairs))
    pairs += [rest] if sum(rest) else []
    if len(pairs) < 2:
        return 1.0
    scale = math.sqrt(sum(b.values()) / max(1, sum(a.values())))
    total = sum((x * scale - y / scale) ** 2 / (x + y) for x, y in pairs)
    half = torch.tensor([(len(pairs) - 1) / 2, total / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def compare(ours, theirs, count):
    """The p-value of each parameter, and of how often it is there."""
    for key in sorted({*ours, *theirs}):
        a, b = ours[key], theirs[key]
        yield key + "?", chi_square(
            collections.Counter({0: len(a), 1: max(0, count - len(a))}),
            collections.Counter({0: len(b), 1: max(0, count - len(b))}))
        if not a or not b:
            continue
        if isinstance(a[0], (int, float)) and len({*a, *b}) > FEW:
            yield key, kolmogorov(a, b)
        else:
            yield key, chi_square(collections.Counter(a),
                                  collections.Counter(b))


def drawn_by(loader, count, mixes):
    """A function of i that tells draw i."""
    if not mixes:
        return lambda i: loader.draws(i, 0, WIDTH, HEIGHT)["operations"][0]
    firsts = (batch.mixes[0] for _ in range(count) for batch in loader)

    def draw(i):
        mix = next(firsts)
        return mixed(mix.kind, mix.share, mix.box)
    return draw


def row_of(feedline, operation, draws, count, seed):
    operations = [operation] if isinstance(operation, str) else operation
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    draw = draws()
    theirs = collect(lambda i: draw(), count)
    mixes = operations[0].startswith("mix ")
    pixels = np.zeros((200 if mixes else 1, *RAMP.size, 3), np.uint8)
    labels = np.zeros(len(pixels), np.int64)
    data = feedline.Dataset.pixels(pixels, labels)
    with tempfile.TemporaryDirectory() as folder, feedline.Loader(
            with_boxes(feedline, pathlib.Path(folder))
            if "iou" in operations[0] else data,
            parity.pipeline_of(feedline, operations), workers=1,
            batch_size=min(2, len(pixels)), seed=seed) as loader:
        ours = collect(drawn_by(loader, count, mixes), count)
    for constant in set(ours) - set(theirs):
        if len({*ours[constant]}) == 1:  # that the library does not draw
            del ours[constant]
    return list(compare(ours, theirs, count))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--draws", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", nargs="*")
    args = parser.parse_args()
    feedline = parity.package_on(str(pathlib.Path(args.library).resolve()))
    print("| class | comparisons | least p | of |\n|---|---:|---:|---|")
    good = True
    for name, operation, draws in ROWS:
        if args.rows and name not in args.rows:
            continue
        if not draws:
            print(f"| {name} | not installed | | |")
            continue
        found = row_of(feedline, operation, draws, args.draws, args.seed)
        key, least = min(found, key=lambda pair: pair[1])
        good = good and least > LIMIT
        print(f"| {name} | {len(found)} | {least:.3g} | {key} |", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
