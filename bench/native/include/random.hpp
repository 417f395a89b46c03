// Random numbers in lanes: NumPy's SFC64 bit generator, one state per lane, and normal numbers made from its words.
//
// Each lane yields exactly the words of `numpy.random.SFC64` with the same state. Two normal numbers are made of a word
// by the Box-Muller transform, as `bench.engine.random_streams` defines.

#pragma once

#include "elementary.hpp"

// Words of the first or the second half of the lanes. GCC keeps values of this size in registers from one turn of a loop
// to the next, but a UL in memory, where a normal number took 0.67 ns instead of 0.48 (AVX-512, one core).
typedef uint64_t HalfWords __attribute__((vector_size(W / 2 * sizeof(uint64_t))));

struct Sfc64 {
    HalfWords a[2], b[2], c[2], counter[2];

    // The state of replica `lane` as NumPy keeps it: (a, b, c, counter).
    inline void load(int lane, const uint64_t *state) {
        const int half = lane / (W / 2), place = lane % (W / 2);
        a[half][place] = state[0];
        b[half][place] = state[1];
        c[half][place] = state[2];
        counter[half][place] = state[3];
    }
    inline void store(int lane, uint64_t *state) const {
        const int half = lane / (W / 2), place = lane % (W / 2);
        state[0] = a[half][place];
        state[1] = b[half][place];
        state[2] = c[half][place];
        state[3] = counter[half][place];
    }
    inline __attribute__((always_inline)) UL next() {
        const HalfWords words[2] = {step(0), step(1)};
        UL result;
        memcpy(&result, words, sizeof result);
        return result;
    }

  private:
    inline __attribute__((always_inline)) HalfWords step(int half) {
        const HalfWords word = a[half] + b[half] + counter[half];
        counter[half] += 1;
        a[half] = b[half] ^ (b[half] >> 11);
        b[half] = c[half] + (c[half] << 3);
        c[half] = ((c[half] << 24) | (c[half] >> 40)) + word;
        return word;
    }
};

// Two independent standard normal numbers per lane. The upper half of the word gives the radius, the lower the angle.
INLINE void normal_pair(UL word, F &z0, F &z1) {
    F high = convert<F>(convert<U>(word >> 32));
    F turns = convert<F>(bits<I>(convert<U>(word))) * 0x1p-32f;
    F radius = sqrt_(-2.0f * lanes::log_of_normal((high + 0.5f) * 0x1p-32f));
    F sine, cosine;
    sincos_turns(turns, sine, cosine);
    z0 = radius * cosine;
    z1 = radius * sine;
}

INLINE void normal_pair(UL word, D &z0, D &z1) {
    D uniform = (convert<D>(convert<U>(word >> 32)) + 0.5) * 0x1p-32;
    D turns = convert<D>(bits<I>(convert<U>(word))) * 0x1p-32;
    D radius = sqrt_(-2.0 * log_(uniform));
    D sine, cosine;
    sincos_turns(turns, sine, cosine);
    z0 = radius * cosine;
    z1 = radius * sine;
}

// Fills `out` with `count` normal numbers per lane. Takes ceil(count / 2) words; an odd last number is dropped.
template <class Value> INLINE void fill_normal(Sfc64 &generator, Value *out, int count) {
    Sfc64 state = generator;  // a copy that the compiler keeps in registers
    int i = 0;
    for (; i + 1 < count; i += 2) normal_pair(state.next(), out[i], out[i + 1]);
    if (i < count) {
        Value dropped;
        normal_pair(state.next(), out[i], dropped);
    }
    generator = state;
}
