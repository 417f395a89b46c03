"""A source cannot be made that says one thing about its task and another about its classes."""

import pytest

import datasets


def source(**kind):
    return datasets.Source(
        name="odd", title="", n_rows=4, n_features=2, n_splits=1, origin="", licence="", read=lambda _: None, **kind
    )


def test_a_source_is_a_regression_unless_told_otherwise():
    plain = source()
    assert (plain.task, plain.n_classes, plain.n_ood) == ("regression", None, 0)


@pytest.mark.parametrize(("task", "n_classes"), [("regression", None), ("binary", 2), ("multiclass", 3)])
def test_every_task_has_its_number_of_classes(task, n_classes):
    assert source(task=task, n_classes=n_classes, n_ood=7).n_classes == n_classes


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ({"task": "classification"}, "task should be one of regression, binary, multiclass, got 'classification'"),
        ({"n_classes": 2}, "n_classes of a regression task should be None, got 2"),
        ({"task": "binary"}, "n_classes of a binary task should be 2, got None"),
        ({"task": "binary", "n_classes": 3}, "n_classes of a binary task should be 2, got 3"),
        ({"task": "multiclass"}, "n_classes of a multiclass task should be 3 or more, got None"),
        ({"task": "multiclass", "n_classes": 2}, "n_classes of a multiclass task should be 3 or more, got 2"),
        ({"task": "multiclass", "n_classes": 3.0}, r"should be 3 or more, got 3\.0"),
        ({"n_ood": -1}, "n_ood should be 0 or more, got -1"),
        ({"n_ood": None}, "n_ood should be 0 or more, got None"),
    ],
)
def test_a_contradiction_is_refused(kind, complaint):
    with pytest.raises(ValueError, match=f"^dataset 'odd': .*{complaint}$"):
        source(**kind)
