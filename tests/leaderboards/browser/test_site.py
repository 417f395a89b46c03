"""Actions of a reader: sort, filter, open, follow, reload, choose a theme; with a mouse, with keys, without scripts."""

from pathlib import Path
from urllib.parse import unquote

import pytest

ENERGY, SUITE = "dataset-energy.html", "suite-uci.html"
EVIL = "<script>window.hacked=1</script>"
RUN = ["vifa", "mfvi", "map", "evil"]

as_files_and_served = pytest.mark.parametrize("base", ["file", "serve"], indirect=True)


def methods(page):
    """The methods that were run and show in the first table, from top to bottom; the hostile one goes by "evil"."""
    shown = page.eval_on_selector_all(
        "table[data-board] >> nth=0 >> tbody tr[data-method]",
        "rows => [...new Set(rows.filter(row => row.offsetParent).map(row => row.dataset.method))]",
    )
    return [name for name in ("evil" if EVIL in name else name for name in shown) if name in RUN]


def table(page):
    return page.locator("table[data-board]").first


def heading(page, metric):
    return table(page).locator(f"th[data-metric={metric}]")


@as_files_and_served
def test_clicking_a_heading_sorts_and_updates_the_url(visit):
    page = visit(ENERGY)
    heading(page, "nmll").get_by_role("button").click()
    assert methods(page) == RUN  # 2.5, 9.5, 13, 30: as text 13 would come first
    assert heading(page, "nmll").get_attribute("aria-sort") == "ascending"
    heading(page, "nmll").get_by_role("button").click()
    assert methods(page) == RUN[::-1]
    assert heading(page, "nmll").get_attribute("aria-sort") == "descending"
    heading(page, "rmse").get_by_role("button").click()
    assert methods(page) == RUN[::-1]  # theirs is 40 - NMLL
    heading(page, "rmse").get_by_role("button").click()
    assert methods(page) == RUN
    assert heading(page, "nmll").get_attribute("aria-sort") is None
    address = page.url
    page.reload()
    assert methods(page) == RUN
    assert heading(page, "rmse").get_attribute("aria-sort") == "descending"
    other = visit(address.rsplit("/", 1)[1])
    assert methods(other) == RUN


@as_files_and_served
def test_filters_hide_rows_and_update_the_url(visit):
    page = visit(ENERGY)
    everything = methods(page)
    assert sorted(everything) == sorted(RUN)
    page.locator("[data-filter=method]").fill("mfv")
    assert methods(page) == ["mfvi"]
    assert page.get_by_role("status").first.inner_text().startswith("1 of ")
    page.locator("[data-filter=metric]").select_option("rmse")
    assert heading(page, "rmse").is_visible()
    assert not heading(page, "nmll").is_visible()
    page.reload()
    assert page.locator("[data-filter=method]").input_value() == "mfv"
    assert methods(page) == ["mfvi"]
    assert not heading(page, "nmll").is_visible()
    page.locator("[data-filter=method]").fill("")
    page.locator("[data-filter=metric]").select_option("")
    assert methods(page) == everything
    assert "?" not in page.url


def test_search_for_two_names_finds_both_methods(visit):
    page = visit(ENERGY)
    search, count = page.locator("[data-filter=method]"), page.get_by_role("status").first
    search.fill("mfvi map")
    assert sorted(methods(page)) == ["map", "mfvi"]
    assert count.inner_text() == "2 of 7 methods shown"  # some have only published rows
    search.fill("mfvi, swag")
    assert methods(page) == ["mfvi"]
    assert count.inner_text() == "1 of 7 methods shown; nothing is called “swag”"
    search.fill("swag")
    assert count.inner_text() == "0 of 7 methods shown; nothing is called “swag”"


def test_page_of_a_method_with_failures_counts_data_sets(visit, site):
    pages = (path for path in site.glob("method-*.html") if '<tr class="item" data-method' in path.read_text())
    page = visit(next(pages).name)
    assert page.get_by_role("status").first.inner_text() == "2 of 2 data sets shown"


def test_figures_show_the_chosen_metric(visit):
    page = visit(SUITE)

    def figures() -> list[str]:
        drawn = page.locator("section.item[data-metric] figure [role=img]").all()
        return [one.get_attribute("aria-label") for one in drawn if one.is_visible()]

    assert any(label.startswith("Ranks by NMLL") for label in figures())
    page.locator("[data-filter=metric]").select_option("rmse")
    assert figures()
    assert all(label.startswith("Ranks by RMSE") for label in figures())


def test_data_set_page_shows_the_chosen_metric(visit):
    page = visit(ENERGY)
    figures = page.locator(".beside figure [role=img]")

    def shown() -> list[str]:
        return [one.get_attribute("aria-label").split(" by ")[0] for one in figures.all() if one.is_visible()]

    assert shown() == ["NMLL"]
    page.locator("[data-filter=metric]").select_option("rmse")
    assert shown() == ["RMSE"]
    page.locator("[data-filter=metric]").select_option("")
    assert shown() == ["NMLL"]


def test_run_details_show_splits_settings_and_command(visit):
    page = visit(SUITE)
    page.locator("td[data-method=vifa][data-metric=nmll] a").first.click()
    page.wait_for_url(f"**/{ENERGY}#*")
    behind = page.locator("details.cell[data-method=vifa]").first
    assert behind.get_attribute("open") is not None
    assert behind.locator("pre").first.is_visible()
    assert "python run_all.py --suite uci --datasets energy --methods vifa" in behind.locator("pre").first.inner_text()
    assert behind.locator("table tbody tr").count() == 8
    text = behind.inner_text()
    for fact in ("prior_precision", "0.08", "0123456789ab", "bench-1"):  # of the last split: lr 0.08
        assert fact in text


def test_method_pages_and_data_set_pages_link_mutually(visit):
    page = visit(ENERGY)
    table(page).get_by_role("link", name="vifa", exact=True).click()
    page.wait_for_url("**/method-*.html")
    assert "vifa" in page.locator("main").inner_text()
    page.locator("main").get_by_role("link", name="energy").first.click()
    page.wait_for_url(f"**/{ENERGY}*")
    page.locator("nav").get_by_role("link", name="uci", exact=True).click()
    page.wait_for_url(f"**/{SUITE}")
    page.go_back()
    assert ENERGY in page.url


def brightness(page):
    """Return the brightness of the page's background, 0 to 1."""
    return page.evaluate(
        """() => {
            const canvas = document.createElement("canvas").getContext("2d");
            canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
            canvas.fillRect(0, 0, 1, 1);
            return canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((a, b) => a + b) / 765;
        }"""
    )


@as_files_and_served
@pytest.mark.parametrize(("system", "other"), [("dark", "light"), ("light", "dark")])
def test_theme_follows_the_system_until_chosen(visit, system, other):
    page = visit(color_scheme=system)
    assert (brightness(page) < 0.5) == (system == "dark")
    for _ in range(3):
        if (brightness(page) < 0.5) != (system == "dark"):
            break
        page.locator("#theme").click()
    assert (brightness(page) < 0.5) == (other == "dark")
    assert other in page.locator("#theme").inner_text().lower()
    # The browser's own memory is not relied upon: in a private window Chromium may lose what was stored just before.
    stored = page.evaluate("JSON.stringify(localStorage)")
    page.context.add_init_script(f"Object.assign(localStorage, {stored})")
    page.reload()
    assert (brightness(page) < 0.5) == (other == "dark")
    page.locator("nav").get_by_role("link", name="uci", exact=True).click()
    page.wait_for_url(f"**/{SUITE}")
    assert (brightness(page) < 0.5) == (other == "dark")


def test_html_in_names_and_errors_shows_as_text(visit):
    page = visit(ENERGY)
    assert EVIL in table(page).inner_text()
    for details in page.locator("details").all():
        details.evaluate("one => { one.open = true }")
    text = page.locator("main").inner_text()
    assert "onerror='window.hacked=1'" in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert "\\u202eevil" in text
    table(page).get_by_role("link").filter(has_text=EVIL).first.click()
    page.wait_for_url("**/method-*.html")
    assert EVIL in page.locator("h1").inner_text()
    assert page.locator("img, main script").count() == 0
    page.goto(page.url.rsplit("/", 1)[0] + f"/{ENERGY}?sort.{EVIL}=x&method={EVIL}&metric={EVIL}#{EVIL}")
    assert len(methods(page)) <= 1


def test_pages_are_readable_without_javascript(visit):
    page, scripted = visit(ENERGY, java_script_enabled=False), visit(ENERGY)
    assert page.locator("table[data-board] tbody tr").count() == scripted.locator("table[data-board] tbody tr").count()
    assert table(page).locator("tbody tr").first.is_visible()
    assert not page.locator("#theme").is_visible()
    for control in page.locator("[data-filter]").all():
        assert not control.is_visible()
    assert table(page).get_by_role("button").count() == 0
    behind = page.locator("details.cell[data-method=mfvi]").first
    behind.locator("summary").first.click()
    assert "python run_all.py" in behind.locator("pre").first.inner_text()
    assert behind.locator("table").first.is_visible()


def test_sorting_and_filters_work_by_keyboard(visit):
    page = visit(ENERGY)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(document.activeElement.closest('[data-filter], th') || {}).dataset"))
        if (reached[-1] or {}).get("metric") == "nmll":
            break
    assert {"method", "metric"} <= {one.get("filter") for one in filter(None, reached)}
    assert reached[-1]["metric"] == "nmll"
    page.keyboard.press("Enter")
    assert heading(page, "nmll").get_attribute("aria-sort") == "ascending"
    assert methods(page) == RUN
    assert page.evaluate("document.activeElement.closest('th').dataset.metric") == "nmll"  # the focus stays


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_reduced_motion_disables_animations(visit, kind):
    page = visit(kind, reduced_motion="reduce")
    moving = """all => all.filter(one => {
        const style = getComputedStyle(one);
        const runs = time => time.split(",").some(part => parseFloat(part) > 0);
        return runs(style.transitionDuration) || runs(style.animationDuration) || style.scrollBehavior === "smooth";
    }).map(one => one.outerHTML.slice(0, 80))"""
    assert page.eval_on_selector_all("*", moving) == []


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_on_phones_only_tables_and_figures_scroll_horizontally(visit, kind):
    page = visit(kind, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("base", ["file"], indirect=True)
def test_only_overflowing_tables_have_a_scroll_hint(visit):
    page = visit(SUITE, viewport={"width": 390, "height": 844})
    wide = page.locator(".scroll:has(table.overview)").first
    told = "one => getComputedStyle(one, '::before').content"
    page.wait_for_selector(".scroll.more")
    assert "scroll for more" in wide.evaluate(told)
    page.set_viewport_size({"width": 1600, "height": 844})
    page.wait_for_function("one => !one.classList.contains('more')", arg=wide.element_handle())
    assert wide.evaluate(told) == "none"


@as_files_and_served
def test_every_page_loads_and_every_link_resolves(visit, site):
    page = visit()
    ids, links = {}, []
    for path in sorted(site.glob("*.html")):
        page.goto(page.url.rsplit("/", 1)[0] + f"/{path.name}")
        ids[path.name] = set(page.eval_on_selector_all("[id]", "all => all.map(one => one.id)"))
        hrefs = page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
        links += [(path.name, href) for href in hrefs if "://" not in href]
    assert len(ids) >= 10
    broken = set()
    for source, href in links:
        name, _, fragment = href.partition("#")
        target = name.partition("?")[0] or source
        if not (site / unquote(target)).is_file() or (fragment and fragment not in ids[target]):
            broken.add((source, href))
    assert broken == set()


@as_files_and_served
def test_published_results_can_be_downloaded_from_the_site(visit, site):
    page = visit()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="results/cells/uci.parquet").click()
    assert Path(waiting.value.path()).read_bytes() == (site / "results" / "cells" / "uci.parquet").read_bytes()
