// Losses that compare the scores of classes with those of others, a warp for each row of scores.
#ifndef TT_MARGINS_CUH
#define TT_MARGINS_CUH

#include "failures.cuh"

// The rows of a warp, one after the other; all 32 lanes stay together, so they can exchange values.
#define EACH_ROW(row, rows)                                                                                          \
    for (int64 row = first_element() / 32; row < (rows); row += element_step() / 32)
#define EACH_CLASS(c, classes) for (int64 c = threadIdx.x % 32; c < (classes); c += 32)

// --- one class -----------------------------------------------------------------------------------------------------

// The mean, over the other classes, of what the score of the target lacks to exceed theirs by the margin.
template <typename T>
__global__ void multi_margin(const T* input, const int64* target, T* out, int64 rows, int64 classes, int64 power,
                             double margin, uint64 failure, int64 what) {
    using C = compute_t<T>;
    EACH_ROW(row, rows) {
        const int64 own = target[row];
        const bool is_class = own >= 0 && own < classes;
        const T* x = input + row * classes;
        C sum = C(0);
        if (is_class) {
            EACH_CLASS(c, classes) {
                const C lacking = C(x[c]) - C(x[own]) + C(margin);
                if (c != own && lacking > C(0)) sum += power == 2 ? lacking * lacking : lacking;
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 != 0) continue;
        if (!is_class) note_failure(failure, what, own, 1, classes);
        out[row] = T(is_class ? sum / C(classes) : math::nan<C>());
    }
}

template <typename T>
__global__ void multi_margin_slopes(const T* grad, const T* input, const int64* target, T* out, int64 rows,
                                    int64 classes, int64 power, double margin, uint64 failure, int64 what) {
    using C = compute_t<T>;
    EACH_ROW(row, rows) {
        const int64 own = target[row];
        const bool is_class = own >= 0 && own < classes;
        const T* x = input + row * classes;
        const C share = is_class ? C(grad[row]) / C(classes) : math::nan<C>();
        C sum = C(0);
        EACH_CLASS(c, classes) {
            const C lacking = is_class ? C(x[c]) - C(x[own]) + C(margin) : C(1);
            const C slope = !(lacking > C(0)) ? C(0) : power == 2 ? C(2) * lacking * share : share;
            if (c == own) continue;
            out[row * classes + c] = T(slope);
            sum += slope;
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 != 0) continue;
        if (is_class) out[row * classes + own] = T(-sum);
        else note_failure(failure, what, own, 1, classes);
    }
}

// --- several classes -----------------------------------------------------------------------------------------------

// How many classes a row names: those before its first negative number.  -1 if one of its numbers is neither a class nor
// -1; the first such number is noted.  `named` gets whether the row names a class.
TT_INLINE int64 named_classes(const int64* target, bool* named, int64 classes, uint64 failure, int64 what) {
    int64 count = classes, wrong = classes;
    EACH_CLASS(c, classes) {
        if (target[c] < 0) count = c < count ? c : count;
        if (target[c] < -1 || target[c] >= classes) wrong = c < wrong ? c : wrong;
        named[c] = false;
    }
    count = warp_reduce(count, Minimum());
    wrong = warp_reduce(wrong, Minimum());
    if (wrong < classes) {
        if (threadIdx.x % 32 == 0) note_failure(failure, what, target[wrong], 1, classes);
        return -1;
    }
    __syncwarp();
    EACH_CLASS(j, count) named[target[j]] = true;
    __syncwarp();
    return count;
}

// The mean of what the scores of the named classes lack to exceed those of all others by 1.
template <typename T>
__global__ void multilabel_margin(const T* input, const int64* target, bool* named, T* out, int64 rows, int64 classes,
                                  uint64 failure, int64 what) {
    using C = compute_t<T>;
    EACH_ROW(row, rows) {
        const T* x = input + row * classes;
        const int64* places = target + row * classes;
        bool* own = named + row * classes;
        const int64 count = named_classes(places, own, classes, failure, what);
        C sum = C(0);
        EACH_CLASS(c, classes) {
            if (own[c]) continue;
            for (int64 j = 0; j < count; j++) {
                const C lacking = C(1) + C(x[c]) - C(x[places[j]]);
                if (lacking > C(0)) sum += lacking;
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) out[row] = T(count < 0 ? math::nan<C>() : sum / C(classes));
    }
}

// A class that is not named gets a share for each named one that lacks something, and these lose it.
template <typename T>
__global__ void multilabel_margin_slopes(const T* grad, const T* input, const int64* target, bool* named, T* out,
                                         int64 rows, int64 classes, uint64 failure, int64 what) {
    using C = compute_t<T>;
    EACH_ROW(row, rows) {
        const T* x = input + row * classes;
        const int64* places = target + row * classes;
        bool* own = named + row * classes;
        const int64 count = named_classes(places, own, classes, failure, what);
        const C share = count < 0 ? math::nan<C>() : C(grad[row]) / C(classes);
        EACH_CLASS(c, classes) {
            int64 lacking = count < 0 ? 1 : 0;
            if (!own[c]) {
                for (int64 j = 0; j < count; j++) lacking += C(1) + C(x[c]) - C(x[places[j]]) > C(0);
            }
            out[row * classes + c] = T(share * C(lacking));
        }
        __syncwarp();
        for (int64 j = 0; j < count; j++) {
            int64 lacking = 0, times = 0;
            EACH_CLASS(c, classes) {
                if (!own[c]) lacking += C(1) + C(x[c]) - C(x[places[j]]) > C(0);
                if (c < count && places[c] == places[j]) times++;
            }
            lacking = warp_sum(lacking);
            times = warp_sum(times);  // a class that is named twice loses twice as much
            if (threadIdx.x % 32 == 0) out[row * classes + places[j]] = T(-share * C(lacking * times));
        }
    }
}

#endif  // TT_MARGINS_CUH
