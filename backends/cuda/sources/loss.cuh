// Losses and their gradients: of classes (cross entropy, negative log-likelihood) and element by element.
#ifndef TT_LOSS_CUH
#define TT_LOSS_CUH
#include "failures.cuh"
#include "walks.cuh"

namespace loss {

// --- classes -----------------------------------------------------------------------------------------------------------

// The logarithm of a sum of exponentials: the largest element, and the logarithm of the sum of what is relative to it.  In
// one number, far from 0, it would cost losses the digits that scores still have.
template <typename C>
struct Whole {
    C top, log;
    TT_INLINE C less(C x) const { return (top - x) + log; }
};

// Of the scores of a target: the logarithm of the sum of exponentials, and what smoothing adds, the sum over all classes
// of weight (logsumexp - score).  SMOOTH: whether it is asked for.
template <typename T, bool SMOOTH>
struct Scores : Operation<T, Whole<compute_t<T>>> {
    using C = compute_t<T>;
    using Second = C;
    using Extra = T;
    using Own = const T*;  // the weights of the classes
    using Top = Exponentials<C>;
    struct Acc {
        typename Top::Acc exponentials;
        C below, weights;  // the sums of weight (top - score) and of weights
    };
    TT_INLINE static Own own(const T* extra, int64) { return extra; }
    TT_INLINE static Acc start() { return {Top::start(), C(0), C(0)}; }
    TT_INLINE static void raise(Acc& a, C top) {
        if (a.weights != C(0) && top > a.exponentials.top) a.below += a.weights * (top - a.exponentials.top);
    }
    TT_INLINE static void take(Acc& a, C x, C, int64 at, Own weight, double) {
        if constexpr (SMOOTH) {
            raise(a, x);
            const C w = weight ? C(weight[at]) : C(1);
            a.below += x > a.exponentials.top ? C(0) : w * (a.exponentials.top - x);
            a.weights += w;
        }
        Top::add(a.exponentials, x);
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        if constexpr (SMOOTH) {
            Acc other = b;
            raise(a, b.exponentials.top);
            raise(other, a.exponentials.top);
            a.below += other.below;
            a.weights += other.weights;
        }
        Top::merge(a.exponentials, b.exponentials);
    }
    TT_INLINE static void finish(const Acc& a, Own, double, int64, Whole<C>* out, C* second) {
        const C log = math::isfinite(a.exponentials.top) ? math::log(a.exponentials.sum) : math::nan<C>();
        *out = {a.exponentials.top, log};
        if (second) *second = a.weights * log + a.below;
    }
};

// The sum of numbers, in one place.
template <typename T>
struct Total : Operation<T, compute_t<T>> {
    using C = compute_t<T>;
    struct Acc {
        C sum;
    };
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, C x, C, int64, C, double) { a.sum += x; }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.sum += b.sum; }
    TT_INLINE static void finish(const Acc& a, C, double, int64, C* out, int64*) { *out = a.sum; }
};

// The weight of a target: 0 of an ignored one, NaN of one that is no class, whose place is not looked at.
template <typename T>
TT_INLINE compute_t<T> weight_of(const T* weight, int64 target, int64 classes, int64 ignored) {
    using C = compute_t<T>;
    if (target == ignored) return C(0);
    if (target < 0 || target >= classes) return math::nan<C>();
    return weight ? C(weight[target]) : C(1);
}

}  // namespace loss

// The loss of each target: written where `each` is given, else sums of it and of the weights are left for each block.
// Without lse (and with log-probabilities as input) this is the negative log-likelihood.
template <typename T, int THREADS>
__global__ void class_losses(const T* input, const int64* target, const T* weight,
                             const loss::Whole<compute_t<T>>* lse, const compute_t<T>* smooth, T* each, T* lse_out, compute_t<T>* sums, int64 count, int64 classes,
                             int64 inner, int64 ignored, double smoothing, uint64 failure, int64 what) {
    using C = compute_t<T>;
    typename Pair<C>::Acc acc = Pair<C>::start();
    for (int64 k = first_element(); k < count; k += element_step()) {
        const int64 t = target[k], sample = k / inner, j = k - sample * inner;
        const C w = loss::weight_of(weight, t, classes, ignored);
        const loss::Whole<C> whole = lse ? lse[k] : loss::Whole<C>{C(0), C(0)};
        C found = C(0);
        if (t != ignored) {
            const bool is_class = t >= 0 && t < classes;
            if (!is_class) note_failure(failure, what, t, 1, classes);
            found = w;
            if (is_class) found *= whole.less(C(input[(sample * classes + t) * inner + j]));
            if (smooth) found = C(1 - smoothing) * found + C(smoothing) / C(classes) * smooth[k];
        }
        if (lse_out) lse_out[k] = T(whole.top + whole.log);
        if (each) each[k] = T(found);
        acc.one += found;
        acc.two += w;
    }
    if (!sums) return;
    merge_block<Pair<C>, THREADS>(acc);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = acc.one;
        sums[2 * blockIdx.x + 1] = acc.two;
    }
}

// The sum of the losses of all blocks, divided by that of the weights if MEAN; and that of the weights.  One block.
template <typename T, int THREADS>
__global__ void class_total(const compute_t<T>* sums, T* out, compute_t<T>* kept, int64 blocks, bool mean) {
    using C = compute_t<T>;
    typename Pair<C>::Acc acc = Pair<C>::start();
    for (int64 b = threadIdx.x; b < blocks; b += THREADS) {
        acc.one += sums[2 * b];
        acc.two += sums[2 * b + 1];
    }
    merge_block<Pair<C>, THREADS>(acc);
    if (threadIdx.x > 0) return;
    if (out) *out = T(mean ? acc.one / acc.two : acc.one);
    if (kept) *kept = acc.two;
}

// Sums of the weights of targets, one for each block, as class_total takes them.
template <typename T, int THREADS>
__global__ void class_weights(const int64* target, const T* weight, compute_t<T>* sums, int64 count, int64 classes,
                              int64 ignored) {
    using C = compute_t<T>;
    typename Pair<C>::Acc acc = Pair<C>::start();
    for (int64 k = first_element(); k < count; k += element_step()) acc.two += loss::weight_of(weight, target[k], classes, ignored);
    merge_block<Pair<C>, THREADS>(acc);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = acc.one;
        sums[2 * blockIdx.x + 1] = acc.two;
    }
}

// The gradient of the scores: (softmax - one at the target), weighted and smoothed.
template <typename T, int VEC, typename Index>
__global__ void class_slopes(const T* grad, const T* input, const int64* target, const T* weight, const T* lse, const compute_t<T>* kept, const compute_t<T>* weights, T* out, int64 count,
                             int64 classes, int64 inner, bool each, int64 ignored, double smoothing) {
    using C = compute_t<T>;
    const C even = C(smoothing) / C(classes), all = weights ? *weights : C(classes);
    for (int64 unit = first_element(); unit < count / VEC; unit += element_step()) {
        const int64 i = unit * VEC;
        const vector<T, VEC> x = load_vector<VEC>(input + i);
        vector<T, VEC> y;
        const Index row = Index(i) / Index(inner);
        Index j = Index(i) - row * Index(inner), sample = row / Index(classes), c = row - sample * Index(classes);
        int64 t = ignored;
        C g, own, share, whole;
#pragma unroll
        for (int v = 0; v < VEC; v++) {
            if (v == 0 || c == 0 || inner > 1) {  // another target
                const int64 k = int64(sample) * inner + j;
                t = target[k];
                g = C(grad[each ? k : 0]);
                if (kept) g /= *kept;
                own = C(1 - smoothing) * loss::weight_of(weight, t, classes, ignored) * g;
                share = own + even * all * g;
                whole = C(lse[k]);
            }
            C found = C(0);
            if (t != ignored) {
                found = math::exp(C(x.at[v]) - whole) * share;
                if (smoothing > 0) found -= even * g * (weight ? C(weight[c]) : C(1));
                if (c == t) found -= own;
            }
            y.at[v] = T(found);
            if (++j == Index(inner)) {
                j = 0;
                if (++c == Index(classes)) c = 0, ++sample;
            }
        }
        store_vector<VEC>(out + i, y);
    }
}

// --- element by element ------------------------------------------------------------------------------------------------

namespace loss {

template <typename C>
TT_INLINE C sign(C d) {
    return d > C(0) ? C(1) : d < C(0) ? C(-1) : d == C(0) ? C(0) : d;
}
template <typename C>
TT_INLINE C bounded(C x) {
    return x < C(-100) ? C(-100) : x;
}

struct Square {
    template <typename C> TT_INLINE static C value(C x, C t, C) { return (x - t) * (x - t); }
    template <typename C> TT_INLINE static C slope(C x, C t, C) { return C(2) * (x - t); }
};
struct Absolute {
    template <typename C> TT_INLINE static C value(C x, C t, C) { return math::fabs(x - t); }
    template <typename C> TT_INLINE static C slope(C x, C t, C) { return sign(x - t); }
};
struct Smooth {
    template <typename C> TT_INLINE static C value(C x, C t, C fact) {
        const C d = math::fabs(x - t);
        return d < fact ? C(0.5) / fact * d * d : d - C(0.5) * fact;
    }
    template <typename C> TT_INLINE static C slope(C x, C t, C fact) {
        return math::fabs(x - t) < fact ? (x - t) / fact : sign(x - t);
    }
};
struct Huber {
    template <typename C> TT_INLINE static C value(C x, C t, C fact) {
        const C d = math::fabs(x - t);
        return d <= fact ? C(0.5) * d * d : fact * (d - C(0.5) * fact);
    }
    template <typename C> TT_INLINE static C slope(C x, C t, C fact) {
        return math::fabs(x - t) <= fact ? x - t : fact * sign(x - t);
    }
};
struct Probability {
    template <typename C> TT_INLINE static C value(C x, C t, C) {
        return (t - C(1)) * bounded(math::log1p(-x)) - t * bounded(math::log(x));
    }
    template <typename C> TT_INLINE static C slope(C x, C t, C) {
        const C spread = (C(1) - x) * x;
        return (x - t) / (spread < C(1e-12) ? C(1e-12) : spread);
    }
};
struct Logit {
    template <typename C> TT_INLINE static C value(C x, C t, C) {
        return (C(1) - t) * x + math::log1p(math::exp(-math::fabs(x))) + (x < C(0) ? -x : C(0));
    }
    template <typename C> TT_INLINE static C slope(C x, C t, C) { return C(1) / (C(1) + math::exp(-x)) - t; }
};
struct Divergence {
    template <typename C> TT_INLINE static C value(C x, C t, C) { return t * ((t == C(0) ? C(0) : math::log(t)) - x); }
    template <typename C> TT_INLINE static C slope(C, C t, C) { return -t; }
};
struct LogDivergence {
    template <typename C> TT_INLINE static C value(C x, C t, C) { return math::exp(t) * (t - x); }
    template <typename C> TT_INLINE static C slope(C, C t, C) { return -math::exp(t); }
};

// The sum or the mean of the losses of all elements, as a reduction of two inputs.
template <typename Kind, typename T, bool MEAN>
struct Elements : Operation<T> {
    using C = compute_t<T>;
    static constexpr int INPUTS = 2;
    struct Acc {
        C sum;
    };
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, C x, C t, int64, C, double fact) { a.sum += Kind::value(x, t, C(fact)); }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.sum += b.sum; }
    TT_INLINE static void finish(const Acc& a, C, double, int64 count, T* out, int64*) {
        *out = T(MEAN ? a.sum / C(count) : a.sum);
    }
};

}  // namespace loss

// Note it where an element is no probability.
template <typename T>
__global__ void expect_probabilities(const T* input, int64 count, uint64 failure, int64 what) {
    using C = compute_t<T>;
    for (int64 i = first_element(); i < count; i += element_step()) {
        const C x = C(input[i]);
        if (!(x >= C(0) && x <= C(1))) note_failure(failure, what, i, 0, count);
    }
}

template <typename Kind, typename T, int VEC>
__global__ void element_losses(const T* input, const T* target, T* out, int64 count, double fact) {
    using C = compute_t<T>;
    for (int64 unit = first_element(); unit < count / VEC; unit += element_step()) {
        const vector<T, VEC> x = load_vector<VEC>(input + unit * VEC), t = load_vector<VEC>(target + unit * VEC);
        vector<T, VEC> y;
#pragma unroll
        for (int v = 0; v < VEC; v++) y.at[v] = T(Kind::value(C(x.at[v]), C(t.at[v]), C(fact)));
        store_vector<VEC>(out + unit * VEC, y);
    }
}

// The gradient of the input; that of the loss is one number for all elements (divided by their number if MEAN), or EACH.
template <typename Kind, typename T, int VEC, bool EACH>
__global__ void element_slopes(const T* grad, const T* input, const T* target, T* out, int64 count, bool mean, double fact) {
    using C = compute_t<T>;
    const C scale = EACH ? C(1) : mean ? C(*grad) / C(count) : C(*grad);
    for (int64 unit = first_element(); unit < count / VEC; unit += element_step()) {
        const vector<T, VEC> x = load_vector<VEC>(input + unit * VEC), t = load_vector<VEC>(target + unit * VEC);
        vector<T, VEC> y;
#pragma unroll
        for (int v = 0; v < VEC; v++) {
            const C g = EACH ? C(grad[unit * VEC + v]) : scale;
            y.at[v] = T(g * Kind::slope(C(x.at[v]), C(t.at[v]), C(fact)));
        }
        store_vector<VEC>(out + unit * VEC, y);
    }
}

#endif  // TT_LOSS_CUH
