"""Several suites as one: of data sets made from the same rows, one counts."""

from lockstep_bench.leaderboards.stats.suites import as_one, origin


def row(suite, dataset, split=0, nmll=1.0):
    return {"suite": suite, "dataset": dataset, "split": split, "nmll": nmll}


def test_of_sets_made_from_the_same_rows_the_first_suites_is_kept(cells):
    rows = cells(
        row("uci-gp", "gp-concrete", nmll=2), row("uci", "concrete"), row("uci-gp", "gp-airfoil"), row("toy", "snelson")
    )
    joined, name, notes = as_one(rows, ["uci", "uci-gp"])
    assert set(joined["suite"]) == {name} == {"uci + uci-gp"}
    assert sorted(joined["dataset"]) == ["concrete", "gp-airfoil"]
    assert notes == ["Left out, as another set has the same rows: gp-concrete (concrete)."]
    assert set(as_one(rows, ["uci-gp", "uci"])[0]["dataset"]) == {"gp-concrete", "gp-airfoil"}


def test_a_flagged_version_does_not_displace_the_ranked_one(cells):
    rows = cells(row("uci-gp", "gp-wine"), row("uci-gp", "gp-wine-grouped"), row("uci", "yacht"))
    joined, _, notes = as_one(rows, ["uci", "uci-gp"])
    assert sorted(joined["dataset"]) == ["gp-wine-grouped", "yacht"]
    assert notes == []


def test_one_suite_stays_as_it_is(cells):
    rows = cells(row("uci-gp", "gp-wine"), row("uci", "yacht"))
    assert as_one(rows, ["uci"]) == (rows, "uci", [])


def test_origin_follows_other_splits_and_equal_rows():
    names = ["gp-wine-grouped", "r-auto", "gp-autompg", "keel-wdbc", "not-registered"]
    assert list(map(origin, names)) == ["wine", "gp-autompg", "gp-autompg", "wdbc", "not-registered"]
