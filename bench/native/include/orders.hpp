// Random orders of rows, the same as `numpy.random.Generator(PCG64(...)).permuted` makes.

#pragma once

#include <cstdint>

// NumPy's PCG64 (O'Neill 2014: XSL-RR with 128 bits of state). One word gives two 32-bit numbers, the lower half first.
struct Pcg64 {
    unsigned __int128 state, increment;
    uint32_t kept;
    bool has_kept;

    inline uint32_t next() {
        if (has_kept) {
            has_kept = false;
            return kept;
        }
        state = state * ((unsigned __int128)(2549297995355413924ULL) << 64 | 4865540595714422341ULL) + increment;
        const uint64_t folded = uint64_t(state >> 64) ^ uint64_t(state);
        const unsigned turn = unsigned(state >> 122);
        const uint64_t word = folded >> turn | folded << (-turn & 63);
        kept = uint32_t(word >> 32);
        has_kept = true;
        return uint32_t(word);
    }
};

// Puts `length` rows into a random order: Fisher and Yates's exchange from the last to the first. A number is drawn below
// the next power of two, and again if it is too large; whether it is takes no branch, which would be mispredicted.
inline void shuffle(Pcg64 &generator, int64_t *rows, int64_t length) {
    for (int64_t last = length - 1; last > 0;) {
        const uint32_t mask = 0xffffffffu >> __builtin_clz(uint32_t(last));
        const int64_t lowest = (mask >> 1) + 1;  // for which the mask is the same
        while (last >= lowest) {
            const int64_t drawn = generator.next() & mask;
            const int64_t fits = drawn <= last, other = fits ? drawn : last;
            const int64_t row = rows[last];
            rows[last] = rows[other];
            rows[other] = row;
            last -= fits;
        }
    }
}
