// Lines of elements that are combined: accumulators that travel through lanes and blocks, and a line that threads hold
// together, in registers or by reading it again.  Used by reduction, softmax, normalization, loss and scan.
#ifndef TT_LINES_CUH
#define TT_LINES_CUH
#include "common.cuh"

// --- accumulators ------------------------------------------------------------------------------------------------------

// An accumulator of any kind moves between lanes word by word.
template <typename A> union Words {
    A whole;
    unsigned word[sizeof(A) / 4];
    TT_INLINE Words() {}
};

template <typename A> TT_INLINE A lane_xor(const A& value, int mask) {
    static_assert(sizeof(A) % 4 == 0, "an accumulator is made of whole words");
    Words<A> from, to;
    from.whole = value;
#pragma unroll
    for (int i = 0; i < int(sizeof(A) / 4); i++) to.word[i] = shuffle_xor(from.word[i], mask);
    return to.whole;
}

template <typename A> TT_INLINE A lane_up(const A& value, int delta) {
    static_assert(sizeof(A) % 4 == 0, "an accumulator is made of whole words");
    Words<A> from, to;
    from.whole = value;
#pragma unroll
    for (int i = 0; i < int(sizeof(A) / 4); i++) to.word[i] = shuffle_up(from.word[i], delta);
    return to.whole;
}

// The accumulator of the last lane of the warp.
template <typename A> TT_INLINE A lane_last(const A& value) {
    Words<A> from, to;
    from.whole = value;
#pragma unroll
    for (int i = 0; i < int(sizeof(A) / 4); i++) to.word[i] = shuffle(from.word[i], 31);
    return to.whole;
}

// Merges the accumulators of LANES neighbouring lanes; all of them get the result.
template <typename Op, int LANES> TT_INLINE void merge_lanes(typename Op::Acc& acc) {
#pragma unroll
    for (int mask = LANES / 2; mask > 0; mask /= 2) Op::merge(acc, lane_xor(acc, mask));
}

// Merges the accumulators of a block; all threads get the result.
template <typename Op, int THREADS> TT_INLINE void merge_block(typename Op::Acc& acc) {
    __shared__ typename Op::Acc slots[THREADS / 32];
    merge_lanes<Op, 32>(acc);
    __syncthreads(); // the slots may still be read from the merge before
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = acc;
    __syncthreads();
    acc = slots[0];
    for (int w = 1; w < THREADS / 32; w++) Op::merge(acc, slots[w]);
}

// Merges among WIDTH threads: some lanes, a warp, or the block.
template <typename Op, int WIDTH> TT_INLINE void merge_threads(typename Op::Acc& acc) {
    if constexpr (WIDTH > 32)
        merge_block<Op, WIDTH>(acc);
    else
        merge_lanes<Op, WIDTH>(acc);
}

// --- operations that several families use ------------------------------------------------------------------------------

// The sums of two quantities.
template <typename C> struct Pair {
    struct Acc {
        C one, two;
    };
    TT_INLINE static Acc start() { return {C(0), C(0)}; }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        a.one += b.one;
        a.two += b.two;
    }
};

// The largest element and the sum of the exponentials of what the others are below it.
template <typename C> struct Exponentials {
    struct Acc {
        C top, sum;
    };
    TT_INLINE static Acc start() { return {limits<C>::lowest(), C(0)}; }
    TT_INLINE static void add(Acc& a, C x) {
        if (x > a.top) {
            a.sum = a.sum * math::exp(a.top - x) + C(1);
            a.top = x;
        } else if (x == a.top) {
            // No difference of infinities, which would be NaN; of nothing but -inf the sum stays 0.
            a.sum += x > limits<C>::lowest() ? C(1) : C(0);
        } else {
            a.sum += math::exp(x - a.top);
        }
    }
    // The logarithm of the sum: infinite where the largest is, NaN only where an element is.
    TT_INLINE static C log_sum(const Acc& a) { return a.top + math::log(a.sum); }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        const C top = b.top > a.top ? b.top : a.top;
        const C mine = a.top < top ? a.sum * math::exp(a.top - top) : a.sum;
        const C others = b.top < top ? b.sum * math::exp(b.top - top) : b.sum;
        a.top = top;
        a.sum = mine + others;
    }
};

// --- a line ------------------------------------------------------------------------------------------------------------

// The part that a thread has of the lines of INPUTS arrays which WIDTH threads read together, VEC elements at a time.
// With PACKS > 0 the elements stay in registers, and a line has at most WIDTH * VEC * PACKS of them; with PACKS = 0 they
// are read again each time, which the first-level cache serves.
template <typename T, int INPUTS, int VEC, int PACKS, int WIDTH> struct Line {
    typedef compute_t<T> C;
    enum { HELD = PACKS ? PACKS : 1 };
    const T* from[INPUTS];
    int64 stride[INPUTS];
    int64 count;
    int rank;
    vector<T, VEC> held[INPUTS][HELD];

    TT_INLINE vector<T, VEC> read(int input, int64 at) const {
        if constexpr (VEC > 1) {
            return load_vector<VEC>(from[input] + at);
        } else {
            vector<T, VEC> one;
            one.at[0] = from[input][at * stride[input]];
            return one;
        }
    }

    TT_INLINE void open() {
        rank = threadIdx.x % WIDTH;
        if constexpr (PACKS > 0) {
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                const int64 at = ((int64)p * WIDTH + rank) * VEC;
#pragma unroll
                for (int input = 0; input < INPUTS; input++)
                    if (at < count) held[input][p] = read(input, at);
            }
        }
    }

    // Calls f(index, element of each input).
    template <typename F> TT_INLINE void call(const F& f, int64 at, const vector<T, VEC>* packs, int step) const {
#pragma unroll
        for (int v = 0; v < VEC; v++) {
            if constexpr (INPUTS == 2)
                f(at + v, C(packs[0].at[v]), C(packs[step].at[v]));
            else
                f(at + v, C(packs[0].at[v]), C(0));
        }
    }

    template <typename F> TT_INLINE void each(const F& f) const {
        if constexpr (PACKS > 0) {
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                const int64 at = ((int64)p * WIDTH + rank) * VEC;
                if (at < count) call(f, at, &held[0][p], HELD);
            }
        } else {
            for (int64 at = (int64)rank * VEC; at < count; at += (int64)WIDTH * VEC) {
                vector<T, VEC> packs[INPUTS];
#pragma unroll
                for (int input = 0; input < INPUTS; input++) packs[input] = read(input, at);
                call(f, at, packs, 1);
            }
        }
    }

    // Writes f(index, element of each input) for each element.
    template <typename F> TT_INLINE void map(T* to, int64 step, const F& f) const {
        if constexpr (PACKS > 0) {
#pragma unroll
            for (int p = 0; p < PACKS; p++) {
                const int64 at = ((int64)p * WIDTH + rank) * VEC;
                if (at < count) write(to, step, f, at, &held[0][p], HELD);
            }
        } else {
            for (int64 at = (int64)rank * VEC; at < count; at += (int64)WIDTH * VEC) {
                vector<T, VEC> packs[INPUTS];
#pragma unroll
                for (int input = 0; input < INPUTS; input++) packs[input] = read(input, at);
                write(to, step, f, at, packs, 1);
            }
        }
    }

    template <typename F>
    TT_INLINE void write(T* to, int64 step, const F& f, int64 at, const vector<T, VEC>* packs, int apart) const {
        vector<T, VEC> result;
#pragma unroll
        for (int v = 0; v < VEC; v++) {
            if constexpr (INPUTS == 2)
                result.at[v] = T(f(at + v, C(packs[0].at[v]), C(packs[apart].at[v])));
            else
                result.at[v] = T(f(at + v, C(packs[0].at[v]), C(0)));
        }
        if constexpr (VEC > 1)
            store_vector<VEC>(to + at, result);
        else
            to[at * step] = result.at[0];
    }
};

#endif  // TT_LINES_CUH
