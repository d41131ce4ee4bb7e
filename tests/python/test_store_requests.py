# SPDX-License-Identifier: Apache-2.0
"""Requests that store/ makes: their signatures beside botocore's over random
ones, and sent to servers that check them. tests/store/store_request.c prints
them."""

from __future__ import annotations

import datetime
import os
import random
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

import store_servers

LETTERS = "abcXYZ019-_.~ /%+&=?#*()!'@:,;$[]{}|\\^`<>\"é日\N{GRINNING FACE}"
KEYS = (
    "plain.tar",
    "d/x y+é.tar",
    "a//b/./c=d&e*~(1).jpg",
    "100%/%20?#+.jpg",
    "日本/😀.png",
    "'quotes\" and \\ back",
)


class Request(NamedTuple):
    url: str
    headers: Dict[str, str]


def program(name: str) -> str:
    library = os.environ.get("FEEDLINE_LIBRARY", "")
    path = Path(library).resolve().parent / "tests/store" / name
    if not path.exists():
        pytest.skip(name + " is not built")
    return str(path)


def requests(lines: List[Tuple[Optional[str], ...]]) -> List[Request]:
    """See tests/store/store_request.c for what a line is."""
    text = "".join(
        "\t".join("-" if f is None else f for f in line) + "\n"
        for line in lines
    )
    ran = subprocess.run(
        [program("store_request")],
        input=text.encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    made = []
    for block in ran.stdout.decode().split("\n\n")[:-1]:
        url, *headers = block.split("\n")
        made.append(Request(url, dict(line.split(": ", 1) for line in headers)))
    assert len(made) == len(lines)
    return made


# ---- botocore ---------------------------------------------------------------


def botocore_signature(
    request: Request, line: Tuple[Optional[str], ...], monkeypatch: Any
) -> str:
    """Authorization of the same request."""
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.config import Config
    from botocore.credentials import Credentials

    key_id, secret, token, region, seconds = line[:5]
    assert seconds and region
    now = datetime.datetime.fromtimestamp(
        int(seconds), datetime.timezone.utc
    ).replace(tzinfo=None)

    monkeypatch.setattr(
        botocore.auth, "get_current_datetime", lambda *a, **k: now
    )
    signed = AWSRequest("GET", request.url)
    if line[8] != "?":
        if line[9]:
            signed.headers["range"] = line[9]
        if line[10]:
            signed.headers["if-match"] = line[10]
    tls = request.url.startswith("https")
    signed.context["client_config"] = Config(
        s3={"payload_signing_enabled": not tls}
    )
    signer = botocore.auth.S3SigV4Auth(
        Credentials(key_id, secret, token), "s3", region
    )
    signer.add_auth(signed)
    return str(signed.headers["Authorization"])


def random_line(r: random.Random) -> Tuple[Optional[str], ...]:
    def text(most: int) -> str:
        n = r.randint(0, most)
        return "k" + "".join(r.choice(LETTERS) for _ in range(n))

    listing = r.random() < 0.3
    first = r.randrange(10**6)
    return (
        "AK%d" % r.randrange(10**9),
        "".join(r.choice("abcXYZ019/+=") for _ in range(40)),
        r.choice([None, "T/+=" * r.randint(1, 300)]),
        r.choice(["us-east-1", "eu-west-3", "auto", "cn-north-1"]),
        str(r.randrange(10**9, 2 * 10**9)),
        r.choice(
            ["https://s3.example", "http://127.0.0.1:8700", "https://h:9/p"]
        ),
        r.choice(["bucket", "b.c-d"]),
        r.choice([None, "1"]),
        "?" if listing else text(60),
        text(20) if listing else r.choice([None, "bytes=%d-" % first]),
        r.choice([None, text(40)]) if listing else r.choice([None, '"e-1"']),
    )


def test_signatures_are_botocores(monkeypatch: Any) -> None:
    pytest.importorskip("botocore", reason="no botocore")
    seed = int(os.environ.get("FDL_TEST_SEED", "0")) or random.randrange(
        2**32
    )
    print("FDL_TEST_SEED=%d" % seed)
    r = random.Random(seed)
    lines = [random_line(r) for _ in range(400)]
    for line, request in zip(lines, requests(lines)):
        theirs = botocore_signature(request, line, monkeypatch)
        assert request.headers["Authorization"] == theirs, (seed, line)


# ---- Servers ----------------------------------------------------------------


@pytest.fixture(scope="module", params=sorted(store_servers.STORES))
def store(request: Any, tmp_path_factory: Any) -> Iterator[store_servers.Store]:
    folder = tmp_path_factory.mktemp(request.param)
    program("store_request")
    with store_servers.STORES[request.param](folder) as server:
        client = server.client()
        client.create_bucket(Bucket="bucket")
        for key in KEYS:
            client.put_object(Bucket="bucket", Key=key, Body=body_of(key))
        yield server


def body_of(key: str) -> bytes:
    return random.Random(key).randbytes(1000)


def line_for(
    server: store_servers.Store,
    key: str,
    first: Optional[str] = None,
    second: Optional[str] = None,
    secret: Optional[str] = None,
    ahead: int = 0,
) -> Tuple[Optional[str], ...]:
    return (
        server.key_id,
        secret or server.secret,
        None,
        store_servers.REGION,
        str(int(time.time()) + ahead),
        server.address,
        "bucket",
        None,
        key,
        first,
        second,
    )


def send(
    request: Request, extra: Optional[Dict[str, str]] = None
) -> Tuple[int, bytes]:
    sent = urllib.request.Request(
        request.url, headers={**request.headers, **(extra or {})}
    )
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize("key", KEYS)
def test_a_server_takes_it(store: store_servers.Store, key: str) -> None:
    whole, part = requests(
        [line_for(store, key), line_for(store, key, "bytes=10-19")]
    )
    assert send(whole) == (200, body_of(key))
    assert send(part, {"Range": "bytes=10-19"}) == (206, body_of(key)[10:20])


def test_a_server_refuses_what_is_wrong(store: store_servers.Store) -> None:
    wrong, other = requests(
        [
            line_for(store, KEYS[0], secret="not it"),
            line_for(store, KEYS[0], "bytes=0-9"),
        ]
    )
    status, body = send(wrong)
    assert status == 403 and b"SignatureDoesNotMatch" in body
    if store.name == "ceph":  # moto's does not look at the headers' values
        assert send(other, {"Range": "bytes=0-8"})[0] == 403


def read_page(body: bytes, prefix: str) -> Tuple[Dict[str, Any], str]:
    """Objects of a page, and what to ask the next one with."""
    ran = subprocess.run(
        [program("store_page"), prefix],
        input=body,
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    *lines, more = ran.stdout.decode().split("\n")[:-1]
    found = {}
    for line in lines:
        size, tag, key = line.split("\t")
        found[key] = (int(size), tag)
    return found, more


@pytest.mark.parametrize("prefix", ["", "d/x y+", "100%/%20?#+", "日本/", "z"])
def test_lists(store: store_servers.Store, prefix: str) -> None:
    """Prefixes and the marks of pages are as awkward as keys."""
    found: Dict[str, Any] = {}
    more, pages = "", 0
    while more or not pages:
        (made,) = requests([line_for(store, "?", prefix or None, more or None)])
        status, body = send(made)
        assert status == 200
        page, more = read_page(body, prefix)
        assert not page.keys() & found.keys()
        found.update(page)
        pages += 1
        assert pages <= len(KEYS)
    if store.name == "moto":  # Ceph's have a thousand, whatever it is told
        per_page = store_servers.PER_PAGE
        assert pages == max(1, -(-len(found) // per_page))
    answer = store.client().get_paginator("list_objects_v2")
    theirs = {
        o["Key"]: (o["Size"], o["ETag"])
        for p in answer.paginate(Bucket="bucket", Prefix=prefix)
        for o in p.get("Contents", [])
    }
    assert found == theirs
    assert sorted(found) == sorted(k for k in KEYS if k.startswith(prefix))
