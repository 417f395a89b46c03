"""Results folders of any shape: valid cells are read, nothing outside is touched, and no file is lost."""

import os
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lockstep_bench.bench.results.folder import Results
from lockstep_bench.leaderboards.data.results import read_results

NAMES = st.one_of(
    st.sampled_from(
        ["cells", "uci", "energy", "vifa", "tuned-aaaaaaaa", "split00-seed0.parquet", "x.parquet", ".x.parquet.tmp"]
    ),
    st.sampled_from(["timings", "longer", "studies", "unavailable.json", "own", "superseded", ".lock"]),
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
        lambda name: name not in (".", "..")
    ),
)
KINDS = st.sampled_from(
    ["bytes", "folder", "link inside", "link outside", "loop", "dangling", "pipe", "cell", "locked"]
)
ENTRIES = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=6), KINDS, st.binary(max_size=30)), max_size=8)


def place(out: Path, parts: list[str], kind: str, content: bytes, cell: bytes, outside: Path) -> None:
    """Make an entry below the folder, unless something is in its way."""
    path = out.joinpath("cells", *parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or path.is_symlink() or not path.resolve().is_relative_to(out.resolve()):
            return
        if kind in ("bytes", "locked"):
            path.write_bytes(content)
        elif kind == "cell":
            path.write_bytes(cell)
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            target = {"link inside": out, "link outside": outside, "loop": path, "dangling": outside / "gone"}[kind]
            path.symlink_to(target)
        if kind == "locked":
            path.chmod(0)
    except OSError:
        return


def contents(folder: Path) -> list[bytes]:
    """Return the contents of all files, links and pipes below a folder, but of leftovers of a killed run."""
    found = []
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(above, name)
            if path.is_symlink():
                found.append(b"link to " + os.readlink(path).encode())
            elif path.is_fifo():
                found.append(b"pipe")
            elif path.is_file() and not (name.startswith(".") and name.endswith(".tmp")):
                path.chmod(0o600)
                found.append(path.read_bytes())
    return sorted(found)


@given(entries=ENTRIES)
def test_repairing_a_random_results_folder_loses_nothing(entries, tmp_path_factory, row, file_of):
    home = tmp_path_factory.mktemp("home")
    out, outside = home / "out", home / "outside"
    good = row("vifa", "energy", 7)
    valid = "uci/energy/vifa/tuned-aaaaaaaa/split07-seed0.parquet"
    for folder in (out, outside):
        (folder / "cells" / valid).parent.mkdir(parents=True)
        (folder / "cells" / valid).write_bytes(file_of(good))
    (outside / "cells" / "broken.parquet").write_bytes(b"no result")
    for parts, kind, content in entries:
        place(out, parts, kind, content, file_of(row("map", "wine", 1)), outside)
    before, before_outside = contents(out), contents(outside)

    found = read_results(out, cached=False)
    assert valid.removesuffix(".parquet") in {
        f"{suite}/{dataset}/{method}/{preset}-{code}/split{split:02}-seed{seed}"
        for suite, dataset, method, preset, code, split, seed in found.rows[
            ["suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"]
        ].itertuples(index=False)
    }
    results = Results(out)
    results.mend()
    assert Results(out).mend() == []  # one pass is enough
    assert contents(out) == before
    assert contents(outside) == before_outside
    shutil.rmtree(home)
