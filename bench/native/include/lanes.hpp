// Lanes: one number of each of W replicas, as one SIMD value.
//
// The vector extensions of GCC and Clang give arithmetic, comparisons and `mask ? a : b` on these types. The compiler
// splits a value into as many registers as the machine needs. Every lane is computed by the same instructions, so the
// numbers of a replica do not depend on its lane or on its neighbours.

#pragma once

#include <cstdint>
#include <cstring>

// As many single-precision numbers as a register holds. GCC compares longer values one number at a time.
#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

typedef float F __attribute__((vector_size(W * sizeof(float))));
typedef double D __attribute__((vector_size(W * sizeof(double))));
typedef int32_t I __attribute__((vector_size(W * sizeof(int32_t))));   // also booleans: -1 for true, 0 for false
typedef uint32_t U __attribute__((vector_size(W * sizeof(uint32_t))));
typedef int64_t L __attribute__((vector_size(W * sizeof(int64_t))));
typedef uint64_t UL __attribute__((vector_size(W * sizeof(uint64_t))));

#define INLINE static inline __attribute__((always_inline))

INLINE F splat(float value) { return value - F{}; }
INLINE D splat(double value) { return value - D{}; }
INLINE I splat(int32_t value) { return value - I{}; }
INLINE L splat(int64_t value) { return value - L{}; }

template <class To, class From> INLINE To convert(From value) { return __builtin_convertvector(value, To); }
template <class To, class From> INLINE To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "a change of type keeps the bits");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

// a * b + c, with one rounding where the processor has an instruction for it and a value fills a register, and with two
// elsewhere. Nothing else is fused (`bench.native.compiler`).
template <class V> INLINE V multiply_add(V a, V b, V c) { return a * b + c; }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif
#if defined(__FMA__)
#include "fma.hpp"
#endif
