# SPDX-License-Identifier: Apache-2.0
"""Object stores on this machine, started for a test: moto (PyPI's moto[server])
and Ceph's gateway (Debian's radosgw, ceph-mon, ceph-osd), both of which check
signatures."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

import ranks

START_S = 90.0
REGION = "us-east-1"
PER_PAGE = 2  # of moto's lists, so that few objects have many pages

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
}


@dataclass
class Store:
    """Where it is, and who may read there."""

    name: str
    address: str
    key_id: str
    secret: str

    def client(self, service: str = "s3") -> Any:
        """boto3's, to put something there."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            service,
            endpoint_url=self.address,
            region_name=REGION,
            aws_access_key_id=self.key_id,
            aws_secret_access_key=self.secret,
            config=Config(
                s3={"addressing_style": "path"},
                request_checksum_calculation="when_required",
            ),
        )

    def environment(self) -> Dict[str, str]:
        """For a program that reads from it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.address,
            "AWS_ACCESS_KEY_ID": self.key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": REGION,
        }


def wait_until(ready: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + START_S
    while not ready():
        assert time.monotonic() < end, "%s did not start" % what
        time.sleep(0.1)


def answers(address: str) -> bool:
    """Is a server there, whatever it says?"""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def process(command: List[str], log: Path, **options: Any) -> Iterator[None]:
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, **options)
    try:
        yield
    finally:
        child.terminate()
        child.wait(30)


# ---- moto -------------------------------------------------------------------


def _moto_user(store: Store) -> Store:
    """The first calls are free, until there is somebody who may call."""
    iam = store.client("iam")
    iam.create_user(UserName="reader")
    iam.put_user_policy(
        UserName="reader", PolicyName="all", PolicyDocument=json.dumps(POLICY)
    )
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    return Store(
        "moto", store.address, key["AccessKeyId"], key["SecretAccessKey"]
    )


@contextlib.contextmanager
def moto(folder: Path) -> Iterator[Store]:
    pytest.importorskip("moto.server", reason="no moto[server]")
    pytest.importorskip("boto3", reason="no boto3")
    port = ranks.free_port()
    nobody = Store("moto", "http://127.0.0.1:%d" % port, "free", "free")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1"]
    environment = {
        **os.environ,
        "INITIAL_NO_AUTH_ACTION_COUNT": "3",
        "MOTO_S3_DEFAULT_MAX_KEYS": str(PER_PAGE),
    }
    with process(
        command + ["-p", str(port)], folder / "moto.log", env=environment
    ):
        wait_until(lambda: answers(nobody.address + "/moto-api/"), "moto")
        yield _moto_user(nobody)


# ---- Ceph -------------------------------------------------------------------

CEPH_PROGRAMS = (
    "monmaptool",
    "ceph-mon",
    "ceph-osd",
    "ceph",
    "radosgw",
    "radosgw-admin",
)

CEPH_CONF = """\
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 500
run dir = {folder}
log file = {folder}/$name.log
admin socket = {folder}/$name.asok
pid file = {folder}/$name.pid
plugin dir = {plugins}/ceph
erasure code dir = {plugins}/ceph/erasure-code
osd class dir = {plugins}/rados-classes
osd class load list = *
osd class default list = *
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
[mon.a]
mon data = {folder}/mon
mon cluster log file = {folder}/cluster.log
[osd.0]
osd objectstore = memstore
memstore device bytes = 1073741824
osd data = {folder}/osd
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw data = {folder}/rgw
rgw run sync thread = false
"""


def _ceph_plugins() -> Path:
    """Beside the programs, wherever those were installed to."""
    usr = Path(shutil.which("ceph-osd") or "").resolve().parents[1]
    return next(usr.glob("lib/*/rados-classes")).parent


def _ceph_start(folder: Path, fsid: str, mon: int) -> None:
    conf = ["-c", str(folder / "ceph.conf")]

    def run(*command: str) -> None:
        subprocess.run(
            [command[0], *conf, *command[1:]],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=START_S,
        )

    monmap = str(folder / "monmap")
    subprocess.run(
        ["monmaptool", "--create", "--fsid", fsid, "--addv", "a"]
        + ["[v1:127.0.0.1:%d]" % mon, monmap],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    mkfs = ("--mkfs", "--monmap", monmap, "--keyring", os.devnull)
    run("ceph-mon", "-i", "a", *mkfs)
    run("ceph-mon", "-i", "a")
    disk = str(uuid.uuid4())
    run("ceph", "osd", "new", disk, "0")
    run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
    run("ceph-osd", "-i", "0")


def _ceph_stop(folder: Path) -> None:
    """Those that this folder's configuration started, by their own ids."""
    for pid in folder.glob("*.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(pid.read_text()), 15)


@contextlib.contextmanager
def ceph(folder: Path) -> Iterator[Store]:
    missing = [p for p in CEPH_PROGRAMS if not shutil.which(p)]
    if missing:
        pytest.skip("no " + ", ".join(missing))
    pytest.importorskip("boto3", reason="no boto3")
    for name in ("mon", "osd", "rgw"):
        (folder / name).mkdir()
    fsid, mon, port = str(uuid.uuid4()), ranks.free_port(), ranks.free_port()
    text = CEPH_CONF.format(
        fsid=fsid,
        mon=mon,
        port=port,
        folder=folder,
        plugins=_ceph_plugins(),
    )
    (folder / "ceph.conf").write_text(text)
    conf = ["-c", str(folder / "ceph.conf")]
    store = Store("ceph", "http://127.0.0.1:%d" % port, "READER", "S/+=")
    try:
        _ceph_start(folder, fsid, mon)
        with process(
            ["radosgw", "-f", *conf, "-n", "client.rgw.a"],
            folder / "radosgw.log",
        ):
            wait_until(lambda: answers(store.address), "radosgw")
            subprocess.run(
                ["radosgw-admin", *conf, "user", "create", "--uid=reader"]
                + ["--display-name=reader", "--access-key=" + store.key_id]
                + ["--secret-key=" + store.secret],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=START_S,
            )
            yield store
    finally:
        _ceph_stop(folder)


STORES = {"moto": moto, "ceph": ceph}
