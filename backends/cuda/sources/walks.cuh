// How reductions walk: rows, groups of lanes, or columns, of elements with any strides; long ones in parts that a second
// kernel merges.  An operation (see reduction.cuh) says what is accumulated.
#ifndef TT_WALKS_CUH
#define TT_WALKS_CUH
#include "lines.cuh"

// Where elements are: lines in two dimensions, elements of a line in two more; strides in elements.  Python packs it.
struct Walk {
    int64 lines, line_inner, line_outer_stride, line_inner_stride;
    int64 count, inner, outer_stride, inner_stride;
    int64 parts;

    template <typename Index>
    TT_INLINE int64 line(int64 k) const {
        if (line_inner == lines) return k * line_inner_stride;
        const Index outer = Index(k) / Index(line_inner);
        return int64(outer) * line_outer_stride + (k - int64(outer) * line_inner) * line_inner_stride;
    }
    template <typename Index>
    TT_INLINE int64 element(int64 i) const {
        if (inner == count) return i * inner_stride;
        const Index outer = Index(i) / Index(inner);
        return int64(outer) * outer_stride + (i - int64(outer) * inner) * inner_stride;
    }
};

// What operations have in common: one input, results of the type of the elements, and one number more for each line.
template <typename T, typename R = T>
struct Operation {
    using Element = T;
    using Result = R;
    using Second = int64;
    using Extra = compute_t<T>;
    using Own = Extra;
    static constexpr int INPUTS = 1;
    TT_INLINE static Own own(const Extra* extra, int64 k) { return extra ? extra[k] : Extra(0); }
};

// Write what a line gives: its results, or, of one in parts, the accumulator.
template <typename Op>
TT_INLINE void leave(const typename Op::Acc& acc, const Walk& walk, int64 k, int64 part, double fact,
                     const typename Op::Extra* extra, typename Op::Result* out, typename Op::Second* second,
                     typename Op::Acc* partial) {
    if (walk.parts > 1) partial[k * walk.parts + part] = acc;
    else Op::finish(acc, Op::own(extra, k), fact, walk.count, out ? out + k : nullptr, second ? second + k : nullptr);
}

// Take VEC neighbours from a place on, of which the first has the number i.
template <typename Op, int VEC>
TT_INLINE void take_some(typename Op::Acc& acc, const typename Op::Element* a, const typename Op::Element* b, int64 place,
                         int64 i, typename Op::Own own, double fact) {
    using C = compute_t<typename Op::Element>;
    const auto x = load_vector<VEC>(a + place);
    if constexpr (Op::INPUTS == 2) {
        const auto y = load_vector<VEC>(b + place);
#pragma unroll
        for (int v = 0; v < VEC; v++) Op::take(acc, C(x.at[v]), C(y.at[v]), i + v, own, fact);
    } else {
#pragma unroll
        for (int v = 0; v < VEC; v++) Op::take(acc, C(x.at[v]), C(0), i + v, own, fact);
    }
}

// A block for a line, or for a part of it; VEC elements at a time where they are neighbours.
template <typename Op, int VEC, typename Index, int THREADS>
__global__ void reduce_rows(const typename Op::Element* a, const typename Op::Element* b, const typename Op::Extra* extra,
                            typename Op::Result* out, typename Op::Second* second, typename Op::Acc* partial, double fact,
                            Walk walk) {
    using C = compute_t<typename Op::Element>;
    for (int64 task = blockIdx.x; task < walk.lines * walk.parts; task += gridDim.x) {
        const int64 k = task / walk.parts, part = task - k * walk.parts, base = walk.template line<Index>(k);
        const int64 units = walk.count / VEC, last = units * (part + 1) / walk.parts;
        const typename Op::Own own = Op::own(extra, k);
        typename Op::Acc acc = Op::start();
        for (int64 unit = units * part / walk.parts + threadIdx.x; unit < last; unit += THREADS) {
            const int64 i = unit * VEC;
            take_some<Op, VEC>(acc, a, b, base + walk.template element<Index>(i), i, own, fact);
        }
        if (VEC > 1 && part + 1 == walk.parts)  // what is left of a line that is no multiple of VEC
            for (int64 i = units * VEC + threadIdx.x; i < walk.count; i += THREADS) {
                const int64 place = base + walk.template element<Index>(i);
                Op::take(acc, C(a[place]), Op::INPUTS == 2 ? C(b[place]) : C(0), i, own, fact);
            }
        merge_block<Op, THREADS>(acc);
        if (threadIdx.x == 0) leave<Op>(acc, walk, k, part, fact, extra, out, second, partial);
    }
}

// LANES neighbouring lanes for a short line, VEC elements at a time, of which its length is a multiple.
template <typename Op, int LANES, int VEC, typename Index, int THREADS>
__global__ void reduce_groups(const typename Op::Element* a, const typename Op::Element* b, const typename Op::Extra* extra,
                              typename Op::Result* out, typename Op::Second* second, typename Op::Acc* partial, double fact,
                              Walk walk) {
    using C = compute_t<typename Op::Element>;
    const int lane = threadIdx.x % LANES;
    const int64 step = int64(gridDim.x) * (THREADS / LANES);
    // All lanes of a warp go round equally often: they exchange what they have.
    for (int64 first = int64(blockIdx.x) * (THREADS / LANES); first < walk.lines; first += step) {
        const int64 k = first + threadIdx.x / LANES;
        typename Op::Acc acc = Op::start();
        if (k < walk.lines) {
            const int64 base = walk.template line<Index>(k);
            const typename Op::Own own = Op::own(extra, k);
            for (int64 i = int64(lane) * VEC; i < walk.count; i += LANES * VEC)
                take_some<Op, VEC>(acc, a, b, base + walk.template element<Index>(i), i, own, fact);
        }
        merge_lanes<Op, LANES>(acc);
        if (k < walk.lines && lane == 0) leave<Op>(acc, walk, k, 0, fact, extra, out, second, partial);
    }
}

// 32 lines side by side: the lanes of a warp read neighbours, the warps of a block share the length.
template <typename Op, typename Index, int THREADS>
__global__ void reduce_columns(const typename Op::Element* a, const typename Op::Element* b, const typename Op::Extra* extra,
                               typename Op::Result* out, typename Op::Second* second, typename Op::Acc* partial, double fact,
                               Walk walk) {
    using C = compute_t<typename Op::Element>;
    constexpr int ROWS = THREADS / 32;
    __shared__ typename Op::Acc slots[THREADS];
    const int column = threadIdx.x % 32, row = threadIdx.x / 32;
    const int64 wide = (walk.line_inner + 31) / 32, outer = walk.line_inner ? walk.lines / walk.line_inner : 0;
    for (int64 task = blockIdx.x; task < outer * wide * walk.parts; task += gridDim.x) {
        const int64 tile = task / walk.parts, part = task - tile * walk.parts;
        const int64 o = tile / wide, j = (tile - o * wide) * 32 + column, k = o * walk.line_inner + j;
        const int64 base = o * walk.line_outer_stride + j * walk.line_inner_stride;
        const int64 first = walk.count * part / walk.parts, last = walk.count * (part + 1) / walk.parts;
        typename Op::Acc acc = Op::start();
        if (j < walk.line_inner) {
            const typename Op::Own own = Op::own(extra, k);
            for (int64 i = first + row; i < last; i += ROWS) {
                const int64 place = base + walk.template element<Index>(i);
                Op::take(acc, C(a[place]), Op::INPUTS == 2 ? C(b[place]) : C(0), i, own, fact);
            }
        }
        __syncthreads();
        slots[threadIdx.x] = acc;
        __syncthreads();
        if (row == 0 && j < walk.line_inner) {
            for (int r = 1; r < ROWS; r++) Op::merge(acc, slots[r * 32 + column]);
            leave<Op>(acc, walk, k, part, fact, extra, out, second, partial);
        }
    }
}

// A warp for each line that was accumulated in parts.
template <typename Op, int THREADS>
__global__ void reduce_parts(const typename Op::Acc* partial, const typename Op::Extra* extra, typename Op::Result* out,
                             typename Op::Second* second, double fact, Walk walk) {
    const int64 step = int64(gridDim.x) * (THREADS / 32);
    for (int64 k = int64(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32; k < walk.lines; k += step) {
        typename Op::Acc acc = Op::start();
        for (int64 part = threadIdx.x % 32; part < walk.parts; part += 32) Op::merge(acc, partial[k * walk.parts + part]);
        merge_lanes<Op, 32>(acc);
        if (threadIdx.x % 32 == 0)
            Op::finish(acc, Op::own(extra, k), fact, walk.count, out ? out + k : nullptr, second ? second + k : nullptr);
    }
}

#endif  // TT_WALKS_CUH
