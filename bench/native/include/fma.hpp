// `multiply_add` of registers on x86: the instructions of FMA and AVX-512.

#pragma once

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));
typedef double Doubles2 __attribute__((vector_size(16)));
typedef double Doubles4 __attribute__((vector_size(32)));
typedef double Doubles8 __attribute__((vector_size(64)));

#if !defined(__has_builtin)
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_elementwise_fma)
#define FUSED(V, function) \
    INLINE V multiply_add(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
#else
#define FUSED(V, function) \
    INLINE V multiply_add(V a, V b, V c) { return function(a, b, c); }
#endif

FUSED(Floats4, __builtin_ia32_vfmaddps)
FUSED(Floats8, __builtin_ia32_vfmaddps256)
FUSED(Doubles2, __builtin_ia32_vfmaddpd)
FUSED(Doubles4, __builtin_ia32_vfmaddpd256)
#if defined(__AVX512F__)
#define CURRENT_ROUNDING 4
#define FMADDPS512(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, CURRENT_ROUNDING)
#define FMADDPD512(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, CURRENT_ROUNDING)
FUSED(Floats16, FMADDPS512)
FUSED(Doubles8, FMADDPD512)
#endif

#undef FUSED
