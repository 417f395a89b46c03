"""Linear algebra of lanes against NumPy in double precision, with a different matrix in each lane."""

import ctypes

import numpy as np
import pytest

from lockstep_bench.bench.native.lanes import aligned
from lockstep_bench.bench.native.libraries import lanes, obstacle

LANES = 16 if obstacle() else lanes()  # 16, 8 or 4, by the processor
# Sizes (M, K, N) and steps (SAM, SAK, SBK, SBN) of products: rows by rows, A or B transposed, both.
PRODUCTS = [
    (10, 6, 50, 6, 1, 50, 1),
    (10, 50, 1, 50, 1, 1, 1),
    (6, 10, 50, 1, 6, 50, 1),
    (50, 10, 1, 1, 50, 1, 1),
    (10, 1, 50, 1, 1, 50, 1),
    (1, 41, 401, 41, 1, 401, 1),
    (4, 5, 401, 5, 1, 401, 1),
    (41, 33, 16, 33, 1, 1, 33),
    (7, 101, 11, 1, 7, 1, 101),
]
GRAMS = [(41, 401, 401, 1), (7, 20, 1, 7), (1, 5, 5, 1)]
TRIANGLES = [(upper, left, unit) for upper in (0, 1) for left in (0, 1) for unit in (0, 1)]
PAIRS = [(1, 1), (2, 2), (3, 2), (11, 11), (41, 1), (41, 10), (61, 3)]
TYPES = {"F": np.float32, "D": np.float64}


def source() -> str:
    """Return a program with a function, of an array of pointers, for every function and size under test."""
    lines = ['#include "linalg.hpp"']

    def function(name: str, sizes: tuple[int, ...], call: str, count: int) -> None:
        label = "_".join(str(size) for size in sizes)
        for kind in TYPES:
            pointers = ", ".join(f"({kind}*)p[{number}]" for number in range(count))
            text = call.format(sizes=", ".join(str(size) for size in sizes), pointers=pointers, kind=kind)
            lines.append(f'extern "C" void {name}_{label}_{kind}(void** p) {{ {text}; }}')

    for sizes in PRODUCTS:
        function("matmul", sizes, "matmul<{sizes}, false>({pointers})", 3)
    function("matmul_add", PRODUCTS[-1], "matmul<{sizes}, true>({pointers})", 3)
    for sizes in GRAMS:
        function("gram", sizes, "gram<{sizes}>({pointers})", 2)
    for size in (1, 2, 10):
        function("inverse", (size,), "inverse<{sizes}>({pointers})", 3)
        function("cholesky", (size,), "cholesky<{sizes}>({pointers})", 2)
    for triangle in TRIANGLES:
        function("solve", (6, 3, *triangle), "solve_triangular<{sizes}>({pointers})", 3)
    for sizes in ((1, 1), (5, 5), (40, 4)):
        function("qr", sizes, "qr<{sizes}>({pointers})", 3)
    for sizes in PAIRS:
        workspace = "static {kind} work[top_eigenpairs_workspace<{sizes}, {kind}>]; "
        function("eigen", sizes, workspace + "top_eigenpairs<{sizes}>({pointers}, work)", 3)
    return "\n".join(lines)


class Library:
    """The compiled program; arrays outside have the lane as their first axis."""

    def __init__(self, functions: ctypes.CDLL):
        self.functions = functions

    def call(self, name, results, *arguments, kind="F"):
        """Return the results, float64 arrays (LANES, *shape) of the given shapes; an array as result is its start."""
        arrays = []
        for argument in (*results, *arguments):
            given = not isinstance(argument, tuple)
            array = aligned((*(argument.shape[1:] if given else argument), LANES), np.dtype(TYPES[kind]))
            array.fill(np.nan)
            if given:
                array[:] = np.moveaxis(argument, 0, -1)
            arrays.append(array)
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        self.functions[f"{name}_{kind}"](pointers)
        out = [np.moveaxis(array, -1, 0).astype(np.float64) for array in arrays[: len(results)]]
        return out[0] if len(out) == 1 else out


@pytest.fixture(scope="session")
def library(library_of):
    return Library(library_of(source()))


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Return standard normal numbers (LANES, *shape) that single precision holds exactly."""
    values = np.random.default_rng(seed).standard_normal((LANES, *shape))
    return values.astype(np.float32).astype(np.float64)


def name_of(function: str, sizes: tuple[int, ...]) -> str:
    return "_".join([function, *(str(size) for size in sizes)])


def epsilon(kind: str) -> float:
    return float(np.finfo(TYPES[kind]).eps)


def transposed(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


def orthogonal(size: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(numbers(size, size, seed=seed)).Q


def symmetric(values, seed: int = 0) -> np.ndarray:
    """Return matrices (LANES, n, n) with these eigenvalues and any eigenvectors."""
    vectors = orthogonal(len(values), seed)
    matrix = vectors * np.asarray(values) @ transposed(vectors)
    return (matrix + transposed(matrix)) / 2


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
def test_matrix_products_of_any_strides_equal_numpy(library, sizes, kind):
    m, k, n, _, sak, _, sbn = sizes
    a = numbers(m, k) if sak == 1 else transposed(numbers(k, m))
    b = numbers(k, n, seed=1) if sbn == 1 else transposed(numbers(n, k, seed=1))
    in_memory = [a if sak == 1 else transposed(a), b if sbn == 1 else transposed(b)]
    product = library.call(name_of("matmul", sizes), [(m, n)], *in_memory, kind=kind)
    np.testing.assert_allclose(product, a @ b, atol=(10 + 2 * k) * epsilon(kind))


@pytest.mark.parametrize("kind", TYPES)
def test_matrix_product_can_be_added_to_a_matrix(library, kind):
    m, k, n = PRODUCTS[-1][:3]
    c, a, b = numbers(m, n), numbers(k, m, seed=1), numbers(n, k, seed=2)
    total = library.call(name_of("matmul_add", PRODUCTS[-1]), [c], a, b, kind=kind)
    np.testing.assert_allclose(total, c + transposed(a) @ transposed(b), atol=(10 + 2 * k) * epsilon(kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", GRAMS, ids=str)
def test_gram_matrices_equal_numpy_and_are_symmetric(library, sizes, kind):
    m, k, _, sak = sizes
    a = numbers(m, k) if sak == 1 else transposed(numbers(k, m))
    product = library.call(name_of("gram", sizes), [(m, m)], a if sak == 1 else transposed(a), kind=kind)
    np.testing.assert_allclose(product, a @ transposed(a), rtol=20 * epsilon(kind), atol=k * epsilon(kind))
    assert (product == transposed(product)).all()


def inverse(library, matrices, kind="F"):
    shape = matrices.shape[1:]
    return library.call(f"inverse_{len(matrices[0])}", [shape], matrices, np.zeros_like(matrices), kind=kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("condition", [1, 1e4])
@pytest.mark.parametrize("size", [1, 2, 10])
def test_inverses_are_as_accurate_as_lapack(library, size, condition, kind):
    a = orthogonal(size) * np.geomspace(1, 1 / condition, size) @ orthogonal(size, seed=1)
    a = a.astype(TYPES[kind]).astype(np.float64)
    exact = np.linalg.inv(a)
    error = np.abs(inverse(library, a, kind) - exact).max()
    assert error <= 20 * epsilon(kind) * (condition if size > 1 else 1) ** 2


def test_each_stacked_matrix_uses_its_own_pivots(library):
    size = 10
    tiny = 1e-6 * numbers(size, size)
    order = np.array([np.random.default_rng(lane).permutation(size) for lane in range(LANES)])
    a = np.eye(size)[order] + tiny
    np.testing.assert_allclose(inverse(library, a), np.linalg.inv(a), atol=1e-6)


def test_a_singular_matrix_has_no_finite_inverse(library):
    a = numbers(2, 2)
    a[0] = [[1, 2], [2, 4]]
    a[1] = 0
    a[3, 0, 0] = np.nan
    inverses = inverse(library, a)
    finite = np.isfinite(inverses).all((1, 2))
    assert np.flatnonzero(~finite).tolist() == [0, 1, 3]
    np.testing.assert_allclose(inverses[finite], np.linalg.inv(a[finite]), rtol=1e-3)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("size", [1, 2, 10])
def test_cholesky_factors_equal_numpys(library, size, kind):
    a = symmetric(np.linspace(1, 3, size))
    factor = library.call(f"cholesky_{size}", [a.shape[1:]], a, kind=kind)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=30 * epsilon(kind))


def test_an_indefinite_matrix_has_no_cholesky_factor(library):
    a = symmetric(np.linspace(1, 3, 10))
    a[2] -= 2 * np.eye(10)
    factor = library.call("cholesky_10", [(10, 10)], a)
    assert np.isnan(factor[2, -1, -1])
    assert np.isfinite(np.delete(factor, 2, axis=0)).all()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("triangle", TRIANGLES, ids=str)
def test_triangular_systems_are_solved(library, triangle, kind):
    upper, left, unit = triangle
    a = numbers(6, 6) / 6 + 2 * np.eye(6)
    b = numbers(6, 3, seed=1) if left else numbers(3, 6, seed=1)
    solution = library.call(name_of("solve", (6, 3, *triangle)), [b.shape[1:]], a, b, kind=kind)
    half = np.triu(a, 1) if upper else np.tril(a, -1)
    half += np.eye(6) * (1 if unit else a)
    product = half @ solution if left else solution @ half
    np.testing.assert_allclose(product, b, atol=30 * epsilon(kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("sizes", [(1, 1), (5, 5), (40, 4)], ids=str)
def test_qr_decomposition_has_the_signs_of_lapack(library, sizes, kind):
    m, n = sizes
    a = numbers(m, n)
    a[2] = np.triu(a[2])  # whose first column needs no reflection
    q, r = library.call(name_of("qr", sizes), [(m, n), (n, n)], a, kind=kind)
    expected = np.linalg.qr(a)
    np.testing.assert_allclose(q, expected.Q, atol=200 * epsilon(kind))
    np.testing.assert_allclose(r, expected.R, atol=200 * epsilon(kind))


def test_qr_decomposition_is_accurate_at_any_scale(library):
    a = numbers(40, 4)
    for scale in (1e-25, 1e25):
        q, r = library.call("qr_40_4", [(40, 4), (4, 4)], scale * a)
        np.testing.assert_allclose(q @ r / scale, a, atol=1e-5)
        np.testing.assert_allclose(transposed(q) @ q, np.broadcast_to(np.eye(4), (LANES, 4, 4)), atol=1e-5)


def eigenpairs(library, matrices, k, kind="F"):
    n = len(matrices[0])
    return library.call(name_of("eigen", (n, k)), [(k,), (n, k)], matrices, kind=kind)


def assert_are_top_eigenpairs(values, vectors, matrices, kind="F"):
    """Compare eigenvalues with NumPy's; eigenvectors need small residuals and to be orthonormal."""
    k = values.shape[1]
    exact = np.linalg.eigvalsh(matrices)
    scale = np.maximum(np.abs(exact).max(axis=1)[:, None], 1e-300)
    tolerance = 10 * len(matrices[0]) ** 0.5 * epsilon(kind)
    np.testing.assert_allclose(values / scale, exact[:, -k:] / scale, atol=tolerance)
    np.testing.assert_allclose((matrices @ vectors - vectors * values[:, None]) / scale[:, None], 0, atol=tolerance)
    np.testing.assert_allclose(transposed(vectors) @ vectors - np.eye(k), 0, atol=tolerance)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("n", "k"), PAIRS)
def test_leading_eigenpairs_equal_numpy(library, n, k, kind):
    a = numbers(n, n)
    a = (a + transposed(a)) / 2
    values, vectors = eigenpairs(library, a, k, kind)
    assert_are_top_eigenpairs(values, vectors, a, kind)


@pytest.mark.parametrize("kind", TYPES)
def test_eigenpairs_of_low_rank_gram_matrices_are_correct(library, kind):
    for rank in (1, 2, 5, 30):
        root = numbers(41, rank, seed=rank)
        a = root @ transposed(root)
        values, vectors = eigenpairs(library, a, 10, kind)
        assert_are_top_eigenpairs(values, vectors, a, kind)


SPECTRA = {
    "equal": np.ones(41),
    "two clusters": np.r_[np.full(33, 1.0), np.full(8, 2.0)],
    "nearly equal": 1 + 1e-9 * np.arange(41),
    "close pairs": np.repeat(np.arange(1, 22), 2)[:41] + 1e-13 * np.arange(41),
    "zero but one": np.r_[np.zeros(40), 1.0],
    "of many orders": np.geomspace(1e-30, 1, 41),
    "negative": -np.arange(1.0, 42),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_clustered_eigenvalues_have_orthonormal_eigenvectors(library, spectrum, kind):
    a = symmetric(SPECTRA[spectrum])
    values, vectors = eigenpairs(library, a, 10, kind)
    assert_are_top_eigenpairs(values, vectors, a, kind)


SPECIAL = {
    "identity": np.eye(41),
    "zero": np.zeros((41, 41)),
    "diagonal": np.diag(np.arange(41.0)),
    "tridiagonal": np.diag(np.abs(np.arange(41) - 20.0)) + np.eye(41, k=1) + np.eye(41, k=-1),
    "blocks": np.kron(np.eye(41)[:21, :21], np.array([[2.0, 1], [1, 2]]))[:41, :41],
    "ones": np.ones((41, 41)),
    "blocks of ones": np.kron(np.eye(4), np.ones((11, 11)))[:41, :41],
    "graded": np.diag(2.0 ** -np.arange(41)) + np.diag(2.0 ** -np.arange(40), 1) + np.diag(2.0 ** -np.arange(40), -1),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("special", SPECIAL)
def test_structured_matrices_have_orthonormal_eigenvectors(library, special, kind):
    a = np.broadcast_to(SPECIAL[special], (LANES, 41, 41)) * np.arange(1, LANES + 1)[:, None, None]
    values, vectors = eigenpairs(library, a, 10, kind)
    assert_are_top_eigenpairs(values, vectors, a, kind)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_eigenpairs_are_accurate_at_any_scale(library, scale):
    root = numbers(41, 60)
    a = root @ transposed(root)
    a = (scale * a).astype(np.float32).astype(np.float64)
    values, vectors = eigenpairs(library, a, 10)
    assert_are_top_eigenpairs(values / scale, vectors, a / scale)


def test_nonfinite_matrix_does_not_affect_other_stacked_ones(library):
    a = symmetric(np.arange(41.0))
    broken = a.copy()
    broken[3, 5, 2] = np.nan
    broken[1, 7, 7] = np.inf
    values, vectors = eigenpairs(library, broken, 1)
    assert np.isnan(values[[1, 3]]).all()
    assert np.isnan(vectors[[1, 3]]).all()
    others = np.delete(np.arange(LANES), [1, 3])
    expected = eigenpairs(library, a, 1)
    assert (values[others] == expected[0][others]).all()
    assert (vectors[others] == expected[1][others]).all()


@pytest.mark.parametrize("kind", TYPES)
def test_linear_algebra_bits_do_not_depend_on_the_lane(library, kind):
    def in_order(order):
        square, definite, rows = numbers(10, 10)[order], symmetric(np.arange(1, 11))[order], numbers(41, 401)[order]
        yield library.call(name_of("matmul", PRODUCTS[0]), [(10, 50)], numbers(10, 6)[order], numbers(6, 50)[order])
        yield (gram := library.call(name_of("gram", GRAMS[0]), [(41, 41)], rows, kind=kind))
        yield inverse(library, square, kind)
        yield library.call("cholesky_10", [(10, 10)], definite, kind=kind)
        yield from library.call("qr_40_4", [(40, 4), (4, 4)], numbers(40, 4)[order], kind=kind)
        yield from eigenpairs(library, gram, 10, kind)

    forwards, order = in_order(np.arange(LANES)), np.random.default_rng(0).permutation(LANES)
    for straight, permuted in zip(forwards, in_order(order), strict=True):
        assert (straight[order] == permuted).all()
