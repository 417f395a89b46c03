// One replica at a time: its numbers lie side by side in memory, and W neighbours along one axis fill the lanes.
//
// A fit has the same bits as one that shares its lanes with other replicas: every number is the result of the same
// operations in the same order, whichever numbers are computed beside it. Whole values are read even where fewer
// numbers are left; what is read beyond an array's end is never stored. Every array therefore ends with SLACK numbers
// that nothing needs.

#pragma once

#include <type_traits>
#include <utility>

#include "data.hpp"
#include "linalg.hpp"
#include "random.hpp"

#if defined(__AVX512F__)
#include "avx512.hpp"
#endif

constexpr int SLACK = 32;  // numbers

template <class V, class S> INLINE V load(const S *from) {
    V value;
    memcpy(&value, from, sizeof value);
    return value;
}

template <class V, class S> INLINE V everywhere(S value) { return value - V{}; }

// COUNT numbers, each `step` after the last; other lanes repeat the first.
template <class V, int COUNT, class S> INLINE V strided(const S *from, int step) {
    V value;
    for (int lane = 0; lane < W; lane++) value[lane] = from[lane < COUNT ? lane * step : 0];
    return value;
}

template <int COUNT, class S, class V> INLINE void store(S *to, V value) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F> && COUNT < W) {
        _mm512_mask_storeu_ps(to, (1 << COUNT) - 1, (__m512)value);
        return;
    }
#endif
    memcpy(to, &value, COUNT * sizeof(S));
}
template <int COUNT, class S, class V> INLINE void scatter(S *to, V value, int step) {
    for (int lane = 0; lane < COUNT; lane++) to[lane * step] = value[lane];
}

// ---- Products -------------------------------------------------------------------------------------------------------

namespace within {

using linalg::ceil_div, linalg::Panels, linalg::REGISTERS, linalg::REGISTER_BYTES;

template <class S> using Register = linalg::Part<std::conditional_t<std::is_same_v<S, float>, F, D>>;
template <class S, class V = Register<S>> constexpr int LANES = sizeof(V) / sizeof(S);
constexpr int PACKED_DEPTH = 64;  // rows of B that are copied at a time

// Return the division of M rows and N registers into tiles that takes the least time, by measured shares of products,
// loads and loops.
constexpr Panels divide(int m, int n, int depth) {
    Panels best = {m, n};
    long least = 1L << 60;
    for (int rows = 1; rows <= m && rows < REGISTERS; rows++)
        for (int columns = 1; columns <= n && columns < REGISTERS; columns++) {
            if (rows * columns + columns + 1 >= REGISTERS) continue;  // with none to spare, GCC loads B for each row
            const int across = ceil_div(m, rows), down = ceil_div(n, columns), tiles = across * down;
            const int products = m * n > 8 * tiles ? m * n : 8 * tiles;  // 8 can be under way at once
            const long cost = (4L * products + across * n + down * m) * depth + 120L * tiles;
            if (cost < least) {
                least = cost;
                best = {across, down};
            }
        }
    return best;
}

// The numbers of two values at some places, where y follows x.
template <int... I, class V> INLINE V shuffled(V x, V y) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(x, y, I...);
#else
    const decltype(x < y) places = {I...};
    return __builtin_shuffle(x, y, places);
#endif
}

// x[0], y[0], x[1], y[1], ... of the lower, or of the upper, halves of two values.
template <class V, int... I> INLINE V low_halves(V x, V y, std::integer_sequence<int, I...>) {
    return shuffled<(I % 2 * int(sizeof...(I)) + I / 2)...>(x, y);
}
template <class V, int... I> INLINE V high_halves(V x, V y, std::integer_sequence<int, I...>) {
    constexpr int L = sizeof...(I);
    return shuffled<(I % 2 * L + L / 2 + I / 2)...>(x, y);
}

// Exchanges the rows and columns of L values of L numbers.
template <class V, int L> INLINE void transpose(V *rows) {
    using Lanes = std::make_integer_sequence<int, L>;
#pragma GCC unroll 8
    for (int size = L; size > 1; size /= 2) {
        V mixed[L];
#pragma GCC unroll 16
        for (int i = 0; i < L / 2; i++) {
            mixed[2 * i] = low_halves(rows[i], rows[i + L / 2], Lanes{});
            mixed[2 * i + 1] = high_halves(rows[i], rows[i + L / 2], Lanes{});
        }
#pragma GCC unroll 16
        for (int i = 0; i < L; i++) rows[i] = mixed[i];
    }
}

// Columns of L rows of numbers that are `step` apart, where rows beyond COUNT repeat the first: `columns` of them.
template <class V, int COUNT, class S> INLINE void load_columns(V *to, const S *from, int step, int columns) {
    constexpr int L = LANES<S, V>;
    const auto row = [&](int i) { return from + (i < COUNT ? i : 0) * step; };
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<S, float> && L == 16) {
        // Quarters of four rows side by side in a register are then exchanged within quarters.
#pragma GCC unroll 4
        for (int j = 0; j < 16; j += 4) {
            if (j >= columns) break;
            __m512 part[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                part[i] = _mm512_castps128_ps512(_mm_loadu_ps(row(i) + j));
                part[i] = _mm512_insertf32x4(part[i], _mm_loadu_ps(row(i + 4) + j), 1);
                part[i] = _mm512_insertf32x4(part[i], _mm_loadu_ps(row(i + 8) + j), 2);
                part[i] = _mm512_insertf32x4(part[i], _mm_loadu_ps(row(i + 12) + j), 3);
            }
            const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(part[0], part[1]));
            const __m512d high = _mm512_castps_pd(_mm512_unpackhi_ps(part[0], part[1]));
            const __m512d low_after = _mm512_castps_pd(_mm512_unpacklo_ps(part[2], part[3]));
            const __m512d high_after = _mm512_castps_pd(_mm512_unpackhi_ps(part[2], part[3]));
            to[j] = (V)_mm512_unpacklo_pd(low, low_after);
            to[j + 1] = (V)_mm512_unpackhi_pd(low, low_after);
            to[j + 2] = (V)_mm512_unpacklo_pd(high, high_after);
            to[j + 3] = (V)_mm512_unpackhi_pd(high, high_after);
        }
        return;
    }
#endif
#pragma GCC unroll 16
    for (int i = 0; i < L; i++) to[i] = load<V>(row(i));
    transpose<V, L>(to);
}

// Copies `depth` rows of COLUMNS numbers of B, of which neighbours in a row are SBN apart, into rows of REGS registers.
template <class V, class S, int COLUMNS, int REGS, int SBK, int SBN>
static __attribute__((noinline)) void pack(S *to, const S *from, int depth) {
    constexpr int L = LANES<S, V>, LAST = COLUMNS - (REGS - 1) * L;
    for (int group = 0; group < REGS; group++) {
        const int columns = group < REGS - 1 ? L : LAST;
        if constexpr (SBK == 1) {
            for (int k = 0; k < depth; k += L) {
                V block[L];
                const int rows = depth - k < L ? depth - k : L;
                if (LAST == L || group < REGS - 1)
                    load_columns<V, L>(block, from + group * L * SBN + k, SBN, rows);
                else
                    load_columns<V, LAST>(block, from + group * L * SBN + k, SBN, rows);
                for (int i = 0; i < rows; i++) memcpy(to + ((k + i) * REGS + group) * L, &block[i], sizeof(V));
            }
        } else {
            for (int k = 0; k < depth; k++)
                for (int i = 0; i < L; i++)
                    to[(k * REGS + group) * L + i] = from[k * SBK + (group * L + (i < columns ? i : 0)) * SBN];
        }
    }
}

enum Start { ZERO, CONTINUE, ADD };  // of a sum: from zero, from what C holds, or from zero with C added in the end

// A tile of C: ROWS rows of REGS values of type V, the last of which holds LAST numbers. What C holds is read when it is
// needed: registers that held it during the loop would be saved on the stack.
template <class V, class S, int ROWS, int REGS, int LAST, int SAM, int SAK, int SBK, int SCM, int SCN>
static __attribute__((noinline)) void tile(S *__restrict c, const S *__restrict a, const S *__restrict b, int depth,
                                           Start start) {
    constexpr int L = LANES<S, V>;
    V sum[ROWS][REGS];
    const auto before = [&](int i, int j) __attribute__((always_inline)) {
        const S *from = c + i * SCM + j * L * SCN;
        if constexpr (SCN == 1) {
            return load<V>(from);
        } else {
            V value;
            for (int lane = 0; lane < L; lane++)
                value[lane] = from[(lane < (j == REGS - 1 ? LAST : L) ? lane : 0) * SCN];
            return value;
        }
    };
#pragma GCC unroll 32
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int j = 0; j < REGS; j++) sum[i][j] = V{};
    if (start == CONTINUE)
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (int j = 0; j < REGS; j++) sum[i][j] = before(i, j);
#pragma GCC unroll 1
    for (int k = 0; k < depth; k++, a += SAK, b += SBK) {
        V right[REGS];
#pragma GCC unroll 8
        for (int j = 0; j < REGS; j++) right[j] = load<V>(b + j * L);
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (int j = 0; j < REGS; j++) sum[i][j] = multiply_add(everywhere<V>(a[i * SAM]), right[j], sum[i][j]);
    }
    if (start == ADD)
#pragma GCC unroll 32
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (int j = 0; j < REGS; j++) sum[i][j] += before(i, j);
#pragma GCC unroll 32
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (int j = 0; j < REGS; j++) {
            S *to = c + i * SCM + j * L * SCN;
            if constexpr (SCN != 1) {
                for (int lane = 0; lane < (j == REGS - 1 ? LAST : L); lane++) to[lane * SCN] = sum[i][j][lane];
            } else if (j < REGS - 1 || LAST == L) {
                memcpy(to, &sum[i][j], sizeof(V));
            } else if constexpr (std::is_same_v<V, F>) {
                store<LAST>(to, sum[i][j]);
            } else {
                memcpy(to, &sum[i][j], LAST * sizeof(S));
            }
        }
}

// The columns of C that REGS registers hold, the last of them LAST numbers. Each number is a sum over K in pieces of
// DEPTH, of which each is summed from zero and then added.
template <class V, class S, int M, int K, int ROWS, int TALL, int REGS, int LAST, int SAM, int SAK, int SBK, int SBN, int SCM,
          int SCN, int DEPTH>
static void columns(S *c, const S *a, const S *b, int panels, Start begin) {
    constexpr int L = LANES<S, V>, WIDTH = (REGS - 1) * L + LAST;
    constexpr bool PACKED = SBN != 1 && (L > 1 || REGS > 1);
    constexpr int STEP = !PACKED || DEPTH < K ? DEPTH : K < PACKED_DEPTH ? K : PACKED_DEPTH;
    const auto rows = [&](const S *right, int first, int depth, Start start) {
        constexpr int SRK = PACKED ? REGS * L : SBK;
        for (int i = 0, row = 0; i < panels; row += ROWS + (i < TALL), i++) {
            S *to = c + row * SCM;
            const S *left = a + row * SAM + first * SAK;
            if constexpr (TALL != 0)
                if (i < TALL) {
                    tile<V, S, ROWS + 1, REGS, LAST, SAM, SAK, SRK, SCM, SCN>(to, left, right, depth, start);
                    continue;
                }
            tile<V, S, ROWS, REGS, LAST, SAM, SAK, SRK, SCM, SCN>(to, left, right, depth, start);
        }
    };
    for (int k = 0; k < K; k += STEP) {
        const int depth = K - k < STEP ? K - k : STEP;
        const Start start = k == 0 ? begin : DEPTH < K ? ADD : CONTINUE;
        if constexpr (PACKED) {
            alignas(64) S packed[STEP * REGS * L];
            pack<V, S, WIDTH, REGS, SBK, SBN>(packed, b + k * SBK, depth);
            rows(packed, k, depth, start);
        } else {
            rows(b + k * SBK, k, depth, start);
        }
    }
}

template <class V, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, int SCM, int SCN, int DEPTH, class S>
static void product(S *c, const S *a, const S *b, Start begin) {
    constexpr int L = LANES<S, V>, REGS = ceil_div(N, L);
    constexpr Panels panels = divide(M, REGS, K < DEPTH ? K : DEPTH);
    constexpr int ROWS = M / panels.rows, TALL = M % panels.rows;
    constexpr int WIDTH = REGS / panels.columns, WIDE = REGS % panels.columns;  // WIDE panels have one register more
    constexpr int LAST = N - (REGS - 1) * L;
    for (int j = 0, at = 0; j < panels.columns; at += WIDTH + (j < WIDE), j++) {
        S *to = c + at * L * SCN;
        const S *right = b + at * L * SBN;
        if constexpr (WIDE != 0)
            if (j < WIDE) {
                columns<V, S, M, K, ROWS, TALL, WIDTH + 1, L, SAM, SAK, SBK, SBN, SCM, SCN, DEPTH>(to, a, right,
                                                                                                panels.rows, begin);
                continue;
            }
        if constexpr (panels.columns > 1)
            if (j < panels.columns - 1) {
                columns<V, S, M, K, ROWS, TALL, WIDTH, L, SAM, SAK, SBK, SBN, SCM, SCN, DEPTH>(to, a, right, panels.rows,
                                                                                             begin);
                continue;
            }
        columns<V, S, M, K, ROWS, TALL, WIDTH, LAST, SAM, SAK, SBK, SBN, SCM, SCN, DEPTH>(to, a, right, panels.rows, begin);
    }
}

// Time of a product of M x K and K x N numbers whose lanes hold neighbours in a row: multiplications, and copies of B
// where neighbours in a row are not neighbours in memory.
template <class S> constexpr long cost(int m, int k, int n, bool copied) {
    return long(k) * (m * ceil_div(n, LANES<S>) + (copied ? n : 0));
}

// COUNT inner products of rows of A, whose numbers lie side by side, and the vector B.
template <class V, int COUNT, int K, int SAM, int SBK, class S>
INLINE void row_products(S *c, const S *a, const S *b, Start begin) {
    constexpr int L = LANES<S, V>;
    V sum = begin == ZERO ? V{} : load<V>(c);
    const auto add = [&](int k, int columns) __attribute__((always_inline)) {
        V block[L];
        load_columns<V, COUNT>(block, a + k, SAM, columns);
#pragma GCC unroll 16
        for (int i = 0; i < columns; i++) sum = multiply_add(block[i], everywhere<V>(b[(k + i) * SBK]), sum);
    };
    constexpr int WHOLE = K / L * L;
    for (int k = 0; k < WHOLE; k += L) add(k, L);
    if constexpr (WHOLE < K) add(WHOLE, K - WHOLE);
    if constexpr (std::is_same_v<V, F>)
        store<COUNT>(c, sum);
    else
        memcpy(c, &sum, COUNT * sizeof(S));
}

// C = A B, with the columns of C in lanes, or its rows, or number by number.
template <int M, int K, int N, int SAM, int SAK, int SBK, int SBN, int DEPTH, class S>
static void multiply(S *c, const S *a, const S *b, Start begin = ZERO) {
    constexpr long BY_COLUMNS = cost<S>(M, K, N, SBN != 1), BY_ROWS = cost<S>(N, K, M, SAM != 1) + M * N / 2;
    constexpr int L = LANES<S>;
    if constexpr (N == 1 && SAK == 1 && SAM != 1 && DEPTH >= K && M >= L / 2 && K >= 4) {
        for (int i = 0; i < M / L * L; i += L)
            row_products<Register<S>, L, K, SAM, SBK>(c + i, a + i * SAM, b, begin);
        if constexpr (M % L != 0)
            row_products<Register<S>, M % L, K, SAM, SBK>(c + M / L * L, a + M / L * L * SAM, b, begin);
        return;
    }
    constexpr bool SINGLE = (SBN == 1 || N == 1) && M * N * long(K) < (BY_COLUMNS < BY_ROWS ? BY_COLUMNS : BY_ROWS);
    if constexpr (SINGLE)
        product<S, M, K, N, SAM, SAK, SBK, SBN, N, 1, DEPTH>(c, a, b, begin);
    else if constexpr (BY_COLUMNS <= BY_ROWS)
        product<Register<S>, M, K, N, SAM, SAK, SBK, SBN, N, 1, DEPTH>(c, a, b, begin);
    else
        product<Register<S>, N, K, M, SBN, SBK, SAK, SAM, 1, N, DEPTH>(c, b, a, begin);
}

// The functions of `linalg.hpp` and `data.hpp`, by the same names.

template <int M, int K, int N, int SAM, int SAK, int SBK, int SBN, bool ACCUMULATE, class S>
static void matmul(S *c, const S *a, const S *b) {
    static_assert(!ACCUMULATE, "no loop adds a product");
    multiply<M, K, N, SAM, SAK, SBK, SBN, linalg::depth_of(M, K, N, false)>(c, a, b);
}
template <int M, int K, int SAM, int SAK, class S> static void gram(S *c, const S *a) {
    multiply<M, K, M, SAM, SAK, SAK, SAM, linalg::depth_of(M, K, M, true)>(c, a, a);
}

// ROWS of the M rows of a product.
template <int ROWS, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, class S>
static void rows_of_product(S *c, const S *a, const S *b) {
    multiply<ROWS, K, N, SAM, SAK, SBK, SBN, linalg::depth_of(M, K, N, false)>(c, a, b);
}

// TERMS of the K terms of a product's inner products, which are STEP terms at a time. All but the first are added to
// those before.
template <int TERMS, int STEP, int M, int K, int N, int SAM, int SAK, int SBK, int SBN, class S>
static void terms_of_product(S *c, const S *a, const S *b, bool first) {
    constexpr int DEPTH = linalg::depth_of(M, K, N, false);
    static_assert(DEPTH == K || STEP % DEPTH == 0, "a sum must have the same terms as without tiles");
    multiply<M, TERMS, N, SAM, SAK, SBK, SBN, DEPTH>(c, a, b, first ? ZERO : DEPTH < K ? ADD : CONTINUE);
}

// The rows of a K x N matrix, side by side.
template <int K, int N, int SK, int SN, class S> static void copy_rows(S *to, const S *from) {
    using V = Register<S>;
    constexpr int L = LANES<S>;
    if constexpr (SK == 1 && K >= L) {
        // The last numbers of each row are written first, because whole registers go beyond its end.
        constexpr int LAST = (N - 1) / L * L;
        for (int at = 0; at < K; at += L) {
            const int k = at + L <= K ? at : K - L;
            V block[L];
            load_columns<V, N - LAST>(block, from + LAST * SN + k, SN, L);
            for (int i = 0; i < L; i++) memcpy(to + (k + i) * N + LAST, &block[i], sizeof(V));
            for (int n = LAST - L; n >= 0; n -= L) {
                load_columns<V, L>(block, from + n * SN + k, SN, L);
                for (int i = 0; i < L; i++) memcpy(to + (k + i) * N + n, &block[i], sizeof(V));
            }
        }
    } else {
        for (int k = 0; k < K; k++)
            for (int n = 0; n < N; n++) to[k * N + n] = from[k * SK + n * SN];
    }
}

template <int SIZE> INLINE void load_rows(int64_t *out, const int64_t *rows, int64_t replica, int64_t) {
    memcpy(out, rows + replica * SIZE, SIZE * sizeof(int64_t));
}
template <int N_ROWS, int WIDTH> INLINE void take_rows(double *out, const double *data, const int64_t *index) {
    for (int row = 0; row < N_ROWS; row++) memcpy(out + row * WIDTH, data + index[row] * WIDTH, WIDTH * sizeof(double));
}
template <int ROWS, int COLUMNS> INLINE void argmax_rows(int64_t *out, const float *in) {
    for (int column = 0; column < COLUMNS; column++) {
        out[column] = 0;
        for (int i = 1; i < ROWS; i++) {
            const float x = in[i * COLUMNS + column], largest = in[out[column] * COLUMNS + column];
            if ((x > largest || x != x) && largest == largest) out[column] = i;
        }
    }
}
template <int ROWS, int COLUMNS, int COUNT> INLINE void gather_rows(float *out, const float *in, const int64_t *index) {
    for (int i = 0; i < COUNT * COLUMNS; i++) out[i] = in[index[i] * COLUMNS + i % COLUMNS];
}
template <int ROWS, int COLUMNS, int COUNT>
INLINE void gather_columns(float *out, const float *in, const int64_t *index) {
    for (int i = 0; i < ROWS * COUNT; i++) out[i] = in[i / COUNT * COLUMNS + index[i]];
}

// ---- Factorisations, which every lane computes though one would do --------------------------------------------------

template <class S> using Lanes = std::conditional_t<std::is_same_v<S, float>, F, D>;

// An array of which every number is in all lanes.
template <class S, int COUNT> struct Everywhere {
    Lanes<S> *const values = new Lanes<S>[COUNT];
    Everywhere() {}
    ~Everywhere() { delete[] values; }
    Everywhere(const Everywhere &) = delete;
    Everywhere &operator=(const Everywhere &) = delete;
    explicit Everywhere(const S *from) {
        for (int i = 0; i < COUNT; i++) values[i] = splat(from[i]);
    }
    operator Lanes<S> *() const { return values; }
    void first(S *to) const {
        for (int i = 0; i < COUNT; i++) to[i] = values[i][0];
    }
};

template <int N, class S> static void cholesky(S *l, const S *a) {
    Everywhere<S, N * N> result, given(a);
    ::cholesky<N, Lanes<S>>(result, given);
    result.first(l);
}
template <int N, int M, bool UPPER, bool LEFT, bool UNIT, class S>
static void solve_triangular(S *x, const S *a, const S *b) {
    Everywhere<S, N * M> result, right(b);
    Everywhere<S, N * N> triangle(a);
    ::solve_triangular<N, M, UPPER, LEFT, UNIT, Lanes<S>>(result, triangle, right);
    result.first(x);
}
template <int M, int N, class S> static void qr(S *q, S *r, const S *a) {
    Everywhere<S, M * N> orthogonal, given(a);
    Everywhere<S, N * N> upper;
    ::qr<M, N, Lanes<S>>(orthogonal, upper, given);
    orthogonal.first(q);
    upper.first(r);
}
template <int N> static void inverse_of(float *out, const float *in) {
    Everywhere<float, N * N> result, given(in);
    ::inverse_of<N>(result, given);
    result.first(out);
}
template <int N, int K> static void last_eigenpairs(float *values, float *vectors, const float *in) {
    Everywhere<float, N> found;
    Everywhere<float, N * N> beside, given(in);
    ::last_eigenpairs<N, K>(found, beside, given);
    found.first(values);
    beside.first(vectors);
}

// ---- Random numbers -------------------------------------------------------------------------------------------------

// One lane of `Sfc64`.
struct Sfc64 {
    uint64_t a, b, c, counter;
    inline __attribute__((always_inline)) uint64_t next() {
        const uint64_t word = a + b + counter++;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = ((c << 24) | (c >> 40)) + word;
        return word;
    }
};

// Writes pairs, of which the first numbers are in one value, and the second in the other.
template <class S, class V> INLINE void store_pairs(S *to, V first, V second) {
    for (int lane = 0; lane < W; lane++) to[2 * lane] = first[lane], to[2 * lane + 1] = second[lane];
}
INLINE void store_pairs(float *to, F first, F second) {
    using All = std::make_integer_sequence<int, W>;
    store<W>(to, low_halves(first, second, All{}));
    store<W>(to + W, high_halves(first, second, All{}));
}

// Fills `out` with `count` normal numbers, and up to 2 W after them.
template <class S> INLINE void fill_normal(Sfc64 &generator, S *out, int count) {
    Sfc64 state = generator;
    for (int i = 0; i < count; i += 2 * W) {
        UL words{};
        const int wanted = (count - i + 1) / 2;
        if (wanted >= W)
            for (int lane = 0; lane < W; lane++) words[lane] = state.next();
        else
            for (int lane = 0; lane < wanted; lane++) words[lane] = state.next();
        Lanes<S> z0, z1;
        normal_pair(words, z0, z1);
        store_pairs(out + i, z0, z1);
    }
    generator = state;
}

}  // namespace within
