"""The page of findings is the text of the checkout, without its comments and links to other files."""

from pathlib import Path

from lockstep_bench.leaderboards.site.pages.findings import KEPT, answer, as_html, has_findings


def test_findings_have_headings_to_link_to_and_no_comments():
    html = as_html("# Findings\n\n[Rows](#the-kept-rows), [claims](claims.md).\n<!-- rows -->\n\n## The kept rows\n")
    assert '<a href="#the-kept-rows">Rows</a>, claims.' in html
    assert '<h2 id="the-kept-rows">' in html
    assert "rows --" not in html


def test_links_in_brackets_name_their_file():
    assert "(see <code>gaps.md</code>)" in as_html("Here ([gaps](gaps.md#scores)).")


def test_two_links_in_brackets_name_both_files():
    html = as_html("Some ([claims](claims.md), [how](../CONTRIBUTING.md#numbers)).")
    assert "(see <code>claims.md</code> and <code>CONTRIBUTING.md</code>)" in html


def test_titles_of_other_documents_are_italic():
    assert "<em>Claims</em> tests" in as_html("[Claims](claims.md) tests each.")


def test_numbers_do_not_break():
    whole = as_html("Its RMSE is 32\n% lower: 0.5 ± 0.1, −1 to −0.2.")
    assert whole.replace("\N{NO-BREAK SPACE}", "_") == "<p>Its RMSE is 32_% lower: 0.5_±_0.1, −1_to_−0.2.</p>\n"


def test_answer_is_the_first_paragraph():
    assert str(answer()).startswith("<p><strong>")
    assert str(answer()).count("<p>") == 1


def test_only_sites_of_kept_results_have_findings(tmp_path):
    assert has_findings([KEPT])
    assert not has_findings([Path(tmp_path)])
