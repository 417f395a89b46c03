"""Folders for the Hugging Face Hub: the rows as a data set, and the pages as a static Space.

    FOLDER/dataset/README.md              the data set's card, with one configuration for each suite
    FOLDER/dataset/croissant.json
    FOLDER/dataset/results                a results folder
    FOLDER/space                          a published site, with the Hub's settings at the top of its README.md

Format: https://huggingface.co/docs/hub/datasets-manual-configuration and
https://huggingface.co/docs/hub/spaces-config-reference.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.publishing.contents import SiteContents, write_contents
from lockstep_bench.leaderboards.publishing.croissant import FILE
from lockstep_bench.leaderboards.publishing.manifest import seal

SPACE = """\
---
title: Leaderboard of approximate Bayesian inference
emoji: 📊
colorFrom: blue
colorTo: gray
sdk: static
app_file: index.html
license: mit
---

"""

CARD = """\
---
license: mit
pretty_name: Results of approximate Bayesian inference for neural networks
tags:
- tabular
- benchmark
- bayesian-inference
- uncertainty-quantification
configs:
{configs}
---

# Results of approximate Bayesian inference for neural networks

{title}. One row is one method on one split of a data set, under one protocol and seed, whether the run finished or not.

Each suite is one configuration, and its rows are in the split `train`, the Hub's name for a table without parts:

    datasets.load_dataset("OWNER/NAME", "{suite}")["train"]

`croissant.json` describes the columns (Croissant 1.0). Rows hold hyper-parameters, versions, the machine's name and, if
a run failed, the end of its output. `results` is a results folder of lockstep-bench, whose pages are built by

    python -m leaderboards build results --html page
"""


def write_huggingface(results: Leaderboard, folder: Path) -> SiteContents:
    """Write the data set and the Space into an empty folder, and return the summary of the Space.

    Raises:
        PublishingRefused: No result is finished.
    """
    space, dataset = folder / "space", folder / "dataset"
    contents = write_contents(results, space, readme_head=SPACE)
    shutil.copytree(space / "results", dataset / "results")
    shutil.copyfile(space / FILE, dataset / FILE)
    names = sorted(path.relative_to(dataset).as_posix() for path in (dataset / "results" / "cells").iterdir())
    (dataset / "README.md").write_text(_card(names, contents.title), encoding="utf-8", newline="\n")
    seal(dataset)
    seal(folder)
    return contents


def _card(names: Sequence[str], title: str) -> str:
    """Return the card of a data set with these files of rows, results/cells/SUITE[.NUMBER].parquet."""
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(Path(name).name.split(".")[0], []).append(name)
    lines = []
    for suite, of_suite in files.items():  # JSON strings are YAML strings
        lines += [f"- config_name: {json.dumps(suite)}", "  data_files:"]
        lines += [f"  - {json.dumps(name)}" for name in of_suite]
    suite = "uci" if "uci" in files else next(iter(files))
    return CARD.format(configs="\n".join(lines), title=title, suite=suite)
