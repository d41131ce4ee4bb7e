#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# webdataset 1.0.2 leaves out members of a shard that are hard links, without a word.
# tar stores a file that it has seen under another name as a link to the first one:
# so do all archives of a folder in which equal files were linked to save space
# (hardlink, jdupes -L, rsync --link-dest), or samples were repeated by linking them.
# Unpacked, such an archive is complete; read by webdataset, each image but the first
# of those with the same content is gone, and a sample of which only a part was linked
# comes without it: here the label of b and the image of c.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages webdataset==1.0.2

observed <<'PROGRAM'
import os, subprocess, tarfile
import webdataset

os.mkdir("train")
for name, content in (("a.jpg", b"first"), ("a.cls", b"0"), ("b.jpg", b"second"),
                      ("c.cls", b"1"), ("d.jpg", b"third"), ("d.cls", b"2")):
    with open("train/" + name, "wb") as file:
        file.write(content)
for link, of in (("b.cls", "a.cls"), ("c.jpg", "a.jpg"), ("e.jpg", "d.jpg"),
                 ("e.cls", "d.cls")):
    os.link("train/" + of, "train/" + link)
subprocess.run(["tar", "--sort=name", "-cf", "train.tar", "-C", "train", "."],
               check=True)

with tarfile.open("train.tar") as tar:
    names = sorted(os.path.basename(m.name) for m in tar if not m.isdir())
    print("in the archive:", *names)
    tar.extractall("unpacked")
print("unpacked:      ", *sorted(os.listdir("unpacked")))
for sample in webdataset.WebDataset("train.tar", shardshuffle=False):
    print("webdataset:    ", os.path.basename(sample["__key__"]),
          *sorted(key for key in sample if not key.startswith("__")))
PROGRAM

expected <<'SEEN'
in the archive: a.cls a.jpg b.cls b.jpg c.cls c.jpg d.cls d.jpg e.cls e.jpg
unpacked:       a.cls a.jpg b.cls b.jpg c.cls c.jpg d.cls d.jpg e.cls e.jpg
webdataset:     a cls jpg
webdataset:     b jpg
webdataset:     c cls
webdataset:     d cls jpg
SEEN
