#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pillow 13.0.0 (exif_transpose), OpenCV 5.0.0 (imread) and torchvision 0.29.2
# (decode_image with apply_exif_orientation=True) all turn a photo as its EXIF
# orientation says, and for the usual JPEG they agree. Who changes the reader, or
# evaluates with another one than was trained with, gets other images as soon as the
# same entry lies elsewhere: torchvision looks into the first APP1 segment of a JPEG
# only, so XMP data in front of EXIF data hides it; it does not see an eXIf chunk
# behind the pixels of a PNG, and does not do what it is asked for in a WebP. Neither it
# nor OpenCV reads the text in which older versions of ImageMagick keep EXIF data in a
# PNG, or XMP. Nobody warns; a part of the data set lies on its side, and boxes and
# keypoints do not fit.

# shellcheck source=findings/observe
source "$(dirname "$0")/observe"

packages pillow==13.0.0 opencv-python-headless==5.0.0.93 torch==2.15.0 \
    torchvision==0.29.2

observed <<'PROGRAM'
import io
import struct
import zlib
import cv2
import numpy as np
import torch
from PIL import Image, ImageOps
from torchvision.io import ImageReadMode, decode_image

WIDE = Image.new("RGB", (48, 32), (200, 100, 50))  # upright it is a tall one


def saved(kind):
    file = io.BytesIO()
    WIDE.save(file, kind)
    return file.getvalue()


def tiff():
    return (b"II*\0" + struct.pack("<IH", 8, 1)
            + struct.pack("<HHII", 0x0112, 3, 1, 6) + bytes(4))


def jpeg(*contents):
    whole = saved("JPEG")
    return whole[:2] + b"".join(
        b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
        for content in contents) + whole[2:]


def png(kind, content, behind=False):
    whole = saved("PNG")
    at = whole.index(b"IEND" if behind else b"IDAT") - 4
    return (whole[:at] + struct.pack(">I", len(content)) + kind + content
            + struct.pack(">I", zlib.crc32(kind + content)) + whole[at:])


def webp(content):
    image = saved("WEBP")[12:]
    body = (b"WEBPVP8X" + struct.pack("<II", 10, 8) + b"\x2f\0\0\x1f\0\0" + image
            + b"EXIF" + struct.pack("<I", len(content)) + content)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def by_torchvision(data):
    data = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return decode_image(data, ImageReadMode.RGB,
                        apply_exif_orientation=True).shape[1:]


READERS = {
    "Pillow": lambda data: ImageOps.exif_transpose(
        Image.open(io.BytesIO(data))).size[::-1],
    "OpenCV": lambda data: cv2.imdecode(
        np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape[:2],
    "torchvision": by_torchvision}
EXIF = b"Exif\0\0"
XMP = (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf='
       b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
       b'rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/"%s/></rdf:RDF>'
       b"</x:xmpmeta>")
APP1_XMP = b"http://ns.adobe.com/xap/1.0/\0"
RAW = b"\nexif\n      32\n" + (EXIF + tiff()).hex().encode() + b"\n"
for name, data in {
        "JPEG, EXIF": jpeg(EXIF + tiff()),
        "JPEG, XMP without orientation, then EXIF": jpeg(
            APP1_XMP + XMP % b"", EXIF + tiff()),
        "JPEG, XMP only": jpeg(
            APP1_XMP + XMP % b' tiff:Orientation="6"'),
        "PNG, eXIf before the pixels": png(b"eXIf", tiff()),
        "PNG, eXIf behind the pixels": png(b"eXIf", tiff(), behind=True),
        "PNG, in a text, as by ImageMagick": png(
            b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(RAW)),
        "WebP, EXIF": webp(tiff()),
}.items():
    answers = {reader: "turns" if read(data)[0] == 48 else "leaves"
               for reader, read in READERS.items()}
    print("%-41s" % name, *("%s %s," % pair for pair in answers.items()))
PROGRAM

expected <<'SEEN'
JPEG, EXIF                                Pillow turns, OpenCV turns, torchvision turns,
JPEG, XMP without orientation, then EXIF  Pillow turns, OpenCV turns, torchvision leaves,
JPEG, XMP only                            Pillow turns, OpenCV leaves, torchvision leaves,
PNG, eXIf before the pixels               Pillow turns, OpenCV turns, torchvision turns,
PNG, eXIf behind the pixels               Pillow turns, OpenCV turns, torchvision leaves,
PNG, in a text, as by ImageMagick         Pillow turns, OpenCV leaves, torchvision leaves,
WebP, EXIF                                Pillow turns, OpenCV turns, torchvision leaves,
SEEN
