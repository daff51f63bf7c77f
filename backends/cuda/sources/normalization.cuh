// Layer, group, RMS and batch normalisation with their gradients.
#ifndef TT_NORMALIZATION_CUH
#define TT_NORMALIZATION_CUH
#include "walks.cuh"

// --- lines -------------------------------------------------------------------------------------------------------------
// A line is what is normalised together.  `channels` of a line have a weight each, for `inner` neighbours; the lines of one
// sample follow each other in `groups`.  Where every element of a line has its own weight, channels is 0.

namespace normalization {

// Where the weights of a line begin.
TT_INLINE int64 first_weight(int64 line, int64 groups, int64 channels) { return channels ? line % groups * channels : 0; }

// Which of the weights of a line an element has; 32 bits divide several times faster.
template <bool CHANNELS>
TT_INLINE int64 weight_at(int64 i, int64 inner) {
    if (!CHANNELS) return i;
    return i < 4294967296ll ? int64(uint32(i) / uint32(inner)) : i / inner;
}

// Mean (0 unless CENTRED), what its rounding left out, and one over the deviation.
template <typename C>
struct Statistics {
    C mean, rest, scale;
    TT_INLINE C of(C x) const { return ((x - mean) - rest) * scale; }
};

// Two passes.  The sum of deviations, which the second finds, is what the rounding of the mean left out: far from 0 a mean
// in one number would cost the result the digits that the elements still have.
template <bool CENTRED, int WIDTH, typename L>
TT_INLINE auto statistics_of(const L& line, double eps) {
    using C = typename L::C;
    using Sums = Pair<C>;
    C mean = C(0);
    if constexpr (CENTRED) {
        typename Sums::Acc sum = Sums::start();
        line.each([&](int64, C x, C) { sum.one += x; });
        merge_threads<Sums, WIDTH>(sum);
        mean = sum.one / C(line.count);
    }
    typename Sums::Acc off = Sums::start();
    line.each([&](int64, C x, C) {
        const C d = x - mean;
        off.one += d;
        off.two += d * d;
    });
    merge_threads<Sums, WIDTH>(off);
    C squares = off.two, rest = C(0);
    if constexpr (CENTRED) {
        rest = off.one / C(line.count);
        squares = math::maximum(squares - rest * off.one, C(0));
    }
    return Statistics<C>{mean, rest, C(1) / math::sqrt(squares / C(line.count) + C(eps))};
}

}  // namespace normalization

template <typename T, typename W, bool CENTRED, bool CHANNELS, int VEC, int PACKS, int WIDTH, int THREADS>
__global__ void norm_forward(const T* input, const W* weight, const W* bias, T* out, int64 lines, int64 count, int64 groups,
                             int64 channels, int64 inner, double eps) {
    using namespace normalization;
    using C = compute_t<T>;
    constexpr int64 TOGETHER = THREADS / WIDTH;
    for (int64 k = blockIdx.x * TOGETHER + threadIdx.x / WIDTH; k < lines; k += gridDim.x * TOGETHER) {
        Line<T, 1, VEC, PACKS, WIDTH> line;
        line.from[0] = input + k * count;
        line.stride[0] = 1;
        line.count = count;
        line.open();
        const Statistics<C> found = statistics_of<CENTRED, WIDTH>(line, eps);
        const int64 first = first_weight(k, groups, channels);
        line.map(out + k * count, 1, [&](int64 i, C x, C) {
            const int64 at = first + weight_at<CHANNELS>(i, inner);
            C y = found.of(x);
            if (weight) y *= C(weight[at]);
            if (bias) y += C(bias[at]);
            return y;
        });
    }
}

// The gradient of the input; the statistics of each line are left for the gradients of weights.
template <typename T, typename W, bool CENTRED, bool CHANNELS, int VEC, int PACKS, int WIDTH, int THREADS>
__global__ void norm_backward(const T* grad, const T* input, const W* weight, T* out,
                              normalization::Statistics<compute_t<T>>* statistics, int64 lines, int64 count, int64 groups, int64 channels, int64 inner, double eps) {
    using namespace normalization;
    using C = compute_t<T>;
    using Sums = Pair<C>;
    constexpr int64 TOGETHER = THREADS / WIDTH;
    for (int64 k = blockIdx.x * TOGETHER + threadIdx.x / WIDTH; k < lines; k += gridDim.x * TOGETHER) {
        Line<T, 2, VEC, PACKS, WIDTH> line;
        line.from[0] = input + k * count;
        line.from[1] = grad + k * count;
        line.stride[0] = line.stride[1] = 1;
        line.count = count;
        line.open();
        const Statistics<C> found = statistics_of<CENTRED, WIDTH>(line, eps);
        const int64 first = first_weight(k, groups, channels);
        typename Sums::Acc along = Sums::start();
        line.each([&](int64 i, C x, C g) {
            const C slope = weight ? g * C(weight[first + weight_at<CHANNELS>(i, inner)]) : g;
            along.one += slope;
            along.two += slope * found.of(x);
        });
        merge_threads<Sums, WIDTH>(along);
        const C shift = CENTRED ? along.one / C(count) : C(0), tilt = along.two / C(count);
        line.map(out + k * count, 1, [&](int64 i, C x, C g) {
            const C slope = weight ? g * C(weight[first + weight_at<CHANNELS>(i, inner)]) : g;
            return found.scale * (slope - shift - found.of(x) * tilt);
        });
        if (threadIdx.x % WIDTH == 0) statistics[k] = found;
    }
}

// --- gradients of weights: sums over lines in two stages ---------------------------------------------------------------
// Sums of grad times what the input was scaled to, and of grad.  The first stage leaves sums of parts, [part][weight][2].

// Lines that share all weights: 32 neighbouring weights for a block, whose warps share the lines of a part.
template <typename T, int THREADS>
__global__ void norm_weight_columns(const T* grad, const T* input, const normalization::Statistics<compute_t<T>>* statistics,
                                    compute_t<T>* sums,
                                    int64 lines, int64 count, int64 parts) {
    using C = compute_t<T>;
    constexpr int ROWS = THREADS / 32;
    __shared__ typename Pair<C>::Acc slots[THREADS];
    const int column = threadIdx.x % 32, row = threadIdx.x / 32;
    const int64 wide = (count + 31) / 32;
    for (int64 task = blockIdx.x; task < wide * parts; task += gridDim.x) {
        const int64 part = task / wide, i = (task - part * wide) * 32 + column;
        const int64 first = lines * part / parts, last = lines * (part + 1) / parts;
        typename Pair<C>::Acc acc = Pair<C>::start();
        if (i < count)
            for (int64 k = first + row; k < last; k += ROWS) {
                const C g = C(grad[k * count + i]), x = C(input[k * count + i]);
                acc.one += g * statistics[k].of(x);
                acc.two += g;
            }
        __syncthreads();
        slots[threadIdx.x] = acc;
        __syncthreads();
        if (row == 0 && i < count) {
            for (int r = 1; r < ROWS; r++) Pair<C>::merge(acc, slots[r * 32 + column]);
            sums[2 * (part * count + i)] = acc.one;
            sums[2 * (part * count + i) + 1] = acc.two;
        }
    }
}

// Channels: a block for a part of the samples of a channel.
template <typename T, typename Index, int THREADS>
__global__ void norm_weight_channels(const T* grad, const T* input, const normalization::Statistics<compute_t<T>>* statistics,
                                    compute_t<T>* sums,
                                     int64 samples, int64 all_channels, int64 channels, int64 inner, int64 parts) {
    using C = compute_t<T>;
    const int64 groups = all_channels / channels;
    for (int64 task = blockIdx.x; task < all_channels * parts; task += gridDim.x) {
        const int64 part = task / all_channels, c = task - part * all_channels;
        const int64 first_group = c / channels, size = samples * inner, first = size * part / parts, last = size * (part + 1) / parts;
        typename Pair<C>::Acc acc = Pair<C>::start();
        for (int64 e = first + threadIdx.x; e < last; e += THREADS) {
            const int64 sample = Index(e) / Index(inner), k = sample * groups + first_group;
            const int64 place = (sample * all_channels + c) * inner + (e - sample * inner);
            const C g = C(grad[place]), x = C(input[place]);
            acc.one += g * statistics[k].of(x);
            acc.two += g;
        }
        merge_block<Pair<C>, THREADS>(acc);
        if (threadIdx.x == 0) {
            sums[2 * (part * all_channels + c)] = acc.one;
            sums[2 * (part * all_channels + c) + 1] = acc.two;
        }
    }
}

// The second stage: a warp for a weight adds up the parts.
template <typename T, int THREADS>
__global__ void norm_weight_parts(const compute_t<T>* sums, T* weights, T* biases, int64 count, int64 parts) {
    using C = compute_t<T>;
    const int64 step = int64(gridDim.x) * (THREADS / 32);
    for (int64 i = int64(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32; i < count; i += step) {
        typename Pair<C>::Acc acc = Pair<C>::start();
        for (int64 part = threadIdx.x % 32; part < parts; part += 32) {
            acc.one += sums[2 * (part * count + i)];
            acc.two += sums[2 * (part * count + i) + 1];
        }
        merge_lanes<Pair<C>, 32>(acc);
        if (threadIdx.x % 32 == 0) {
            weights[i] = T(acc.one);
            if (biases) biases[i] = T(acc.two);
        }
    }
}

// --- by channel, over the whole batch ----------------------------------------------------------------------------------
// Elements in the order of memory: `inner` neighbours have one channel.

// The channels of neighbours, one after the other: divisions are for the first of them alone.
template <typename Index>
struct Channel {
    Index at, place, inner, channels;
    TT_INLINE Channel(int64 element, int64 inner_, int64 channels_) : inner(Index(inner_)), channels(Index(channels_)) {
        const Index row = Index(element) / inner;
        place = Index(element) - row * inner;
        at = row % channels;
    }
    TT_INLINE void next() {
        if (++place < inner) return;
        place = 0;
        if (++at == channels) at = 0;
    }
};

// What channels are scaled by, weight / deviation: a root for each channel instead of for each element.
template <typename T>
__global__ void batch_norm_factors(const T* weight, const T* variance, compute_t<T>* factors, int64 channels, double eps) {
    using C = compute_t<T>;
    for (int64 c = first_element(); c < channels; c += element_step())
        factors[c] = (weight ? C(weight[c]) : C(1)) / math::sqrt(C(variance[c]) + C(eps));
}

// The mean and the variance of a channel are reductions (reduction.cuh); this scales by them.
template <typename T, int VEC, typename Index>
__global__ void batch_norm_apply(const T* input, const compute_t<T>* factors, const T* bias, const T* mean, T* out,
                                 int64 count, int64 channels, int64 inner) {
    using C = compute_t<T>;
    for (int64 unit = first_element(); unit < count / VEC; unit += element_step()) {
        const vector<T, VEC> x = load_vector<VEC>(input + unit * VEC);
        Channel<Index> channel(unit * VEC, inner, channels);
        vector<T, VEC> y;
#pragma unroll
        for (int v = 0; v < VEC; v++, channel.next()) {
            const Index c = channel.at;
            C found = (C(x.at[v]) - C(mean[c])) * factors[c];
            if (bias) found += C(bias[c]);
            y.at[v] = T(found);
        }
        store_vector<VEC>(out + unit * VEC, y);
    }
}

namespace normalization {

// The sums of grad and of grad times what the input is above the mean of its channel.
template <typename T>
struct ChannelSums : Operation<T, compute_t<T>> {
    using C = compute_t<T>;
    using Second = C;
    using Acc = typename Pair<C>::Acc;
    static constexpr int INPUTS = 2;
    TT_INLINE static Acc start() { return Pair<C>::start(); }
    TT_INLINE static void take(Acc& a, C g, C x, int64, C mean, double) {
        a.one += g;
        a.two += g * (x - mean);
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) { Pair<C>::merge(a, b); }
    TT_INLINE static void finish(const Acc& a, C, double, int64, C* one, C* two) {
        *one = a.one;
        *two = a.two;
    }
};

}  // namespace normalization

// The gradients of weights and biases from the sums of their channels, and what the gradient of the input is made of:
// it is grad factor + (input - mean) slope + shift.  `size` elements have a channel.
template <typename T>
__global__ void batch_norm_weights(const compute_t<T>* sum_g, const compute_t<T>* sum_gx, const T* weight, const T* variance,
                                   T* weights, T* biases, compute_t<T>* factors, int64 channels, int64 size, bool training,
                                   double eps) {
    using C = compute_t<T>;
    for (int64 c = first_element(); c < channels; c += element_step()) {
        const C scale = C(1) / math::sqrt(C(variance[c]) + C(eps)), factor = (weight ? C(weight[c]) : C(1)) * scale;
        weights[c] = T(sum_gx[c] * scale);
        biases[c] = T(sum_g[c]);
        factors[3 * c] = factor;
        // In training the statistics depend on the input.
        factors[3 * c + 1] = training ? -factor * scale * scale * (sum_gx[c] / C(size)) : C(0);
        factors[3 * c + 2] = training ? -factor * (sum_g[c] / C(size)) : C(0);
    }
}

template <typename T, int VEC, typename Index>
__global__ void batch_norm_slope(const T* grad, const T* input, const T* mean, const compute_t<T>* factors, T* out, int64 count,
                                 int64 channels, int64 inner) {
    using C = compute_t<T>;
    for (int64 unit = first_element(); unit < count / VEC; unit += element_step()) {
        const vector<T, VEC> g = load_vector<VEC>(grad + unit * VEC), x = load_vector<VEC>(input + unit * VEC);
        Channel<Index> channel(unit * VEC, inner, channels);
        vector<T, VEC> y;
#pragma unroll
        for (int v = 0; v < VEC; v++, channel.next()) {
            const C* own = factors + 3 * int64(channel.at);
            y.at[v] = T(C(g.at[v]) * own[0] + (C(x.at[v]) - C(mean[channel.at])) * own[1] + own[2]);
        }
        store_vector<VEC>(out + unit * VEC, y);
    }
}

#endif  // TT_NORMALIZATION_CUH
