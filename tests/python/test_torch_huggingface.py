# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face with a transform, beside torch's loader: batches
are equal, or an exception names the row and the remedy."""

from __future__ import annotations

import argparse
import functools
import io
import os
from typing import Any, List, Sequence

import pytest

np = pytest.importorskip("numpy")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")

from images import Image, picture  # noqa: E402
from torch_cases import T, Ours, Theirs, same, torch, v2  # noqa: E402

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


# ---- Forms of functions and collate_fns --------------------------------------

TRAIN = T.Compose(CHAINS["training"])
ARGS = argparse.Namespace(
    image_column_name="image", label_column_name="label", transform=TRAIN
)


def under_a_new_key(batch: Any) -> Any:
    batch["pixel_values"] = [TRAIN(x.convert("RGB")) for x in batch["image"]]
    return batch


def of_a_named_column(batch: Any) -> Any:
    batch["pixel_values"] = [
        TRAIN(picture.convert("RGB"))
        for picture in batch[ARGS.image_column_name]
    ]
    return batch


def in_two_steps(examples: Any) -> Any:
    images = [image.convert("RGB") for image in examples["image"]]
    examples["pixel_values"] = [ARGS.transform(image) for image in images]
    return examples


def as_a_new_dict(batch: Any) -> Any:
    return {
        "pixel_values": [TRAIN(x.convert("RGB")) for x in batch["image"]],
        "labels": batch["label"],
    }


def in_a_loop(batch: Any) -> Any:
    batch["pixel_values"] = []
    for image in batch["image"]:
        if image.mode != "RGB":
            image = image.convert("RGB")
        batch["pixel_values"].append(TRAIN(image))
    return batch


def deleted(batch: Any) -> Any:
    batch["pixel_values"] = [TRAIN(x.convert("RGB")) for x in batch["image"]]
    del batch["image"]
    return batch


def popped(batch: Any) -> Any:
    images = batch.pop("image")
    batch["pixel_values"] = [
        TRAIN(x if x.mode == "RGB" else x.convert("RGB")) for x in images
    ]
    return batch


def images_alone(examples: Any) -> Any:
    images = [TRAIN(image.convert("RGB")) for image in examples["image"]]
    return {"input": images}


def stacked(batch: Any) -> Any:
    images = [TRAIN(x.convert("RGB")) for x in batch["image"]]
    return {**batch, "image": torch.stack(images)}


def by_a_helper(batch: Any) -> Any:
    def prepared(image: Any) -> Any:
        return TRAIN(image.convert("RGB"))

    batch["image"] = list(map(prepared, batch["image"]))
    return batch


class Preprocess:
    """An object that is called, and has a method for the same."""

    column = "image"

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, batch: Any) -> Any:
        images = [self.one(image) for image in batch[self.column]]
        batch["pixel_values"] = images
        return batch

    def one(self, image: Any) -> Any:
        return self.transform(image.convert("RGB"))

    def renamed(self, batch: Any) -> Any:
        batch = self(batch)
        del batch[self.column]
        return batch

    def only_images(self, batch: Any) -> Any:
        return {"pixel_values": [self.one(x) for x in batch["image"]]}


def with_arguments(transform: Any, batch: Any, column: str = "x") -> Any:
    batch[column] = [transform(x.convert("RGB")) for x in batch["image"]]
    return batch


def stacking(examples: Any) -> Any:
    """As Transformers' own examples do it."""
    images = torch.stack([example["pixel_values"] for example in examples])
    labels = torch.tensor(
        [example[ARGS.label_column_name] for example in examples]
    )
    return {"pixel_values": images, "labels": labels}


def with_text(examples: Any) -> Any:
    images = torch.stack([example["pixel_values"] for example in examples])
    images = images.to(memory_format=torch.contiguous_format).float()
    ids = [len(example["caption"]) for example in examples]
    return {"pixel_values": images, "input_ids": torch.tensor(ids)}


def images_only(examples: Any) -> Any:
    return {"pixel_values": torch.stack([e["pixel_values"] for e in examples])}


def of_labels(examples: Any) -> Any:
    images = torch.stack([example["pixel_values"] for example in examples])
    return images, torch.tensor([example["labels"] for example in examples])


def default_of_transformers(examples: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.DefaultDataCollator()(examples)


# Function, collate_fn (None: the default), and columns that go before.
FORMS = {
    "image classification": (under_a_new_key, stacking, ["caption"]),
    "its columns named": (of_a_named_column, stacking, []),
    "text to image": (in_two_steps, with_text, []),
    "masked autoencoder": (in_a_loop, images_only, []),
    "new dict": (as_a_new_dict, of_labels, []),
    "new dict, default": (as_a_new_dict, None, []),
    "deleted": (deleted, default_of_transformers, []),
    "popped": (popped, None, ["caption"]),
    "unconditional": (images_alone, None, []),
    "stacked": (stacked, None, []),
    "helper": (by_a_helper, None, ["caption"]),
    "object": (Preprocess(TRAIN), stacking, []),
    "bound method": (Preprocess(TRAIN).only_images, images_only, []),
    "partial": (
        functools.partial(with_arguments, TRAIN, column="pixel_values"),
        stacking,
        ["caption"],
    ),
    "not converted": (plain(TRAIN), None, ["caption"]),
}
ORDERS = {
    "colours": ["RGB"] * 7,
    "gray among them": ["RGB", "RGB", "L", "RGB", "RGB", "L", "RGB"],
    "gray first": ["L", "RGB", "L", "RGB", "RGB", "RGB", "L"],
    "all modes": ["RGB", "P", "RGBA", "CMYK", "LA", "I;16", "1"],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", FORMS)
def test_usual_forms_are_native(form: str, order: str) -> None:
    """The functions and collate_fns of Transformers' and diffusers' examples,
    and of the documentation of datasets."""
    function, collate, without = FORMS[form]
    captions = ["a %s" % ("dog" * i) for i in range(7)]
    ds = rows(ORDERS[order], caption=captions).remove_columns(without)
    number = list(FORMS).index(form) + list(ORDERS).index(order)
    if number % 2:
        ds = ds.with_transform(function)
    else:
        ds.set_transform(function)
    arguments = {} if collate is None else {"collate_fn": collate}
    found = compare(ds, batch_size=3, num_workers=number % 3, **arguments)
    expected = dict.fromkeys(ORDERS, "native: equal")
    if form == "not converted":
        expected["gray among them"] = "native: both, equal"
        expected["gray first"] = "torch's: both, equal"  # Normalize refuses
        expected["all modes"] = "native: both"
    assert found == expected[order]
