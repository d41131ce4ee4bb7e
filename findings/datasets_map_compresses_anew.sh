#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# datasets 5.2.0: map with a function that only looks at an image, to note its width,
# say, compresses the images of the data set anew: JPEG at quality 75, Pillow's default,
# whatever they had, and without their EXIF data. That is so whether the function
# returns the row or the new column alone, row by row or in batches: a column that was
# looked at counts as returned, and its Pillow image is saved in the format that it came
# from. So a data set that is measured, hashed or labelled by map trains on worse photos
# than it was downloaded with. Rows that are paths of files are kept, and so is what the
# function does not look at.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages datasets==5.2.0 pillow==13.0.0 numpy==2.4.6

observed <<'PROGRAM'
import io
import numpy
from PIL import Image
import datasets

datasets.disable_progress_bars()
noise = numpy.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype="uint8")
camera = Image.Exif()
camera[271] = "maker"
photo = Image.fromarray(noise).resize((320, 240), Image.Resampling.BICUBIC)


def encoded(kind, **how):
    out = io.BytesIO()
    photo.save(out, kind, **how)
    return out.getvalue()


def data_set(data, path=None):
    features = datasets.Features({"image": datasets.Image()})
    rows = [{"bytes": data, "path": path}]
    return datasets.Dataset.from_dict({"image": rows}, features=features)


def stored(ds):
    raw = ds.cast_column("image", datasets.Image(decode=False))
    return raw[0]["image"]["bytes"]


def compare(name, before, change):
    after = change(before)
    a, b = (numpy.asarray(ds[0]["image"]).astype(int) for ds in (before, after))
    exif = [len(ds[0]["image"].getexif()) for ds in (before, after)]
    print("%-23s same bytes: %-5s  worst pixel off by more than 8: %-5s  EXIF: %d to %d"
          % (name, stored(before) == stored(after), abs(a - b).max() > 8, *exif))


def returns_row(row):
    row["width"] = row["image"].width
    return row


def returns_column(row):
    return {"width": row["image"].width}


def in_batches(rows):
    return {"width": [image.width for image in rows["image"]]}


jpeg = data_set(encoded("JPEG", quality=95, subsampling=0, exif=camera))
compare("JPEG, returns the row", jpeg, lambda ds: ds.map(returns_row))
compare("JPEG, returns a column", jpeg, lambda ds: ds.map(returns_column))
compare("JPEG, in batches", jpeg, lambda ds: ds.map(in_batches, batched=True))
compare("JPEG, not looked at", jpeg, lambda ds: ds.map(lambda row: {"one": 1}))
compare("JPEG, filter", jpeg, lambda ds: ds.filter(lambda row: row["image"].width > 1))
with open("photo.jpg", "wb") as file:
    file.write(stored(jpeg))
there = data_set(None, "photo.jpg")
compare("JPEG, path of a file", there, lambda ds: ds.map(returns_column))
webp = data_set(encoded("WEBP", quality=99))
compare("WebP, returns a column", webp, lambda ds: ds.map(returns_column))
PROGRAM

expected <<'SEEN'
JPEG, returns the row   same bytes: False  worst pixel off by more than 8: True   EXIF: 1 to 0
JPEG, returns a column  same bytes: False  worst pixel off by more than 8: True   EXIF: 1 to 0
JPEG, in batches        same bytes: False  worst pixel off by more than 8: True   EXIF: 1 to 0
JPEG, not looked at     same bytes: True   worst pixel off by more than 8: False  EXIF: 1 to 1
JPEG, filter            same bytes: True   worst pixel off by more than 8: False  EXIF: 1 to 1
JPEG, path of a file    same bytes: True   worst pixel off by more than 8: False  EXIF: 1 to 1
WebP, returns a column  same bytes: False  worst pixel off by more than 8: True   EXIF: 0 to 0
SEEN
