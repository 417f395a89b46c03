"""A local web server (on the loopback address) for looking at a site before it is published."""

import html
import os
import re
import sys
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR
from threading import Timer
from typing import Any

LOOPBACK = "127.0.0.1"
NOTHING = "default-src 'none'"  # the content-security policy of files that are no pages
REQUEST_SECONDS = 60.0
INDEX_PAGES = "index.html", "index.htm"  # that Python's handler sends for a folder
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return a web server for a folder that only this machine can reach; `serve_forever` starts it.

    Folders are never listed. A folder without index.html, and a link that leads out of the site, give "not found".
    Requests are refused if they name another host or two hosts, or a path that is neither a file nor a folder. A
    request may take `REQUEST_SECONDS`, from its connection to its last byte.

    Args:
        site: folder of the site.
        port: port to listen on; 0 for a free port, which is then in the attribute `server_port`.

    Raises:
        OSError: The port is taken or not allowed.
    """
    return _Server((LOOPBACK, port), partial(_Handler, directory=str(site)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a browser that keeps a connection open does not keep Ctrl-C waiting

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that closes the connection early is no error
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    policy = NOTHING  # until a page of the folder is about to be sent

    def handle(self) -> None:
        """Answer a request within its time."""
        timer = Timer(REQUEST_SECONDS, self._hang_up)
        timer.daemon = True
        timer.start()
        try:
            super().handle()
        finally:
            timer.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):  # it has just ended
            self.connection.shutdown(SHUT_RDWR)

    def parse_request(self) -> bool:
        """Return True if the request is for this server and a path of the site; send an error otherwise."""
        if not super().parse_request():
            return False
        hosts = self.headers.get_all("Host", [])
        if len(hosts) > 1:
            self.send_error(400, "More than one Host")
        elif self._hosts().isdisjoint(hosts):
            # A foreign name that resolves to this machine (DNS rebinding) would make the site part of a foreign one.
            self.send_error(421, "Misdirected request", f"This server is http://{LOOPBACK}:{self._port()}/ only.")
        elif not self.path.startswith("/"):
            self.send_error(400, "Bad request target")
        elif not self._inside():
            self.send_error(404, "File not found")
        else:
            return True
        return False

    def send_head(self) -> Any:
        self.policy = self._stated_policy()
        return super().send_head()

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def list_directory(self, path: Any) -> None:
        self.send_error(404, "File not found")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: one line per file would hide the address."""

    def _port(self) -> int:
        port: int = self.connection.getsockname()[1]
        return port

    def _hosts(self) -> set[str]:
        port = "" if self._port() == 80 else f":{self._port()}"
        return {f"{name}{port}" for name in (LOOPBACK, "localhost")}

    def _inside(self) -> bool:
        """Return whether the path, and the index page of a folder, are inside the site and are no pipes."""
        site, asked = Path(os.path.realpath(self.directory)), self.translate_path(self.path)
        files = (asked, *(os.path.join(asked, name) for name in INDEX_PAGES))
        try:
            return all(Path(os.path.realpath(file)).is_relative_to(site) and _readable(file) for file in files)
        except ValueError:  # a NUL, or bytes that are no text
            return False

    def _stated_policy(self) -> str:
        """Return the policy that a page states in its header; `NOTHING` for files that state none."""
        asked = self.translate_path(self.path)
        page = os.path.join(asked, INDEX_PAGES[0]) if os.path.isdir(asked) else asked
        if not page.endswith(".html") or not os.path.isfile(page):
            return NOTHING
        stated = POLICY.search(Path(page).read_text(encoding="utf-8", errors="replace"))
        return html.unescape(stated[1]) if stated else NOTHING


def _readable(file: str) -> bool:
    """Return False for a pipe, a device and a socket, which could keep a reader waiting."""
    return os.path.isfile(file) or os.path.isdir(file) or not os.path.exists(file)
