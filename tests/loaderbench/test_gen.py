# SPDX-License-Identifier: Apache-2.0
"""loaderbench gen: the set is what it says, and always the same."""
import json
import os

from support import (TOOL, contains, equal, expect, files_below, generate,
                     main, tool)


def case_same_seed_same_files(tmp):
    first = files_below(generate(tmp, name="first"))
    again = files_below(generate(tmp, name="again"))
    equal(len(first), 24, "files")
    equal(first, again, "the same seed")


def case_other_seed_other_files(tmp):
    first = files_below(generate(tmp, name="first"))
    other = files_below(generate(tmp, seed=1, name="other"))
    for path, data in first.items():
        assert other[path] != data, path


def case_longer_set_begins_alike(tmp):
    short = files_below(generate(tmp, name="short"))
    longer = files_below(generate(tmp, images=40, name="longer"))
    for path, data in short.items():
        equal(longer[path] == data, True, path)


def case_threads_do_not_matter(tmp):
    both = files_below(generate(tmp, name="both"))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    one = files_below(generate(tmp, name="one"))
    os.sched_setaffinity(0, allowed)
    equal(both == one, True, "on one core")


def case_summary(tmp):
    folder = os.path.join(tmp, "set")
    done = expect(tool("gen", folder, "--images", 20, "--classes", 3, "--json",
                       "-"), 0)
    summary = json.loads(done.out)
    files = files_below(folder)
    equal(summary["schema_version"], 1)
    equal(summary["command"], "gen")
    equal(summary["files"], 20)
    equal(summary["bytes"], sum(len(data) for data in files.values()))
    equal(round(summary["mean_bytes"]), round(summary["bytes"] / 20))
    assert summary["mean_pixels"] > 0
    equal(sorted({os.path.dirname(path) for path in files}),
          ["class_000", "class_001", "class_002"])


def case_sizes_are_those_of_imagenet(tmp):
    for seed in (0, 1):
        folder = os.path.join(tmp, "set%d" % seed)
        done = expect(tool("gen", folder, "--images", 200, "--seed", seed,
                           "--json", "-"), 0)
        summary = json.loads(done.out)
        # ImageNet's means are 110 KB and 0.2 million pixels.
        assert 95e3 < summary["mean_bytes"] < 125e3, summary
        assert 0.17e6 < summary["mean_pixels"] < 0.23e6, summary


def sampling(jpeg):
    """(components, horizontal and vertical factor of the first)."""
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(jpeg[at + 2:at + 4], "big")
    return (jpeg[at + 9], jpeg[at + 11] >> 4, jpeg[at + 11] & 15)


def case_kinds_are_those_of_imagenet(tmp):
    kinds = {}
    for data in files_below(generate(tmp, images=200, classes=1)).values():
        kinds[sampling(data)] = kinds.get(sampling(data), 0) + 1
    assert 140 <= kinds[3, 1, 1] <= 165, kinds  # 4:4:4
    assert 30 <= kinds[3, 2, 2] <= 50, kinds    # 4:2:0
    assert 1 <= kinds[3, 2, 1] <= 8, kinds      # 4:2:2
    assert 1 <= kinds[1, 1, 1] <= 10, kinds     # gray


def case_folder_in_use(tmp):
    folder = generate(tmp)
    before = files_below(folder)
    done = expect(tool("gen", folder, "--images", 12, "--seed", 5), 2,
                  "not empty")
    contains(done.err, folder)
    contains(done.err, "--force")
    equal(files_below(folder) == before, True, "untouched")
    expect(tool("gen", folder, "--images", 12, "--classes", 4, "--seed", 5,
                "--force"), 0)
    after = files_below(folder)
    equal(sorted(after), sorted(before), "names")
    equal(sum(after[p] != before[p] for p in before), 12, "replaced")


def case_more_classes_than_images(tmp):
    expect(tool("gen", os.path.join(tmp, "x"), "--images", 2, "--classes", 3),
           2, "--classes")


def case_no_such_parent(tmp):
    folder = os.path.join(tmp, "missing", "set")
    expect(tool("gen", folder), 2, folder)


def case_file_in_the_way(tmp):
    folder = os.path.join(tmp, "set")
    os.makedirs(os.path.join(folder, "class_000", "image_000000.jpg"))
    done = expect(tool("gen", folder, "--images", 1, "--classes", 1,
                       "--force"), 4)
    contains(done.err, "class_000/image_000000.jpg")


if __name__ == "__main__":
    assert TOOL
    main(globals())
