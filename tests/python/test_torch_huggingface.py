# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face with a transform, beside torch's loader: batches
are equal, or an exception names the row and the remedy."""

from __future__ import annotations

import io
import os
from typing import Any, List, Sequence

import pytest

np = pytest.importorskip("numpy")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")

from images import Image, picture  # noqa: E402
from torch_cases import T, Ours, Theirs, same, v2  # noqa: E402

MODES = ("L", "RGB", "RGBA", "P", "CMYK", "LA", "I;16", "1")


def image(mode: str, seed: int) -> bytes:
    """A file whose image has this mode; L and RGB as JPEG and PNG."""
    made = picture((40, 36), seed, "RGBA")
    if mode == "I;16":
        made = Image.fromarray(np.asarray(made.convert("L")).astype("uint16"))
    elif mode == "P":
        made = made.convert("RGB").quantize(50)
    else:
        made = made.convert(mode)
    kind = "JPEG" if mode == "CMYK" else "PNG"
    if mode in ("L", "RGB") and seed % 2:
        kind = "JPEG"
    out = io.BytesIO()
    made.save(out, kind)
    return out.getvalue()


def rows(modes: Sequence[str], label: str = "label", **more: Any) -> Any:
    """A data set of images of these modes; more: columns behind the label."""
    images = [
        {"bytes": image(mode, i), "path": None} for i, mode in enumerate(modes)
    ]
    labels = [i * 7 % 3 for i in range(len(modes))]
    kinds = {"image": hf.Image(), label: hf.ClassLabel(names=list("abc"))}
    ds = hf.Dataset.from_dict(
        {"image": images, label: labels}, features=hf.Features(kinds)
    )
    for name, values in more.items():
        ds = ds.add_column(name, values[: len(modes)])
    return ds


def batches(loader: Any) -> List[Any]:
    """What it gives, and what it raises in place of a batch."""
    found: List[Any] = []
    iterator = iter(loader)
    while len(found) < len(loader):
        try:
            found.append(next(iterator))
        except Exception as error:
            found.append(error)
    return found


def compare(data: Any, **arguments: Any) -> str:
    """What came of it, as "native: equal, ours": batches are equal, or both
    loaders raise, or ours alone, with the reason and the remedy."""
    loader = Ours(data, **arguments)
    found = set()
    for mine, other in zip(batches(loader), batches(Theirs(data, **arguments))):
        if not isinstance(mine, Exception):
            assert not isinstance(other, Exception), (mine, other)
            assert same(mine, other), (mine, other)
            found.add("equal")
        elif isinstance(other, Exception):
            found.add("both")
        else:
            assert loader.native, (mine, other)
            assert "mode" in str(mine) and 'convert("RGB")' in str(mine)
            found.add("ours")
    kind = "native: " if loader.native else "torch's: "
    return kind + ", ".join(sorted(found))


# ---- Modes ------------------------------------------------------------------

HALF = [0.5] * 3
CONVERT = T.Lambda(lambda x: x.convert("RGB"))
CONVERT_OTHERS = T.Lambda(lambda x: x.convert("RGB") if x.mode != "RGB" else x)
SMALL = T.Resize((24, 24))
CHAINS = {
    "training": [SMALL, T.ToTensor(), T.Normalize(HALF, HALF)],
    "crop": [T.Resize(28), T.CenterCrop(24), T.ToTensor()],
    "bytes": [T.CenterCrop(24), T.PILToTensor()],
    "one gray": [T.Grayscale(), SMALL, T.ToTensor()],
    "three grays": [T.Grayscale(3), SMALL, T.ToTensor()],
    "convert first": [CONVERT_OTHERS, SMALL, T.ToTensor()],
    "convert later": [SMALL, CONVERT, T.ToTensor()],
}
if v2 is not None:
    CHAINS["v2"] = [v2.Resize((24, 24)), v2.PILToTensor()]


def plain(transform: Any) -> Any:
    def function(batch: Any) -> Any:
        batch["image"] = [transform(x) for x in batch["image"]]
        return batch

    return function


def converting(transform: Any) -> Any:
    def function(batch: Any) -> Any:
        batch["image"] = [transform(x.convert("RGB")) for x in batch["image"]]
        return batch

    return function


@pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning")
@pytest.mark.parametrize("chain", CHAINS)
def test_no_mode_is_changed_silently(chain: str) -> None:
    """Whatever the first row is, and those behind it."""
    transform = T.Compose(CHAINS[chain])
    for first in MODES:
        ds = rows([mode for other in MODES for mode in (first, other)])
        for size in (1, 2):
            compare(ds.with_transform(plain(transform)), batch_size=size)
            found = compare(
                ds.with_transform(converting(transform)), batch_size=size
            )
            assert found.endswith(": equal")
            assert "gray" in chain or found.startswith("native")


def test_a_column_that_converts() -> None:
    """Its images are RGB, whatever they are in their files; other modes are
    left to torch, whose pixels they have."""
    transform = T.Compose(CHAINS["training"])
    ds = rows(["L", "RGB", "P"])
    column = ds.cast_column("image", hf.Image(mode="RGB"))
    assert compare(column.with_transform(plain(transform))) == "native: equal"
    gray = ds.cast_column("image", hf.Image(mode="L"))
    loader = Ours(gray.with_transform(plain(transform)))
    assert "Image(mode='L')" in str(loader.fallback_reason)
