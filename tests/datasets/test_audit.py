"""Facts about regressions, counted by hand and by other libraries."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from lockstep_bench.datasets import Dataset, Split
from lockstep_bench.datasets.audit import audit, linear_r2
from lockstep_bench.datasets.tabular import audited


def facts_of(x, y, splits):
    return audit(Dataset("made", np.array(x, float), np.array(y, float), splits))


def test_audited_facts_equal_hand_counts():
    x = [[0, 1, 5], [0, 1, 5], [0, 1, 5], [2, 3, 5], [4, 5, 5], [6, 7, 5]]
    y = [1, 1, 2, 3, 4, 4]
    splits = [Split([0, 3, 4, 5], [1, 2]), Split([0, 1, 2], [3, 4, 5])]
    facts = facts_of(x, y, splits)
    assert (facts.rows, facts.inputs, facts.targets, facts.constant, facts.equal) == (6, 3, 4, 1, 0)
    assert facts.repeated == pytest.approx(100 / 3)  # the first two rows
    assert (facts.copies, facts.most_copies) == (25, 50)  # row 1 is row 0
    assert facts.other_target == 25  # row 2 has the inputs of row 0
    assert facts.target_sd == np.std(y)


def test_equal_inputs_are_counted_in_pairs():
    column = np.arange(6.0)
    x = np.column_stack([column, column, column, np.zeros(6), -np.zeros(6)])
    facts = facts_of(x, column, [Split(range(5), [5])])
    assert (facts.constant, facts.equal) == (2, 3 + 1)


def test_linear_r2_equals_scikit_learns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 4)) * [1e-6, 1, 1e6, 0] + 3
    x = np.column_stack([x, x[:, 1]])
    y = x[:, 1] + 1e6 * x[:, 0] + rng.normal(size=50)
    scaled = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    assert linear_r2(x, y) == pytest.approx(LinearRegression().fit(scaled, y).score(scaled, y))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"rows": 99}, "fewer than 100 rows"),
        ({"most_copies": 25.1}, "copies of training rows in more than a quarter"),
        ({"copies": 90.0, "most_copies": 25.0}, ""),
    ],
)
def test_small_and_copied_data_sets_are_flagged(changes, reason):
    facts = audited.kept()["gp-yacht"]._replace(rows=100)._replace(**changes)
    assert audited.flag(facts).startswith(reason)
    assert bool(audited.flag(facts)) == bool(reason)


def test_stored_audit_table_is_rewritten_unchanged():
    path = Path(audited.__file__).with_name("audited.tsv")
    assert audited.to_lines(list(audited.kept().values())) == path.read_text(encoding="utf-8").splitlines()
