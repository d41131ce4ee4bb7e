# SPDX-License-Identifier: Apache-2.0
"""loaderbench pack: the shards hold what the source does, whatever happens on
the way."""
import errno
import fcntl
import io
import json
import os
import re
import struct
import tarfile
import zipfile
import zlib

from support import (TOOL, contains, damage, digits, equal, expect, files_below,
                     generate, json_of, main, measured, needs_packed, read,
                     skip, tool)

FAULTS = os.environ.get("LOADERBENCH_FAULTS")
# As webdataset 1.0.2 takes names apart.
KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")


def members(folder):
    """(name, bytes) of all shards, in their order."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".tar"):
            with tarfile.open(os.path.join(folder, name)) as shard:
                found += [(m.name, shard.extractfile(m).read())
                          for m in shard]
    return found


def indexed(folder):
    """(extension, bytes) of all shards, by their DALI indexes."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".idx"):
            with open(os.path.join(folder, name[:-4] + ".tar"), "rb") as f:
                shard = f.read()
            head, *rows = read(os.path.join(folder, name)).splitlines()
            equal(head, "v1.1 %d" % len(rows))
            for row in rows:
                words = row.split(" ")
                for part in zip(words[::3], words[1::3], words[2::3]):
                    begin, size = int(part[1]), int(part[2])
                    found.append((part[0], shard[begin:begin + size]))
    return found


def images(folder):
    """{name: bytes} and {key: label}."""
    data, labels = {}, {}
    for name, content in members(folder):
        key, extension = KEY.match(name).groups()
        if extension == "cls":
            assert key not in labels, key
            labels[key] = int(content)
        else:
            data[name] = content
    equal(len(labels), len(data), "labels")
    return data, labels


def pack(source, folder, *arguments, rc=0, message=None, env=None):
    return expect(tool("pack", source, folder, "--shard-size", "90k",
                       *arguments, env=env), rc, message)


def hashed(uri):
    found = measured(uri, "--sink", "hash", "--epochs", 1, "--op",
                     "resize size=40", "--op", "center_crop size=32")
    return found["result"]["stream_hash"], found["dataset"]["classes"]


def png(width, height):
    def chunk(name, content):
        return (struct.pack(">I", len(content)) + name + content +
                struct.pack(">I", zlib.crc32(name + content)))
    rows = b"".join(b"\0" + bytes((x * 5 + y) % 256 for x in range(3 * width))
                    for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
            chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


def folder_of(tmp, images=24):
    """PNGs of about 15 KB, which take no time to make."""
    folder = os.path.join(tmp, "set")
    for i in range(images):
        name = "class_%03d/image_%06d.png" % (i % 4, i)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(png(60 + i, 80))
    return folder


def sides(jpeg):
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return struct.unpack(">HH", jpeg[at + 5:at + 9])


# ---- What is in the shards ---------------------------------------------------

def case_everything_is_kept(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    pack(folder, out, "--quiet")
    data, labels = images(out)
    equal(data, files_below(folder), "names and bytes")
    equal(labels, {name[:-4]: int(name[6:9]) for name in data}, "labels")
    equal(read(os.path.join(out, "classnames.txt")).split(),
          ["class_%03d" % i for i in range(4)], "classes")
    assert len([n for n in os.listdir(out) if n.endswith(".tar")]) > 2
    equal(hashed("tar:" + out), hashed(folder), "the stream")
    index = json.loads(read(os.path.join(out, "shard.json")))
    equal(sum(s["nsamples"] for s in index["shardlist"]), len(data))
    for shard in index["shardlist"]:
        equal(os.path.getsize(os.path.join(out, shard["url"])),
              shard["filesize"])
    done = pack(folder, out)
    contains(done.out, "there already")


def case_random_order(tmp):
    folder = folder_of(tmp)
    given, a, b, c = (os.path.join(tmp, n) for n in "gabc")
    pack(folder, given)
    pack(folder, a, "--order", "random:5", "--workers", 1)
    pack(folder, b, "--order", "random:5", "--workers", 3)
    pack(folder, c, "--order", "random:6")
    equal(files_below(a) == files_below(b), True, "workers")
    names = [[n for n, _ in members(x)] for x in (given, a, c)]
    assert names[0] != names[1] != names[2] != names[0]
    equal(sorted(names[0]), sorted(names[1]))
    equal(images(a), images(given), "the same samples")


def case_any_source(tmp):
    """Shards, a zip, raw pixels: the stream is that of the source."""
    folder = folder_of(tmp)
    archive = os.path.join(tmp, "a.zip")
    with zipfile.ZipFile(archive, "w") as z:
        for name, data in sorted(files_below(folder).items()):
            z.writestr(name, data)
    first = os.path.join(tmp, "first")
    pack(folder, first)
    for n, source in enumerate(("zip:" + archive, "tar:" + first,
                                digits(tmp))):
        out = os.path.join(tmp, "out%d" % n)
        pack(source, out)
        equal(hashed("tar:" + out), hashed(source), source)
        if n < 2:
            equal(images(out), images(first), "names")
        else:
            assert all(n.endswith(".png") for n in images(out)[0])


def case_names_that_are_hard(tmp):
    jpeg = files_below(generate(tmp, 1, 1))["class_000/image_000000.jpg"]
    names = ["a.jpg", "a.png", "x/a.b.c.jpg", "x/a_b_c.jpg", "x/.hidden.jpg",
             "x/..jpg", "__meta__/1.jpg", "__meta__.jpg", "with blank.JPEG",
             "no-ending", "x.cls", "d.d/" + "n" * 100 + ".jpg",
             "/".join(["e" * 60] * 4) + "/f.jpg", "/".join(["g" * 150] * 3) +
             "/h.jpg", "\u00fcml\u00e4ut.jpg"]
    source = os.path.join(tmp, "list.tsv")
    with open(source, "w", encoding="utf-8") as f:
        for i, name in enumerate(names):
            path = os.path.join(tmp, "files", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as image:
                image.write(jpeg + bytes([i]))
            f.write("files/%s\t%d\n" % (name, i * 3))
    out = os.path.join(tmp, "out")
    pack("list:" + source, out)
    found = members(out)
    equal(len(found), 2 * len(names))
    equal([data for _, data in indexed(out)], [data for _, data in found])
    keys = []
    for i, (label, image) in enumerate(zip(found[::2], found[1::2])):
        key, extension = KEY.match(image[0]).groups()
        equal(KEY.match(label[0]).groups(), (key, "cls"))
        equal(int(label[1]), 3 * i, key)
        equal(image[1], jpeg + bytes([i]), key)
        assert "." not in extension, image[0]
        assert not re.match("__[^/]*__($|/)", image[0]), image[0]
        keys.append(key)
    equal(len(set(keys)), len(names), "keys")
    equal(hashed("tar:" + out), hashed("list:" + source))


def case_fields_go_with_their_images(tmp):
    data = sorted(files_below(folder_of(tmp)).items())
    source, out = os.path.join(tmp, "a.tar"), os.path.join(tmp, "out")
    parts = {}
    for i, (name, image) in enumerate(data):
        parts[name] = image
        parts[name[:-3] + "cls"] = b"%d" % (i % 4)
        parts[name[:-3] + "txt"] = b"caption %d" % i
        parts[name[:-3] + "mask.npy"] = bytes([i]) * 40
        parts[name[:-3] + "id"] = b"%d" % (i * 7 - 30)
    with tarfile.open(source, "w") as archive:
        for name, content in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    fields = "?fields=txt,mask.npy,id"
    pack("tar:" + source + fields, out, "--order", "random")
    equal(dict(members(out)), parts)
    equal(indexed(out), [(KEY.match(n)[2], d) for n, d in members(out)])
    pack("tar:" + source, out, "--order", "random", rc=2,
         message="another data set")
    pack("tar:" + source + fields, os.path.join(tmp, "jpeg"), "--format",
         "jpeg", "--sample", 2)
    kept = {n: d for n, d in members(os.path.join(tmp, "jpeg"))
            if not n.endswith(".jpg")}
    equal(kept, {n: d for n, d in parts.items() if not n.endswith(".png")})


# ---- Images that change ------------------------------------------------------

def photos(tmp):
    """A folder of JPEGs, two PNGs, and one with EXIF data."""
    folder = generate(tmp, images=6, classes=2)
    for name, size in (("small", (90, 60)), ("large", (700, 350))):
        with open(os.path.join(folder, "class_000", name + ".png"),
                  "wb") as f:
            f.write(png(*size))
    path = os.path.join(folder, "class_001", "turned.jpg")
    jpeg = files_below(folder)["class_000/image_000000.jpg"]
    exif = b"Exif\0\0" + struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 0x112,
                                     3, 1, 6, 0, 0)
    with open(path, "wb") as f:
        f.write(jpeg[:2] + b"\xff\xe1" +
                struct.pack(">H", len(exif) + 2) + exif + jpeg[2:])
    return folder, exif


def case_images_are_scaled_down(tmp):
    folder, exif = photos(tmp)
    out = os.path.join(tmp, "out")
    done = json_of("pack", folder, out, "--longest-side", 320, "--quality", 95)
    before, after = files_below(folder), images(out)[0]
    equal(len(after), len(before))
    for name, data in before.items():
        if name.endswith("large.png"):
            equal(sides(after[name[:-3] + "jpg"]), (160, 320))
            continue
        if name.endswith("small.png") or max(sides(data)) <= 320:
            equal(after[name] == data, True, name)
            continue
        height, width = sides(data)
        scaled = sides(after[name])
        equal(max(scaled), 320, name)
        equal(min(scaled), 320 * min(height, width) // max(height, width))
    contains(after["class_001/turned.jpg"], exif)
    trial = done["trial"]
    equal(trial["samples"], len(before))
    assert trial["mean_bytes_after"] < trial["mean_bytes_before"]
    assert 15 < trial["worst_psnr"] <= trial["psnr"] < 60, trial
    equal(done["left_out"], 0)


def case_all_become_jpegs(tmp):
    folder, exif = photos(tmp)
    out, again = os.path.join(tmp, "out"), os.path.join(tmp, "again")
    arguments = ("--format", "jpeg", "--quality", 50)
    pack(folder, out, *arguments, "--workers", 1)
    pack(folder, again, *arguments, "--workers", 3)
    equal(files_below(out) == files_below(again), True, "workers")
    for name, data in images(out)[0].items():
        equal(data[:3], b"\xff\xd8\xff", name)
        assert name.endswith(".jpg"), name
    contains(images(out)[0]["class_001/turned.jpg"], exif)


def case_upright(tmp):
    folder, exif = photos(tmp)
    out = os.path.join(tmp, "out")
    pack(folder, out, "--apply-exif")
    before, after = files_below(folder), images(out)[0]
    turned = after.pop("class_001/turned.jpg")
    equal(sides(turned), sides(before.pop("class_001/turned.jpg"))[::-1])
    assert exif not in turned
    equal(after == before, True, "the others")


def app1(content):
    return b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content


def case_profiles_stay_or_are_followed(tmp):
    """EXIF data in two segments, and an orientation in XMP alone."""
    folder, exif = photos(tmp)
    jpeg = files_below(folder)["class_000/image_000000.jpg"]
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x tiff:Orientation=\"6\"/>"
    plain = xmp.replace(b"tiff:", b"exif:")
    parts = [app1(exif[:20]), app1(exif[:6] + exif[20:])]
    cases = {"two": (parts, True), "xmp": ([app1(xmp)], True),
             "plain": ([app1(plain)], False)}
    for name, (segments, _) in cases.items():
        path = os.path.join(folder, "class_000", name + ".jpg")
        with open(path, "wb") as f:
            f.write(jpeg[:2] + b"".join(segments) + jpeg[2:])
    kept, upright = os.path.join(tmp, "kept"), os.path.join(tmp, "upright")
    pack(folder, kept, "--format", "jpeg", "--quality", 50)
    pack(folder, upright, "--apply-exif")
    before = files_below(folder)
    for name, (segments, turned) in cases.items():
        name = "class_000/%s.jpg" % name
        contains(images(kept)[0][name], b"".join(segments))
        after = images(upright)[0][name]
        equal(after == before[name], not turned, name)
        equal(sides(after) == sides(jpeg)[::-1], turned, name)


def case_packed_and_back(tmp):
    needs_packed()
    folder, _ = photos(tmp)
    out, back = os.path.join(tmp, "out"), os.path.join(tmp, "back")
    done = json_of("pack", folder, out, "--store=packed")
    jpegs = sum(name.endswith(".jpg") for name in files_below(folder))
    equal((done["packed"], done["stayed_jpeg"]), (jpegs, 2))
    equal(done["trial"]["psnr"], None, "the same pixels")
    for name, data in images(out)[0].items():
        begin = b"\x89PNG" if name.endswith(".png") else b"\xf1fdl"
        equal(data[:4], begin, name)
    equal(hashed("tar:" + out), hashed(folder), "the stream")
    found = json_of("scan", "tar:" + out)["findings"]
    assert "misnamed" not in [f["kind"] for f in found], found
    expect(tool("pack", folder, out), 2, "--store \"packed\"")
    pack(out, os.path.join(tmp, "no"), "--unpack", "--store", "packed", rc=2,
         message="--unpack")
    done = json_of("pack", "tar:" + out, back, "--unpack")
    equal((done["same_bytes"], done["same_coefficients"], done["copied"]),
          (jpegs, 0, 2))
    equal(files_below(back) == files_below(folder), True, "the files")
    # What is there is gone over; what is there and another file stays.
    pack("tar:" + out, back, "--unpack")
    equal(files_below(back) == files_below(folder), True, "the files")
    damage(back, 1)
    changed = files_below(back)
    pack("tar:" + out, back, "--unpack", rc=4, message="exists")
    equal(files_below(back) == changed, True, "what was there")


def case_packed_after_scaling(tmp):
    needs_packed()
    folder, _ = photos(tmp)
    out, back, jpeg = (os.path.join(tmp, n) for n in ("out", "back", "jpeg"))
    arguments = ("--format", "jpeg", "--longest-side", 100)
    pack(folder, jpeg, *arguments)
    pack(folder, out, "--store", "packed", *arguments)
    pack("tar:" + out, back, "--unpack")
    equal(files_below(back) == images(jpeg)[0], True, "JPEGs")


def case_dry_run_writes_nothing(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    done = pack(folder, out, "--dry-run", "--format", "jpeg", "--sample", 5)
    contains(done.out, "Tried on 5 samples")
    contains(done.out, "PSNR")
    equal(os.path.exists(out), False)
    done = pack(folder, out, "--dry-run")
    contains(done.out, "about")


# ---- Samples that cannot be used ---------------------------------------------

def case_samples_are_left_out(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    left = os.path.join(tmp, "left.txt")
    empty = os.path.join(folder, "class_001", "empty.jpg")
    open(empty, "w", encoding="utf-8").close()
    os.symlink("nowhere", os.path.join(folder, "class_002", "gone.jpg"))
    pack(folder, out, rc=2, message="class_002/gone.jpg: No such file")
    os.unlink(os.path.join(folder, "class_002", "gone.jpg"))
    pack(folder, out, rc=3, message="class_001/empty.jpg: an empty file")
    os.rename(empty, os.path.join(folder, "class_001", "empty\nline.jpg"))
    out = os.path.join(tmp, "left")
    done = json_of("pack", folder, out, "--shard-size", "90k", "--on-error",
                   "skip", "--quarantine", left)
    equal(done["failures"], [{"name": "class_001/empty\\nline.jpg",
                              "reason": "an empty file"}])
    contains(read(left), "class_001/empty\\nline.jpg\tan empty file\n")
    equal(hashed("tar:" + out), hashed(folder + "?quarantine=" + left))
    os.unlink(left)
    pack(folder, out, "--on-error", "skip", "--quarantine", left)
    contains(read(left), "empty\\nline.jpg\tan empty file\n")


def case_damaged_images_are_left_out(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    path = os.path.join(folder, "class_001", "image_000001.png")
    with open(path, "wb") as f:
        f.write(b"this is not an image\n")
    arguments = ("--format", "jpeg", "--sample", 1)
    pack(folder, out, *arguments, rc=3, message=path)
    done = json_of("pack", folder, out, "--shard-size", "90k", "--on-error",
                   "skip", *arguments)
    equal([f["name"] for f in done["failures"]],
          ["class_001/image_000001.png"])
    equal(len(images(out)[0]), 23)
    # As bytes they are no business of pack.
    pack(folder, os.path.join(tmp, "bytes"))


# ---- Faults ------------------------------------------------------------------

def planted(fault, where):
    if not FAULTS:
        skip("a sanitized program takes no other library in front")
    return {"LD_PRELOAD": FAULTS, "PLANTED_FAULT": fault,
            "PLANTED_FOLDER": where}


def case_disk_faults(tmp):
    """Each is named, leaves no part behind, and loses nothing."""
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    for call, number, error in (("open", 1, errno.EROFS),
                                ("open", 4, errno.EMFILE),
                                ("write", 3, errno.ENOSPC),
                                ("write", 4, errno.EIO),
                                ("fsync", 1, errno.EIO),
                                ("fsync", 2, errno.EIO),
                                ("rename", 2, errno.EACCES)):
        done = pack(folder, out, "--workers", 1, rc=4,
                    env=planted("%s:%d:%d" % (call, number, error), out))
        contains(done.err, os.strerror(error))
        contains(done.err, out)
        assert not [n for n in os.listdir(out) if n.endswith(".part")]
    pack(folder, out)
    equal(images(out)[0], files_below(folder))


def case_unreadable_bytes(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    env = planted("pread:1:%d" % errno.EIO, "image_000005.png")
    done = pack(folder, out, rc=3, env=env)
    contains(done.err, "image_000005.png: read at 0: " +
             os.strerror(errno.EIO))
    done = pack(folder, out, "--on-error", "skip", env=env)
    contains(done.out, "1 of them left out")
    equal(len(images(out)[0]), 23)


# ---- What is refused ---------------------------------------------------------

def case_another_plan(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    pack(folder, out)
    before = files_below(out)
    pack(folder, out, "--order", "random", rc=2, message="--order \"given\"")
    pack(folder, out, "--format", "jpeg", rc=2, message="--format \"keep\"")
    os.utime(os.path.join(folder, "class_001", "image_000005.png"), (1, 1))
    pack(folder, out, rc=2, message="another data set")
    equal(files_below(out) == before, True, "untouched")
    pack(folder, out, "--name", "other")
    os.unlink(os.path.join(out, "shard.pack.json"))
    pack(folder, out, rc=2, message=".tar is there")


def case_two_at_once(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    os.mkdir(out)
    lock = os.open(out, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    pack(folder, out, rc=4, message="another pack")
    os.close(lock)
    pack(folder, out)


def case_arguments(tmp):
    folder, out = folder_of(tmp), os.path.join(tmp, "out")
    for wrong, message in (
            (("--order", "randomly"), "random:SEED"),
            (("--order", "random:x"), "random:SEED"),
            (("--quality", 101), "1 to 100"),
            (("--format", "png"), "keep"),
            (("--name", "a/b"), "--name"),
            (("--longest-side", 70000), "side"),
            (("--on-error", "zero"), "zeros"),
            (("--dtype", "u8"), "no option --dtype"),
            (("third",), "SRC DST")):
        pack(folder, out, *wrong, rc=2, message=message)
    equal(os.path.exists(out), False)
    expect(tool("pack", folder), 2, "SRC DST")
    expect(tool("pack", os.path.join(tmp, "missing"), out), 2, "missing")
    pack(folder, os.path.join(tmp, "no", "such"), rc=2, message="no/such")
    pack(folder, os.path.join(folder, "class_000", "image_000000.png"), rc=2)


def case_gen_writes_shards(tmp):
    folder = generate(tmp, images=8, classes=3)
    out = os.path.join(tmp, "out")
    expect(tool("gen", out, "--images", 8, "--classes", 3, "--format", "tar",
                "--shard-images", 3, "--quiet"), 0)
    equal(images(out)[0], files_below(folder), "as in folders")
    found = [m[0] for m in members(out)[1::2]]
    equal([int(name[-10:-4]) for name in found], list(range(8)))
    equal(measured("tar:" + out, "--epochs", 1)["dataset"]["classes"], 3)


if __name__ == "__main__":
    assert TOOL
    main(globals())
