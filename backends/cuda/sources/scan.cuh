// Scans along a dimension: running sums, products, extremes with their places, logarithms of sums of exponentials.
//
// float32 is accumulated in float64, as on the CPU, the half types in float32: what a later element gets does not depend
// on how a line is cut into pieces by more than the rounding of the result.
#ifndef TT_SCAN_CUH
#define TT_SCAN_CUH
#include "lines.cuh"

namespace scan {

template <typename T> struct wide { using type = sum_t<T>; };
template <> struct wide<float> { using type = double; };

template <typename T>
struct Sum {
    using Element = T;
    using C = typename wide<T>::type;
    struct Acc {
        C value;
    };
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static Acc of(T x, int64) { return {C(compute_t<T>(x))}; }
    // `a` comes before `b`.
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value += b.value; }
    TT_INLINE static void write(const Acc& a, T* out, int64*) { *out = T(a.value); }
};

template <typename T>
struct Product : Sum<T> {
    using C = typename wide<T>::type;
    using Acc = typename Sum<T>::Acc;
    TT_INLINE static Acc start() { return {C(1)}; }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.value *= b.value; }
};

// The last of equal extremes; after a NaN all are NaN, and their place is that of the last NaN.
template <typename T, bool MOST>
struct Extreme {
    using Element = T;
    using C = compute_t<T>;
    struct Acc {
        int64 place;
        C value;
    };
    TT_INLINE static Acc start() {
        Acc a;
        a.place = -1;
        a.value = C(0);
        return a;
    }
    TT_INLINE static Acc of(T x, int64 at) {
        Acc a;
        a.place = at;
        a.value = C(x);
        return a;
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) {
        if (b.place < 0) return;
        bool later = a.place < 0 || (MOST ? b.value >= a.value : b.value <= a.value);
        if constexpr (is_floating<T>::value) later = later || b.value != b.value;
        if (later) a = b;
    }
    TT_INLINE static void write(const Acc& a, T* out, int64* places) {
        *out = T(a.value);
        *places = a.place;
    }
};
template <typename T>
using Largest = Extreme<T, true>;
template <typename T>
using Smallest = Extreme<T, false>;

template <typename T>
struct LogSumExp {
    using Element = T;
    using C = typename wide<T>::type;
    using Acc = typename Exponentials<C>::Acc;
    TT_INLINE static Acc start() { return Exponentials<C>::start(); }
    TT_INLINE static Acc of(T x, int64) {
        Acc a = start();
        Exponentials<C>::add(a, C(compute_t<T>(x)));
        return a;
    }
    TT_INLINE static void merge(Acc& a, const Acc& b) { Exponentials<C>::merge(a, b); }
    TT_INLINE static void write(const Acc& a, T* out, int64*) { *out = T(Exponentials<C>::log_sum(a)); }
};

// What lies before a thread's own accumulator among WIDTH threads, and the whole of all of them.
template <typename S, int WIDTH>
TT_INLINE void before(const typename S::Acc& own, typename S::Acc& left, typename S::Acc& whole) {
    using Acc = typename S::Acc;
    const int lane = threadIdx.x % 32;
    Acc all = own;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
        Acc other = lane_up(all, delta);
        if (lane >= delta) {
            S::merge(other, all);
            all = other;
        }
    }
    left = lane_up(all, 1);
    if (lane == 0) left = S::start();
    if constexpr (WIDTH > 32) {
        __shared__ Acc slots[WIDTH / 32];
        __syncthreads();  // the slots may still be read from the tile before
        if (lane == 31) slots[threadIdx.x / 32] = all;
        __syncthreads();
        Acc carry = S::start(), total = slots[0];
        for (int w = 1; w < WIDTH / 32; w++) {
            if (w == threadIdx.x / 32) carry = total;
            S::merge(total, slots[w]);
        }
        S::merge(carry, left);
        left = carry;
        whole = total;
    } else {
        whole = lane_last(all);
    }
}

}  // namespace scan

// Lines of `count` elements with `outer` dimensions before and `inner` ones after; the input has any three strides, the
// results are contiguous.  Long lines are cut into parts: their totals come first (TOTALS), a second kernel turns them
// into what lies before each part, and the third goes over the elements again.  A thread has ITEMS neighbours, which it
// loads and stores at once if VECTORS.
template <typename S, int ITEMS, bool VECTORS, bool TOTALS, int WIDTH, int THREADS>
__global__ void scan_lines(const typename S::Element* input, typename S::Element* out, int64* places,
                           typename S::Acc* partial, int64 outer, int64 count, int64 inner, int64 outer_stride,
                           int64 stride, int64 inner_stride, int64 parts, int64 chunk) {
    using T = typename S::Element;
    using Acc = typename S::Acc;
    constexpr int64 TOGETHER = THREADS / WIDTH, TILE = int64(WIDTH) * ITEMS;
    const int rank = threadIdx.x % WIDTH;
    const int64 tasks = outer * inner * parts;
    for (int64 task = blockIdx.x * TOGETHER + threadIdx.x / WIDTH; task < tasks; task += gridDim.x * TOGETHER) {
        const int64 line = task / parts, part = task - line * parts, o = line / inner, j = line - o * inner;
        const T* from = input + o * outer_stride + j * inner_stride;
        const int64 to = o * count * inner + j;
        const int64 first = part * chunk, last = first + chunk < count ? first + chunk : count;
        Acc carry = TOTALS || parts == 1 ? S::start() : partial[task];
        for (int64 tile = first; tile < last; tile += TILE) {
            const int64 begin = tile + rank * ITEMS;
            const bool full = VECTORS && begin + ITEMS <= last;
            vector<T, ITEMS> read;
            if (full) read = load_vector<ITEMS>(from + begin);
            Acc held[ITEMS], own = S::start(), left, whole;
#pragma unroll
            for (int v = 0; v < ITEMS; v++)
                if (begin + v < last) {
                    S::merge(own, S::of(full ? read.at[v] : from[(begin + v) * stride], begin + v));
                    held[v] = own;
                }
            scan::before<S, WIDTH>(own, left, whole);
            if constexpr (!TOTALS) {
                Acc so_far = carry;
                S::merge(so_far, left);
                vector<T, ITEMS> result;
#pragma unroll
                for (int v = 0; v < ITEMS; v++)
                    if (begin + v < last) {
                        Acc found = so_far;
                        S::merge(found, held[v]);
                        const int64 place = to + (begin + v) * inner;
                        S::write(found, full ? &result.at[v] : out + place, places ? places + place : nullptr);
                    }
                if (full) store_vector<ITEMS>(out + to + begin, result);
            }
            S::merge(carry, whole);
        }
        if (TOTALS && rank == 0) partial[task] = carry;
    }
}

// A thread for a line or a part of it, neighbours for neighbouring lines: along dimensions that are not the last.
template <typename S, bool TOTALS, int THREADS>
__global__ void scan_columns(const typename S::Element* input, typename S::Element* out, int64* places,
                             typename S::Acc* partial, int64 outer, int64 count, int64 inner, int64 outer_stride,
                             int64 stride, int64 inner_stride, int64 parts, int64 chunk) {
    using T = typename S::Element;
    for (int64 task = first_element(); task < outer * inner * parts; task += element_step()) {
        const int64 row = task / inner, j = task - row * inner, o = row / parts, part = row - o * parts;
        const T* from = input + o * outer_stride + j * inner_stride;
        const int64 to = o * count * inner + j, slot = (o * inner + j) * parts + part;
        const int64 first = part * chunk, last = first + chunk < count ? first + chunk : count;
        typename S::Acc acc = TOTALS || parts == 1 ? S::start() : partial[slot];
        for (int64 i = first; i < last; i++) {
            S::merge(acc, S::of(from[i * stride], i));
            if constexpr (!TOTALS) S::write(acc, out + to + i * inner, places ? places + to + i * inner : nullptr);
        }
        if (TOTALS) partial[slot] = acc;
    }
}

// Turn the totals of the parts of a line into what lies before each part; a block for a line.
template <typename S, int THREADS>
__global__ void scan_carries(typename S::Acc* partial, int64 lines, int64 parts) {
    using Acc = typename S::Acc;
    for (int64 line = blockIdx.x; line < lines; line += gridDim.x) {
        Acc* mine = partial + line * parts;
        Acc carry = S::start();
        for (int64 tile = 0; tile < parts; tile += THREADS) {
            const int64 p = tile + threadIdx.x;
            const Acc own = p < parts ? mine[p] : S::start();
            Acc left, whole, found = carry;
            scan::before<S, THREADS>(own, left, whole);
            S::merge(found, left);
            if (p < parts) mine[p] = found;
            S::merge(carry, whole);
        }
    }
}

#endif  // TT_SCAN_CUH
