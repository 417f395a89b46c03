"""A site on this machine's loopback address, for a look before it is published."""

import html
import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOOPBACK = "127.0.0.1"
NOTHING = "default-src 'none'"  # the policy of what is no page
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """A server of the folder `site` that only this machine can reach; `port` 0 takes a free one.

    Its `server_port` is the port that it listens on; `serve_forever` starts it. Folders are never listed: one without
    an index.html is not found.

    Raises:
        OSError: The port is taken or not allowed.
    """
    return _Server((LOOPBACK, port), partial(_Handler, directory=str(site)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a browser that keeps a connection open does not keep Ctrl-C waiting

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # a reader who leaves early is no error
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Content-Security-Policy", self._policy())
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def list_directory(self, path):
        self.send_error(404, "File not found")

    def log_message(self, format, *args):
        """Nothing: one line per file would bury the address."""

    def _policy(self) -> str:
        """The policy that a page states itself; nothing at all for what states none."""
        path = Path(self.translate_path(self.path))
        page = path / "index.html" if path.is_dir() else path
        if page.suffix != ".html" or not page.is_file():
            return NOTHING
        stated = POLICY.search(page.read_text(encoding="utf-8", errors="replace"))
        return html.unescape(stated[1]) if stated else NOTHING
