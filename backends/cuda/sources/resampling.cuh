// Sums of weighted elements along a dimension, as resampling needs them, and their gradients.  A thread computes one result.
// Arrays are seen as (outer, elements of the dimension, inner); `places` and `weights` as (taps, new elements).

#ifndef TT_RESAMPLING_CUH
#define TT_RESAMPLING_CUH

#include "failures.cuh"

struct Resampled {
    int64 outer, old, fresh, inner, taps;
};

template <typename T>
__global__ void weighted_taps(const T* x, const int64* places, const double* weights, T* out, Resampled r, uint64 failure, int64 what) {
    using C = compute_t<T>;
    for (int64 i = first_element(); i < r.outer * r.fresh * r.inner; i += element_step()) {
        const int64 inner = i % r.inner, at = i / r.inner % r.fresh, outer = i / r.inner / r.fresh;
        C total = C(0);
        for (int64 k = 0; k < r.taps; k++) {
            const int64 place = places[k * r.fresh + at];
            if (place < 0 || place >= r.old) {
                if (inner == 0 && outer == 0) note_failure(failure, what, place, 0, r.old);
                continue;
            }
            total += C(x[(outer * r.old + place) * r.inner + inner]) * C(weights[k * r.fresh + at]);
        }
        out[i] = T(total);
    }
}

// The gradients: `sorted` has all places in ascending order, and `order` which tap and new element each was.  An element of the
// result adds its own in this order, so the sums are the same in every run.
template <typename T>
__global__ void spread_taps(const T* x, const int64* sorted, const int64* order, const double* weights, T* out, Resampled r, uint64 failure, int64 what) {
    using C = compute_t<T>;
    const int64 all = r.taps * r.fresh;
    for (int64 i = first_element(); i < all; i += element_step())
        if (sorted[i] < 0 || sorted[i] >= r.old) note_failure(failure, what, sorted[i], 0, r.old);
    for (int64 i = first_element(); i < r.outer * r.old * r.inner; i += element_step()) {
        const int64 inner = i % r.inner, at = i / r.inner % r.old, outer = i / r.inner / r.old;
        int64 low = 0, high = all;
        while (low < high) {
            const int64 middle = (low + high) / 2;
            if (sorted[middle] < at) low = middle + 1;
            else high = middle;
        }
        C total = C(0);
        for (; low < all && sorted[low] == at; low++) {
            const int64 which = order[low], from = which % r.fresh;
            total += C(x[(outer * r.fresh + from) * r.inner + inner]) * C(weights[which]);
        }
        out[i] = T(total);
    }
}

#endif  // TT_RESAMPLING_CUH
