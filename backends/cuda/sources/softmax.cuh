// Softmax along a dimension, its logarithm, and the gradients of both.
#ifndef TT_SOFTMAX_CUH
#define TT_SOFTMAX_CUH
#include "lines.cuh"

// --- what is computed ----------------------------------------------------------------------------------------------------
// Of a line, what is accumulated, what follows from it for the whole line, and each element of the result.

template <typename T> struct SoftmaxForward : Exponentials<compute_t<T>> {
    typedef T Element;
    typedef compute_t<T> C;
    typedef typename Exponentials<C>::Acc Acc;
    enum { INPUTS = 1 };
    TT_INLINE static void take(Acc& a, C x, C) { Exponentials<C>::add(a, x); }
    // NaN where the largest element is infinite: nothing can be said of quotients of infinities.
    TT_INLINE static Acc finish(const Acc& a) { return {a.top, a.top - a.top == C(0) ? C(1) / a.sum : math::nan<C>()}; }
    TT_INLINE static C apply(const Acc& line, C x, C) { return math::exp(x - line.top) * line.sum; }
};

template <typename T> struct LogSoftmaxForward : SoftmaxForward<T> {
    typedef compute_t<T> C;
    typedef typename Exponentials<C>::Acc Acc;
    TT_INLINE static Acc finish(const Acc& a) { return {a.top, a.top - a.top == C(0) ? math::log(a.sum) : math::nan<C>()}; }
    TT_INLINE static C apply(const Acc& line, C x, C) { return x - line.top - line.sum; }
};

// (grad - sum(grad y)) y
template <typename T> struct SoftmaxBackward {
    typedef T Element;
    typedef compute_t<T> C;
    enum { INPUTS = 2 };
    struct Acc {
        C sum;
    };
    TT_INLINE static Acc start() { return {C(0)}; }
    TT_INLINE static void take(Acc& a, C g, C y) { a.sum += g * y; }
    TT_INLINE static void merge(Acc& a, const Acc& b) { a.sum += b.sum; }
    TT_INLINE static Acc finish(const Acc& a) { return a; }
    TT_INLINE static C apply(const Acc& line, C g, C y) { return (g - line.sum) * y; }
};

// grad - math::exp(y) sum(grad)
template <typename T> struct LogSoftmaxBackward : SoftmaxBackward<T> {
    typedef compute_t<T> C;
    typedef typename SoftmaxBackward<T>::Acc Acc;
    TT_INLINE static void take(Acc& a, C g, C) { a.sum += g; }
    TT_INLINE static C apply(const Acc& line, C g, C y) { return g - math::exp(y) * line.sum; }
};

// --- how lines are walked --------------------------------------------------------------------------------------------------

// Lines along a dimension of `count` elements with `outer` dimensions before and `inner` ones after it.  The inputs have
// any three strides, the result is contiguous.  WIDTH threads serve a line: a warp that keeps it in registers, or a block.
template <typename P, int VEC, int PACKS, int WIDTH, int THREADS>
__global__ void softmax_lines(const typename P::Element* a, const typename P::Element* b, typename P::Element* out, int64 outer,
                              int64 count, int64 inner, int64 a_outer, int64 a_step, int64 a_inner, int64 b_outer, int64 b_step,
                              int64 b_inner) {
    typedef typename P::Element T;
    typedef compute_t<T> C;
    const int64 lines = outer * inner, together = THREADS / WIDTH;
    for (int64 line = blockIdx.x * together + threadIdx.x / WIDTH; line < lines; line += gridDim.x * together) {
        const int64 o = inner == 1 ? line : line / inner, j = inner == 1 ? 0 : line % inner;
        Line<T, P::INPUTS, VEC, PACKS, WIDTH> elements;
        elements.count = count;
        elements.from[0] = a + o * a_outer + j * a_inner;
        elements.stride[0] = a_step;
        if constexpr (P::INPUTS == 2) {
            elements.from[1] = b + o * b_outer + j * b_inner;
            elements.stride[1] = b_step;
        }
        elements.open();
        typename P::Acc acc = P::start();
        elements.each([&](int64, C x, C y) { P::take(acc, x, y); });
        merge_threads<P, WIDTH>(acc);
        const typename P::Acc whole = P::finish(acc);
        elements.map(out + o * count * inner + j, inner, [&](int64, C x, C y) { return P::apply(whole, x, y); });
    }
}

// 32 neighbouring lines side by side: neighbours in a warp read neighbours in memory, the warps of a block share the length.
template <typename P, int THREADS>
__global__ void softmax_columns(const typename P::Element* a, const typename P::Element* b, typename P::Element* out, int64 outer,
                                int64 count, int64 inner, int64 a_outer, int64 a_step, int64 a_inner, int64 b_outer, int64 b_step,
                                int64 b_inner) {
    typedef typename P::Element T;
    typedef compute_t<T> C;
    __shared__ typename P::Acc slots[THREADS];
    const int column = threadIdx.x % 32, row = threadIdx.x / 32, rows = THREADS / 32;
    const int64 wide = (inner + 31) / 32;
    for (int64 task = blockIdx.x; task < outer * wide; task += gridDim.x) {
        const int64 o = task / wide, j = task % wide * 32 + column;
        const T* x = a + o * a_outer + j * a_inner, *y = b + o * b_outer + j * b_inner;
        typename P::Acc acc = P::start();
        if (j < inner)
            for (int64 i = row; i < count; i += rows)
                P::take(acc, C(x[i * a_step]), P::INPUTS == 2 ? C(y[i * b_step]) : C(0));
        __syncthreads();
        slots[threadIdx.x] = acc;
        __syncthreads();
        acc = slots[column];
        for (int r = 1; r < rows; r++) P::merge(acc, slots[r * 32 + column]);
        const typename P::Acc whole = P::finish(acc);
        T* to = out + o * count * inner + j;
        if (j < inner)
            for (int64 i = row; i < count; i += rows)
                to[i * inner] = T(P::apply(whole, C(x[i * a_step]), P::INPUTS == 2 ? C(y[i * b_step]) : C(0)));
    }
}

#endif  // TT_SOFTMAX_CUH
