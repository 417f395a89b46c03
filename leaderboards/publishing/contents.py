"""The contents of a publication: the site, its results as Parquet, a README, metadata and checksums."""

from pathlib import Path
from typing import NamedTuple

from lockstep_bench.leaderboards.data.rechecks import write_rechecks
from lockstep_bench.leaderboards.data.results import Leaderboard
from lockstep_bench.leaderboards.publishing.compact import write_compact
from lockstep_bench.leaderboards.publishing.croissant import write_croissant
from lockstep_bench.leaderboards.publishing.manifest import files, seal
from lockstep_bench.leaderboards.publishing.predictions import write_predictions
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused
from lockstep_bench.leaderboards.site.pages import write_site
from lockstep_bench.leaderboards.tables.markdown import escaped
from lockstep_bench.leaderboards.wording.run_facts import cells_in_words, provenance

README = """\
# A leaderboard of approximate Bayesian inference

`index.html` is its first page. {contents}.
Code revision: {code}. Finished: {dates}.

The numbers come from these files, with one row per cell that was run, whether it finished or not:

{parts}

`croissant.json` describes them for programs (Croissant 1.0).

Check that no file has changed:

    sha256sum --check SHA256SUMS

Read the results:

    pandas.read_parquet("results/cells")

With a checkout of lockstep-bench, build the site again, or add your own results (a folder that
`python run_all.py --out other` wrote):

    python -m leaderboards build results --html page
    python -m leaderboards build results other --html page

`results/predictions` has at most 300 test points of each method's first split, rounded, for figures of calibration.
All other predictions, studies and the tables behind some figures are not included.
"""


class SiteContents(NamedTuple):
    """Summary of a publication: title, sizes in bytes, and names of machines that its pages show."""

    title: str  # number of cells, methods and data sets, in words
    results_bytes: int
    site_bytes: int  # results included
    hosts: str  # names of the machines, which the pages show


def write_contents(results: Leaderboard, folder: Path, readme_head: str = "") -> SiteContents:
    """Write the site, its results, a README, metadata and checksums into an empty folder.

    The README begins with `readme_head`.

    Raises:
        PublishingRefused: No result is finished.
    """
    if results.cells.empty:
        raise PublishingRefused(
            "there are no finished cells yet, so there is nothing to publish; run `python run_all.py` first"
        )
    # The reasons name folders of the machine that the data set was not available on.
    unavailable = [
        dataset._replace(reason="it was not available where these results were made") for dataset in results.unavailable
    ]
    results = results._replace(unavailable=unavailable)
    written = write_compact(
        results.rows, results.timings, results.unavailable, folder / "results", results.longer, results.recalibrated
    )
    write_predictions(results.rows, folder / "results")
    if results.rechecks and len(results.folders) == 1:  # a recheck of one folder vouches for no other
        write_rechecks(results.rechecks, folder / "results")
    names = [path.relative_to(folder).as_posix() for path in written]
    write_site(results, folder, names)
    source, title = provenance(results.cells), cells_in_words(results.cells)
    parts = "\n".join(f"- `{name}`" for name in names)
    readme = README.format(contents=title, code=escaped(source.code), dates=source.dates, parts=parts)
    (folder / "README.md").write_text(readme_head + readme, encoding="utf-8", newline="\n")
    write_croissant(folder, title, results.cells["finished_at"].max().date().isoformat(), names)
    seal(folder)
    sizes = {name: (folder / name).stat().st_size for name in files(folder)}
    inside = sum(size for name, size in sizes.items() if name.startswith("results/"))
    return SiteContents(title, inside, sum(sizes.values()), source.hosts)
