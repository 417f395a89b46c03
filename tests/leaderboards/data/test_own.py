"""Pages know the own tables that runs have described in their results folders."""

import json
import os
from dataclasses import replace

from lockstep_bench import datasets
from lockstep_bench.datasets import Table
from lockstep_bench.leaderboards.data.own import own_tables
from lockstep_bench.leaderboards.wording.commands import command

TABLE = Table(
    name="houses",
    title="houses: price",
    path="my houses.csv",
    sha256="0" * 64,
    target="price",
    task="regression",
    n_classes=None,
    n_rows=300,
    n_features=7,
    n_splits=20,
    split_scheme="resampled",
)


def described(folder, *tables):
    (folder / "own").mkdir(parents=True)
    for table in tables:
        (folder / "own" / f"{table.name}.json").write_text(table.to_json())
    return folder


def test_user_tables_are_registered_only_inside_the_context(tmp_path):
    folders = [described(tmp_path / "a", TABLE), described(tmp_path / "b", replace(TABLE, name="flats"))]
    with own_tables([*folders, tmp_path / "absent"]):
        assert datasets.entry("houses").title == "houses: price"
        assert datasets.entry("flats").n_rows == 300
        words = command("own", "houses", "map", [0, 1], "quick", "{}", 0)
    assert words.startswith("python run_all.py --csv 'my houses.csv' --target price --task regression --methods map")
    assert "houses" not in datasets.names()


def test_unreadable_table_descriptions_are_ignored(tmp_path):
    folder = described(tmp_path, replace(TABLE, name="yacht"))
    (folder / "own" / "broken.json").write_text("{")
    (folder / "own" / "deep.json").write_text("[" * 100_000)
    os.mkfifo(folder / "own" / "pipe.json")
    wrong = ({"target": 5}, {"n_rows": "many"}, {"notes": [1]}, {"impute": None})
    for number, change in enumerate(wrong):
        changed = json.loads(TABLE.to_json()) | {"name": f"wrong{number}"} | change
        (folder / "own" / f"wrong{number}.json").write_text(json.dumps(changed))
    with own_tables([folder]):
        assert datasets.entry("yacht").title != TABLE.title
        assert not [name for name in datasets.names() if name.startswith("wrong")]
