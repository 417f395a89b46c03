// Linear algebra of small dense matrices, one matrix in each lane.
//
// A matrix is row-major with one value of type T (F or D) per entry: a[i * columns + j] has entry (i, j) of W matrices.
// Sizes are known when the program is compiled. Nothing branches on the numbers in a lane; what differs between lanes,
// such as the choice of a pivot, is a select. A singular, indefinite or non-finite matrix gives non-finite numbers in
// its own lane, after the same number of operations. Results must not overlap arguments.
//
// GCC compares values longer than a register one number at a time. All functions therefore work on `Part`s, the
// registers that a value consists of, one after the other.

#pragma once

#include <type_traits>

#include "lanes.hpp"

namespace linalg {

#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64, REGISTERS = 32;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32, REGISTERS = 16;
#else
constexpr int REGISTER_BYTES = 16, REGISTERS = 16;
#endif

typedef float FloatPart __attribute__((vector_size(REGISTER_BYTES)));
typedef double DoublePart __attribute__((vector_size(REGISTER_BYTES)));
typedef int64_t LongPart __attribute__((vector_size(REGISTER_BYTES)));
typedef float HalfFloatPart __attribute__((vector_size(REGISTER_BYTES / 2)));

template <class T> struct PartOf;
template <> struct PartOf<F> { using type = FloatPart; };
template <> struct PartOf<D> { using type = DoublePart; };
template <class T> using Part = typename PartOf<T>::type;
template <class T> constexpr int PARTS = sizeof(T) / REGISTER_BYTES;

// One part of each value of an array.
template <class V, int P> struct View {
    V* data;
    V& operator[](int index) const { return data[index * P]; }
};
template <class T> INLINE auto view(T* values, int part) {
    return View<Part<T>, PARTS<T>>{(Part<T>*)values + part};
}
template <class T> INLINE auto view(const T* values, int part) {
    return View<const Part<T>, PARTS<T>>{(const Part<T>*)values + part};
}

template <class V> using Number = std::remove_reference_t<decltype(V{}[0])>;
template <class V> INLINE V constant(Number<V> value) { return V{} + value; }
template <class V> INLINE V magnitude(V x) { return x < 0 ? -x : x; }
template <class V> INLINE V larger(V x, V y) { return x > y ? x : y; }
template <class V> INLINE V smaller(V x, V y) { return x < y ? x : y; }
template <class V> INLINE V root(V x) {
    for (unsigned lane = 0; lane < sizeof(V) / sizeof(x[0]); lane++)
        x[lane] = sizeof(x[0]) == 4 ? __builtin_sqrtf(x[lane]) : __builtin_sqrt(x[lane]);
    return x;
}

// ---- Products -------------------------------------------------------------------------------------------------------

// How a product is divided: panels of nearly equal numbers of rows and of columns, whose tiles stay in registers.
struct Panels {
    int rows, columns;  // numbers of panels
};

constexpr int ceil_div(int total, int size) { return (total + size - 1) / size; }

// Registers of a tile besides its sums and the numbers of one factor. Where all 16 are in use, GCC reads the numbers of
// one factor from memory for each number of the other.
constexpr int SPARE = REGISTERS == 16 ? 2 : 1;

// Return the division of an M x N result that takes the least time, by measured shares of products, loads and loops.
constexpr Panels divide(int m, int n, bool square, int spare = SPARE) {
    Panels best = {m, n};
    int least = 1 << 30;
    for (int rows = 1; rows <= m && rows < REGISTERS; rows++)
        for (int columns = square ? rows : 1; columns <= (square ? rows : n) && columns < REGISTERS; columns++) {
            if (rows * columns + (rows < columns ? rows : columns) + spare > REGISTERS) continue;
            const int across = ceil_div(m, rows), down = ceil_div(n, columns), tiles = across * down;
            const int products = m * n > 8 * tiles ? m * n : 8 * tiles;  // 8 can be under way at once
            const int cost = 4 * products + across * n + down * m + 8 * tiles;
            if (cost < least) {
                least = cost;
                best = {across, down};
            }
        }
    return best;
}

// Return how many terms of an inner product are summed before they are added to the others: few enough for panels to
// stay in the L1 cache. The bits of results depend on this number.
constexpr int depth_of(int m, int k, int n, bool lower) {
    const Panels panels = divide(m, n, lower, 1);
    const bool reused = panels.rows > 1 && panels.columns > 1;
    return reused ? ceil_div(k, ceil_div(k, 32)) : k;
}

// Add to, or set, a tile of C: the product of ROWS x depth numbers of A and depth x COLUMNS of B, of which each sum
// begins with the number that `begun` has in the place of C, or with zero if it is null. A step from one row of C to the
// next is SCM registers, one from a column to the next SCN, and so on.
template <class V, int ROWS, int COLUMNS, int SAM, int SAK, int SBK, int SBN, int SCM, int SCN>
static __attribute__((noinline)) void tile(V* c, const V* begun, const V* __restrict a, const V* __restrict b,
                                           int depth, bool accumulate) {
    V sum[ROWS][COLUMNS];
#pragma GCC unroll 32
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 32
        for (int j = 0; j < COLUMNS; j++) sum[i][j] = V{};
    if (begun)
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 32
            for (int j = 0; j < COLUMNS; j++) sum[i][j] = begun[i * SCM + j * SCN];
#pragma GCC unroll 1
    for (int k = 0; k < depth; k++, a += SAK, b += SBK)
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 32
            for (int j = 0; j < COLUMNS; j++) sum[i][j] = multiply_add(a[i * SAM], b[j * SBN], sum[i][j]);
    if (accumulate)
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 32
            for (int j = 0; j < COLUMNS; j++) sum[i][j] += c[i * SCM + j * SCN];
#pragma GCC unroll 32
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 32
        for (int j = 0; j < COLUMNS; j++) c[i * SCM + j * SCN] = sum[i][j];
}

// Compute the tile of C in panel I of the rows and panel J of the columns. The first TALL panels of rows have one row
// more than the others, the first WIDE panels of columns one column.
template <class V, int ROWS, int COLUMNS, int TALL, int WIDE, int SAM, int SAK, int SBK, int SBN, int SCM, int SCN>
INLINE void tile_at(int i, int j, V* c, const V* begun, const V* a, const V* b, int depth, bool add) {
    const int row = i * ROWS + (i < TALL ? i : TALL), column = j * COLUMNS + (j < WIDE ? j : WIDE);
    V* to = c + row * SCM + column * SCN;
    const V* from = begun ? begun + row * SCM + column * SCN : nullptr;
    const V* left = a + row * SAM;
    const V* right = b + column * SBN;
    constexpr int MORE_ROWS = ROWS + (TALL != 0), MORE_COLUMNS = COLUMNS + (WIDE != 0);
    if (i < TALL && j < WIDE)
        tile<V, MORE_ROWS, MORE_COLUMNS, SAM, SAK, SBK, SBN, SCM, SCN>(to, from, left, right, depth, add);
    else if (i < TALL)
        tile<V, MORE_ROWS, COLUMNS, SAM, SAK, SBK, SBN, SCM, SCN>(to, from, left, right, depth, add);
    else if (j < WIDE)
        tile<V, ROWS, MORE_COLUMNS, SAM, SAK, SBK, SBN, SCM, SCN>(to, from, left, right, depth, add);
    else
        tile<V, ROWS, COLUMNS, SAM, SAK, SBK, SBN, SCM, SCN>(to, from, left, right, depth, add);
}

// Compute all tiles of C, or those of its lower triangle, for `depth` terms of each sum. The inner loop goes over the
// shorter side, whose factor can stay in the L1 cache.
template <class V, int M, int N, int SAM, int SAK, int SBK, int SBN, int SCM, int SCN, bool LOWER>
static void tiles(V* c, const V* begun, const V* a, const V* b, int depth, bool add) {
    constexpr Panels panels = divide(M, N, LOWER);
    constexpr int ROWS = M / panels.rows, COLUMNS = N / panels.columns;  // of the smaller panels
    constexpr int TALL = M % panels.rows, WIDE = N % panels.columns;
    const auto compute = tile_at<V, ROWS, COLUMNS, TALL, WIDE, SAM, SAK, SBK, SBN, SCM, SCN>;
    if constexpr (M <= N && !LOWER)
        for (int j = 0; j < panels.columns; j++)
            for (int i = 0; i < panels.rows; i++) compute(i, j, c, begun, a, b, depth, add);
    else
        for (int i = 0; i < panels.rows; i++)
            for (int j = 0; j < (LOWER ? i + 1 : panels.columns); j++) compute(i, j, c, begun, a, b, depth, add);
}

// Compute all sums of C in pieces of DEPTH terms, of which each is summed from zero and then added.
template <class V, int DEPTH, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, int SCM, int SCN, bool LOWER>
static void pieces(V* c, const V* a, const V* b, bool accumulate) {
    for (int k = 0; k < K; k += DEPTH)
        tiles<V, M, N, SAM, SAK, SBK, SBN, SCM, SCN, LOWER>(c, nullptr, a + k * SAK, b + k * SBK,
                                                            K - k < DEPTH ? K - k : DEPTH, accumulate || k > 0);
}

}  // namespace linalg

// ROWS of the M rows of a product, which replace those of C or are added to them.
template <int ROWS, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, class T>
static void rows_of_product(T* c, const T* a, const T* b, bool accumulate = false) {
    using namespace linalg;
    constexpr int P = PARTS<T>;
    for (int part = 0; part < P; part++)
        pieces<Part<T>, depth_of(M, K, N, false), ROWS, K, N, SAM * P, SAK * P, SBK * P, SBN * P, N * P, P, false>(
            view(c, part).data, view(a, part).data, view(b, part).data, accumulate);
}

// C = A B, or C += A B with ACCUMULATE. C is M x N and contiguous. A step from one row of A to the next is SAM values,
// from one column to the next SAK; B has SBK and SBN.
template <int M, int K, int N, int SAM, int SAK, int SBK, int SBN, bool ACCUMULATE, class T>
static void matmul(T* c, const T* a, const T* b) {
    rows_of_product<M, M, K, N, SAM, SAK, SBK, SBN>(c, a, b, ACCUMULATE);
}

// TERMS of the K terms of a product's inner products, from term `first` on. `piece` keeps the sums of a piece that ends
// in a later call.
template <int TERMS, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, class T>
static void terms_of_product(T* c, T* piece, const T* a, const T* b, int first) {
    using namespace linalg;
    constexpr int P = PARTS<T>, DEPTH = depth_of(M, K, N, false);
    for (int k = 0, end; k < TERMS; k = end) {
        const int at = first + k, left = DEPTH - at % DEPTH;
        end = k + left < TERMS ? k + left : TERMS;
        const bool begins = at % DEPTH == 0, ends = end == k + left || first + end == K;
        for (int part = 0; part < P; part++) {
            auto sums = view(c, part).data, sums_of_piece = view(piece, part).data;
            tiles<Part<T>, M, N, SAM * P, SAK * P, SBK * P, SBN * P, N * P, P, false>(
                ends ? sums : sums_of_piece, begins ? nullptr : sums_of_piece, view(a + k * SAK, part).data,
                view(b + k * SBK, part).data, end - k, ends && at >= DEPTH);
        }
    }
}

// C = A A^T, M x M and contiguous, for A of M x K with steps SAM and SAK. Computes the lower triangle and mirrors it.
template <int M, int K, int SAM, int SAK, class T> static void gram(T* c, const T* a) {
    using namespace linalg;
    constexpr int P = PARTS<T>;
    for (int part = 0; part < P; part++)
        pieces<Part<T>, depth_of(M, K, M, true), M, K, M, SAM * P, SAK * P, SAK * P, SAM * P, M * P, P, true>(
            view(c, part).data, view(a, part).data, view(a, part).data, false);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < i; j++) c[j * M + i] = c[i * M + j];
}

// ---- Factorisations -------------------------------------------------------------------------------------------------

namespace linalg {

template <int N, class V, int P>
static void inverse_of_part(View<V, P> x, View<const V, P> a, View<V, P> u) {
    for (int i = 0; i < N * N; i++) u[i] = a[i], x[i] = constant<V>(i % (N + 1) == 0);
    for (int k = 0; k < N; k++) {
        V largest = magnitude(u[k * N + k]), chosen = constant<V>(k);
        for (int i = k + 1; i < N; i++) {
            const V size = magnitude(u[i * N + k]);
            const auto better = size > largest;
            chosen = better ? constant<V>(i) : chosen;
            largest = better ? size : largest;
        }
        for (int i = k + 1; i < N; i++) {
            const auto swap = chosen == constant<V>(i);
            for (int j = k; j < N; j++) {
                const V upper = u[k * N + j], lower = u[i * N + j];
                u[k * N + j] = swap ? lower : upper;
                u[i * N + j] = swap ? upper : lower;
            }
            for (int j = 0; j < N; j++) {
                const V upper = x[k * N + j], lower = x[i * N + j];
                x[k * N + j] = swap ? lower : upper;
                x[i * N + j] = swap ? upper : lower;
            }
        }
        const V reciprocal = 1 / u[k * N + k];
        for (int i = k + 1; i < N; i++) {
            const V factor = u[i * N + k] * reciprocal;
            for (int j = k + 1; j < N; j++) u[i * N + j] = multiply_add(-factor, u[k * N + j], u[i * N + j]);
            for (int j = 0; j < N; j++) x[i * N + j] = multiply_add(-factor, x[k * N + j], x[i * N + j]);
        }
        u[k * N + k] = reciprocal;
    }
    for (int k = N - 1; k >= 0; k--) {
        for (int j = 0; j < N; j++) x[k * N + j] *= u[k * N + k];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < N; j++) x[i * N + j] = multiply_add(-u[i * N + k], x[k * N + j], x[i * N + j]);
    }
}

template <int N, class V, int P> static void cholesky_of_part(View<V, P> l, View<const V, P> a) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) l[i * N + j] = j <= i ? a[i * N + j] : V{};
    for (int k = 0; k < N; k++) {
        const V square = l[k * N + k], pivot = root(square > 0 ? square : constant<V>(__builtin_nanf("")));
        const V reciprocal = 1 / pivot;
        l[k * N + k] = pivot;
        for (int i = k + 1; i < N; i++) l[i * N + k] *= reciprocal;
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j <= i; j++) l[i * N + j] = multiply_add(-l[i * N + k], l[j * N + k], l[i * N + j]);
    }
}

template <int N, int M, bool UPPER, bool LEFT, bool UNIT, class V, int P>
static void solve_part(View<V, P> x, View<const V, P> a, View<const V, P> b) {
    constexpr int SN = LEFT ? M : 1, SM = LEFT ? 1 : N;  // steps of X along the triangular matrix, and across it
    constexpr bool FORWARD = UPPER != LEFT;
    for (int i = 0; i < N * M; i++) x[i] = b[i];
    for (int step = 0; step < N; step++) {
        const int k = FORWARD ? step : N - 1 - step;
        if (!UNIT) {
            const V reciprocal = 1 / a[k * N + k];
            for (int m = 0; m < M; m++) x[k * SN + m * SM] *= reciprocal;
        }
        for (int i = FORWARD ? k + 1 : 0; i < (FORWARD ? N : k); i++) {
            const V factor = LEFT ? a[i * N + k] : a[k * N + i];
            for (int m = 0; m < M; m++) x[i * SN + m * SM] = multiply_add(-factor, x[k * SN + m * SM], x[i * SN + m * SM]);
        }
    }
}

template <int M, int N, class V, int P> static void qr_of_part(View<V, P> q, View<V, P> r, View<const V, P> a) {
    V scale[N];  // tau: a reflection is I - tau v v^T, and v starts with 1
    for (int i = 0; i < M * N; i++) q[i] = a[i];
    for (int k = 0; k < N; k++) {
        V largest{}, square{};
        for (int i = k; i < M; i++) largest = larger(magnitude(q[i * N + k]), largest);
        const V unit = largest > 1e-37f ? 1 / largest : V{};
        for (int i = k + 1; i < M; i++) square = multiply_add(q[i * N + k] * unit, q[i * N + k] * unit, square);
        const V first = q[k * N + k], scaled = first * unit;
        const V length = largest * root(square + scaled * scaled), reflected = first > 0 ? -length : length;
        const auto needed = square != 0;  // also where it is not a number
        const V tau = needed ? (reflected - first) / reflected : V{};
        const V divisor = needed ? 1 / (first - reflected) : V{};
        for (int i = k + 1; i < M; i++) q[i * N + k] *= divisor;
        for (int j = k + 1; j < N; j++) {
            V product = q[k * N + j];
            for (int i = k + 1; i < M; i++) product = multiply_add(q[i * N + k], q[i * N + j], product);
            product *= tau;
            q[k * N + j] -= product;
            for (int i = k + 1; i < M; i++) q[i * N + j] = multiply_add(-q[i * N + k], product, q[i * N + j]);
        }
        scale[k] = tau;
        for (int j = 0; j < N; j++) r[k * N + j] = j < k ? V{} : j == k ? (needed ? reflected : first) : q[k * N + j];
    }
    for (int k = N - 1; k >= 0; k--) {
        for (int j = k + 1; j < N; j++) {
            V product{};
            for (int i = k + 1; i < M; i++) product = multiply_add(q[i * N + k], q[i * N + j], product);
            product *= scale[k];
            q[k * N + j] = -product;
            for (int i = k + 1; i < M; i++) q[i * N + j] = multiply_add(-q[i * N + k], product, q[i * N + j]);
        }
        for (int i = k + 1; i < M; i++) q[i * N + k] *= -scale[k];
        q[k * N + k] = 1 - scale[k];
        for (int i = 0; i < k; i++) q[i * N + k] = V{};
    }
}

}  // namespace linalg

// X = A^-1, N x N, by LU with partial pivoting. `work` has N x N values.
template <int N, class T> static void inverse(T* x, const T* a, T* work) {
    for (int part = 0; part < linalg::PARTS<T>; part++)
        linalg::inverse_of_part<N>(linalg::view(x, part), linalg::view(a, part), linalg::view(work, part));
}

// L, lower triangular with L L^T = A, of the lower triangle of A, N x N. A pivot that is not positive becomes NaN.
template <int N, class T> static void cholesky(T* l, const T* a) {
    for (int part = 0; part < linalg::PARTS<T>; part++)
        linalg::cholesky_of_part<N>(linalg::view(l, part), linalg::view(a, part));
}

// The X of A X = B, N x M, or without LEFT of X A = B, M x N, for a triangular A, N x N; with UNIT its diagonal is 1.
template <int N, int M, bool UPPER, bool LEFT, bool UNIT, class T>
static void solve_triangular(T* x, const T* a, const T* b) {
    for (int part = 0; part < linalg::PARTS<T>; part++)
        linalg::solve_part<N, M, UPPER, LEFT, UNIT>(linalg::view(x, part), linalg::view(a, part),
                                                    linalg::view(b, part));
}

// Q, M x N with orthonormal columns, and R, N x N and upper triangular, with Q R = A for M >= N; signs as in LAPACK.
template <int M, int N, class T> static void qr(T* q, T* r, const T* a) {
    static_assert(M >= N, "qr is for matrices with at least as many rows as columns");
    for (int part = 0; part < linalg::PARTS<T>; part++)
        linalg::qr_of_part<M, N>(linalg::view(q, part), linalg::view(r, part), linalg::view(a, part));
}

// ---- Eigenpairs -----------------------------------------------------------------------------------------------------

namespace linalg {

typedef DoublePart E;  // eigenpairs are computed in double precision

constexpr double TINY_SQUARE = 1e-280, SMALL = 1e-20, EPSILON = 2.220446049250313e-16;
constexpr int BISECTIONS = 56, INVERSE_ITERATIONS = 5;

constexpr int triangle(int n) { return n * (n + 1) / 2; }  // also where row n of a packed lower triangle starts

INLINE LongPart integer(E x) { return bits<LongPart>(x); }

template <class T> INLINE E load_double(const T* values, int index, int part) {
    if constexpr (std::is_same_v<T, D>)
        return view(values, part)[index];
    else
        return __builtin_convertvector(((const HalfFloatPart*)(values + index))[part], E);
}
template <class T> INLINE void store_double(T* values, int index, int part, E value) {
    if constexpr (std::is_same_v<T, D>)
        view(values, part)[index] = value;
    else
        ((HalfFloatPart*)(values + index))[part] = __builtin_convertvector(value, HalfFloatPart);
}

// Turn the packed lower triangle of a symmetric matrix into a tridiagonal one. Row m then holds the vector v of a
// reflection I - scale[m] v v^T of the first m coordinates, for m = N - 1 down to 2. A reflection subtracts
// v u^T + u v^T from the matrix. This is done in the pass that multiplies by the next reflection's vector.
template <int N> static __attribute__((noinline)) void tridiagonalise(E* a, E* diagonal, E* beside, E* scale) {
    constexpr int ROWS = 4;
    E product[N], u[N] = {};
    const E* before = u;  // the last reflection's v
    for (int m = N - 1; m >= 0; m--) {
        E* v = a + triangle(m);
        for (int j = 0; j <= m; j++) v[j] = multiply_add(-before[m], u[j], multiply_add(-u[m], before[j], v[j]));
        diagonal[m] = v[m];
        if (m == 0) break;
        const E last = v[m - 1];
        E square{};
        for (int j = 0; j < m - 1; j++) square = multiply_add(v[j], v[j], square);
        const auto needed = square > TINY_SQUARE;
        const E length = root(square + last * last), reflected = last > 0 ? -length : length;
        beside[m - 1] = needed ? reflected : last;
        const E factor = needed ? 1 / (reflected * (reflected - last)) : E{};
        scale[m] = factor;
        v[m - 1] = last - reflected;
        for (int i = 0, rows = m % ROWS; i < m; i += rows, rows = ROWS) {  // several rows share a pass over the columns
            E sum[ROWS] = {};
            if (N > ROWS && i > 0) {
                E b[ROWS], c[ROWS], d[ROWS];  // GCC would load them again after each store
#pragma GCC unroll 4
                for (int r = 0; r < ROWS; r++) b[r] = before[i + r], c[r] = u[i + r], d[r] = v[i + r];
#pragma GCC unroll 1
                for (int j = 0; j < i; j++) {
                    const E bj = before[j], uj = u[j], vj = v[j];
                    E total = product[j];
#pragma GCC unroll 4
                    for (int r = 0; r < ROWS; r++) {
                        E* entry = a + triangle(i + r) + j;
                        const E value = multiply_add(-c[r], bj, multiply_add(-b[r], uj, *entry));
                        *entry = value;
                        sum[r] = multiply_add(value, vj, sum[r]);
                        total = multiply_add(value, d[r], total);
                    }
                    product[j] = total;
                }
            }
            for (int r = 0; r < rows; r++) {
                E* row = a + triangle(i + r);
                for (int j = i; j < i + r; j++) {
                    row[j] = multiply_add(-before[i + r], u[j], multiply_add(-u[i + r], before[j], row[j]));
                    sum[r] = multiply_add(row[j], v[j], sum[r]);
                    product[j] = multiply_add(row[j], v[i + r], product[j]);
                }
                row[i + r] = multiply_add(-2 * before[i + r], u[i + r], row[i + r]);
                product[i + r] = multiply_add(row[i + r], v[i + r], sum[r]);
            }
        }
        E inner{};
        for (int i = 0; i < m; i++) inner = multiply_add(product[i], v[i], inner);
        inner *= factor * 0.5;
        for (int i = 0; i < m; i++) u[i] = factor * multiply_add(-inner, v[i], product[i]);
        before = v;
    }
}

// Return how many eigenvalues of a tridiagonal matrix are less than x: the sign changes of its Sturm sequence.
template <int N> static inline LongPart count_below(const E* diagonal, const E* square, E x) {
    E before = constant<E>(1), now = diagonal[0] - x;
    LongPart changes = integer(now) < 0;
    for (int i = 1; i < N; i++) {
        const E next = multiply_add(diagonal[i] - x, now, -square[i - 1] * before);
        changes += (integer(next) ^ integer(now)) < 0;
        before = now;
        now = next;
        if (i % 8 == 0) {  // neither overflow nor underflow: the next power of two of the larger one becomes 1
            const E size = larger(magnitude(before), magnitude(now));
            const E unit = bits<E>(0x7fe0000000000000 - (integer(size) & 0x7ff0000000000000));
            before *= unit;
            now *= unit;
        }
    }
    return -changes;
}

// Replace y by a multiple of (T - x I)^-1 y for the tridiagonal T, several times, with y orthogonal to `others`.
template <int N>
static __attribute__((noinline)) void iterate(E* y, const E* diagonal, const E* beside, E x, const E* others,
                                              int n_others) {
    E pivot[N], first[N], second[N], factor[N];
    LongPart swapped[N];
    E now = diagonal[0] - x, right = N > 1 ? beside[0] : E{};
    for (int i = 0; i < N - 1; i++) {
        const E below = beside[i], next = diagonal[i + 1] - x, far = i < N - 2 ? beside[i + 1] : E{};
        const LongPart swap = magnitude(below) > magnitude(now);
        const E top = swap ? below : now;
        const E inverse = 1 / (magnitude(top) < EPSILON ? constant<E>(EPSILON) : top);
        pivot[i] = inverse;
        first[i] = swap ? next : right;
        second[i] = swap ? far : E{};
        factor[i] = (swap ? now : below) * inverse;
        swapped[i] = swap;
        now = (swap ? right : next) - factor[i] * first[i];
        right = (swap ? E{} : far) - factor[i] * second[i];
    }
    pivot[N - 1] = 1 / (magnitude(now) < EPSILON ? constant<E>(EPSILON) : now);

    for (int repeat = 0; repeat < INVERSE_ITERATIONS; repeat++) {
        for (int i = 0; i < N; i++) y[i] *= 1e-150;  // leaves room for growth
        for (int i = 0; i < N - 1; i++) {
            const E upper = y[i], lower = y[i + 1];
            y[i] = swapped[i] ? lower : upper;
            y[i + 1] = multiply_add(-factor[i], y[i], swapped[i] ? upper : lower);
        }
        y[N - 1] *= pivot[N - 1];
        if (N > 1) y[N - 2] = (y[N - 2] - first[N - 2] * y[N - 1]) * pivot[N - 2];
        for (int i = N - 3; i >= 0; i--) y[i] = multiply_add(-second[i], y[i + 2], multiply_add(-first[i], y[i + 1], y[i])) * pivot[i];
        E largest{}, square{};
        for (int i = 0; i < N; i++) largest = larger(magnitude(y[i]), largest);
        const E shrink = 1 / largest;
        for (int i = 0; i < N; i++) y[i] *= shrink;
        for (int other = 0; other < 2 * n_others; other++) {  // twice, because the first time may leave little of y
            const E* z = others + other % n_others * N;
            E inner{};
            for (int i = 0; i < N; i++) inner = multiply_add(y[i], z[i], inner);
            for (int i = 0; i < N; i++) y[i] = multiply_add(-inner, z[i], y[i]);
        }
        for (int i = 0; i < N; i++) square = multiply_add(y[i], y[i], square);
        const E unit = 1 / root(square);
        for (int i = 0; i < N; i++) y[i] *= unit;
    }
}

template <int N, int K, class T>
static __attribute__((noinline)) void eigenpairs_of_part(T* values, T* vectors, const T* matrix, E* work, int part) {
    E diagonal[N], beside[N], square[N], scale[N];
    E *a = work, *y = work + triangle(N);
    E norm{}, check{};
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            const E entry = load_double(matrix, i * N + j, part);
            a[triangle(i) + j] = entry;
            norm = larger(magnitude(entry), norm);
            check += entry * 0;
        }
    const E unit = 1 / (norm > 0 ? norm : constant<E>(1));
    for (int i = 0; i < triangle(N); i++) a[i] *= unit;
    tridiagonalise<N>(a, diagonal, beside, scale);

    E low = diagonal[0], high = diagonal[0];  // Gershgorin's bounds
    for (int i = 0; i < N; i++) {
        const E left = i > 0 ? magnitude(beside[i - 1]) : E{}, right = i < N - 1 ? magnitude(beside[i]) : E{};
        low = smaller(diagonal[i] - left - right, low);
        high = larger(diagonal[i] + left + right, high);
        if (i < N - 1) {  // an entry of zero would end the Sturm sequence
            beside[i] = magnitude(beside[i]) < SMALL ? constant<E>(SMALL) : beside[i];
            square[i] = beside[i] * beside[i];
        }
    }
    const E width = high - low + SMALL, apart = 4 * EPSILON * larger(magnitude(low), magnitude(high));
    high += width * 1e-10;
    E previous = high + constant<E>(1);
    for (int k = 0; k < K; k++) {
        E below = low - width * 1e-10, above = high;
        for (int step = 0; step < BISECTIONS; step++) {
            const E middle = 0.5 * (below + above);
            const auto more = count_below<N>(diagonal, square, middle) > N - 1 - k;
            above = more ? middle : above;
            below = more ? below : middle;
        }
        const E value = 0.5 * (below + above);
        high = above;
        const E x = smaller(value, previous - apart);  // equal ones would give nearly the same vector
        previous = x;
        E* vector = y + k * N;
        for (int i = 0; i < N; i++)  // any vector that is not orthogonal to the eigenvector
            vector[i] = constant<E>((i * 37 + k * 101) * 71 % 113 / 113.0 - 0.37);
        iterate<N>(vector, diagonal, beside, x, y, k);
        store_double(values, K - 1 - k, part, check == 0 ? value * norm : check);
    }
    for (int k = 0; k < K; k++) {
        E* vector = y + k * N;
        for (int m = 2; m < N; m++) {
            const E* v = a + triangle(m);
            E inner{};
            for (int i = 0; i < m; i++) inner = multiply_add(v[i], vector[i], inner);
            inner *= scale[m];
            for (int i = 0; i < m; i++) vector[i] = multiply_add(-inner, v[i], vector[i]);
        }
        for (int i = 0; i < N; i++)
            store_double(vectors, i * K + K - 1 - k, part, check == 0 ? vector[i] : check);
    }
}

}  // namespace linalg

// How many values `top_eigenpairs` needs as workspace.
template <int N, int K, class T>
constexpr int top_eigenpairs_workspace =
    linalg::ceil_div((linalg::triangle(N) + K * N) * linalg::REGISTER_BYTES, sizeof(T));

// The K largest eigenvalues in ascending order, K, and their eigenvectors, N x K, of a symmetric matrix, N x N, whose
// lower triangle is read. Householder reflections make it tridiagonal; bisection by Sturm sequences finds the
// eigenvalues, and inverse iteration the eigenvectors.
template <int N, int K, class T> static void top_eigenpairs(T* values, T* vectors, const T* matrix, T* work) {
    static_assert(1 <= K && K <= N, "a matrix has as many eigenpairs as rows");
    for (int part = 0; part < (int)(W * sizeof(double) / linalg::REGISTER_BYTES); part++)
        linalg::eigenpairs_of_part<N, K>(values, vectors, matrix, (linalg::E*)work, part);
}
