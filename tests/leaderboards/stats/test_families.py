"""Representatives of families are chosen by validation scores."""

from lockstep_bench.leaderboards.stats.families import family_of, representatives, validation


def test_variants_of_a_method_share_a_family():
    assert family_of("swag") == family_of("swag-diag") == family_of("swa") == "swag"
    assert family_of("ensemble:swag") == "swag"
    assert family_of("mfvi(tempering=0.1)") == "mfvi"
    assert family_of("somebodys-own") == "somebodys-own"


def test_validation_scores_choose_the_representative(cells):
    rows = [
        {"dataset": dataset, "method": method, "nmll": nmll, "validation_nmll": validation}
        for dataset in ("x", "y")
        for method, nmll, validation in (("swag", 9.0, 1.0), ("swa", 0.0, 2.0), ("map", 5.0, 3.0))
    ]
    assert representatives(validation(cells(*rows))) == {"swag": "swag", "map": "map"}
    assert representatives(validation(cells(*rows)), keep="swa") == {"swag": "swa", "map": "map"}


def test_other_methods_do_not_represent(cells):
    rows = [
        {"dataset": d, "method": method, "validation_nmll": nmll}
        for d in "xy"
        for method, nmll in (("swa", 2), ("swag", 1))
    ]
    assert representatives(validation(cells(*rows)), among=["swa"]) == {"swag": "swa"}


def test_variant_with_fewer_cells_never_represents_its_family(cells):
    rows = [{"dataset": d, "method": "swa", "validation_nmll": 2.0} for d in ("x", "y")]
    rows += [{"dataset": "x", "method": "swag", "validation_nmll": 1.0}]
    assert representatives(validation(cells(*rows))) == {"swag": "swa"}


def test_failed_variant_ranks_last_by_validation(cells):
    rows = [{"dataset": d, "method": "swa", "validation_nmll": 2.0} for d in ("x", "y", "z")]
    rows += [{"dataset": "x", "method": "swag", "validation_nmll": 1.0}]
    rows += [{"dataset": d, "method": "swag", "status": "failed"} for d in ("y", "z")]
    assert representatives(validation(cells(*rows))) == {"swag": "swa"}


def test_without_validation_scores_the_headline_method_represents(cells):
    rows = [{"method": method} for method in ("inducing-fcg", "inducing-ffg", "inducing-ensemble")]
    assert representatives(validation(cells(*rows))) == {"inducing": "inducing-ffg"}
