"""Fused multiply-add in native loops: which products are fused with sums, and that a fused sum is rounded once."""

import pytest
import torch

FUSES = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
N_REPLICAS = 19


def rounded(number):
    return number.float().double()


def joined(product, other):
    """Return a sum with a product in double precision, rounded as one instruction does where there is one."""
    return rounded((product if FUSES else rounded(product)) + other)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (lambda a, b, c: a * b + c, lambda a, b, c: joined(a * b, c)),
        (lambda a, b, c: c + a * b, lambda a, b, c: joined(a * b, c)),
        (lambda a, b, c: a * b - c, lambda a, b, c: joined(a * b, -c)),
        (lambda a, b, c: c - a * b, lambda a, b, c: joined(-a * b, c)),
        (lambda a, b, c: 3 - a * b, lambda a, b, c: joined(-a * b, torch.tensor(3.0).double())),
        (lambda a, b, c: a * a + b * c, lambda a, b, c: joined(b * c, rounded(a * a))),
        (lambda a, b, c: a * a - b * c, lambda a, b, c: joined(-b * c, rounded(a * a))),
        (lambda a, b, c: 0.75 * a + b, lambda a, b, c: joined(0.75 * a, b)),
        (lambda a, b, c: torch.add(a, b, alpha=0.75), lambda a, b, c: joined(0.75 * b, a)),
        (lambda a, b, c: torch.sub(a, b, alpha=0.75), lambda a, b, c: joined(-0.75 * b, a)),
        (lambda a, b, c: torch.addcmul(a, b, c), lambda a, b, c: joined(b * c, a)),
        (lambda a, b, c: torch.lerp(a, b, 0.25), lambda a, b, c: joined(0.25 * rounded(b - a), a)),
        (lambda a, b, c: torch.lerp(a, b, 0.75), lambda a, b, c: joined(-0.25 * rounded(b - a), b)),
    ],
    ids=[
        *("product-first", "product-last", "minus-other", "minus-product", "number", "two-products"),
        *("difference-of-products", "scaled", "add-alpha", "sub-alpha", "addcmul", "lerp-low", "lerp-high"),
    ],
)
def test_product_and_sum_are_rounded_once_in_both_layouts(update, expected, run_updates):
    state = list(torch.randn(3, N_REPLICAS, 5, generator=torch.Generator().manual_seed(0)))
    result, _ = run_updates(lambda *leaves: [*leaves[:3], update(*leaves[:3])], [*state, state[0]], (), [1])
    assert torch.equal(result[3].double(), expected(*(leaf.double() for leaf in state)))


def test_product_that_is_also_a_result_is_rounded_by_itself(run_updates):
    state = list(torch.randn(3, N_REPLICAS, 5, generator=torch.Generator().manual_seed(0)))

    def update(a, b, c, product, total):
        return [a, b, c, a * b, a * b + c]

    result, _ = run_updates(update, [*state, state[0], state[0]], (), [1])
    a, b, c = (leaf.double() for leaf in state)
    assert torch.equal(result[3].double(), rounded(a * b))
    assert torch.equal(result[4].double(), joined(a * b, c))
