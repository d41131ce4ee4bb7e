# SPDX-License-Identifier: Apache-2.0
"""What small servers of the tests have in common: whole answers, and parts of
files."""

from __future__ import annotations

import http.server
import re
from typing import Any, Dict, Optional


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused: Any) -> None:
        pass

    def answer(
        self, status: int, body: bytes, headers: Optional[Dict[str, str]] = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_part(
        self, data: bytes, tag: str, asked: Optional[str] = None
    ) -> bool:
        """As a Range asks for it; False: it begins behind the end."""
        headers = {"ETag": '"%s"' % tag, "Accept-Ranges": "bytes"}
        found = re.fullmatch(
            r"bytes=(\d+)-(\d*)", asked or self.headers.get("Range", "")
        )
        if not found:
            self.answer(200, data, headers)
            return True
        first = int(found.group(1))
        last = min(int(found.group(2) or len(data)), len(data) - 1)
        if first >= len(data):
            return False
        span = "bytes %d-%d/%d" % (first, last, len(data))
        part = data[first : last + 1]
        self.answer(206, part, {**headers, "Content-Range": span})
        return True
