// The loss of sequences whose alignment is unknown (Graves et al. 2006), and its gradient.  A block has one item of the batch,
// its threads the states of a step: before, between and behind the labels there are blanks.

#ifndef TT_CTC_CUH
#define TT_CTC_CUH

#include "failures.cuh"

namespace ctc {

struct Sequences {
    int64 steps, batch, classes, labels, blank, zero_infinity;

    TT_INLINE int64 states() const { return 2 * labels + 1; }
};

TT_INLINE int64 label_of(const int64* labels, int64 state, const Sequences& q) {
    return state % 2 ? labels[state / 2] : q.blank;
}

// Whether a state may follow the one two before it: a label that differs from the last one.
TT_INLINE bool may_skip(const int64* labels, int64 state) {
    return state % 2 && state >= 3 && labels[state / 2] != labels[state / 2 - 1];
}

// The logarithm of the sum of three exponentials.
template <typename C>
TT_INLINE C total(C a, C b, C c) {
    C most = a > b ? a : b;
    if (c > most) most = c;
    if (a != a || b != b || c != c) return a + b + c;
    if (most == limits<C>::lowest()) return most;
    return math::log(math::exp(a - most) + math::exp(b - most) + math::exp(c - most)) + most;
}

}  // namespace ctc

// log_alpha has, for each step and state, the logarithm of the probability of all ways that end there.  Labels lie in
// [0, classes); others are noted, and no way leads through them.
template <typename C>
__global__ void ctc_forward(const C* x, const int64* targets, const int64* lengths, C* loss, C* log_alpha, ctc::Sequences q,
                            uint64 failure, int64 what) {
    const C none = limits<C>::lowest();
    const int64 n = blockIdx.x, states = q.states(), apart = q.batch * q.classes;
    const int64 steps = lengths[n], used = 2 * lengths[q.batch + n] + 1;
    const int64* labels = targets + n * q.labels;
    C* alpha = log_alpha + n * q.steps * states;
    const C* row = x + n * q.classes;
    for (int64 k = threadIdx.x; k < used / 2; k += blockDim.x)
        if (labels[k] < 0 || labels[k] >= q.classes) note_failure(failure, what, labels[k], 0, q.classes);
    for (int64 t = 0; t < q.steps; t++) {
        for (int64 s = threadIdx.x; s < states; s += blockDim.x) {
            C found = none;
            if (t < steps && s < used) {
                const int64 label = ctc::label_of(labels, s, q);
                const C own = label >= 0 && label < q.classes ? row[t * apart + label] : none;
                if (t == 0) {
                    if (s < 2) found = own;
                } else {
                    const C* before = alpha + (t - 1) * states;
                    const C two = s > 0 ? before[s - 1] : none, three = ctc::may_skip(labels, s) ? before[s - 2] : none;
                    found = ctc::total(before[s], two, three) + own;
                }
            }
            alpha[t * states + s] = found;
        }
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    if (steps == 0) {
        loss[n] = used == 1 ? C(0) : -none;
        return;
    }
    const C* last = alpha + (steps - 1) * states;
    loss[n] = -ctc::total(last[used - 1], used > 1 ? last[used - 2] : none, none);
}

// The gradient of x, whose steps are logarithms of probabilities that add to 1.  `rows` has two rows of states for each item.
// The states of one class are added one after the other by the thread of its first label, so sums are the same in every run;
// `linked` gets, for each label, twice the number of the next one of its class, and 1 more if there is none before it.
template <typename C>
__global__ void ctc_backward(const C* grad, const C* x, const int64* targets, const int64* lengths, int64* linked,
                             const C* losses, const C* log_alpha, C* rows, C* shares, C* slope, ctc::Sequences q) {
    const C none = limits<C>::lowest();
    const int64 n = blockIdx.x, states = q.states(), apart = q.batch * q.classes;
    const int64 steps = lengths[n], used = 2 * lengths[q.batch + n] + 1;
    const int64* labels = targets + n * q.labels;
    int64* links = linked + n * q.labels;
    const C *alpha = log_alpha + n * q.steps * states, *row = x + n * q.classes, loss = losses[n], g = grad[n];
    const bool infinite = loss == -none;
    C *to = slope + n * q.classes, *now = rows + 2 * n * states, *later = now + states, *share = shares + n * states;
    for (int64 k = threadIdx.x; k < used / 2; k += blockDim.x) {
        int64 next = k + 1, before = k - 1;
        while (next < used / 2 && labels[next] != labels[k]) next++;
        while (before >= 0 && labels[before] != labels[k]) before--;
        links[k] = 2 * next + (before < 0);
    }
    for (int64 t = q.steps - 1; t >= 0; t--) {
        if (t >= steps || infinite) {  // the whole block goes one way
            const C fill = t < steps && !q.zero_infinity ? math::nan<C>() * g : C(0);
            for (int64 c = threadIdx.x; c < q.classes; c += blockDim.x) to[t * apart + c] = fill;
            continue;
        }
        for (int64 s = threadIdx.x; s < used; s += blockDim.x) {
            C way;
            if (t == steps - 1) {
                way = s >= used - 2 ? C(0) : none;
            } else {
                const C two = s + 1 < used ? later[s + 1] : none;
                const C three = s + 2 < used && ctc::may_skip(labels, s + 2) ? later[s + 2] : none;
                way = ctc::total(later[s], two, three);
            }
            const int64 label = ctc::label_of(labels, s, q);
            const C both = alpha[t * states + s] + way;
            share[s] = both == none ? C(0) : math::exp(both + loss);
            now[s] = way + (label >= 0 && label < q.classes ? row[t * apart + label] : none);
        }
        for (int64 c = threadIdx.x; c < q.classes; c += blockDim.x) to[t * apart + c] = math::exp(row[t * apart + c]) * g;
        __syncthreads();
        // The labels, then the blanks, whose class labels may have, too.
        for (int64 k = threadIdx.x; k < used / 2; k += blockDim.x) {
            const int64 label = labels[k];
            if (links[k] % 2 == 0 || label < 0 || label >= q.classes) continue;
            C sum = C(0);
            for (int64 j = k; j < used / 2; j = links[j] / 2) sum += share[2 * j + 1];
            to[t * apart + label] -= sum * g;
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            C sum = C(0);
            for (int64 k = threadIdx.x; k <= used / 2; k += 32) sum += share[2 * k];
            sum = warp_sum(sum);
            if (threadIdx.x == 0) to[t * apart + q.blank] -= sum * g;
        }
        __syncthreads();
        C* swap = now;
        now = later;
        later = swap;
    }
}

#endif  // TT_CTC_CUH
