# SPDX-License-Identifier: Apache-2.0
"""The stream is a function of seed, epoch and position, and of nothing else."""
from support import (contains, damage, equal, expect, generate, main, measured,
                     skip, tool)


def fingerprint(folder, *arguments, env=None):
    doc = measured(folder, "--epochs", 2, "--batch-size", 5, "--sink", "hash",
                   *arguments, env=env)
    text = doc["result"]["stream_hash"]
    assert text.startswith("xxh3:") and len(text) == 21, text
    return text


def case_differs_where_it_should(tmp):
    folder = generate(tmp)
    seen = {}
    for arguments in ((), ("--seed", 1), ("--no-shuffle",),
                      ("--pipeline", "eval"), ("--epochs", 1),
                      ("--dtype=f16",), ("--dtype=bf16",),
                      ("--dtype=u8", "--op=resize size=32",
                       "--op=center_crop width=32 height=32")):
        text = fingerprint(folder, *arguments)
        assert text not in seen, (arguments, seen[text])
        seen[text] = arguments


def case_workers_and_depth(tmp):
    folder = generate(tmp)
    expected = fingerprint(folder, "--workers", 1, "--depth", 1)
    for workers, depth in ((1, 4), (2, 1), (2, 3), (7, 2), (16, 8)):
        equal(fingerprint(folder, "--workers", workers, "--depth", depth),
              expected, "%d workers, depth %d" % (workers, depth))


def case_batch_size(tmp):
    folder = generate(tmp)
    expected = fingerprint(folder)
    for size in (1, 7, 24, 100):
        equal(fingerprint(folder, "--batch-size", size), expected,
              "batches of %d" % size)


def case_readers(tmp):
    folder = generate(tmp)
    expected = fingerprint(folder, "--reader", "pread", "--io-depth", 1)
    equal(fingerprint(folder, "--reader", "memory"), expected, "memory")
    equal(fingerprint(folder, "--reader", "auto"), expected, "auto")
    equal(fingerprint(folder, "--reader", "pread", "--io-depth", 9), expected,
          "pread")


def case_uring(tmp):
    folder = generate(tmp)
    if tool("run", folder, "--epochs", 1, "--reader", "uring").rc == 4:
        skip("io_uring is not built in, or not allowed here")
    expected = fingerprint(folder, "--reader", "pread")
    for depth in (1, 16, 64):
        equal(fingerprint(folder, "--reader", "uring", "--io-depth", depth),
              expected, "io_depth %d" % depth)


def case_instruction_sets(tmp):
    folder = generate(tmp)
    expected = fingerprint(folder, env={"FDL_CPU_MASK": "c"})
    for level in ("avx2", "avx512"):
        equal(fingerprint(folder, env={"FDL_CPU_MASK": level}), expected,
              level)


def case_instruction_sets_u8(tmp):
    folder = generate(tmp)
    arguments = ("--dtype=u8", "--layout=nhwc", "--op=random_resized_crop "
                 "width=64 height=64", "--op=horizontal_flip")
    expected = fingerprint(folder, *arguments, env={"FDL_CPU_MASK": "c"})
    for level in ("avx2", "avx512"):
        equal(fingerprint(folder, *arguments, env={"FDL_CPU_MASK": level}),
              expected, level)


def case_resume(tmp):
    folder = generate(tmp)
    expected = fingerprint(folder)
    # After the first, in the middle, at the end of the first epoch (5
    # batches), at the beginning, near and at the end of the second.
    for at in (1, 3, 4, 5, 6, 9, 10):
        equal(fingerprint(folder, "--resume-at", at), expected,
              "resumed after %d" % at)
    equal(fingerprint(folder, "--resume-at", 3, "--workers", 3, "--depth", 7,
                      "--reader", "pread"), expected, "resumed, 3 workers")


def case_damaged(tmp):
    folder = generate(tmp)
    good = fingerprint(folder)
    damage(folder, 3)
    for how in ("skip", "zero"):
        expected = fingerprint(folder, "--on-error", how, "--workers", 1)
        assert expected != good
        for workers, depth in ((2, 2), (5, 4)):
            equal(fingerprint(folder, "--on-error", how, "--workers", workers,
                              "--depth", depth), expected, how)
        equal(fingerprint(folder, "--on-error", how, "--resume-at", 4),
              expected, how + ", resumed")


def case_images_of_any_size(tmp):
    folder = generate(tmp)
    sizes = ("--pipeline=none", "--max-sample-bytes=8m", "--dtype=u8")
    expected = fingerprint(folder, *sizes)
    for workers, depth, reader in ((1, 1, "pread"), (4, 3, "memory")):
        equal(fingerprint(folder, *sizes, "--workers", workers, "--depth",
                          depth, "--reader", reader), expected)
    equal(fingerprint(folder, *sizes, "--resume-at", 4), expected, "resumed")
    report = expect(tool("run", folder, "--epochs", 1, *sizes), 0)
    contains(report.out, "of any size")


def case_views(tmp):
    folder = generate(tmp)
    for views in (("--pipeline", "dino"),
                  ("--op=resize size=40", "--op=five_crop size=32",
                   "--shuffle")):
        ten = (*views, "--batch-size", 10)
        expected = fingerprint(folder, *ten, "--workers", 1)
        equal(fingerprint(folder, *views, "--batch-size", 30, "--workers", 3),
              expected, "batches of 30")
        equal(fingerprint(folder, *ten, "--resume-at", 10), expected,
              "resumed")
        assert fingerprint(folder, *ten, "--seed", 1) != expected, views


def case_repetitions_agree(tmp):
    doc = measured(generate(tmp), "--epochs", 1, "--sink", "hash", "--repeat",
                   2)
    hashes = {run["result"]["stream_hash"] for run in doc["runs"]}
    equal(hashes, {doc["result"]["stream_hash"]})


def case_no_hash_unless_asked(tmp):
    folder = generate(tmp)
    expect(tool("run", folder, "--epochs", 1, "--sink", "none", "--quiet"), 0)
    equal(measured(folder, "--epochs", 1)["result"]["stream_hash"], None)


if __name__ == "__main__":
    main(globals())
