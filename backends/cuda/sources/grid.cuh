// Samples at the points of a grid, of images (DIMS = 2) and volumes (DIMS = 3), and their gradients.  A thread has one point and
// some channels.  Along each dimension few elements, `taps`, have a share in a sample.

#ifndef TT_GRID_CUH
#define TT_GRID_CUH

#include "common.cuh"

namespace sampling {

enum Mode { BILINEAR, NEAREST, BICUBIC };
enum Padding { ZEROS, BORDER, REFLECTION };

struct Points {
    int64 batch, channels, each, points, size[3], padding, align;  // `each`: channels of a thread
};

// The elements along one dimension: places (-1 outside of the input), shares, and slopes by the coordinate.
template <typename C, int COUNT>
struct Taps {
    int64 place[COUNT];
    C weight[COUNT], slope[COUNT];
};

// The largest place that is inside: the last one, which rounding to C may move outside.
template <typename C>
TT_INLINE C last_of(int64 size) {
    const C last = C(size - 1);
    return int64(last) > size - 1 ? math::nextafter(last, C(0)) : last;
}

// A coordinate moved into the input, and the derivative of that: 1, 0 or -1.
template <typename C>
TT_INLINE C unfolded(C at, int64 size, bool align, bool reflect, C last, C* slope) {
    C moved = C(1);
    if (reflect) {
        const C low = align ? C(0) : C(-0.5);
        C span = C(align ? size - 1 : size);
        if (span == C(0)) span = C(1);
        C from = at - low;
        moved = from < C(0) ? C(-1) : C(1);
        from = math::fabs(from);
        const C flips = math::floor(from / span), rest = from - flips * span;
        const bool even = math::floor(flips / C(2)) * C(2) == flips;
        if (!even) moved = -moved;
        at = (even ? rest : span - rest) + low;
    }
    const C above = at > C(0) ? at : C(0);
    *slope = above > C(0) && above < last ? moved : C(0);
    return above > last ? last : above;
}

template <typename C, int COUNT>
TT_INLINE void tap(Taps<C, COUNT>& taps, int k, C place, C last, C weight, C slope) {
    const bool inside = place >= C(0) && place <= last;
    taps.place[k] = inside ? int64(place) : -1;
    taps.weight[k] = inside ? weight : C(0);
    taps.slope[k] = inside ? slope : C(0);
}

template <typename C, int MODE>
TT_INLINE auto along(C coordinate, int64 size, int64 padding, bool align) {
    constexpr int COUNT = MODE == BICUBIC ? 4 : MODE == NEAREST ? 1 : 2;
    Taps<C, COUNT> taps;
    const C scale = C(align ? size - 1 : size) / C(2), last = last_of<C>(size), up = coordinate + C(1);
    C at = align ? up / C(2) * C(size - 1) : (up * C(size) - C(1)) / C(2), slope = C(1);
    if constexpr (MODE == BICUBIC) {
        const C a = C(-0.75), lower = math::floor(at), share = at - lower;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            // By the share of the point, or, on the other side, by what is left of it.
            const C x = k < 2 ? share : C(1) - share, y = C(1) - x, sign = k < 2 ? scale : -scale;
            const bool near = k == 1 || k == 2;
            const C weight = near ? ((a + C(2)) * x - (a + C(3))) * x * x + C(1) : a * x * y * y;
            const C rise = near ? (C(3) * (a + C(2)) * x - C(2) * (a + C(3))) * x : a * y * (C(1) - C(3) * x);
            C place = lower + C(k - 1);
            if (padding != ZEROS) place = math::rint(unfolded(place, size, align, padding == REFLECTION, last, &slope));
            tap(taps, k, place, last, weight, rise * sign);
        }
    } else {
        if (padding != ZEROS) at = unfolded(at, size, align, padding == REFLECTION, last, &slope);
        if constexpr (MODE == NEAREST) {
            tap(taps, 0, math::rint(at), last, C(1), C(0));
        } else {
            const C lower = math::floor(at), share = at - lower;
            tap(taps, 0, lower, last, C(1) - share, -scale * slope);
            tap(taps, 1, lower + C(1), last, share, scale * slope);
        }
    }
    return taps;
}

// Call `visit(place, weight, slopes)` for each element around a point that lies in the input.
template <typename C, int MODE, int DIMS, typename T, typename Visit>
TT_INLINE void around(const T* point, const Points& p, Visit visit) {
    const bool align = p.align != 0;
    // The last coordinate is that of the first dimension.
    const auto z = along<C, MODE>(DIMS == 3 ? C(point[2]) : C(0), p.size[0], p.padding, align);
    const auto y = along<C, MODE>(C(point[1]), p.size[1], p.padding, align);
    const auto x = along<C, MODE>(C(point[0]), p.size[2], p.padding, align);
    constexpr int COUNT = MODE == BICUBIC ? 4 : MODE == NEAREST ? 1 : 2;
    for (int i = 0; i < (DIMS == 3 ? COUNT : 1); i++)
        for (int j = 0; j < COUNT; j++)
            for (int k = 0; k < COUNT; k++) {
                if (y.place[j] < 0 || x.place[k] < 0 || (DIMS == 3 && z.place[i] < 0)) continue;
                const C flat = y.weight[j] * x.weight[k];
                const int64 place = y.place[j] * p.size[2] + x.place[k];
                if constexpr (DIMS == 3) {
                    const C slopes[3] = {z.weight[i] * y.weight[j] * x.slope[k], z.weight[i] * y.slope[j] * x.weight[k],
                                         z.slope[i] * flat};
                    visit(z.place[i] * p.size[1] * p.size[2] + place, z.weight[i] * flat, slopes);
                } else {
                    const C slopes[3] = {y.weight[j] * x.slope[k], y.slope[j] * x.weight[k], C(0)};
                    visit(place, flat, slopes);
                }
            }
}

}  // namespace sampling

template <typename T, int MODE, int DIMS>
__global__ void grid_samples(const T* input, const T* grid, T* out, sampling::Points p) {
    using C = compute_t<T>;
    const int64 groups = (p.channels + p.each - 1) / p.each, size = p.size[0] * p.size[1] * p.size[2];
    for (int64 i = first_element(); i < p.batch * groups * p.points; i += element_step()) {
        const int64 at = i % p.points, group = i / p.points % groups, n = i / p.points / groups;
        const int64 end = (group + 1) * p.each < p.channels ? (group + 1) * p.each : p.channels;
        for (int64 c = group * p.each; c < end; c++) {
            const T* x = input + (n * p.channels + c) * size;
            C total = C(0);
            sampling::around<C, MODE, DIMS>(grid + (n * p.points + at) * DIMS, p,
                                            [&](int64 place, C weight, const C*) { total += C(x[place]) * weight; });
            out[(n * p.channels + c) * p.points + at] = T(total);
        }
    }
}

// The gradients of the input, which are added to zeros by atomics, so that their last digits may differ from run to run, and of
// the points.  A thread has all channels of a point.  S is the type of sums.
template <typename T, typename S, int MODE, int DIMS>
__global__ void grid_slopes(const T* grad, const T* input, const T* grid, S* to_input, T* to_grid, sampling::Points p) {
    using C = compute_t<T>;
    const int64 size = p.size[0] * p.size[1] * p.size[2];
    for (int64 i = first_element(); i < p.batch * p.points; i += element_step()) {
        const int64 at = i % p.points, n = i / p.points;
        C moved[3] = {C(0), C(0), C(0)};
        sampling::around<C, MODE, DIMS>(grid + i * DIMS, p, [&](int64 place, C weight, const C* slopes) {
            C product = C(0);
            for (int64 c = n * p.channels; c < (n + 1) * p.channels; c++) {
                const C g = C(grad[c * p.points + at]);
                atomicAdd(to_input + c * size + place, S(weight * g));
                if (MODE != sampling::NEAREST) product += C(input[c * size + place]) * g;
            }
            if (MODE != sampling::NEAREST)
                for (int d = 0; d < DIMS; d++) moved[d] += product * slopes[d];
        });
        for (int d = 0; d < DIMS; d++) to_grid[i * DIMS + d] = T(moved[d]);
    }
}

#endif  // TT_GRID_CUH
