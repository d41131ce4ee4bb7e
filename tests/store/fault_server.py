#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web server with ranges and ETags that fails on demand.

    fault_server.py FOLDER [DELAY_MS [PART]]

Prints its port. DELAY_MS: before every answer. PART: of the requests that fail
by chance (0.05), in one of four ways. The query of a URL says what
goes wrong, the first `times` times (1) that URL is asked for, counted over all
ranges of it:

    status=503&after=1   that status, with a Retry-After
    delay=500            milliseconds before the answer
    stall=1000           ms after half of the body
    cut=100              the connection ends after so many bytes of the body
    reset                it is reset before an answer
    garbage              an answer that is no HTTP
    shift=1              Content-Range and body are so many bytes off
    short=10             Content-Range says fewer bytes
    whole                200 in place of 206
    etag=x               another ETag
    untagged             neither ETag nor Last-Modified
    encoded              a Content-Encoding
    more=10              bytes behind the body that were not announced
    to=URL               a redirect
    loop                 a redirect to itself
    deny                 403 with a body that has a reason
"""

import os
import random
import socket
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What happens by chance; slow: far longer than the others, not for ever.
CHANCES = ({"status": "503"}, {"reset": ""}, {"cut": "700"}, {"delay": "400"})

asked = {}
lock = threading.Lock()
dice = random.Random(1)


def faults_of(url):
    """The path and what goes wrong this time."""
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qs(parts.query, keep_blank_values=True)
    faults = {name: values[0] for name, values in query.items()}
    with lock:
        asked[url] = asked.get(url, 0) + 1
        if asked[url] > int(faults.pop("times", 1)):
            faults = {}
        if not faults and dice.random() < Handler.part:
            faults = dice.choice(CHANCES)
    return urllib.parse.unquote(parts.path), faults


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    folder = "/"
    delay_ms = 0
    part = 0.0

    def log_message(self, *args):
        pass

    def drop(self, hard):
        """Ends the connection, with a reset if hard."""
        self.wfile.flush()
        if hard:
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def range_of(self, size):
        """First byte and length, None: all, or False: it is not in the file."""
        text = self.headers.get("Range")
        if not text:
            return None
        first, last = text.replace("bytes=", "").split("-")
        first = int(first)
        last = min(int(last) if last else size - 1, size - 1)
        return (first, last - first + 1) if first < size else False

    def do_GET(self):
        path, faults = faults_of(self.path)
        delay = self.delay_ms + int(faults.get("delay", 0))
        if delay:
            time.sleep(delay / 1000)
        if "reset" in faults:
            self.drop(True)
        elif "garbage" in faults:
            self.wfile.write(b"\x00\xff no HTTP at all\r\n\r\n")
            self.drop(False)
        elif "status" in faults:
            after = faults.get("after")
            headers = [("Retry-After", after)] if after else []
            self.answer(int(faults["status"]), b"not now", headers)
        elif "to" in faults:
            self.answer(302, b"", [("Location", faults["to"])])
        elif "loop" in faults:
            self.answer(302, b"", [("Location", self.path)])
        elif "deny" in faults:
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        else:
            self.serve(self.folder + path, faults)

    def serve(self, path, faults):
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError:
            self.answer(404, b"no such file")
            return
        stat = os.stat(path)
        tag = '"%x-%x"' % (stat.st_mtime_ns, len(data))
        tag = faults.get("etag", tag)
        wanted = self.headers.get("If-Match")
        if wanted and wanted != tag and "untagged" not in faults:
            self.answer(412)
            return
        part = None if "whole" in faults else self.range_of(len(data))
        if part is False:
            headers = [("Content-Range", "bytes */%d" % len(data))]
            self.answer(416, b"", headers)
            return
        self.send_part(data, part, tag, faults)

    def send_part(self, data, part, tag, faults):
        first, n = part or (0, len(data))
        first += int(faults.get("shift", 0))
        n -= int(faults.get("short", 0))
        body = data[first:first + n]
        self.send_response(206 if part else 200)
        if part:
            self.send_header(
                "Content-Range",
                "bytes %d-%d/%d" % (first, first + n - 1, len(data)),
            )
        if "untagged" not in faults:
            self.send_header("ETag", tag)
        if "encoded" in faults:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = int(faults.get("cut", -1))
        if cut >= 0:
            self.wfile.write(body[:cut])
            self.drop(False)
        elif "stall" in faults:
            self.wfile.write(body[:n // 2])
            self.wfile.flush()
            time.sleep(int(faults["stall"]) / 1000)
            self.wfile.write(body[n // 2:])
        else:
            self.wfile.write(body + b"x" * int(faults.get("more", 0)))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # clients that went away


def main():
    Handler.folder = sys.argv[1].rstrip("/")
    Handler.delay_ms = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    Handler.part = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
