#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# mosaicml-streaming 0.13.0, litdata 0.2.76, datasets 5.0.1: a photo that was opened by
# its path and then changed in place (a face painted over, thumbnail) goes into the shard
# as the file that it was opened from. All three see an image that has a file name, and
# take that file, or note its path, in place of its pixels; datasets does so for every
# format, the others for JPEG. What came of copy, crop, resize or convert has no file
# name and is stored as it is. So faces that were made unreadable can be read in the data
# set that is handed on, and what was made small is large.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages mosaicml-streaming==0.13.0 litdata==0.2.76 datasets==5.0.1 pillow==13.0.0

observed <<'PROGRAM'
import datasets
import litdata
import numpy
from PIL import Image, ImageDraw
from streaming import MDSWriter, StreamingDataset

datasets.disable_progress_bars()
for name in "photo.jpg", "photo.png":
    Image.new("RGB", (64, 48), "white").save(name)


def painted(image):
    ImageDraw.Draw(image).rectangle([8, 8, 40, 40], fill="black")
    return image


def painted_copy(image):
    return painted(image.copy())


def small(image):
    image.thumbnail((16, 16))
    return image


def told(image):
    dark = numpy.asarray(image.convert("L")).min() < 128
    return "%d x %d %s" % (*image.size, "painted" if dark else "white")


def sample(work):
    name, change, _ = work
    return {"image": change(Image.open(name))}


def by_streaming(work):
    name, _, out = work
    kind = {"jpg": "jpeg", "png": "png"}[name[-3:]]
    with MDSWriter(out=out, columns={"image": kind}) as writer:
        writer.write(sample(work))
    return StreamingDataset(local=out, batch_size=1, shuffle=False)[0]["image"]


def by_litdata(work):
    out = work[2]
    litdata.optimize(sample, [work], out, chunk_size=1, num_workers=1, verbose=False)
    image = litdata.StreamingDataset(out)[0]["image"]
    if isinstance(image, Image.Image):
        return image
    return Image.fromarray(image.permute(1, 2, 0).numpy())  # of JPEG, a tensor


def by_datasets(work):
    features = datasets.Features({"image": datasets.Image()})
    return datasets.Dataset.from_list([sample(work)], features=features)[0]["image"]


if __name__ == "__main__":
    for name in "photo.jpg", "photo.png":
        for change in painted, painted_copy, small:
            made = told(change(Image.open(name)))
            print("%s, %s: %s" % (name, change.__name__, made), flush=True)
            for store in by_streaming, by_litdata, by_datasets:
                out = "-".join((name, change.__name__, store.__name__))
                found = told(store((name, change, out)))
                print("    %-12s %s" % (store.__name__, found), flush=True)
PROGRAM

expected <<'SEEN'
photo.jpg, painted: 64 x 48 painted
    by_streaming 64 x 48 white
    by_litdata   64 x 48 white
    by_datasets  64 x 48 white
photo.jpg, painted_copy: 64 x 48 painted
    by_streaming 64 x 48 painted
    by_litdata   64 x 48 painted
    by_datasets  64 x 48 painted
photo.jpg, small: 16 x 12 white
    by_streaming 64 x 48 white
    by_litdata   64 x 48 white
    by_datasets  64 x 48 white
photo.png, painted: 64 x 48 painted
    by_streaming 64 x 48 painted
    by_litdata   64 x 48 painted
    by_datasets  64 x 48 white
photo.png, painted_copy: 64 x 48 painted
    by_streaming 64 x 48 painted
    by_litdata   64 x 48 painted
    by_datasets  64 x 48 painted
photo.png, small: 16 x 12 white
    by_streaming 16 x 12 white
    by_litdata   16 x 12 white
    by_datasets  64 x 48 white
SEEN
