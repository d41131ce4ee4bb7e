# SPDX-License-Identifier: Apache-2.0
"""examples/train_cuda: it learns, the same each time, and says what is wrong.

    TRAIN_CUDA=... python3 test_train.py CASE [DEVICE]
"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

QUICK = os.environ.get("TRAIN_QUICK") == "1"  # under a sanitizer
IMAGES = 16 if QUICK else 48  # of each of the 4 classes
EPOCHS = 4 if QUICK else 8


def train(*arguments):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FEEDLINE_") or k == "FEEDLINE_LIBCUDA"}
    return subprocess.run([os.environ["TRAIN_CUDA"], *arguments], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)


def trained(*arguments):
    """What it printed; it must have ended well."""
    done = train(*arguments)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stderr == "", done.stderr
    return done.stdout


# Which of two colours, by the stripe's numbers to the right and down. No class
# is the mirror image of another.
CLASSES = {
    "across": lambda column, row: row,
    "checks": lambda column, row: column ^ row,
    "down": lambda column, row: column,
    "plain": lambda column, row: 0,
}


def png(side, rows):
    """A square image of RGB."""
    def chunk(kind, data):
        end = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + end
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def pattern(which, draw):
    """Its colours, size, width and phase are drawn."""
    side, width = draw.randrange(48, 81), draw.randrange(4, 10)
    one = bytes(draw.randrange(256) for _ in range(3))
    colours = one, bytes((v + draw.randrange(96, 160)) % 256 for v in one)
    phase = draw.randrange(16)
    stripes = [(at + phase) // width % 2 for at in range(side)]
    lines = [b"".join(colours[which(column, row)] for column in stripes)
             for row in (0, 1)]
    return png(side, [lines[row] for row in stripes])


def patterns(folder):
    """Classes that a network can tell apart by shape alone."""
    for number, (name, which) in enumerate(CLASSES.items()):
        os.makedirs(os.path.join(folder, name))
        for i in range(IMAGES):
            path = os.path.join(folder, name, "%04d.png" % i)
            with open(path, "wb") as file:
                file.write(pattern(which, random.Random(1000 * number + i)))
    return folder


def learns(folder, device):
    out = trained(folder, "--device", device, "--epochs", str(EPOCHS))
    print(out, end="")
    assert out.startswith("device: %s (as asked)\n" % device), out
    epochs = re.findall(r"^epoch (\d+): loss (\S+), accuracy (\S+) %$", out,
                        re.M)
    assert [int(e[0]) for e in epochs] == list(range(1, EPOCHS + 1)), out
    first, last = re.fullmatch(r"loss (\S+) -> (\S+)",
                               out.splitlines()[-1]).groups()
    assert (first, last) == (epochs[0][1], epochs[-1][1]), out
    assert float(last) < (0.98 if QUICK else 0.75) * float(first), out
    if not QUICK:
        accuracy = re.search(r"^as it is: loss \S+, accuracy (\S+) %", out,
                             re.M).group(1)
        assert float(accuracy) > 60, out  # 25 by guessing
    assert re.search(r"^loader: \d+ images/s, waited \S+ % of the time$", out,
                     re.M), out
    return [e[1:] for e in epochs]


def case_learns(folder, device):
    learns(patterns(folder), device)


def case_repeats(folder, device):
    """No sum depends on the order in which threads come."""
    patterns(folder)
    assert learns(folder, device) == learns(folder, device)


def case_auto(folder, _device):
    out = trained(patterns(folder), "--epochs", "3", "--batch-size", "7")
    assert re.match(r"device: (host|cuda:0) \(.+\)\n", out), out


def case_loss_does_not_go_down(folder, device):
    """With a rate that changes nothing, crops decide; status and words follow
    the loss."""
    patterns(folder)
    for seed in range(1, 20):
        done = train(folder, "--device", device, "--epochs", "2", "--rate",
                     "1e-9", "--seed", str(seed))
        first, last = map(float, re.search(
            r"^loss (\S+) -> (\S+)$", done.stdout, re.M).groups())
        if done.returncode == 0:
            assert last <= first, done
            continue
        assert done.returncode == 1 and last >= first, done
        assert done.stderr == ("train_cuda: the loss did not go down: try "
                               "another --rate\n"), done
        return
    raise AssertionError("it always went down")


def case_errors(folder, _device):
    """One sentence, and the status."""
    flat = os.path.join(folder, "flat")
    os.makedirs(os.path.join(flat, "only"))
    patterns(os.path.join(folder, "set"))
    os.rename(os.path.join(folder, "set", "down", "0000.png"),
              os.path.join(flat, "only", "0000.png"))
    for arguments, status, words in (
            ((os.path.join(folder, "nowhere"),), 1,
             "nowhere: no such file or folder"),
            ((flat,), 1, "flat: not two class folders"),
            ((folder + "/set", "--device", "tpu"), 1, "tpu"),
            ((), 2, "usage: train_cuda FOLDER"),
            ((folder, folder), 2, "usage: train_cuda FOLDER"),
            ((folder, "--epochs", "one"), 2, "one: not a number in range"),
            ((folder, "--batch-size", "0"), 2, "0: not a number in range"),
            ((folder, "--rate", "nan"), 2, "nan: not a number in range"),
            ((folder, "--colour"), 2, "colour")):
        done = train(*arguments)
        assert done.returncode == status, (arguments, done)
        assert words in done.stderr, (arguments, done.stderr)
        if status == 1:
            assert re.fullmatch(r"train_cuda: [^\n]+\n", done.stderr), done


def case_help(_folder, _device):
    """On standard output, as an answer and not as a complaint."""
    assert trained("--help").startswith("usage: train_cuda FOLDER")


def main():
    device = sys.argv[2] if len(sys.argv) > 2 else "host"
    with tempfile.TemporaryDirectory() as folder:
        globals()["case_" + sys.argv[1]](folder, device)


if __name__ == "__main__":
    main()
