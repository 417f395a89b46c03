"""axe, the automated accessibility check, on every kind of page: wide and narrow, light and dark, all details open."""

import pytest
from axe_playwright_python.sync_playwright import Axe

WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.mark.parametrize("base", ["file"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(visit, kind, width, scheme):
    page = visit(kind, viewport=WIDTHS[width], color_scheme=scheme)
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found] == []
