# SPDX-License-Identifier: Apache-2.0
"""What torchvision's v2 makes of uint8 tensors, also where it is too old."""
import numpy as np
import torch
import torchvision.transforms.functional as F
from torchvision.transforms import InterpolationMode as Mode

try:
    from torchvision.transforms.v2 import functional as v2
except ImportError:
    v2 = None


def cubic(x):
    x = abs(x)
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return -0.5 * (((x - 5) * x + 8) * x - 4) if x < 2 else 0


TAPS = {"BILINEAR": (1, lambda x: max(1 - abs(x), 0)), "BICUBIC": (2, cubic)}
# Since torchvision 0.16 v2 resizes uint8 tensors as such.
NATIVE_BYTES = v2 and hasattr(v2._geometry, "_do_native_uint8_resize_on_cpu")
F32 = np.float32


def tensor_axis(pixels, size, how):
    """The last axis of an array, as torch resamples uint8 tensors."""
    support, weigh = TAPS[how]
    old = pixels.shape[-1]
    scale = old / size
    reach = max(scale, 1)
    table = np.zeros((size, old))
    for i in range(size):
        center = scale * (i + 0.5)
        low = max(int(center - support * reach + 0.5), 0)
        high = min(int(center + support * reach + 0.5), old)
        row = [weigh((x - center + 0.5) / reach) for x in range(low, high)]
        table[i, low:high] = np.array(row) / sum(row)
    bits = 0
    while bits < 22 and int(0.5 + table.max() * 2 ** (bits + 1)) < 2 ** 15:
        bits += 1
    table = np.trunc(table * 2 ** bits + np.copysign(0.5, table))
    return np.clip((pixels @ table.T + 2 ** (bits - 1)) // 2 ** bits, 0, 255)


def tensor_resize(image, width, height, how):
    """Of a uint8 tensor by torchvision's v2; by the same arithmetic where
    there is none."""
    pixels = F.pil_to_tensor(image)
    if NATIVE_BYTES:
        made = v2.resize(pixels, [height, width], Mode[how])
    else:
        rows = tensor_axis(pixels.numpy().astype(np.float64), width, how)
        made = tensor_axis(rows.swapaxes(1, 2), height, how).swapaxes(1, 2)
        made = torch.from_numpy(made.astype(np.uint8))
    return F.to_pil_image(made)


# ---- Colours -----------------------------------------------------------------

def fma(a, b, c):
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(F32)


def luma(x):
    if len(x) == 1:
        return x.astype(F32)
    r, g, b = x.astype(F32)
    return np.floor(fma(b, F32(0.114), fma(g, F32(0.587), r * F32(0.2989))))


def blend(x, base, factor):
    return fma(base, F32(1 - factor), x * F32(factor))


def contrast(x, factor):
    gray = luma(x)
    return blend(x, F32(gray.sum(dtype=np.float64)) / F32(gray.size), factor)


def saturation(x, factor):
    return blend(x, luma(x), factor) if len(x) > 1 else x


def sharpness(x, factor):
    height, width = x.shape[1:]
    if min(height, width) < 3:
        return x
    middle = x[:, 1:-1, 1:-1].astype(F32)
    total = 4 * middle + sum(x[:, i:height - 2 + i, k:width - 2 + k].astype(F32)
                             for i in range(3) for k in range(3))
    made = x.astype(F32)
    made[:, 1:-1, 1:-1] = fma(np.rint(total / 13) - middle, F32(1 - factor),
                              middle)
    return made


def autocontrast(x):
    low, high = (f(axis=(1, 2), keepdims=True).astype(F32)
                 for f in (x.min, x.max))
    scale = np.where(high > low, (high - low) * F32(1 / 255), F32(1))
    return (x - np.where(high > low, low, F32(0))) / scale


def hue(x, factor):
    if len(x) == 1:
        return x
    rgb = x * F32(1 / 255)
    low, high = rgb.min(0), rgb.max(0)
    rc, gc, bc = (high - rgb) / np.where(high > low, high - low, F32(1))
    h = np.where(rgb[0] == high, bc - gc, np.where(
        rgb[1] == high, (rc + F32(2)) - bc, (gc + F32(4)) - rc))
    h = np.fmod(h * F32(1 / 6) + F32(1), F32(1)) + F32(factor)
    h = np.fmod(h, F32(1))
    h = np.where(h < 0, h + F32(1), h) * F32(6)
    s = (high - low) / np.where(high > low, high, F32(1))
    part, rest = s * (h - np.floor(h)), F32(1) - s
    q, t, p = ((F32(1) - part) * high, (part + rest) * high, rest * high)
    six = np.floor(h).astype(int) % 6
    corners = [[high, t, p], [q, high, p], [p, high, t], [p, q, high],
               [t, p, high], [high, p, q]]
    made = np.select([six == i for i in range(6)],
                     [np.stack(c) for c in corners])
    return np.clip(made, 0, 1) * F32(255.999)


MODELS = {"adjust_brightness": lambda x, f: x * F32(f),
          "adjust_contrast": contrast, "adjust_saturation": saturation,
          "adjust_sharpness": sharpness, "adjust_hue": hue,
          "autocontrast": autocontrast,
          "to_grayscale": lambda x, n: np.repeat(luma(x)[None], n, 0)}


def on_tensor(name, image, *arguments):
    """A function of v2 on a uint8 tensor."""
    pixels = F.pil_to_tensor(image)
    if NATIVE_BYTES:
        made = getattr(v2, name)(pixels, *arguments)
    else:
        made = MODELS[name](pixels.numpy(), *arguments)
        made = torch.from_numpy(np.clip(made, 0, 255).astype(np.uint8))
    return F.to_pil_image(made)


# Cases of ops_parity.py.
SIZE = "resize width=61 height=47"
TENSORS = [
    ("random_resized_crop, tensor", "v2.RandomResizedCrop on uint8 tensors",
     [["random_resized_crop width=56 height=64 pixels=tensor interpolation="
       + name, "horizontal_flip"] for name in ("bilinear", "bicubic")]),
    ("resize, tensor", "v2.Resize on uint8 tensors",
     [["vertical_flip", "horizontal_flip",
       f"resize width={size} height=90 pixels=tensor interpolation=" + name,
       "center_crop width=50 height=60"]
      for size in (61, 240) for name in ("bilinear", "bicubic")]),
    ("drawn sizes, tensor", "v2 on uint8 tensors",
     [["scale_jitter width=90 height=70 scale=0.3:2 pixels=tensor",
       "horizontal_flip", "fixed_size_crop width=80 height=60 fill=1,2,250"],
      ["random_shortest_size min_size=48,72,128 max_size=133 pixels=tensor "
       "interpolation=bicubic"]]),
    ("color_jitter, tensor", "v2.ColorJitter on uint8 tensors",
     [[SIZE, "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1 "
             "pixels=tensor", "horizontal_flip"],
      [SIZE, "hue factor=-0.5:0.5 pixels=tensor"],
      [SIZE, "contrast factor=0:9 pixels=tensor",
       "center_crop width=31 height=31"],
      [SIZE, "saturation factor=0:9 pixels=tensor", "vertical_flip"]]),
    ("other colours, tensor", "v2 on uint8 tensors",
     [[SIZE, "random_photometric_distort p=0.9 pixels=tensor",
       "random_grayscale p=0.3 pixels=tensor"],
      [SIZE, "random_adjust_sharpness p=0.9 sharpness_factor=1.9 "
             "pixels=tensor",
       "random_autocontrast p=0.9 pixels=tensor", "random_equalize"],
      [SIZE, "random_adjust_sharpness sharpness_factor=0.3 pixels=tensor",
       "random_solarize threshold=99.5", "random_autocontrast pixels=tensor",
       "random_posterize bits=6", "horizontal_flip"],
      [SIZE, "grayscale pixels=tensor", "brightness factor=0:9"]]),
    ("colours, tensor, gray", "v2 on uint8 tensors",
     [[SIZE, "random_photometric_distort p=0.9 pixels=tensor",
       "random_adjust_sharpness sharpness_factor=1.7 pixels=tensor",
       "random_autocontrast pixels=tensor"]]),
]
