"""Pages stay small: what would make them large has further pages."""

import pytest
from built_pages import Built
from markupsafe import Markup

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.site import addresses
from lockstep_bench.leaderboards.site.pages import parts
from lockstep_bench.leaderboards.wording.run_facts import Failure


def part(name: str, size: int) -> parts.PagePart:
    return parts.PagePart("uci", "paper", name, Markup("x" * size))


def test_small_page_is_not_split():
    small = [part("map", 10), part("vifa", 20)]
    assert parts.placed("dataset-energy.html", small, 0) == small


def test_large_page_is_split_into_further_pages():
    half = parts.MOST // 2
    pages = [one.page for one in parts.placed("suite-uci.html", [part(n, half) for n in "abc"], half)]
    assert pages == ["suite-uci~1.html", "suite-uci~1.html", "suite-uci~2.html"]


def test_page_lists_a_limited_number_of_failures():
    failures = [Failure("uci", "energy", "map", "paper", "failed", f"split {n}", "gist", "") for n in range(500)]
    assert parts.first_failures(failures) == failures[: parts.MOST_FAILURES]
    long = [failure._replace(error="x" * parts.MOST) for failure in failures]
    assert parts.first_failures(long) == long[:1]


@pytest.fixture(scope="module")
def crowded(shared_folder, small_run, tmp_path_factory):
    """The site of a few cells, as if a page could hold next to nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "MOST", 1)
        return Built(leaderboards.build(shared_folder(*small_run), tmp_path_factory.mktemp("crowded")))


def test_run_details_move_to_further_pages(crowded):
    fragment = addresses.fragment("uci", "paper", "vifa")
    links = {link for link in crowded["dataset-energy.html"].links if link.endswith(f"#{fragment}")}
    (link,) = links
    page = link.partition("#")[0]
    assert page != "dataset-energy.html"
    assert fragment in crowded[page].ids
    assert fragment in crowded["dataset-energy.html"].ids, "pages of suites and methods lead here"
    assert "dataset-energy.html" in crowded[page].links


def numbers(page) -> list[str]:
    return [attrs.get("data-value") for tag, attrs in page.tags if attrs.get("data-metric") == "nmll" and tag == "td"]


@pytest.mark.parametrize("name", ["suite-uci.html", "dataset-energy.html"])
def test_main_results_stay_on_the_first_page(crowded, small_site, name):
    assert numbers(crowded[name]) == numbers(small_site[name]) != []


def test_every_link_of_a_large_site_resolves(crowded):
    for name, page in crowded.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            target, _, fragment = link.partition("#")
            assert not fragment or fragment in crowded[target or name].ids, (name, link)


def test_suite_page_does_not_grow_with_splits(folder, small_run, tmp_path):
    sizes = []
    for turn in range(3):
        results = folder(*[row | {"split": row["split"] + 8 * turn} for row in small_run])
        page = leaderboards.build(results, tmp_path / "site").parent / "suite-uci.html"
        sizes.append(page.stat().st_size)
    assert max(sizes) < 1.1 * min(sizes)
