"""The archive for publication: its files have their checksums, and every column of the draws is described."""

import json

import pyarrow.parquet as pq

from lockstep_bench.bench.reference import croissant
from lockstep_bench.bench.reference.kept import agreements, sha256_of


def test_archive_describes_every_file_and_column(tmp_path):
    files = croissant.write(tmp_path / "archive")
    described = json.loads((tmp_path / "archive" / "croissant.json").read_text())
    assert described["conformsTo"] == croissant.CONFORMS
    checksums = {each["contentUrl"]: each["sha256"] for each in described["distribution"]}
    assert checksums == {path.name: sha256_of(path) for path in files if path.name != "croissant.json"}
    assert {each["name"] for each in described["recordSet"]} == agreements().keys()
    for records in described["recordSet"]:
        columns = [field["source"]["extract"]["column"] for field in records["field"]]
        assert columns == pq.read_schema(tmp_path / "archive" / f"{records['name']}.parquet").names
