"""Texts of methods, files and machines are printable and of limited length."""

import pytest

from lockstep_bench.shared.texts import capped, visible


def test_control_and_direction_characters_are_escaped():
    assert visible("a\u202eb\u200f") == "a\\u202eb\\u200f"
    assert visible("line\nline\x00\x1b[2J") == "line\nline\\u0000\\u001b[2J"
    assert visible("Müller 模型") == "Müller 模型"


def test_lone_surrogates_are_escaped():
    assert visible(b"caf\xe9.csv".decode(errors="surrogateescape")) == "caf\\udce9.csv"


@pytest.mark.parametrize("length", [99, 100])
def test_short_text_is_not_shortened(length):
    assert capped("x" * length, 100) == "x" * length


def test_long_text_is_shortened_in_the_middle():
    text = "begin" + "x" * 1_000_000 + "end"
    short = capped(text, 100)
    assert len(short) <= 100
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "characters left out" in short
