"""axe, the automated accessibility check, on every kind of page: wide and narrow, light and dark, all details open."""

import pytest
from axe_playwright_python.sync_playwright import Axe

WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("width", ["desktop", pytest.param("phone", marks=pytest.mark.slow)])
def test_pages_pass_axe_accessibility_checks(visit, kind, width):
    page = visit(kind, viewport=WIDTHS[width], color_scheme="light")
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")  # changes colours and nothing else
    assert violations(page, runOnly=["color-contrast"]) == []


def violations(page, **options):
    """Return the violations that axe finds, in short; `options` of `axe.run`."""
    found = Axe().run(page, options={"resultTypes": ["violations"]} | options).response["violations"]
    return [(one["id"], one["impact"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found]
