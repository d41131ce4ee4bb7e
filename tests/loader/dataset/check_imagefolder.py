# SPDX-License-Identifier: Apache-2.0
"""Opens folders with feedline and with torchvision's ImageFolder: the same
paths and labels in the same order.

usage: check_imagefolder.py DUMP_DATASET [REAL_FOLDER...]
"""
import os
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    from torchvision.datasets import ImageFolder
except Exception as error:  # a broken torch raises more than ImportError
    print(f"skipped: no torchvision for {sys.executable}: {error}")
    sys.exit(SKIPPED)

FILES = [
    # Order by whole path: "-" < "/" < "0", and not by descent.
    "a/x.jpg", "a/b/x.jpg", "a/b-c/x.jpg", "a/b/c/x.jpg", "a/b0/x.jpg",
    "a/b.d/x.jpg", "a/ b/x.jpg", "a/b/x-1.jpg", "a/b/x.1.jpg", "a/b/x/1.jpg",
    # Case and digits.
    "B/Z.jpg", "B/a.jpg", "B/_.jpg", "B/10.jpg", "B/9.jpg", "B/Ab.JPG",
    # Endings.
    "c/1.jpg", "c/2.JPEG", "c/3.PnG", "c/4.ppm", "c/5.bmp", "c/6.pgm",
    "c/7.tif", "c/8.TIFF", "c/9.webp", "c/a.gif", "c/b.txt", "c/jpg",
    "c/d.jpg.bak", "c/e.tar.jpg", "c/f.jpgx", "c/g.", "c/h", "c/.i.png",
    "c/.jpg", "c/j..jpg", "c/\u212a.jpg", "c/k.\u0130f", "c/m.t\u0130ff",
    # Hidden folders count, as classes too.
    ".hidden/1.jpg", "c/.hidden/1.jpg", "c/.hidden/.2.png",
    # Blanks, quotes, control characters.
    "d e/ .jpg", "d e/a b.jpg", "d e/a\tb.jpg", "d e/a\nb.jpg", "d e/'.jpg",
    "d e/\".jpg", "d e/%s.jpg", "d e/\\.jpg", "d e/~.jpg", "d e/\x7f.jpg",
    # Unicode, inside and outside the first plane, composed and not.
    "\u00e9/e\u0301.jpg", "\u00e9/\u00e9.jpg", "\u00e9/\uffee.jpg",
    "\u00e9/\U0001f600.jpg", "\u00e9/\u65e5\u672c/\u8a9e.jpg",
    "e\u0301/1.jpg", "\uffee/1.jpg", "\U0001f600/1.jpg",
]

# Not UTF-8: Python sorts these bytes as U+DC80 to U+DCFF.
BYTES = [
    b"f/\xff.jpg", b"f/\x80.jpg", b"f/\xc3.jpg", b"f/\xe2\x82.jpg",
    b"f/\xc3\xa9.jpg", b"f/\xed\xa0\x80.jpg", b"f/\xee\x80\x80.jpg",
    b"f/\xf0\x9f\x98\x80.jpg", b"f/\xf4\x90\x80\x80.jpg", b"f/\xc0\xaf.jpg",
    b"f/\xed\x9f\xbf.jpg", b"f/\xe2\x82\xac.jpg", b"\xff/1.jpg", b"\x80/1.jpg",
]

LINKS = [
    ("c", "link to class"), ("../B", "c/link to folder"),
    ("1.jpg", "c/link to file.jpg"), ("nowhere", "c/broken.jpg"),
    ("nowhere", "broken class.jpg"), ("loop.jpg", "c/loop.jpg"),
    ("../a/b/c", "B/zz.jpg"),
]


def make_tree(root):
    root = os.fsencode(root)
    for name in [os.fsencode(file) for file in FILES] + BYTES:
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "wb").close()
    for target, name in LINKS:
        os.symlink(target, os.path.join(root, os.fsencode(name)))
    os.mkfifo(os.path.join(root, b"c/pipe.jpg"))


def by_torchvision(root):
    folder = ImageFolder(root)
    return [(os.fsencode(path), label) for path, label in folder.samples]


def by_feedline(dump, root):
    out = subprocess.run([dump, b"folder:" + os.fsencode(root)], check=True,
                         stdout=subprocess.PIPE).stdout
    samples = [sample.rsplit(b"\t", 1) for sample in out.split(b"\0")[:-1]]
    return [(path, int(label)) for path, label in samples]


def compare(dump, root):
    ours, theirs = by_feedline(dump, root), by_torchvision(root)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            sys.exit(f"{root}: sample {i}: feedline {a}, torchvision {b}")
    if len(ours) != len(theirs):
        sys.exit(f"{root}: feedline {len(ours)}, torchvision {len(theirs)}")
    print(f"{root}: {len(ours)} samples are the same")


def main():
    dump, folders = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as root:
        make_tree(root)
        compare(dump, root)
        compare(dump, root + "//")
    for folder in folders:
        if os.path.isdir(folder):
            compare(dump, folder)
        else:
            print(f"{folder}: not there, not compared")


if __name__ == "__main__":
    main()
