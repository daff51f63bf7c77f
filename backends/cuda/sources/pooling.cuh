// Pooling over one to three dimensions (fewer come with sizes of 1).  A thread computes one element of the result; the
// channels and what lies before them are counted as `lead`.

#ifndef TT_POOLING_CUH
#define TT_POOLING_CUH

#include "common.cuh"

struct Windows {
    int64 lead, size[3], width[3], out[3], hop[3], pad[3], gap[3];

    __device__ int64 elements() const { return size[0] * size[1] * size[2]; }
    __device__ int64 places() const { return out[0] * out[1] * out[2]; }
};

#define EACH_OF(i, all)                                                                                              \
    for (int64 i = first_element(); i < (all); i += element_step())

TT_INLINE int64 larger(int64 a, int64 b) { return a > b ? a : b; }
TT_INLINE int64 smaller(int64 a, int64 b) { return a < b ? a : b; }
TT_INLINE int64 up(int64 a, int64 b) { return (a + b - 1) / b; }

// --- the largest element -----------------------------------------------------------------------------------------------

// The first element of the window that is no padding is the largest until a larger one comes; NaN is larger than all,
// and of several the last one counts, as PyTorch has it.
template <typename T>
__global__ void largest(const T* x, T* y, int64* places, Windows w) {
    EACH_OF(i, w.lead * w.places()) {
        const T* plane = x + i / w.places() * w.elements();
        const int64 place[3] = {i / (w.out[2] * w.out[1]) % w.out[0], i / w.out[2] % w.out[1], i % w.out[2]};
        int64 from[3], first[3];
        for (int d = 0; d < 3; d++) {
            from[d] = place[d] * w.hop[d] - w.pad[d];
            first[d] = from[d] < 0 ? up(-from[d], w.gap[d]) : 0;
        }
        int64 best = -1;
        T value = T();
        for (int64 t0 = first[0]; t0 < w.width[0] && from[0] + t0 * w.gap[0] < w.size[0]; t0++)
            for (int64 t1 = first[1]; t1 < w.width[1] && from[1] + t1 * w.gap[1] < w.size[1]; t1++)
                for (int64 t2 = first[2]; t2 < w.width[2] && from[2] + t2 * w.gap[2] < w.size[2]; t2++) {
                    int64 at = ((from[0] + t0 * w.gap[0]) * w.size[1] + from[1] + t1 * w.gap[1]) * w.size[2] +
                                   from[2] + t2 * w.gap[2];
                    T found = plane[at];
                    bool nan = convert<sum_t<T>>(found) != convert<sum_t<T>>(found);
                    if (best < 0 || convert<sum_t<T>>(found) > convert<sum_t<T>>(value) || nan) {
                        best = at;
                        value = found;
                    }
                }
        y[i] = value;
        places[i] = best;
    }
}

// Windows at other distances: those that together cover a dimension (samples is null), or irregular ones (Graham 2015), which a
// sample of each plane and dimension determines.  S is the type of samples, in which places are computed.
template <typename S>
TT_INLINE void window_of(const Windows& w, int d, int64 number, const S* sample, int64* from, int64* to) {
    if (!sample) {
        *from = number * w.size[d] / w.out[d];
        *to = up((number + 1) * w.size[d], w.out[d]);
        return;
    }
    using C = compute_t<S>;
    const int64 room = w.size[d] - w.width[d];
    *from = room;
    if (number + 1 < w.out[d]) {
        // Rounded to S after each step, as the composite computes.
        const S step = S(C(S(C(room))) / C(w.out[d] - 1));
        const S at = S(C(S(C(S(C(number))) + C(*sample))) * C(step));
        *from = smaller(larger(int64(C(at)) - int64(C(S(C(*sample) * C(step)))), 0), room);
    }
    *to = *from + w.width[d];
}

template <typename T>
__global__ void largest_at(const T* x, const T* samples, T* y, int64* places, Windows w, int64 dims) {
    EACH_OF(i, w.lead * w.places()) {
        const int64 lead = i / w.places();
        const T* plane = x + lead * w.elements();
        const int64 place[3] = {i / (w.out[2] * w.out[1]) % w.out[0], i / w.out[2] % w.out[1], i % w.out[2]};
        int64 from[3], to[3];
        for (int d = 0; d < 3; d++) {
            // Of two samples of a plane the first is the columns', of three the first is the depth's.
            const int64 which = dims == 2 ? 2 - d : d - (3 - dims);
            const bool drawn = samples && which >= 0 && which < dims;
            window_of(w, d, place[d], drawn ? samples + lead * dims + which : (const T*)nullptr, from + d, to + d);
        }
        int64 best = -1;
        T value = T();
        for (int64 a = from[0]; a < to[0]; a++)
            for (int64 b = from[1]; b < to[1]; b++)
                for (int64 c = from[2]; c < to[2]; c++) {
                    const int64 at = (a * w.size[1] + b) * w.size[2] + c;
                    const T found = plane[at];
                    if (best < 0 || compute_t<T>(found) > compute_t<T>(value) || compute_t<T>(found) != compute_t<T>(found)) {
                        best = at;
                        value = found;
                    }
                }
        y[i] = value;
        places[i] = best;
    }
}

// Adds values to zeros at places of their channel.  The order of equal places is not fixed; S is wide enough that
// half-precision values are rounded once.
template <typename T, typename S>
__global__ void placed_sums(const T* values, const int64* places, S* result, int64 each, int64 channel,
                            int64 all) {
    EACH_OF(i, all) {
        int64 at = places[i];
        if (at < 0 || at >= channel) continue;
        S* target = &result[i / each * channel + at];
        if constexpr (is_same<S, int64>::value)
            atomicAdd(reinterpret_cast<uint64*>(target), uint64(values[i]));
        else
            atomicAdd(target, convert<S>(values[i]));
    }
}

// --- the mean ----------------------------------------------------------------------------------------------------------

struct Window {
    int64 from[3], to[3], elements;
};

// The elements of a window, and by how many the sum is divided.
TT_INLINE Window window_of(const Windows& w, int64 a, int64 b, int64 c, bool with_padding,
                                            int64 divisor) {
    const int64 place[3] = {a, b, c};
    Window found;
    found.elements = 1;
    for (int d = 0; d < 3; d++) {
        int64 start = place[d] * w.hop[d] - w.pad[d], stop = smaller(start + w.width[d], w.size[d] + w.pad[d]);
        found.from[d] = larger(start, 0);
        found.to[d] = smaller(stop, w.size[d]);
        found.elements *= with_padding ? stop - start : found.to[d] - found.from[d];
    }
    if (divisor) found.elements = divisor;
    return found;
}

// The same for windows that together cover the input: of `out` windows over `size` elements, window p goes from
// floor(p * size / out) to ceil((p + 1) * size / out).
TT_INLINE Window covering(const Windows& w, int64 a, int64 b, int64 c) {
    const int64 place[3] = {a, b, c};
    Window found;
    found.elements = 1;
    for (int d = 0; d < 3; d++) {
        found.from[d] = place[d] * w.size[d] / w.out[d];
        found.to[d] = up((place[d] + 1) * w.size[d], w.out[d]);
        found.elements *= found.to[d] - found.from[d];
    }
    return found;
}

template <typename T, bool ADAPTIVE>
__global__ void mean(const T* x, T* y, bool with_padding, int64 divisor, Windows w) {
    using Sum = sum_t<T>;
    EACH_OF(i, w.lead * w.places()) {
        const T* plane = x + i / w.places() * w.elements();
        const int64 p = i / (w.out[2] * w.out[1]) % w.out[0], q = i / w.out[2] % w.out[1], r = i % w.out[2];
        const Window at = ADAPTIVE ? covering(w, p, q, r) : window_of(w, p, q, r, with_padding, divisor);
        Sum sum = Sum(0);
        for (int64 a = at.from[0]; a < at.to[0]; a++)
            for (int64 b = at.from[1]; b < at.to[1]; b++)
                for (int64 c = at.from[2]; c < at.to[2]; c++)
                    sum += convert<sum_t<T>>(plane[(a * w.size[1] + b) * w.size[2] + c]);
        y[i] = convert<T>(sum / Sum(at.elements));
    }
}

// The windows that have an element are consecutive along each dimension: it sums its share of each.
template <typename T, bool ADAPTIVE>
__global__ void mean_backward(const T* g, T* x, bool with_padding, int64 divisor, Windows w) {
    using Sum = sum_t<T>;
    EACH_OF(i, w.lead * w.elements()) {
        const int64 at[3] = {i / (w.size[2] * w.size[1]) % w.size[0], i / w.size[2] % w.size[1], i % w.size[2]};
        const T* plane = g + i / w.elements() * w.places();
        int64 from[3], to[3];
        for (int d = 0; d < 3; d++) {
            if (ADAPTIVE) {
                from[d] = at[d] * w.out[d] / w.size[d];
                to[d] = up((at[d] + 1) * w.out[d], w.size[d]);
            } else {
                int64 last = at[d] + w.pad[d], first = last - w.width[d] + 1;
                from[d] = first <= 0 ? 0 : up(first, w.hop[d]);
                to[d] = smaller(last / w.hop[d] + 1, w.out[d]);
            }
        }
        Sum sum = Sum(0);
        for (int64 a = from[0]; a < to[0]; a++)
            for (int64 b = from[1]; b < to[1]; b++)
                for (int64 c = from[2]; c < to[2]; c++) {
                    Window of = ADAPTIVE ? covering(w, a, b, c) : window_of(w, a, b, c, with_padding, divisor);
                    sum += convert<sum_t<T>>(plane[(a * w.out[1] + b) * w.out[2] + c]) / Sum(of.elements);
                }
        x[i] = convert<T>(sum);
    }
}

#endif  // TT_POOLING_CUH
