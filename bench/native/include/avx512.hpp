// The few functions of <immintrin.h> that loops use, by the definitions of GCC. To read all of that header takes longer
// than to compile the loop of a small network.

#pragma once

#if defined(__clang__) || !defined(__has_builtin)
#include <immintrin.h>
#elif !__has_builtin(__builtin_ia32_ps512_ps) || !__has_builtin(__builtin_ia32_insertf32x4_mask) || \
    !__has_builtin(__builtin_ia32_unpcklps512_mask) || !__has_builtin(__builtin_ia32_unpckhps512_mask) || \
    !__has_builtin(__builtin_ia32_unpcklpd512_mask) || !__has_builtin(__builtin_ia32_unpckhpd512_mask) || \
    !__has_builtin(__builtin_ia32_storeups512_mask)
#include <immintrin.h>
#else

#include <xmmintrin.h>

typedef float __m512 __attribute__((vector_size(64), may_alias));
typedef double __m512d __attribute__((vector_size(64), may_alias));

// Where all lanes are taken, these stand for those that would be kept.
__attribute__((always_inline)) static inline __m512 undefined_floats() {
    __m512 value = value;
    return value;
}
__attribute__((always_inline)) static inline __m512d undefined_doubles() {
    __m512d value = value;
    return value;
}

#define _mm512_castps128_ps512(x) ((__m512)__builtin_ia32_ps512_ps(x))
#define _mm512_castps_pd(x) ((__m512d)(x))
#define _mm512_insertf32x4(x, y, place) ((__m512)__builtin_ia32_insertf32x4_mask(x, y, place, x, -1))
#define _mm512_unpacklo_ps(x, y) ((__m512)__builtin_ia32_unpcklps512_mask(x, y, undefined_floats(), -1))
#define _mm512_unpackhi_ps(x, y) ((__m512)__builtin_ia32_unpckhps512_mask(x, y, undefined_floats(), -1))
#define _mm512_unpacklo_pd(x, y) ((__m512d)__builtin_ia32_unpcklpd512_mask(x, y, undefined_doubles(), -1))
#define _mm512_unpackhi_pd(x, y) ((__m512d)__builtin_ia32_unpckhpd512_mask(x, y, undefined_doubles(), -1))
#define _mm512_mask_storeu_ps(to, mask, x) __builtin_ia32_storeups512_mask(to, x, mask)

#endif
