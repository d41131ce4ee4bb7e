# SPDX-License-Identifier: Apache-2.0
"""A small server that answers as the Hugging Face hub does to those who read a
data set: lists of a folder, in pages, and files, which another host has: the
answer is a redirection to an address that is signed and ends.

test_store_clients.py reads from it with huggingface_hub as well, which must
find what it expects of the hub."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
import urllib.parse
from typing import Any, Dict, List

from answering import Answering

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Server(http.server.ThreadingHTTPServer):
    """One data set, OWNER/NAME, at the revision main."""

    daemon_threads = True

    def __init__(self, token: str, per_page: int) -> None:
        super().__init__(("127.0.0.1", 0), Hub)
        self.token, self.per_page = token, per_page
        self.files: Dict[str, bytes] = {}
        self.pages = 0
        self.far = FarServer(self)

    @property
    def address(self) -> str:
        return "http://127.0.0.1:%d" % int(self.server_address[1])

    def begin(self) -> None:
        for server in (self, self.far):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def end(self) -> None:
        for server in (self, self.far):
            server.shutdown()
            server.server_close()


class FarServer(http.server.ThreadingHTTPServer):
    """The host that has the files. What it is sent of Authorization it keeps,
    and refuses, as hosts do whose addresses are signed."""

    daemon_threads = True

    def __init__(self, hub: Server) -> None:
        super().__init__(("127.0.0.1", 0), Far)
        self.hub = hub
        self.authorizations: List[str] = []
        self.requests = 0

    @property
    def address(self) -> str:  # another name than the hub's
        return "http://localhost:%d" % int(self.server_address[1])


def oid(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Refusing(Answering):
    def refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message}
        self.answer(status, json.dumps({"error": message}).encode(), headers)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        raise NotImplementedError


class Hub(Refusing):
    server: Server

    def do_GET(self) -> None:
        path, _, text = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(text, True))
        sent = self.headers.get("Authorization", "")
        tree = re.fullmatch(
            r"/api/datasets/owner/name/tree/main(?:/(.*))?", path
        )
        file = re.fullmatch(r"/datasets/owner/name/resolve/main/(.+)", path)
        if self.server.token and sent != "Bearer " + self.server.token:
            self.refuse(
                401, "RepoNotFound", "Invalid username or password, " + sent
            )
        elif tree:
            self.list(urllib.parse.unquote(tree.group(1) or ""), query)
        elif file:
            self.resolve(urllib.parse.unquote(file.group(1)))
        else:
            self.refuse(404, "RepoNotFound", "Repository not found")

    def list(self, folder: str, query: Dict[str, str]) -> None:
        """In the order of a tree: folders, then files."""
        self.server.pages += 1
        entries = self.entries(
            folder + "/" if folder else "",
            query.get("recursive", "") in ("true", "True", "1"),
        )
        if folder and not entries:
            self.refuse(404, "EntryNotFound", folder + " does not exist")
            return
        begin = int(query.get("cursor", "0"))
        end = begin + self.server.per_page
        headers = {"Content-Type": "application/json"}
        if end < len(entries):
            query["cursor"] = str(end)
            headers["Link"] = '<%s%s?%s>; rel="next"' % (
                self.server.address,
                self.path.partition("?")[0],
                urllib.parse.urlencode(query),
            )
        page = json.dumps(entries[begin:end]).encode()
        self.answer(200, page, headers)

    def entries(self, begin: str, recursive: bool) -> List[Dict[str, Any]]:
        folders: List[str] = []
        files: List[Dict[str, Any]] = []
        for path, data in self.server.files.items():
            if not path.startswith(begin):
                continue
            between = path[len(begin) :].split("/")[:-1]
            if between:
                above = [between[: i + 1] for i in range(len(between))]
                for parts in above if recursive else above[:1]:
                    folder = begin + "/".join(parts)
                    if folder not in folders:
                        folders.append(folder)
            if recursive or not between:
                large = {"oid": oid(data), "size": len(data), "pointerSize": 99}
                files.append(
                    {
                        "type": "file",
                        "oid": oid(data)[:40],
                        "size": len(data),
                        "path": path,
                        "lfs": large,
                    }
                )
        shown = [
            {
                "type": "directory",
                "oid": oid(f.encode())[:40],
                "size": 0,
                "path": f,
            }
            for f in folders
        ]
        return shown + files

    def resolve(self, path: str) -> None:
        data = self.server.files.get(path)
        if data is None:
            self.refuse(404, "EntryNotFound", path + " does not exist")
            return
        where = "%s/%s?Expires=9&Signature=far-and-signed" % (
            self.server.far.address,
            urllib.parse.quote(path),
        )
        headers = {
            "Location": where,
            "X-Repo-Commit": COMMIT,
            "X-Linked-Size": str(len(data)),
            "X-Linked-Etag": '"%s"' % oid(data),
        }
        self.answer(302, b"Found. Redirecting", headers)


class Far(Refusing):
    server: FarServer

    def do_GET(self) -> None:
        self.server.requests += 1
        path, _, query = self.path.partition("?")
        sent = self.headers.get("Authorization")
        if sent is not None:
            self.server.authorizations.append(sent)
        data = self.server.hub.files.get(urllib.parse.unquote(path)[1:])
        if sent is not None or "Signature=far-and-signed" not in query:
            self.refuse(400, "InvalidArgument", "Only one auth mechanism")
        elif data is None:
            self.refuse(404, "NoSuchKey", "no such file")
        elif not self.answer_part(data, oid(data)):
            self.answer(416, b"", {"Content-Range": "bytes */%d" % len(data)})
