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
