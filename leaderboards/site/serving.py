"""A local web server for a site, on the loopback address, to look at it before it is published."""

import html
import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
NOTHING = "default-src 'none'"  # the content-security policy of files that are no pages
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of a folder that only this machine can reach; `serve_forever` starts it.

    Folders are never listed: one without an index.html gives "not found".

    Args:
        site: folder of the site.
        port: port to listen on; 0 takes a free one, which is then `server_port`.

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
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self._policy())
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def list_directory(self, path: Any) -> None:
        self.send_error(404, "File not found")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: one line per file would hide the address."""

    def _policy(self) -> str:
        """Return the policy that a page states in its header; `NOTHING` for files that state none."""
        path = Path(self.translate_path(self.path))
        page = path / "index.html" if path.is_dir() else path
        if page.suffix != ".html" or not page.is_file():
            return NOTHING
        stated = POLICY.search(page.read_text(encoding="utf-8", errors="replace"))
        return html.unescape(stated[1]) if stated else NOTHING
