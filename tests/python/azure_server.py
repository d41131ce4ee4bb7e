# SPDX-License-Identifier: Apache-2.0
"""A small server that answers as Azure's blob service does to those who read:
Get Blob with ranges, List Blobs with pages and folders, and Shared Key, which
it checks as Microsoft's pages describe it. test_store_clients.py holds it
against Microsoft's own client, whose signatures it must find right."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import http.server
import time
import urllib.parse
from typing import Any, Dict, List, Optional, Tuple
from xml.sax.saxutils import escape

from answering import Answering

SKEW_S = 15 * 60
SIGNED = (
    "Content-Encoding Content-Language Content-Length Content-MD5 Content-Type"
    " Date If-Modified-Since If-Match If-None-Match If-Unmodified-Since Range"
).split()


class Refused(Exception):
    """status, code"""


class Server(http.server.ThreadingHTTPServer):
    """account/container, both in the path as emulators have it."""

    daemon_threads = True

    def __init__(self, account: str, key: str, per_page: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.account, self.key, self.per_page = account, key, per_page
        self.containers: Dict[str, Dict[str, bytes]] = {}
        self.sas = ""  # whoever has it may read
        self.pages = 0
        self.reads: List[str] = []  # names of blobs

    @property
    def files(self) -> Dict[str, bytes]:
        """Of the only container."""
        (blobs,) = self.containers.values()
        return blobs

    @property
    def address(self) -> str:
        port = int(self.server_address[1])
        return "http://127.0.0.1:%d/%s" % (port, self.account)


def signature(
    server: Server, path: str, query: Dict[str, str], headers: Any
) -> str:
    """Of "Authorize with Shared Key"; path: as it was sent."""
    lines = ["GET"]
    for name in SIGNED:
        value = headers.get(name, "")
        empty = name == "Content-Length" and value == "0"
        lines.append("" if empty else value)
    ms = sorted(
        (name.lower(), value.strip())
        for name, value in headers.items()
        if name.lower().startswith("x-ms-")
    )
    lines += ["%s:%s" % pair for pair in ms]
    lines.append("/%s%s" % (server.account, path))
    lines += ["%s:%s" % (name.lower(), query[name]) for name in sorted(query)]
    made = hmac.new(
        base64.b64decode(server.key), "\n".join(lines).encode(), hashlib.sha256
    )
    return base64.b64encode(made.digest()).decode()


def etag(data: bytes) -> str:
    return "0x" + hashlib.md5(data).hexdigest()[:15].upper()


class Handler(Answering):
    server: Server

    def answer(
        self, status: int, body: bytes, headers: Optional[Dict[str, str]] = None
    ) -> None:
        version = {"x-ms-version": self.headers.get("x-ms-version", "")}
        super().answer(status, body, {**(headers or {}), **version})

    def do_GET(self) -> None:
        try:
            self.read()
        except Refused as refused:
            status, code = refused.args
            text = (
                '\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>%s'
                "</Code><Message>The request was refused.</Message></Error>"
                % code
            )
            self.answer(status, text.encode(), {"x-ms-error-code": code})

    def read(self) -> None:
        path, _, text = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(text, True))
        self.check(path, text, query)
        parts = urllib.parse.unquote(path).split("/", 3)[1:]
        if len(parts) < 2 or parts[0] != self.server.account:
            raise Refused(400, "InvalidUri")
        blobs = self.server.containers.get(parts[1])
        if blobs is None:
            raise Refused(404, "ContainerNotFound")
        if len(parts) == 3:
            self.read_blob(parts[2], blobs.get(parts[2]))
        elif query.get("comp") == "list":
            self.list_blobs(parts[1], blobs, query)
        else:
            raise Refused(400, "InvalidQueryParameterValue")

    def check(self, path: str, text: str, query: Dict[str, str]) -> None:
        if self.server.sas and self.server.sas in text:
            return
        if not self.headers.get("x-ms-version"):
            raise Refused(400, "MissingRequiredHeader")
        sent = self.headers.get("Authorization", "")
        date = self.headers.get("x-ms-date", self.headers.get("Date", ""))
        when = email.utils.parsedate_to_datetime(date).timestamp()
        right = "SharedKey %s:%s" % (
            self.server.account,
            signature(self.server, path, query, self.headers),
        )
        if abs(when - time.time()) > SKEW_S or not hmac.compare_digest(
            sent, right
        ):
            raise Refused(403, "AuthenticationFailed")

    def read_blob(self, name: str, data: Optional[bytes]) -> None:
        self.server.reads.append(name)
        if data is None:
            raise Refused(404, "BlobNotFound")
        if self.headers.get("If-Match", "*") not in ('"%s"' % etag(data), "*"):
            raise Refused(412, "ConditionNotMet")
        if not self.answer_part(
            data, etag(data), self.headers.get("x-ms-range")
        ):
            raise Refused(416, "InvalidRange")

    def list_blobs(
        self, container: str, blobs: Dict[str, bytes], query: Dict[str, str]
    ) -> None:
        self.server.pages += 1
        entries, marker = self.page(blobs, query)
        rows = []
        for name, is_folder in entries:
            if is_folder:
                rows.append(
                    "<BlobPrefix><Name>%s</Name></BlobPrefix>" % escape(name)
                )
                continue
            rows.append(
                "<Blob><Name>%s</Name><Properties><Etag>%s</Etag>"
                "<Content-Length>%d</Content-Length><BlobType>BlockBlob"
                "</BlobType></Properties></Blob>"
                % (escape(name), etag(blobs[name]), len(blobs[name]))
            )
        text = (
            '\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults '
            'ServiceEndpoint="%s" ContainerName="%s"><Blobs>%s</Blobs>'
            "<NextMarker>%s</NextMarker></EnumerationResults>"
            % (self.server.address, container, "".join(rows), escape(marker))
        )
        self.answer(200, text.encode(), {"Content-Type": "application/xml"})

    def page(
        self, blobs: Dict[str, bytes], query: Dict[str, str]
    ) -> Tuple[List[Tuple[str, bool]], str]:
        """Names from the marker on, each with whether it is a folder, and the
        next marker, which tells nobody what it means."""
        prefix, cut = query.get("prefix", ""), query.get("delimiter", "")
        begin = base64.b64decode(query.get("marker", "")).decode()
        most = min(int(query.get("maxresults", "5000")), self.server.per_page)
        entries: List[Tuple[str, bool]] = []
        for name in sorted(blobs, key=str.encode):
            rest = name[len(prefix) :]
            if not name.startswith(prefix) or name < begin:
                continue
            folder = cut != "" and cut in rest
            shown = prefix + rest[: rest.find(cut) + 1] if folder else name
            if entries and entries[-1] == (shown, folder):
                continue
            if len(entries) == most:
                return entries, base64.b64encode(name.encode()).decode()
            entries.append((shown, folder))
        return entries, ""
