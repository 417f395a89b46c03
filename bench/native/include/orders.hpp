// Random orders of rows, the same as `numpy.random.Generator(PCG64(...)).permuted` makes.

#pragma once

#include <algorithm>
#include <cstdint>

// NumPy's PCG64 (O'Neill 2014: XSL-RR with 128 bits of state). One word gives two 32-bit numbers, the lower half first.
struct Pcg64 {
    unsigned __int128 state, increment;
    uint32_t kept;
    bool has_kept;

    // The generator whose state is six numbers, and back.
    static inline Pcg64 of(const uint64_t *numbers) {
        return {(unsigned __int128)numbers[0] << 64 | numbers[1], (unsigned __int128)numbers[2] << 64 | numbers[3],
                uint32_t(numbers[5]), numbers[4] != 0};
    }
    inline void store(uint64_t *numbers) const {
        numbers[0] = uint64_t(state >> 64);
        numbers[1] = uint64_t(state);
        numbers[4] = has_kept;
        numbers[5] = kept;
    }

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

// Takes the next rows of a sequence of random orders: what is left of the present order, of which some rows are used,
// and then as many new orders as are needed.
inline void take(Pcg64 &generator, const int64_t *rows, int64_t n_rows, int64_t *order, int64_t &used, int64_t *taken,
                 int64_t count) {
    while (count > 0) {
        if (used == n_rows) {
            std::copy(rows, rows + n_rows, order);
            shuffle(generator, order, n_rows);
            used = 0;
        }
        const int64_t part = std::min(count, n_rows - used);
        taken = std::copy(order + used, order + used + part, taken);
        used += part;
        count -= part;
    }
}
