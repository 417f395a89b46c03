"""Test of the compiler: a library that uses every C++ function of training loops, run in a separate process first.

A compiler may produce instructions that the machine lacks, for example if CXX names a cross-compiler, or if a virtual
machine hides instructions. The process that runs such an instruction is killed.
"""

import sys
from pathlib import Path

from lockstep_bench.bench.native.compiler import ANOTHER, NoCompiler, compiler_name, killer, run
from lockstep_bench.bench.native.library_cache import ELSEWHERE

SECONDS = 60  # limit of a run, which takes less than 0.1
PROGRAM = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).trial()"

# The volatile numbers keep the compiler from computing the results itself.
SOURCE = """\
#include "data.hpp"
#include "elementary.hpp"
#include "linalg.hpp"
#include "random.hpp"

constexpr int N = 2, SIZE = N * N;
volatile double sink;

template <class V> static void use(const V* values, int count) {
    V sum{};
    for (int i = 0; i < count; i++) sum += values[i];
    for (int lane = 0; lane < W; lane++) sink = sink + double(sum[lane]);
}

template <class V> static void matrices(const V* numbers) {
    V square[SIZE], first[SIZE], second[SIZE];
    gram<N, N, N, 1>(square, numbers);
    for (int i = 0; i < N; i++) square[i * N + i] += 1;
    cholesky<N>(first, square);
    solve_triangular<N, N, false, true, false>(second, first, square);
    use(second, SIZE);
    qr<N, N>(first, second, square);
    matmul<N, N, N, N, 1, N, 1, false>(square, first, second);
    use(square, SIZE);
}

static void functions(F x, F y) {
    const F z = sigmoid_(y);  // in (0, 1)
    const F results[] = {exp_(x), expm1_(x), log_(z), log1p_(z), log_sigmoid_(x), softplus_(x), tanh_(x), sin_(x),
        cos_(x), erf_(x), ndtr_(x), ndtri_(z), sqrt_(z), round_(x), floor_(x), remainder_(x, z), pow_(z, x), relu_(x),
        abs_(x), sign_(x), max_(x, y), min_(x, y), clamp_(x, y, z), x / z, -x, x < y ? x : y};
    use(results, sizeof results / sizeof *results);
}

extern "C" int64_t width() { return W; }

extern "C" void trial() {
    FlushSubnormals flush;
    volatile int64_t three = 3;
    int64_t rows[W * N];
    uint64_t words[4];
    double table[SIZE];
    for (int i = 0; i < W * N; i++) rows[i] = i % three;
    for (int i = 0; i < 4; i++) words[i] = three + i;
    for (int i = 0; i < SIZE; i++) table[i] = double(i % three);
    Sfc64 generator;
    for (int lane = 0; lane < W; lane++) generator.load(lane, words);
    F x[SIZE], inverted[SIZE], values[N], chosen[SIZE], vectors[SIZE];
    D wide[SIZE], taken[SIZE];
    L index[N], largest[N];
    fill_normal(generator, x, SIZE);
    fill_normal(generator, wide, SIZE);
    load_rows<N>(index, rows, 0, W - 1);
    take_rows<N, N>(taken, table, index);
    argmax_rows<N, N>(largest, x);
    gather_rows<N, N, 1>(chosen, x, largest);
    gather_columns<N, N, 1>(chosen + N, x, index);
    cumsum<1, N, 1>(chosen + 2 * N, chosen);
    use(taken, SIZE);
    use(chosen, SIZE);
    matrices(x);
    matrices(wide);
    inverse_of<N>(inverted, x);
    last_eigenpairs<N, N>(values, vectors, x);
    use(inverted, SIZE);
    use(values, N);
    use(vectors, SIZE);
    functions(x[0], x[1]);
}
"""


def run_apart(library: Path) -> None:
    """Run the library's function `trial` in a separate process.

    Raises:
        NoCompiler: if the library cannot be loaded, or kills the process.
    """
    name = f"a trial of loops that {compiler_name()} has compiled"
    code, messages = run([sys.executable, "-I", "-S", "-c", PROGRAM, str(library)], SECONDS, name)
    if signal_in_words := killer(code):
        raise NoCompiler(f"{name} was {signal_in_words}: this machine cannot run them; {ANOTHER}")
    if code:
        last = (messages.strip().splitlines() or [f"exit code {code}"])[-1].replace(str(library), library.name)
        raise NoCompiler(f"{name} cannot be loaded: {last}; {ELSEWHERE}, or {ANOTHER}")
