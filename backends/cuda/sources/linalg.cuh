// Distances of rows.  A block has a tile of TILE x TILE distances, for which it goes over the columns of both matrices.

#ifndef TT_LINALG_CUH
#define TT_LINALG_CUH

#include "common.cuh"

namespace distance {

[[maybe_unused]] constexpr int TILE = 16;

enum Kind { UNEQUAL, SUM, SQUARES, LARGEST, POWERS };

struct Sizes {
    int64 batch, rows, others, columns;
};

template <int KIND, typename T>
TT_INLINE T added(T total, T d, T p) {
    if constexpr (KIND == UNEQUAL) return total + (d != T(0) ? T(1) : T(0));
    else if constexpr (KIND == SUM) return total + d;
    else if constexpr (KIND == SQUARES) return total + d * d;
    else if constexpr (KIND == LARGEST) return math::maximum(total, d);
    else return total + math::pow(d, p);
}

// Relative to the largest difference powers neither overflow nor vanish.
template <typename T>
TT_INLINE T scaled(const T* x, const T* y, int64 columns, T p) {
    T largest = T(0), total = T(0);
    for (int64 k = 0; k < columns; k++) largest = math::maximum(largest, math::fabs(x[k] - y[k]));
    if (!(largest > T(0)) || math::isinf(largest)) return largest;
    for (int64 k = 0; k < columns; k++) total += math::pow(math::fabs(x[k] - y[k]) / largest, p);
    return math::pow(total, T(1) / p) * largest;
}

}  // namespace distance

template <typename T, int KIND>
__global__ void row_distances(const T* x, const T* y, T* out, distance::Sizes s, double power) {
    using namespace distance;
    __shared__ T own[TILE][TILE + 1], other[TILE][TILE + 1];
    const int64 down = (s.rows + TILE - 1) / TILE, across = (s.others + TILE - 1) / TILE;
    const int i = threadIdx.x / TILE, j = threadIdx.x % TILE;
    const T p = T(power);
    for (int64 tile = blockIdx.x; tile < s.batch * down * across; tile += gridDim.x) {
        const int64 n = tile / (down * across), row = tile / across % down * TILE, column = tile % across * TILE;
        const T *xs = x + n * s.rows * s.columns, *ys = y + n * s.others * s.columns;
        T total = T(0);
        for (int64 first = 0; first < s.columns; first += TILE) {
            const bool inside = first + j < s.columns;
            own[i][j] = inside && row + i < s.rows ? xs[(row + i) * s.columns + first + j] : T(0);
            other[i][j] = inside && column + i < s.others ? ys[(column + i) * s.columns + first + j] : T(0);
            __syncthreads();
            const int count = s.columns - first < TILE ? int(s.columns - first) : TILE;
            T part = T(0);  // few at a time, so that long rows lose few digits
            for (int k = 0; k < count; k++) part = added<KIND>(part, T(math::fabs(own[i][k] - other[j][k])), p);
            total = KIND == LARGEST ? math::maximum(total, part) : total + part;
            __syncthreads();
        }
        if (row + i >= s.rows || column + j >= s.others) continue;
        if constexpr (KIND == SQUARES || KIND == POWERS) {
            // Far from the ends of its range a sum has all digits; NaN stays.
            const T high = sizeof(T) == 8 ? T(1e290) : T(1e35), low = sizeof(T) == 8 ? T(1e-290) : T(1e-32);
            if (total == total && !(total < high && total > low))
                total = scaled(xs + (row + i) * s.columns, ys + (column + j) * s.columns, s.columns, p);
            else total = KIND == SQUARES ? math::sqrt(total) : math::pow(total, T(1) / p);
        }
        out[(n * s.rows + row + i) * s.others + column + j] = total;
    }
}

#endif  // TT_LINALG_CUH
