// A stage of a convolutional network: convolution with bias, rectifier, and means of squares of SIDE x SIDE pixels.
//
// The lanes hold the same pixel of W images of a minibatch, which share the weights. Each function computes a block of W
// images. The terms of a sum have one order, so an image's numbers do not depend on the other images.

#pragma once

#include "linalg.hpp"

namespace stages {

using linalg::ceil_div;
using linalg::divide;
using linalg::Panels;

// Images in memory, and the numbers from one image, channel, row or column to the next.
struct Images {
    float* data;
    int64_t image, channel, row, column;
    float* at(int64_t first, int c, int y, int x) const {
        return data + first * image + c * channel + y * row + x * column;
    }
};

INLINE F loaded(const float* from, int64_t step, int count) {
    F value{};
    if (step == 1 && count == W)
        memcpy(&value, from, sizeof(F));
    else
        for (int lane = 0; lane < count; lane++) value[lane] = from[lane * step];
    return value;
}

INLINE void stored(float* to, int64_t step, int count, F value) {
    if (step == 1 && count == W)
        memcpy(to, &value, sizeof(F));
    else
        for (int lane = 0; lane < count; lane++) to[lane * step] = value[lane];
}

typedef int8_t Signs __attribute__((vector_size(W)));  // -1 where the rectifier passes a number on

// C input channels of HEIGHT x WIDTH pixels, O output channels, filters of K x K pixels, padding of P pixels.
template <int C, int HEIGHT, int WIDTH, int O, int K, int P, int SIDE> struct Stage {
    static_assert(P < K, "the gradient would need a negative padding");
    static constexpr int TALL = HEIGHT + 2 * P, WIDE = WIDTH + 2 * P;  // padded inputs
    static constexpr int ROWS = TALL - K + 1, COLUMNS = WIDE - K + 1;  // outputs of the convolution
    static constexpr int Q = K - 1 - P;                                // padding of the outputs' gradient
    static constexpr int TALL_G = ROWS + 2 * Q, WIDE_G = COLUMNS + 2 * Q;
    static constexpr int POOLED_ROWS = ROWS / SIDE, POOLED_COLUMNS = COLUMNS / SIDE;
    static constexpr int N_WEIGHTS = O * C * K * K;

    // Numbers of the workspace, in values of W lanes.
    static constexpr int INPUTS = C * TALL * WIDE, OUTPUTS = O * ROWS * COLUMNS;
    static constexpr int GRADIENTS = O * TALL_G * WIDE_G, INPUT_GRADIENTS = C * HEIGHT * WIDTH;
    static constexpr int OTHERS = OUTPUTS > GRADIENTS + INPUT_GRADIENTS ? OUTPUTS : GRADIENTS + INPUT_GRADIENTS;
    static constexpr int WORKSPACE = INPUTS + OTHERS + ceil_div(N_WEIGHTS, W);

    // Copy W images, with zeros around them.
    static void pack(F* to, const Images& from, int64_t first, int count) {
        for (int i = 0; i < INPUTS; i++) to[i] = F{};
        for (int c = 0; c < C; c++)
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++)
                    to[(c * TALL + y + P) * WIDE + x + P] = loaded(from.at(first, c, y, x), from.image, count);
    }

    // Compute TO x ACROSS outputs of a correlation: neighbouring channels, and neighbouring columns of a row.
    template <int IN, int OUT, int TALL_IN, int WIDE_IN, int DOWN, int ACROSS>
    static __attribute__((noinline)) void tile(F* to, const F* from, const float* weight, const float* bias) {
        constexpr int SIZE = (TALL_IN - K + 1) * (WIDE_IN - K + 1);
        F sum[DOWN][ACROSS];
#pragma GCC unroll 32
        for (int o = 0; o < DOWN; o++)
#pragma GCC unroll 32
            for (int x = 0; x < ACROSS; x++) sum[o][x] = splat(bias ? bias[o] : 0.0f);
        for (int c = 0; c < IN; c++)
            for (int i = 0; i < K; i++)
#pragma GCC unroll 1
                for (int j = 0; j < K; j++) {
                    const F* pixels = from + (c * TALL_IN + i) * WIDE_IN + j;
                    const float* filter = weight + ((c * K + i) * K + j) * OUT;
#pragma GCC unroll 32
                    for (int o = 0; o < DOWN; o++)
#pragma GCC unroll 32
                        for (int x = 0; x < ACROSS; x++)
                            sum[o][x] = multiply_add(splat(filter[o]), pixels[x], sum[o][x]);
                }
#pragma GCC unroll 32
        for (int o = 0; o < DOWN; o++)
#pragma GCC unroll 32
            for (int x = 0; x < ACROSS; x++) to[o * SIZE + x] = sum[o][x];
    }

    // Correlate IN channels with OUT filters, whose weights are in the order channel, row, column, filter.
    template <int IN, int OUT, int TALL_IN, int WIDE_IN>
    static void correlate(F* to, const F* from, const float* weight, const float* bias) {
        constexpr int DOWN = TALL_IN - K + 1, ACROSS = WIDE_IN - K + 1;
        constexpr Panels panels = divide(OUT, ACROSS, false);
        constexpr int FEW = OUT / panels.rows, NARROW = ACROSS / panels.columns;
        constexpr int MORE = OUT % panels.rows, WIDER = ACROSS % panels.columns;  // panels with one more
        for (int p = 0, o = 0; p < panels.rows; o += FEW + (p < MORE), p++)
            for (int y = 0; y < DOWN; y++)
                for (int q = 0, x = 0; q < panels.columns; x += NARROW + (q < WIDER), q++) {
                    F* target = to + (o * DOWN + y) * ACROSS + x;
                    const F* pixels = from + y * WIDE_IN + x;
                    const float* filters = weight + o;
                    const float* biases = bias ? bias + o : nullptr;
                    const bool more = p < MORE, wider = q < WIDER;
                    constexpr int F1 = FEW + (MORE > 0), N1 = NARROW + (WIDER > 0);
                    if (more && wider)
                        tile<IN, OUT, TALL_IN, WIDE_IN, F1, N1>(target, pixels, filters, biases);
                    else if (more)
                        tile<IN, OUT, TALL_IN, WIDE_IN, F1, NARROW>(target, pixels, filters, biases);
                    else if (wider)
                        tile<IN, OUT, TALL_IN, WIDE_IN, FEW, N1>(target, pixels, filters, biases);
                    else
                        tile<IN, OUT, TALL_IN, WIDE_IN, FEW, NARROW>(target, pixels, filters, biases);
                }
    }

    // Compute outputs of W images, and the signs of the convolution's outputs.
    static void forward(const Images& to, Signs* signs, const Images& from, const float* weight, const float* bias,
                        int64_t first, int count, F* workspace) {
        F *inputs = workspace, *outputs = inputs + INPUTS;
        float* turned = (float*)(workspace + INPUTS + OTHERS);
        for (int o = 0; o < O; o++)
            for (int i = 0; i < C * K * K; i++) turned[i * O + o] = weight[o * C * K * K + i];
        pack(inputs, from, first, count);
        correlate<C, O, TALL, WIDE>(outputs, inputs, turned, bias);
        for (int i = 0; i < OUTPUTS; i++) {
            const I blocked = outputs[i] <= 0;  // false for NaN, which is passed on
            signs[i] = __builtin_convertvector(~blocked, Signs);
            outputs[i] = blocked ? F{} : outputs[i];
        }
        for (int o = 0; o < O; o++)
            for (int y = 0; y < POOLED_ROWS; y++)
                for (int x = 0; x < POOLED_COLUMNS; x++) {
                    F sum{};
                    for (int i = 0; i < SIDE; i++)
                        for (int j = 0; j < SIDE; j++)
                            sum += outputs[(o * ROWS + y * SIDE + i) * COLUMNS + x * SIDE + j];
                    stored(to.at(first, o, y, x), to.image, count, sum / float(SIDE * SIDE));
                }
    }

    // Add up, over all pixels, the products of MANY channels of the outputs' gradient with K neighbours of an input.
    template <int MANY>
    static __attribute__((noinline)) void weight_tile(float* to, const F* pixels, const F* gradient) {
        F sum[MANY][K];
#pragma GCC unroll 32
        for (int o = 0; o < MANY; o++)
#pragma GCC unroll 32
            for (int j = 0; j < K; j++) sum[o][j] = F{};
        for (int y = 0; y < ROWS; y++)
#pragma GCC unroll 1
            for (int x = 0; x < COLUMNS; x++)
#pragma GCC unroll 32
                for (int o = 0; o < MANY; o++)
#pragma GCC unroll 32
                    for (int j = 0; j < K; j++)
                        sum[o][j] = multiply_add(gradient[o * TALL_G * WIDE_G + y * WIDE_G + x],
                                                 pixels[y * WIDE + x + j], sum[o][j]);
        for (int o = 0; o < MANY; o++)
            for (int j = 0; j < K; j++) to[o * C * K * K + j] = total(sum[o][j]);
    }

    static float total(F lanes) {
        float sum = 0;
        for (int lane = 0; lane < W; lane++) sum += lanes[lane];
        return sum;
    }

    static void weight_gradient(float* to, const F* inputs, const F* gradient) {
        constexpr int REGISTERS_LEFT = linalg::REGISTERS * 3 / 4, MOST = REGISTERS_LEFT < K ? 1 : REGISTERS_LEFT / K;
        constexpr int PARTS = ceil_div(O, MOST), FEW = O / PARTS, MORE = O % PARTS;
        for (int c = 0; c < C; c++)
            for (int i = 0; i < K; i++)
                for (int p = 0, o = 0; p < PARTS; o += FEW + (p < MORE), p++) {
                    float* target = to + ((o * C + c) * K + i) * K;
                    const F* pixels = inputs + (c * TALL + i) * WIDE;
                    const F* own = gradient + (o * TALL_G + Q) * WIDE_G + Q;
                    if (p < MORE)
                        weight_tile<FEW + (MORE > 0)>(target, pixels, own);
                    else
                        weight_tile<FEW>(target, pixels, own);
                }
    }

    // Compute the gradients of W images' loss: those of weights and biases, and those of the inputs if `to` has memory.
    static void backward(const Images& to, float* to_weight, float* to_bias, const Images& of_outputs,
                         const Signs* signs, const Images& from, const float* weight, int64_t first, int count,
                         F* workspace) {
        F *inputs = workspace, *gradient = inputs + INPUTS, *of_inputs = gradient + GRADIENTS;
        float* turned = (float*)(workspace + INPUTS + OTHERS);
        for (int i = 0; i < GRADIENTS; i++) gradient[i] = F{};
        for (int o = 0; o < O; o++) {
            F sum{};
            for (int y = 0; y < POOLED_ROWS * SIDE; y++)
                for (int x = 0; x < POOLED_COLUMNS * SIDE; x++) {
                    const float* pooled = of_outputs.at(first, o, y / SIDE, x / SIDE);
                    const F share = loaded(pooled, of_outputs.image, count) / float(SIDE * SIDE);
                    const I passes = __builtin_convertvector(signs[(o * ROWS + y) * COLUMNS + x], I);
                    const F own = passes ? share : F{};
                    gradient[(o * TALL_G + y + Q) * WIDE_G + x + Q] = own;
                    sum += own;
                }
            to_bias[o] = total(sum);
        }
        pack(inputs, from, first, count);
        weight_gradient(to_weight, inputs, gradient);
        if (!to.data) return;
        for (int o = 0; o < O; o++)
            for (int c = 0; c < C; c++)
                for (int i = 0; i < K * K; i++)
                    turned[(o * K * K + K * K - 1 - i) * C + c] = weight[(o * C + c) * K * K + i];
        correlate<O, C, TALL_G, WIDE_G>(of_inputs, gradient, turned, nullptr);
        for (int c = 0; c < C; c++)
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++)
                    stored(to.at(first, c, y, x), to.image, count, of_inputs[(c * HEIGHT + y) * WIDTH + x]);
    }
};

}  // namespace stages
