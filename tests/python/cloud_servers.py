# SPDX-License-Identifier: Apache-2.0
"""Every kind of store on this machine, each with a bucket to put objects in,
for tests that are the same for all: S3 (moto, Ceph), Google's as it is to those
who have a key (moto, which checks signatures), Azure's and the hub's (our own
servers)."""

from __future__ import annotations

import base64
import contextlib
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterator, Tuple

import azure_server
import hub_server
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
    "az": azure,
    "hf": hub,
}
