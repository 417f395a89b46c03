"""Compiled templates, kept where Python keeps the compiled modules of this package: in `__pycache__`.

To compile them takes a third of a second, which every build of the pages would need. Whoever could change the file
could as well change the modules beside it.
"""

import marshal
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from lockstep_bench.shared.rows.atomic import write_atomically

SIZE = sha256().digest_size


class Compiled(BytecodeCache):
    """Cache of compiled templates, for later builds in this process and in others."""

    def __init__(self) -> None:
        self.path = Path(cache_from_source(str(Path(__file__).with_name("templates.py")))).with_suffix(".bin")
        self._code: dict[str, bytes] = {}
        self._stored: set[str] = set()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give Jinja a compiled template; Jinja compares it with the template's source."""
        if code := self._code.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template that Jinja has compiled."""
        self._code[bucket.key] = bucket.bytecode_to_string()

    def read(self, digest: str) -> None:
        """Take over the templates that processes with the same code have compiled; ignore a damaged file.

        Args:
            digest: digest of this package's code and the libraries' versions (`kept.code_digest`).
        """
        with suppress(OSError):
            content = self.path.read_bytes()
            if sha256(content[SIZE:]).digest() == content[:SIZE]:
                of_code, stored = marshal.loads(content[SIZE:])
                if of_code == digest:
                    self._stored = set(stored)
                    self._code = stored | self._code

    def write(self, digest: str) -> None:
        """Keep the templates for other processes with the same code, if there are new ones. Ignore failures."""
        if self._code.keys() <= self._stored or sys.dont_write_bytecode:
            return
        content = marshal.dumps((digest, self._code))
        with suppress(OSError):
            write_atomically(sha256(content).digest() + content, self.path)
            self._stored = set(self._code)
