"""Metadata of published rows name every file with its checksum, and every column with its type."""

import hashlib
import json

import pyarrow.parquet as pq
from typer.testing import CliRunner

from lockstep_bench.leaderboards.__main__ import app


def test_croissant_describes_every_published_file_and_column(folder, small_run, tmp_path):
    said = CliRunner().invoke(app, ["publish", str(folder(*small_run)), "--to", str(tmp_path / "site")])
    assert said.exit_code == 0, said.output
    described = json.loads((tmp_path / "site" / "croissant.json").read_text(encoding="utf-8"))
    files = {entry["contentUrl"]: entry["sha256"] for entry in described["distribution"] if "sha256" in entry}
    rows = sorted((tmp_path / "site" / "results" / "cells").glob("*.parquet"))
    assert files == {f"results/cells/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in rows}
    (records,) = described["recordSet"]
    fields = {field["name"]: field for field in records["field"]}
    assert set(fields) == set(pq.read_schema(rows[0]).names)
    assert fields["nmll"]["dataType"] == "sc:Float"
    assert fields["nmll"]["description"].endswith("nats")
    assert [fields[name]["dataType"] for name in ("split", "exclusive", "finished_at", "method")] == [
        *("sc:Integer", "sc:Boolean", "sc:DateTime", "sc:Text")
    ]
    assert described["datePublished"] == max(
        value.date().isoformat() for path in rows for value in pq.read_table(path)["finished_at"].to_pylist()
    )
