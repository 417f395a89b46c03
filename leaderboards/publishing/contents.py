"""What is published: the site, its results beside it, and how to check and extend both."""

from pathlib import Path
from typing import NamedTuple

from leaderboards.data.results import Results
from leaderboards.publishing.compact import write_compact
from leaderboards.publishing.manifest import files, seal
from leaderboards.publishing.refusal import Refused
from leaderboards.site.pages import write_site
from leaderboards.wording.ran import cells_in_words, provenance

README = """\
# A leaderboard of approximate Bayesian inference

`index.html` is its first page. {contents}.
Code revision: {code}. Finished: {dates}.

The numbers come from the results beside it, one row per cell that was run, whatever became of it:

{parts}

Check that nothing was changed since:

    sha256sum --check SHA256SUMS

Read them:

    pandas.read_parquet("results/cells")

With a checkout of lockstep-bench, build the site again, or put results of your own beside these (a folder that
`python run_all.py --out other` filled):

    python -m leaderboards build results --html page
    python -m leaderboards build results other --html page

Samples of each test point, tuning journals and the tables behind some figures are not part of these files.
"""


class Contents(NamedTuple):
    """What was written."""

    title: str  # what it is, in one line
    results_bytes: int
    site_bytes: int  # with the results
    hosts: str  # names of machines that everyone will read


def write_contents(results: Results, folder: Path) -> Contents:
    """Fill the empty `folder`.

    Raises:
        Refused: There is no finished cell.
    """
    if results.cells.empty:
        raise Refused("there are no finished cells yet, so there is nothing to publish")
    # Why a data set could not be had names folders of the machine that looked for it.
    absent = [one._replace(reason="it was not at hand where these results were made") for one in results.unavailable]
    results = results._replace(unavailable=absent)
    written = write_compact(results.rows, results.timings, results.unavailable, folder / "results")
    names = [path.relative_to(folder).as_posix() for path in written]
    write_site(results, folder, names)
    source, title = provenance(results.cells), cells_in_words(results.cells)
    parts = "\n".join(f"- `{name}`" for name in names)
    readme = README.format(contents=title, code=source.code, dates=source.dates, parts=parts)
    (folder / "README.md").write_text(readme, encoding="utf-8", newline="\n")
    seal(folder)
    sizes = {name: (folder / name).stat().st_size for name in files(folder)}
    inside = sum(size for name, size in sizes.items() if name.startswith("results/"))
    return Contents(title, inside, sum(sizes.values()), source.hosts)
