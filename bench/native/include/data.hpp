// Reading the data that all replicas share, and choosing by masks and indices of each lane.

#pragma once

#include "elementary.hpp"
#include "linalg.hpp"

INLINE I mask(I truth) { return truth; }
INLINE I mask(L truth) { return convert<I>(truth); }

INLINE F select(I mask, F yes, F no) { return mask ? yes : no; }
INLINE I select(I mask, I yes, I no) { return mask ? yes : no; }
INLINE D select(I mask, D yes, D no) { return convert<L>(mask) ? yes : no; }
INLINE L select(I mask, L yes, L no) { return convert<L>(mask) ? yes : no; }
INLINE D select(L mask, D yes, D no) { return mask ? yes : no; }

INLINE L abs_(L x) { return x < 0 ? -x : x; }
INLINE L max_(L x, L y) { return x > y ? x : y; }
INLINE L min_(L x, L y) { return x < y ? x : y; }
INLINE L remainder_(L x, L y) {  // has the sign of y; of a division by zero, which torch refuses, 0
    const L rest = x % (y == 0 ? splat(int64_t(1)) : y);
    return (rest != 0) & ((rest < 0) != (y < 0)) ? rest + y : rest;
}

INLINE F relu_(F x) { return x < 0.0f ? F{} : x; }  // NaN stays NaN
INLINE D relu_(D x) { return x < 0.0 ? D{} : x; }

// Row indices of one update: `rows` holds SIZE of them for each replica. Lanes without a replica repeat the last one.
template <int SIZE> INLINE void load_rows(L *out, const int64_t *rows, int64_t block, int64_t n_replicas) {
    for (int lane = 0; lane < W; lane++) {
        int64_t replica = block * W + lane;
        const int64_t *given = rows + (replica < n_replicas ? replica : n_replicas - 1) * SIZE;
        for (int i = 0; i < SIZE; i++) out[i][lane] = given[i];
    }
}

// The rows (N, WIDTH) of the data at N_ROWS indices of each lane.
template <int N_ROWS, int WIDTH> INLINE void take_rows(D *out, const double *data, const L *index) {
    for (int row = 0; row < N_ROWS; row++) {
        const L at = index[row] * int64_t(WIDTH);
        for (int column = 0; column < WIDTH; column++)
            for (int lane = 0; lane < W; lane++) out[row * WIDTH + column][lane] = data[at[lane] + column];
    }
}

// The row of the first largest entry of each column; of NaN the first, as in PyTorch.
template <int ROWS, int COLUMNS> INLINE void argmax_rows(L *out, const F *in) {
    for (int column = 0; column < COLUMNS; column++) {
        F largest = in[column];
        L row = L{};
        for (int i = 1; i < ROWS; i++) {
            const F x = in[i * COLUMNS + column];
            const I larger = ((x > largest) | (x != x)) & (largest == largest);
            largest = larger ? x : largest;
            row = select(larger, splat(int64_t(i)), row);
        }
        out[column] = row;
    }
}

// out (COUNT, COLUMNS): out[i, j] = in[index[i, j], j].
template <int ROWS, int COLUMNS, int COUNT> INLINE void gather_rows(F *out, const F *in, const L *index) {
    for (int i = 0; i < COUNT * COLUMNS; i++)
        for (int lane = 0; lane < W; lane++) out[i][lane] = in[index[i][lane] * COLUMNS + i % COLUMNS][lane];
}

// out (ROWS, COUNT): out[i, j] = in[i, index[i, j]].
template <int ROWS, int COLUMNS, int COUNT> INLINE void gather_columns(F *out, const F *in, const L *index) {
    for (int i = 0; i < ROWS * COUNT; i++)
        for (int lane = 0; lane < W; lane++) out[i][lane] = in[i / COUNT * COLUMNS + index[i][lane]][lane];
}

// The inverse of a matrix (N, N).
template <int N> INLINE void inverse_of(F *out, const F *in) {
    alignas(64) F work[N * N];
    inverse<N>(out, in, work);
}

// The last K of all N eigenvalues and eigenvectors of a symmetric matrix (N, N); the others are not written.
template <int N, int K> INLINE void last_eigenpairs(F *values, F *vectors, const F *in) {
    alignas(64) F last[N * K], work[top_eigenpairs_workspace<N, K, F>];
    top_eigenpairs<N, K>(values + N - K, last, in, work);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) vectors[i * N + N - K + k] = last[i * K + k];
}

// Cumulative sums along the middle axis of (OUTER, LENGTH, INNER).
template <int OUTER, int LENGTH, int INNER, class T> INLINE void cumsum(T *out, const T *in) {
    for (int i = 0; i < OUTER; i++)
        for (int k = 0; k < INNER; k++) {
            T sum = T{};
            for (int j = 0; j < LENGTH; j++) {
                sum += in[(i * LENGTH + j) * INNER + k];
                out[(i * LENGTH + j) * INNER + k] = sum;
            }
        }
}
