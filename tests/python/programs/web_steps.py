# SPDX-License-Identifier: Apache-2.0
"""A webdataset pipeline with steps of its own: select, map, map_dict."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, Dict, List

from torchvision import transforms

from programs.program_files import Files, Program, need

chain = transforms.Compose(
    [
        transforms.RandomResizedCrop(48, scale=(0.5, 1.0)),
        transforms.ToTensor(),
    ]
)


def has_caption(sample: Dict[str, Any]) -> bool:
    return "json" in sample


def unpack(sample: Dict[str, Any]) -> Dict[str, Any]:
    about = sample["json"]
    return {"image": sample["image"], "label": about["label"]}


def write_shards(files: Files) -> List[str]:
    folder, paths = files.folder("shards"), files.photos()
    shards = []
    for s in range(2):
        shard = folder / ("part-%04d.tar" % s)
        with tarfile.open(shard, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(s, len(paths), 2):
                about = folder / ("%04d.json" % i)
                about.write_text(json.dumps({"label": i % 5, "n": i}))
                image = Path(paths[i])
                tar.add(image, "%04d%s" % (i, image.suffix.lower()))
                if i % 6 != 5:
                    tar.add(about, "%04d.json" % i)
        shards.append(str(shard))
    return shards


def make(files: Files) -> Program:
    wds = need("webdataset")
    data = (
        wds.WebDataset(write_shards(files), shardshuffle=False)
        .select(has_caption)
        .decode("pilrgb")
        .rename(image="jpg;jpeg;png")
        .map(unpack)
        .map_dict(image=chain)
        .to_tuple("image", "label")
    )
    return Program(data, dict(batch_size=5), "shards in order, no shuffle")
