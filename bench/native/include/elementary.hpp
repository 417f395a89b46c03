// Elementary functions of lanes: exp, log, the functions of neural networks and of the normal distribution.
//
// On float lanes every function is straight-line code on whole SIMD values; only pow_ with a general exponent and
// remainder_ call the C library lane by lane. On double lanes, which are rare, the C library is called for each lane.
// Infinities, NaN and signed zeros are treated as PyTorch treats them. Results below the smallest normal number may be
// zero. `ulp` below is the largest error against double precision that tests/bench/native/test_elementary.py allows, in
// units in the last place of the exact result, with and without fused multiply-add.
//
// The polynomials of exp, log, tanh, sine and cosine are those of the Cephes library (S. Moshier, single precision).
// Those of erf, ndtr and ndtri were fitted for this file (weighted minimax against SciPy's values, rounded to float).

#pragma once


#include "lanes.hpp"

// As <cmath> has them, which takes a tenth of a second to read.
#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// Treats subnormal numbers as zero while it lives, where the processor can. They cost a hundred cycles each.
struct FlushSubnormals {
#if defined(__SSE__)
    unsigned int previous = _mm_getcsr();
    FlushSubnormals() { _mm_setcsr(previous | 0x8040); }  // flush-to-zero and denormals-are-zero
    ~FlushSubnormals() { _mm_setcsr(previous); }
#else
    FlushSubnormals() {}
    ~FlushSubnormals() {}
#endif
    FlushSubnormals(const FlushSubnormals &) = delete;
    FlushSubnormals &operator=(const FlushSubnormals &) = delete;
};

namespace lanes {

constexpr float INF = INFINITY;
constexpr float SMALLEST_NORMAL = __FLT_MIN__;
// Added to |x| < 2^22, it leaves the nearest integer (ties to even) in the low bits of the sum.
constexpr float ROUNDER = 12582912.0f;  // 1.5 * 2^23

// The coefficients of a polynomial, highest power first (Horner).
INLINE F polynomial(F, float constant) { return splat(constant); }
template <class... Lower> INLINE F horner(F, F sum) { return sum; }
template <class... Lower> INLINE F horner(F x, F sum, float next, Lower... lower) {
    return horner(x, multiply_add(sum, x, splat(next)), lower...);
}
template <class... Lower> INLINE F polynomial(F x, float highest, float next, Lower... lower) {
    return horner(x, multiply_add(splat(highest), x, splat(next)), lower...);
}

// `mask ? yes : no`, which GCC computes lane by lane where a value needs more than one register.
INLINE F select(I mask, F yes, F no) {
#if defined(__AVX512F__)
    return mask ? yes : no;
#else
    return bits<F>((mask & bits<I>(yes)) | (~mask & bits<I>(no)));
#endif
}
INLINE I sign_bit(F x) { return bits<I>(x) & INT32_MIN; }
INLINE F with_sign_of(F magnitude, F x) { return bits<F>(bits<I>(magnitude) | sign_bit(x)); }
INLINE F power_of_two(I exponent) { return bits<F>((exponent + 127) << 23); }  // exponent in [-127, 128]: 0 to inf

// exp(x + tail) for |tail| << 1 = 2^exponent * (1 + less_one), less_one in [-0.3, 0.42].
struct Exponential {
    I exponent;
    F less_one;
};
INLINE Exponential exponential(F x, F tail = -splat(0.0f)) {
    F rounder = multiply_add(x, splat(1.44269504088896341f), splat(ROUNDER));
    F n = rounder - ROUNDER;
    F r = multiply_add(n, splat(2.12194440e-4f), multiply_add(n, splat(-0.693359375f), x)) + tail;
    F p = polynomial(r, 1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                     5.0000001201e-1f);
    return {bits<I>(rounder) - bits<I>(splat(ROUNDER)), multiply_add(p, r * r, r)};
}
INLINE F exp_of_sum(F x, F tail = -splat(0.0f)) {
    x = select(x < -104.0f, splat(-104.0f), x);
    x = select(x > 89.0f, splat(89.0f), x);
    Exponential e = exponential(x, tail);
    I half = e.exponent >> 1;  // two factors: one alone would overflow or vanish early
    return (e.less_one + 1.0f) * power_of_two(half) * power_of_two(e.exponent - half);
}

// log(mantissa * 2^exponent) for the bits of a positive, finite, normal number; `tail` is added before the last sums.
INLINE F log_of_normal(F x, I more_exponent = I{}) {
    // The mantissa lands in [sqrt(1/2), sqrt(2)).
    I shifted = bits<I>(x) - 0x3f3504f3;
    F e = convert<F>((shifted >> 23) - more_exponent);
    F m = bits<F>((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
    F p = polynomial(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                     -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
    F square = m * m;
    F y = multiply_add(p, m * square, e * -2.12194440e-4f);
    return multiply_add(e, splat(0.693359375f), m + multiply_add(splat(-0.5f), square, y));
}

}  // namespace lanes

INLINE I is_nan(F x) { return x != x; }
INLINE F abs_(F x) { return bits<F>(bits<I>(x) & INT32_MAX); }
INLINE F sign_(F x) { return convert<F>((x < 0.0f) - (x > 0.0f)); }  // of NaN: 0, as in PyTorch
INLINE F max_(F x, F y) { return lanes::select((x > y) | (x != x), x, y); }  // NaN if either is
INLINE F min_(F x, F y) { return lanes::select((x < y) | (x != x), x, y); }
INLINE F clamp_(F x, F low, F high) { return min_(max_(x, low), high); }
INLINE F nan_to_num_(F x, float nan, float positive_infinity, float negative_infinity) {
    F result = lanes::select(x == lanes::INF, splat(positive_infinity), x);
    result = lanes::select(x == -lanes::INF, splat(negative_infinity), result);
    return lanes::select(is_nan(x), splat(nan), result);
}

// Nearest integer, ties to even.
INLINE F round_(F x) {
    F size = abs_(x);
    F rounded = (size + 8388608.0f) - 8388608.0f;
    return lanes::with_sign_of(lanes::select(size < 8388608.0f, rounded, size), x);
}
INLINE F floor_(F x) {
    F rounded = round_(x);
    return lanes::select(rounded > x, rounded - 1.0f, rounded);
}

INLINE F sqrt_(F x) {
    F result;
#if defined(__AVX512F__)
    asm("vsqrtps %1, %0" : "=v"(result) : "v"(x));  // the loop below would take two half registers through memory
#else
    for (int lane = 0; lane < W; lane++) result[lane] = __builtin_sqrtf(x[lane]);
#endif
    return result;
}

// 1.0 ulp.
INLINE F exp_(F x) { return lanes::exp_of_sum(x); }

// 1.6 ulp.
INLINE F expm1_(F x) {
    F bounded = lanes::select(x < -20.0f, splat(-20.0f), x);
    bounded = lanes::select(bounded > 89.0f, splat(89.0f), bounded);
    lanes::Exponential e = lanes::exponential(bounded);
    F half = lanes::power_of_two(e.exponent - 1);  // 2^128 alone would overflow
    F result = multiply_add(half, e.less_one, half - 0.5f) * 2.0f;
    return lanes::select(x == 0.0f, x, result);  // keeps the sign of zero
}

// 0.9 ulp.
INLINE F log_(F x) {
    I small = x < lanes::SMALLEST_NORMAL;
    F result = lanes::log_of_normal(lanes::select(small, x * 8388608.0f, x), small & 23);
    result = lanes::select(x == lanes::INF, x, result);
    result = lanes::select(x == 0.0f, splat(-lanes::INF), result);
    return lanes::select((x < 0.0f) | is_nan(x), splat(NAN), result);
}

// 1.6 ulp.
INLINE F log1p_(F x) {
    F sum = x + 1.0f;
    F lost = x - (sum - 1.0f);
    F correction = lanes::select((sum > 0.0f) & (sum < lanes::INF), lost / sum, F{});
    return lanes::select(x == 0.0f, x, log_(sum) + correction);
}

// 2.3 ulp.
INLINE F sigmoid_(F x) { return 1.0f / (1.0f + exp_(-x)); }
// 2.0 ulp.
INLINE F log_sigmoid_(F x) { return min_(x, F{}) - log1p_(exp_(-abs_(x))); }
// 1.9 ulp.
INLINE F softplus_(F x) { return lanes::select(x > 20.0f, x, log1p_(exp_(x))); }  // PyTorch's beta = 1, threshold = 20

// 1.4 ulp.
INLINE F tanh_(F x) {
    F size = abs_(x), square = x * x;
    F p = lanes::polynomial(square, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                            -3.33332819422e-1f);
    F near = multiply_add(p, square * x, x);
    F far = 1.0f - 2.0f / (exp_(size * 2.0f) + 1.0f);
    return lanes::with_sign_of(lanes::select(size < 0.625f, near, far), x);
}

namespace lanes {

// Sine and cosine of quarter * pi / 2 + t, |t| <= pi / 4.
INLINE void sincos_of_parts(I quarter, F t, F &sine, F &cosine) {
    F square = t * t;
    F s = multiply_add(polynomial(square, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f), square * t, t);
    F c = multiply_add(polynomial(square, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f),
                       square * square, multiply_add(splat(-0.5f), square, splat(1.0f)));
    I odd = -(quarter & 1);
    sine = bits<F>(bits<I>(select(odd, c, s)) ^ ((quarter & 2) << 30));
    cosine = bits<F>(bits<I>(select(odd, s, c)) ^ (((quarter + 1) & 2) << 30));
}

// Accurate for |x| <= 2^20; NaN beyond 2^30.
INLINE void sincos(F x, F &sine, F &cosine) {
    D wide = convert<D>(select(abs_(x) <= 0x1p30f, x, splat(NAN)));
    D n = (wide * 0.63661977236758134308 + 0x1.8p52) - 0x1.8p52;
    D t = (wide - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;  // pi / 2; the first product is exact
    sincos_of_parts(convert<I>(n), convert<F>(t), sine, cosine);
}

}  // namespace lanes

// Sine and cosine of 2 pi v, v in [-0.5, 0.5]. 2.0 ulp.
INLINE void sincos_turns(F v, F &sine, F &cosine) {
    F rounder = multiply_add(v, splat(4.0f), splat(lanes::ROUNDER));
    F rest = multiply_add(rounder - lanes::ROUNDER, splat(-0.25f), v);  // exact, in [-1/8, 1/8]
    lanes::sincos_of_parts(bits<I>(rounder), rest * 6.28318530717958648f, sine, cosine);
}

// 1.6 ulp.
INLINE F sin_(F x) {
    F sine, cosine;
    lanes::sincos(x, sine, cosine);
    return lanes::select(x == 0.0f, x, sine);
}
// 1.6 ulp.
INLINE F cos_(F x) {
    F sine, cosine;
    lanes::sincos(x, sine, cosine);
    return cosine;
}

// 1.3 ulp.
INLINE F erf_(F x) {
    F size = abs_(x), square = x * x;
    F p = lanes::polynomial(square, 8.316802996e-5f, -8.130020578e-4f, 5.199907348e-3f, -2.685894258e-2f,
                            1.128368750e-1f, -3.761263192e-1f, 1.283791661e-1f);
    F near = multiply_add(p, x, x);
    F bounded = lanes::select(size > 4.0f, splat(4.0f), size);
    F log_complement = lanes::polynomial(bounded, 1.947776618e-4f, -3.031819593e-3f, 2.218138613e-2f, -1.038369089e-1f,
                                         -6.372904181e-1f, -1.127611160e+0f, -2.113130904e-4f);
    F far = 1.0f - exp_(log_complement);
    return lanes::select((size <= 0.93f) | is_nan(x), near, lanes::with_sign_of(far, x));
}

// Distribution function of the standard normal distribution, also far below zero. 4.3 ulp.
INLINE F ndtr_(F x) {
    F size = abs_(x);
    size = lanes::select(size > 14.6f, splat(14.6f), size);  // below the smallest number at the end
    // ndtr(-size) = exp(-size^2 / 2) * (a smooth function of q). The square is split so that its rounding is kept.
    F q = (size - 4.0f) / (size + 4.0f);
    F ratio = lanes::polynomial(q, 1.950213918e-4f, 1.470145653e-3f, -3.517633537e-3f, -7.502719760e-3f,
                                6.040387601e-2f, -1.865246594e-1f, 3.871368766e-1f, -6.078966260e-1f, 7.552851439e-1f);
    F square = x * x;
    F near = lanes::polynomial(square, -6.907312127e-6f, 1.112534810e-4f, -1.183876535e-3f, 9.972126223e-3f,
                               -6.649011374e-2f, 3.989422619e-1f) *
                 x +
             0.5f;
    F head = bits<F>(bits<I>(size) & ~0xfff);  // twelve bits, whose square is exact
    F tail = (size - head) * (size + head);
    F lower = lanes::exp_of_sum(-0.5f * head * head, -0.5f * tail) * (ratio / (size + 4.0f));
    F far = lanes::select(x > 0.0f, 1.0f - lower, lower);
    return lanes::select((size < 1.15f) | is_nan(x), near, far);
}

// Inverse of ndtr_; NaN outside [0, 1]. 3.8 ulp.
INLINE F ndtri_(F p) {
    F q = p - 0.5f, square = q * q;
    F central = 0.180625f - square;
    F excess = square * lanes::polynomial(central, 1.081013031e+2f, 5.764701080e+1f, 4.874764919e+0f) /
               lanes::polynomial(central, 6.632563782e+1f, 7.823851013e+1f, 1.784972191e+1f, 1.0f);
    F middle = q * excess + q * 2.50662827f;
    F root = sqrt_(-log_(lanes::select(q < 0.0f, p, 1.0f - p)));
    F shift = lanes::polynomial(1.0f / (root + 2.0f) - 0.18f, 9.466658936e+2f, -3.944531631e+1f, 6.615857697e+1f,
                                8.600512505e+0f, 1.014226913e+1f, 2.767615557e+0f, 2.906057358e+0f, 5.177921653e-1f);
    F outer = root * 1.41421354f - shift;
    return lanes::select(abs_(q) <= 0.425f, middle, lanes::select(q < 0.0f, -outer, outer));
}

// x^y, by the C library for each lane: about ten times an exp_. 0.6 ulp.
INLINE F pow_(F x, F y) {
    F result;
    for (int lane = 0; lane < W; lane++) result[lane] = __builtin_powf(x[lane], y[lane]);
    return result;
}
// x^y for a constant y: products for whole y up to 16, roots for +-0.5 and 1.5, otherwise the general function.
// Products of products add up their roundings: 0.5 ulp for y = 2, 1.3 for 3, 5.2 for 8 and 12.1 for 16; 1.5 ulp for -2
// and 14.0 for -16. Roots have 0.5 to 1.5 ulp.
INLINE F pow_(F x, float y) {
    if (y == 0.5f) return sqrt_(x);
    if (y == -0.5f) return 1.0f / sqrt_(x);
    if (y == 1.5f) return lanes::select(x == -lanes::INF, -x, x * sqrt_(x));
    if (y != __builtin_floor(y) || y < -16.0f || y > 16.0f) return pow_(x, splat(y));
    F result = splat(1.0f), square = x;
    for (int rest = y < 0.0f ? int(-y) : int(y); rest; rest >>= 1) {
        if (rest & 1) result = result * square;
        square = square * square;
    }
    return y < 0.0f ? 1.0f / result : result;
}

// x - floor(x / y) * y without its rounding: exact, with the sign of y.
INLINE F remainder_(F x, F y) {
    F result;
    for (int lane = 0; lane < W; lane++) result[lane] = __builtin_fmodf(x[lane], y[lane]);
    return lanes::select((result != 0.0f) & ((y < 0.0f) != (result < 0.0f)), result + y, result);
}

// The functions on double lanes: the C library, lane by lane.

#define EACH_LANE(expression)                                  \
    D result;                                                  \
    for (int lane = 0; lane < W; lane++) {                     \
        const double x = v[lane];                              \
        result[lane] = (expression);                           \
    }                                                          \
    return result

INLINE I is_nan(D v) { return convert<I>(v != v); }
INLINE D abs_(D v) { return bits<D>(bits<L>(v) & INT64_MAX); }
INLINE D sign_(D v) { return convert<D>((v < 0.0) - (v > 0.0)); }
INLINE D max_(D v, D w) { return (v > w) | (v != v) ? v : w; }
INLINE D min_(D v, D w) { return (v < w) | (v != v) ? v : w; }
INLINE D clamp_(D v, D low, D high) { return min_(max_(v, low), high); }
INLINE D nan_to_num_(D v, double nan, double positive_infinity, double negative_infinity) {
    EACH_LANE(x != x ? nan : x == lanes::INF ? positive_infinity : x == -lanes::INF ? negative_infinity : x);
}
INLINE D round_(D v) { EACH_LANE(__builtin_nearbyint(x)); }
INLINE D floor_(D v) { EACH_LANE(__builtin_floor(x)); }
INLINE D sqrt_(D v) { EACH_LANE(__builtin_sqrt(x)); }
INLINE D exp_(D v) { EACH_LANE(__builtin_exp(x)); }
INLINE D expm1_(D v) { EACH_LANE(__builtin_expm1(x)); }
INLINE D log_(D v) { EACH_LANE(__builtin_log(x)); }
INLINE D log1p_(D v) { EACH_LANE(__builtin_log1p(x)); }
INLINE D sigmoid_(D v) { EACH_LANE(1.0 / (1.0 + __builtin_exp(-x))); }
INLINE D log_sigmoid_(D v) { EACH_LANE((x < 0.0 ? x : x != x ? x : 0.0) - __builtin_log1p(__builtin_exp(-__builtin_fabs(x)))); }
INLINE D softplus_(D v) { EACH_LANE(x > 20.0 ? x : __builtin_log1p(__builtin_exp(x))); }
INLINE D tanh_(D v) { EACH_LANE(__builtin_tanh(x)); }
INLINE D sin_(D v) { EACH_LANE(__builtin_sin(x)); }
INLINE D cos_(D v) { EACH_LANE(__builtin_cos(x)); }
INLINE D erf_(D v) { EACH_LANE(__builtin_erf(x)); }
INLINE D ndtr_(D v) { EACH_LANE(0.5 * __builtin_erfc(x * -0.70710678118654752440)); }
INLINE D ndtri_(D v) {
    // The float value, refined by two steps of Halley's method (error cubed in each).
    D z = convert<D>(ndtri_(convert<F>(v)));
    for (int lane = 0; lane < W; lane++) {
        for (int step = 0; step < 2; step++) {
            const double x = z[lane];
            if (!(__builtin_fabs(x) < 37.0)) continue;
            // Compared where few digits cancel: near the median, in the lower or in the upper tail.
            const double scaled = x * 0.70710678118654752440;
            const double error = __builtin_fabs(x) < 0.5 ? 0.5 * __builtin_erf(scaled) - (v[lane] - 0.5)
                                 : x < 0.0          ? 0.5 * __builtin_erfc(-scaled) - v[lane]
                                                    : (1.0 - v[lane]) - 0.5 * __builtin_erfc(scaled);
            const double newton = error * 2.50662827463100050242 * __builtin_exp(0.5 * x * x);
            z[lane] = x - newton / (1.0 + 0.5 * x * newton);
        }
    }
    return z;
}
INLINE D pow_(D v, D y) { EACH_LANE(__builtin_pow(x, y[lane])); }
INLINE D pow_(D v, double y) {
    if (y == 1.0) return v;
    if (y == 2.0) return v * v;
    if (y == -1.0) return 1.0 / v;
    if (y == 0.5) return sqrt_(v);
    EACH_LANE(__builtin_pow(x, y));
}
INLINE D remainder_(D v, D y) {
    D result;
    for (int lane = 0; lane < W; lane++) result[lane] = __builtin_fmod(v[lane], y[lane]);
    return (result != 0.0) & ((y < 0.0) != (result < 0.0)) ? result + y : result;
}
INLINE void sincos_turns(D v, D &sine, D &cosine) {
    sine = sin_(v * 6.28318530717958647693);
    cosine = cos_(v * 6.28318530717958647693);
}

#undef EACH_LANE
