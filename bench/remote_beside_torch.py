#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects of a store behind a slow network, read by feedline and by torch's
DataLoader with s3torchconnector and s3fs. All in turn, on the same objects,
each in a shuffled order; nothing is decoded.

    bench/remote_beside_torch.py LIBFEEDLINE [--objects N] [--bytes N]
        [--delay-ms N] [--depth N ...] [--workers N ...] [--rounds N]
        [--store ENDPOINT]

The store is nginx with its module echo, which delays each answer (Debian:
nginx-light libnginx-mod-http-echo); with --store one that has the objects as
s3://objects/NUMBER already and credentials in the environment, as they are.

    feedline, N      list:FILE with s3://..., N requests in flight
    s3torchconnector S3MapDataset, whose transform reads the object
    s3fs             cat_file in __getitem__
    s3fs, batches    cat of a whole batch's objects in __getitems__, which asks
                     for all of them at once

The number behind torch's is that of its workers, which are there before the
first turn that counts. Needs torch, s3torchconnector and s3fs, from PyPI.
"""
import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import tempfile
import time
from importlib.machinery import SourceFileLoader

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 64
BUCKET = "objects"
# Its server, and feedline's reader without a loader behind it.
beside_curl = SourceFileLoader(
    "beside_curl", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "remote_beside_curl")).load_module()


def uris(count):
    return ["s3://%s/%d" % (BUCKET, i) for i in range(count)]


def lengths(samples):
    return sum(len(sample) for sample in samples)


# ---- Readers: each returns the bytes of an epoch ----------------------------

class Feedline:
    def __init__(self, own, depth, args):
        self.depth, self.total = depth, args.objects * args.bytes
        path = os.path.join(own, "list")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines("%s 0\n" % uri for uri in uris(args.objects))
        self.reading = beside_curl.Feedline(args.library, "list:" + path)

    def read(self, seed):
        self.reading.read(self.depth)
        return self.total  # it ends the program if one failed


class Torch:
    """A DataLoader on a data set whose samples are bytes."""

    def __init__(self, data, workers):
        self.order = torch.Generator()
        self.loader = DataLoader(
            data, BATCH, shuffle=True, generator=self.order,
            num_workers=workers, persistent_workers=True, collate_fn=lengths)

    def read(self, seed):
        self.order.manual_seed(seed)
        return sum(self.loader)


def body(reader):
    return reader.read()


def connector(args):
    from s3torchconnector import S3ClientConfig, S3MapDataset

    config = S3ClientConfig(force_path_style=True, unsigned=not args.store)
    return S3MapDataset.from_objects(
        uris(args.objects), region="us-east-1", endpoint=args.endpoint,
        transform=body, s3client_config=config)


class OneByOne(Dataset):
    def __init__(self, args):
        self.args, self.fs, self.uris = args, None, uris(args.objects)

    def __len__(self):
        return len(self.uris)

    def open(self):
        import s3fs

        if not self.fs:  # in the worker
            self.fs = s3fs.S3FileSystem(
                anon=not self.args.store, endpoint_url=self.args.endpoint,
                config_kwargs={"s3": {"addressing_style": "path"},
                               "max_pool_connections": BATCH})
        return self.fs

    def __getitem__(self, i):
        return self.open().cat_file(self.uris[i])


class Batches(OneByOne):
    def __getitems__(self, batch):
        found = self.open().cat([self.uris[i] for i in batch])
        return list(found.values())


# ---- Turns ------------------------------------------------------------------

def measure(readers, args):
    total = args.objects * args.bytes
    rates = {name: [] for name in readers}
    for reader in readers.values():
        reader.read(args.rounds)
    for turn in range(args.rounds):
        for name, reader in readers.items():
            begin = time.perf_counter()
            got = reader.read(turn)
            rates[name].append(total / (time.perf_counter() - begin) / 1e6)
            assert got == total, (name, got, total)
            print("%d %-28s %7.1f MB/s" % (turn, name, rates[name][-1]),
                  flush=True)
    print("| reader | MB/s | " + " | ".join(
        "feedline with %d has" % n for n in args.depth) + " |")
    print("|---|---|" + "---|" * len(args.depth))
    for name in readers:
        row = [name, "%.1f (%.1f to %.1f)" % (
            statistics.median(rates[name]), min(rates[name]),
            max(rates[name]))]
        for n in args.depth:
            ours = rates["feedline, %d" % n]
            pairs = [a / b for a, b in zip(ours, rates[name])]
            row.append("%.2f (%.2f to %.2f)" % (
                statistics.median(pairs), min(pairs), max(pairs)))
        print("| " + " | ".join(row) + " |")


@contextlib.contextmanager
def nginx(own, args):
    folder = os.path.join(own, "data", BUCKET)
    os.makedirs(folder)
    for i in range(args.objects):
        with open(os.path.join(folder, str(i)), "wb") as f:
            f.write(os.urandom(args.bytes))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = os.path.join(own, "nginx.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write(beside_curl.NGINX.format(own=own, port=port, more="",
                                         delay=args.delay_ms / 1000))
    server = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-e",
                               os.path.join(own, "errors")])
    try:
        time.sleep(1)
        yield "http://127.0.0.1:%d" % port
    finally:
        server.terminate()
        server.wait()


def run(own, args):
    os.environ["AWS_ENDPOINT_URL_S3"] = args.endpoint
    os.environ.setdefault("AWS_REGION", "us-east-1")
    if not args.store:
        os.environ["AWS_NO_SIGN_REQUEST"] = "1"
    readers = {"feedline, %d" % n: Feedline(own, n, args) for n in args.depth}
    for n in args.workers:
        readers["s3torchconnector, %d" % n] = Torch(connector(args), n)
        readers["s3fs, %d" % n] = Torch(OneByOne(args), n)
    readers["s3fs, batches, %d" % args.workers[0]] = Torch(
        Batches(args), args.workers[0])
    measure(readers, args)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("library")
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=112000)
    parser.add_argument("--delay-ms", type=float, default=20)
    parser.add_argument("--depth", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store")
    args = parser.parse_args()
    os.environ["no_proxy"] = "127.0.0.1"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as own:
        os.chmod(own, 0o755)
        if args.store:
            args.endpoint = args.store
            run(own, args)
            return
        with nginx(own, args) as args.endpoint:
            run(own, args)


if __name__ == "__main__":
    main()
