// Pooling by powers, and normalization by the squares of neighbouring channels: a thread for each element.
#ifndef TT_UNPOOLING_CUH
#define TT_UNPOOLING_CUH

#include "pooling.cuh"

// --- the mean of powers ------------------------------------------------------------------------------------------------

template <typename C>
TT_INLINE C power_of(C x, double power) {
    return power == 2.0 ? x * x : power == 1.0 ? x : math::pow(x, C(power));
}

// Window number i: its place among all results, and the mean of its powers.
template <typename T>
TT_INLINE compute_t<T> mean_of_powers(const T* x, int64 i, double power, const Windows& w, Window* at) {
    using C = compute_t<T>;
    const T* plane = x + i / w.places() * w.elements();
    *at = window_of(w, i / (w.out[2] * w.out[1]) % w.out[0], i / w.out[2] % w.out[1], i % w.out[2], true, 0);
    C sum = C(0);
    for (int64 a = at->from[0]; a < at->to[0]; a++)
        for (int64 b = at->from[1]; b < at->to[1]; b++)
            for (int64 c = at->from[2]; c < at->to[2]; c++)
                sum += power_of(C(plane[(a * w.size[1] + b) * w.size[2] + c]), power);
    return sum / C(at->elements);
}

template <typename T>
__global__ void power_means(const T* x, T* y, double power, Windows w) {
    using C = compute_t<T>;
    EACH_OF(i, w.lead * w.places()) {
        Window at;
        const C whole = mean_of_powers(x, i, power, w, &at) * C(w.width[0] * w.width[1] * w.width[2]);
        y[i] = T(power == 2.0 ? math::sqrt(whole) : math::pow(whole, C(1.0 / power)));
    }
}

// For each window what its gradient gives to the power of each of its elements.  Where the mean is 0 the root has no finite slope
// (NaN), unless it is the number itself.
template <typename T>
__global__ void power_shares(const T* g, const T* x, compute_t<T>* shares, double power, Windows w) {
    using C = compute_t<T>;
    EACH_OF(i, w.lead * w.places()) {
        Window at;
        const C mean = mean_of_powers(x, i, power, w, &at), width = C(w.width[0] * w.width[1] * w.width[2]);
        const C root = C(1.0 / power) * math::pow(mean * width, C(1.0 / power - 1.0)) * width;
        shares[i] = C(g[i]) * (mean > C(0) || mean < C(0) ? root : root * C(0)) / C(at.elements);
    }
}

template <typename T>
__global__ void power_slopes(const compute_t<T>* shares, const T* x, T* out, double power, Windows w) {
    using C = compute_t<T>;
    EACH_OF(i, w.lead * w.elements()) {
        const int64 at[3] = {i / (w.size[2] * w.size[1]) % w.size[0], i / w.size[2] % w.size[1], i % w.size[2]};
        const C* plane = shares + i / w.elements() * w.places();
        int64 from[3], to[3];
        for (int d = 0; d < 3; d++) {
            const int64 first = at[d] - w.width[d] + 1;
            from[d] = first <= 0 ? 0 : up(first, w.hop[d]);
            to[d] = smaller(at[d] / w.hop[d] + 1, w.out[d]);
        }
        C sum = C(0);
        for (int64 a = from[0]; a < to[0]; a++)
            for (int64 b = from[1]; b < to[1]; b++)
                for (int64 c = from[2]; c < to[2]; c++) sum += plane[(a * w.out[1] + b) * w.out[2] + c];
        out[i] = T(sum * C(power) * (power == 1.0 ? C(1) : power_of(C(x[i]), power - 1.0)));
    }
}

// --- neighbouring channels ---------------------------------------------------------------------------------------------

struct Neighbours {
    int64 count, channels, inner, size;
};

// By what an element is divided, before the power: k + alpha times the mean of the squares of `size` channels around it.
template <typename T>
TT_INLINE compute_t<T> neighbours_of(const T* x, int64 i, const Neighbours& n, double alpha, double k) {
    using C = compute_t<T>;
    const int64 channel = i / n.inner % n.channels;
    const int64 from = larger(channel - n.size / 2, 0), to = smaller(channel + (n.size - 1) / 2 + 1, n.channels);
    C sum = C(0);
    for (int64 c = from; c < to; c++) {
        const C value = C(x[i + (c - channel) * n.inner]);
        sum += value * value;
    }
    return sum / C(n.size) * C(alpha) + C(k);
}

template <typename T>
__global__ void neighbours_divide(const T* x, T* y, double alpha, double beta, double k, Neighbours n) {
    using C = compute_t<T>;
    EACH_OF(i, n.count) y[i] = T(C(x[i]) / math::pow(neighbours_of(x, i, n, alpha, k), C(beta)));
}

// For each element, its share in the gradients of those that it divides.
template <typename T>
__global__ void neighbours_shares(const T* g, const T* x, compute_t<T>* shares, double alpha, double beta, double k,
                                  Neighbours n) {
    using C = compute_t<T>;
    EACH_OF(i, n.count) shares[i] = C(g[i]) * C(x[i]) / math::pow(neighbours_of(x, i, n, alpha, k), C(beta + 1.0));
}

template <typename T>
__global__ void neighbours_slopes(const T* g, const T* x, const compute_t<T>* shares, T* out, double alpha, double beta,
                                  double k, Neighbours n) {
    using C = compute_t<T>;
    EACH_OF(i, n.count) {
        const int64 channel = i / n.inner % n.channels;
        const int64 from = larger(channel - (n.size - 1) / 2, 0), to = smaller(channel + n.size / 2 + 1, n.channels);
        C sum = C(0);
        for (int64 c = from; c < to; c++) sum += shares[i + (c - channel) * n.inner];
        const C own = C(g[i]) / math::pow(neighbours_of(x, i, n, alpha, k), C(beta));
        out[i] = T(own - C(2.0 * alpha * beta) / C(n.size) * C(x[i]) * sum);
    }
}

#endif  // TT_UNPOOLING_CUH
