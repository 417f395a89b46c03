"""File names and fragments."""

import re

import pytest

from lockstep_bench.leaderboards.site.addresses import dataset_page, fragment, method_page, slug


def test_plain_name_becomes_its_own_file_name():
    assert method_page("variational-laplace") == "method-variational-laplace.html"
    assert dataset_page("fa-d100.5_x") == "dataset-fa-d100.5_x.html"


@pytest.mark.parametrize(
    "name", ["ensemble:swag", "../../etc/passwd", "CON", "", "a b", "ä" * 300, "<script>", "\ud800"]
)
def test_any_method_name_gives_a_safe_file_name(name):
    assert re.fullmatch(r"[a-z0-9._+-]{1,80}", slug(name))
    assert "/" not in method_page(name)


def test_page_file_names_are_unique():
    names = ["swag", "Swag", "SWAG", "swag ", "a:b", "a+b", "a-b", "a b", "a/b", "x" * 70, "x" * 71]
    assert len({slug(name).lower() for name in names}) == len(names)


def test_page_fragments_are_unique():
    assert fragment("a", "b-c") != fragment("a-b", "c")
    assert fragment("a_b", "c") != fragment("a", "b_c")
