"""Sets of images name others to be told apart from, and never one twice."""

from lockstep_bench import datasets
from lockstep_bench.datasets import images

# Those that hold pictures of each other's classes.
ALIKE = ({"cifar10", "cifar10-jpeg", "stl10"}, {"mnist", "svhn"})


def test_every_ood_set_is_a_registered_image_set():
    for source in images.sources():
        for name in (*(name for group in source.ood_groups.values() for name in group), *source.validation_ood):
            assert datasets.entry(name).image is not None


def test_ood_sets_share_no_classes_with_their_set():
    for source in images.sources():
        for name in (*(name for group in source.ood_groups.values() for name in group), *source.validation_ood):
            assert not any({source.name, name} <= alike for alike in ALIKE)


def test_every_image_set_has_ood_and_validation_ood_sets():
    for source in images.sources():
        if "images" in source.suites:
            assert source.ood_groups
            assert len(source.validation_ood) == 1


def test_ood_groups_equal_those_of_openood():
    assert datasets.entry("mnist").ood_groups == {"near": ("notmnist", "fashion-mnist"), "far": ("cifar10",)}
    assert datasets.entry("cifar10").ood_groups == {"near": ("cifar100",), "far": ("mnist", "svhn")}
    assert datasets.entry("cifar100").ood_groups == {"near": ("cifar10",), "far": ("mnist", "svhn")}


def test_every_image_set_has_title_origin_and_notes():
    for source in images.sources():
        assert source.title
        assert source.origin
        assert source.licence
        assert source.notes
        assert bool(source.by_hand) != source.base_url.startswith("https://")
        assert source.suites in (("images",), ("retinopathy",), ())
