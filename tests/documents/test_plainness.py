"""Long sentences and turns of phrase that must be read twice are few in documents and page templates."""

from itertools import chain
from pathlib import Path

import pytest
from documents.plainness import counts, of_document, of_template, sentences

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md")
DOCUMENTS = [*(ROOT / name for name in NAMES), *sorted(ROOT.glob("docs/**/*.md"))]
TEMPLATES = sorted(ROOT.glob("leaderboards/site/templates/*.html"))

# The largest counts allowed. Lower one when its count falls; raise none.
MOST = {
    "sentences of 35 words or more": 8,
    "clauses that begin with 'what'": 49,
    "'that of', 'those of', 'the one', 'less that'": 78,
    "'ahead', 'is behind'": 0,
    "'than some other', 'worse than none'": 0,
}


def test_plain_english_counts_do_not_rise():
    found = counts(chain(*map(of_document, DOCUMENTS), *map(of_template, TEMPLATES)))
    assert not {name: (count, MOST[name]) for name, count in found.items() if count > MOST[name]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" ".join(["word"] * 35) + ".", "sentences of 35 words or more"),
        ("It says what is kept.", "clauses that begin with 'what'"),
        ("Its spread is that of the mean.", "'that of', 'those of', 'the one', 'less that'"),
        ("`swag` is behind `map`.", "'ahead', 'is behind'"),
        ("It is worse than none.", "'than some other', 'worse than none'"),
    ],
)
def test_each_turn_of_phrase_is_counted(text, found):
    assert {name for name, count in counts([text]).items() if count} == {found}


def test_questions_and_what_stands_behind_a_number_are_not_counted():
    assert not any(counts(["What does a split cost? The command behind a number."]).values())


def test_sentences_end_at_stops_and_list_items():
    assert sentences("One (eq. 3 of Neal et al. 2011). Two: Three.\n- four\n- five") == [
        "One (eq. 3 of Neal et al. 2011)",
        "Two",
        "Three.",
        "four",
        "five",
    ]


def test_code_and_comments_are_not_counted(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# What\n\nA text. <!-- what -->\n\n    what\n\n```bash\nwhat\n\nwhat\n```\n\n| `what` | cell |\n|---|---|\n"
    )
    assert not any(counts(of_document(page)).values())


def test_templates_are_read_without_tags_and_expressions(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("{# what #}{% if what %}<p title='what'>A <b>{{ what }}</b> text.</p><code>what</code>{% endif %}")
    assert [text for text in of_template(page) if text] == ["A X text.", "X"]
