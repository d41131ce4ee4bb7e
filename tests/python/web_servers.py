# SPDX-License-Identifier: Apache-2.0
"""Web servers for tests of data on other machines: nginx, which is what people
run, and one of our own that fails on demand (tests/store/fault_server.py)."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

FAULTS = Path(__file__).parent.parent / "store" / "fault_server.py"

NGINX = """
{user}daemon off; worker_processes 1; pid {own}/pid; error_log {own}/errors;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {own}; proxy_temp_path {own};
  fastcgi_temp_path {own}; uwsgi_temp_path {own}; scgi_temp_path {own};
  server {{ listen 127.0.0.1:{port}{tls}; root {root}; }}
}}
"""


@contextlib.contextmanager
def running(*command: str, **more: Any) -> Iterator[Any]:
    """Ended by SIGTERM: then nginx ends its worker as well."""
    with subprocess.Popen(command, **more) as child:
        try:
            yield child
        finally:
            child.terminate()
            child.wait(30)


@contextlib.contextmanager
def faults(folder: Path, delay_ms: int = 0, part: float = 0) -> Iterator[str]:
    """The address of the server that fails on demand; part: of all requests
    that fail by chance."""
    with running(
        sys.executable,
        "-B",
        str(FAULTS),
        str(folder),
        str(delay_ms),
        str(part),
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        yield "http://127.0.0.1:%d" % int(child.stdout.readline())


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def nginx(
    root: Path, own: Path, certificate: Optional[Path] = None
) -> Iterator[str]:
    """The address of nginx on a folder; own: an empty folder of its own.

    certificate: a file with it and its key; then it is https.
    """
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/bin")
    if not program:
        pytest.skip("no nginx")
    port = free_port()
    tls = ""
    if certificate:
        tls = " ssl; ssl_certificate %s; ssl_certificate_key %s" % (
            certificate,
            certificate,
        )
    config = own / "nginx.conf"
    user = "user root; " if os.getuid() == 0 else ""  # who may read it
    config.write_text(
        NGINX.format(user=user, own=own, port=port, root=root, tls=tls)
    )
    with running(program, "-c", str(config), "-e", str(own / "errors")) as it:
        while not answers(port):
            assert it.poll() is None, (own / "errors").read_text()
            time.sleep(0.01)
        scheme = "https" if certificate else "http"
        yield "%s://localhost:%d" % (scheme, port)
