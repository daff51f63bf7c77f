// Reading and writing at places: what gather, index, scatter, cat, tril and their relatives come down to.
//
// Elements are moved as they lie in memory, so the templates are over units of 1, 2, 4, 8 or 16 bytes and not over dtypes; a
// row without gaps is moved in units of up to 16 bytes, whatever its dtype is.
#ifndef TT_INDEXING_CUH
#define TT_INDEXING_CUH

#include "common.cuh"
#include "failures.cuh"

constexpr int PLACES_DIMS = 12;
constexpr int PLACES_INDICES = 8;

struct alignas(16) Unit16 {
    uint64 low, high;
};

// How elements of two arrays and of the index arrays belong together; all strides in elements, or in units of a row.
struct Places {
    int64 count;
    int64 sizes[PLACES_DIMS];
    int64 base[PLACES_DIMS];  // strides of the array that is indexed, 0 in the dimensions that indices choose
    int64 other[PLACES_DIMS];  // strides of the result, or of the values that are written
    int64 along[PLACES_INDICES][PLACES_DIMS];  // strides of the index arrays
    int64 bounds[PLACES_INDICES], steps[PLACES_INDICES], dims[PLACES_INDICES];
    int64 what;  // the operator, for the record
    int ndim, wide, wraps, reserved;  // wide: a bit for each index array of 64 bits; wraps: negative ones count from the end
};

// What changes from call to call: addresses, and one element for where no array of values is given.
struct Pointed {
    uint64 index[PLACES_INDICES];
    uint64 failure;
    uint64 value[2];
};

// The element that is written where no array of values is given.
template <typename T>
TT_INLINE T pattern(const Pointed &q) {
    if constexpr (sizeof(T) == 16) return T{q.value[0], q.value[1]};
    else return T(q.value[0]);
}

// Where an element lies in the indexed array and in the other one; false if an index is out of range.
template <typename J>
struct Located {
    J base, other;
    bool fine;
};

template <typename J, int K>
TT_INLINE Located<J> locate(const Places &p, const Pointed &q, J id) {
    J base = 0, other = 0, along[K > 0 ? K : 1] = {};
    for (int d = p.ndim - 1; d >= 0; d--) {
        J size = J(p.sizes[d]), rest = id / size, at = id - rest * size;
        id = rest;
        base += at * J(p.base[d]);
        other += at * J(p.other[d]);
#pragma unroll
        for (int k = 0; k < K; k++) along[k] += at * J(p.along[k][d]);
    }
    bool fine = true;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int64 index = (p.wide >> k) & 1 ? reinterpret_cast<const int64 *>(q.index[k])[along[k]]
                                            : reinterpret_cast<const int *>(q.index[k])[along[k]];
        int64 found = index < 0 && p.wraps ? index + p.bounds[k] : index;
        if (found < 0 || found >= p.bounds[k]) {
            note_failure(q.failure, p.what, index, p.dims[k], p.bounds[k]);
            fine = false;
        } else {
            base += J(found) * J(p.steps[k]);
        }
    }
    return {base, other, fine};
}

// --- reading -----------------------------------------------------------------------------------------------

// out[...] = self[indices]; without indices (K = 0) a copy of any strided array.
template <typename T, typename J, int K>
__global__ void take_places(T *out, const T *self, const Places p, const Pointed q) {
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        Located<J> at = locate<J, K>(p, q, id);
        out[at.other] = at.fine ? self[at.base] : T{};
    }
}

// The place of each index in elements of the indexed array, -1 for one that is out of range or is `skipped`.
template <typename J, int K>
__global__ void find_places(int64 *out, const Places p, const Pointed q, int64 skipped) {
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        Located<J> at = locate<J, K>(p, q, id);
        out[id] = at.fine && int64(at.base) != skipped ? int64(at.base) : -1;
    }
}

// --- writing -----------------------------------------------------------------------------------------------

// self[indices] = values; of several values for one place any one stays.
template <typename T, typename J, int K>
__global__ void put_places(T *self, const T *values, const Places p, const Pointed q) {
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        Located<J> at = locate<J, K>(p, q, id);
        if (at.fine) self[at.base] = values != nullptr ? values[at.other] : pattern<T>(q);
    }
}

// out[...] = mask ? value : self; `along[0]` are the strides of the mask, and out may be self.
template <typename T, typename J>
__global__ void fill_masked(T *out, const T *self, const bool *mask, const T *value, const Places p, const Pointed q) {
    const T filling = value != nullptr ? *value : pattern<T>(q);
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        J rest = id, base = 0, other = 0, along = 0;
        for (int d = p.ndim - 1; d >= 0; d--) {
            J size = J(p.sizes[d]), next = rest / size, at = rest - next * size;
            rest = next;
            base += at * J(p.base[d]);
            other += at * J(p.other[d]);
            along += at * J(p.along[0][d]);
        }
        if (mask[along]) out[other] = filling;
        else if (out != self) out[other] = self[base];
    }
}

// self[mask] = the next elements of source; ranks counts the true elements up to and with each.
template <typename T, typename J>
__global__ void scatter_masked(T *self, const T *source, const bool *mask, const int64 *ranks, const Places p, const Pointed q, int64 available) {
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        if (mask[id]) {
            int64 rank = ranks[id] - 1;
            if (rank >= available) note_failure(q.failure, p.what, ranks[p.count - 1], 0, available);
            else self[locate<J, 0>(p, q, id).base] = source[rank];
        }
    }
}

// --- rearranged copies -------------------------------------------------------------------------------------

// The triangle of each matrix below (or above) a diagonal; the last two dimensions are rows and columns.
template <typename T, typename J>
__global__ void copy_triangle(T *out, const T *self, const Places p, const Pointed q, int64 diagonal, int64 upper) {
    const J rows = J(p.sizes[p.ndim - 2]), columns = J(p.sizes[p.ndim - 1]);
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        int64 row = id / columns % rows, column = id % columns;
        bool kept = upper ? column - row >= diagonal : column - row <= diagonal;
        Located<J> at = locate<J, 0>(p, q, id);
        out[at.other] = kept ? self[at.base] : T{};
    }
}

// out[i] = self[i - shift], around the ends of each dimension; `along[0]` are the shifts, from 0 to before the size.
template <typename T, typename J>
__global__ void copy_rolled(T *out, const T *self, const Places p, const Pointed q) {
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        J rest = id, base = 0, other = 0;
        for (int d = p.ndim - 1; d >= 0; d--) {
            J size = J(p.sizes[d]), next = rest / size, at = rest - next * size;
            rest = next;
            J from = at - J(p.along[0][d]);
            base += (from < 0 ? from + size : from) * J(p.base[d]);
            other += at * J(p.other[d]);
        }
        out[other] = self[base];
    }
}

// --- true elements -------------------------------------------------------------------------------------------

// In which dimensions places are counted.
struct Coordinates {
    int64 ndim, row, column;  // steps in the result: from place to place, from dimension to dimension
    int64 sizes[64];
};

// How many elements of each chunk are not zero; a block for a chunk.
template <typename T, int THREADS>
__global__ void count_true(int64 *counts, const T *self, int64 count, int64 chunk) {
    const int64 first = int64(blockIdx.x) * chunk, last = first + chunk < count ? first + chunk : count;
    int found = 0;
    for (int64 i = first + threadIdx.x; i < last; i += THREADS) found += convert<bool>(self[i]) ? 1 : 0;
    found = block_sum<THREADS>(found);
    if (threadIdx.x == 0) counts[blockIdx.x] = found;
}

// What lies before the value of a thread in its block, and the sum of all.
template <int THREADS>
TT_INLINE int64 before_in_block(int64 own, int64 &whole) {
    __shared__ int64 slots[THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64 all = own;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
        int64 other = shuffle_up(all, delta);
        if (lane >= delta) all += other;
    }
    __syncthreads();  // the slots may still be read from the call before
    if (lane == 31) slots[warp] = all;
    __syncthreads();
    int64 before = 0;
    whole = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        if (w == warp) before = whole;
        whole += slots[w];
    }
    return before + all - own;
}

// Turn counts into what lies before each; behind the last follows the sum.  One block.
template <int THREADS>
__global__ void sum_before(int64 *counts, int64 blocks) {
    int64 carry = 0, whole;
    for (int64 tile = 0; tile < blocks; tile += THREADS) {
        const int64 i = tile + threadIdx.x;
        const int64 before = before_in_block<THREADS>(i < blocks ? counts[i] : 0, whole);
        if (i < blocks) counts[i] = carry + before;
        carry += whole;
    }
    if (threadIdx.x == 0) counts[blocks] = carry;
}

// The places of the elements that are not zero, in order.
template <typename T, typename J, int THREADS>
__global__ void write_true(int64 *out, const int64 *before, const T *self, int64 count, int64 chunk, const Coordinates c) {
    const int64 first = int64(blockIdx.x) * chunk, last = first + chunk < count ? first + chunk : count;
    int64 rank = before[blockIdx.x], whole;
    for (int64 tile = first; tile < last; tile += THREADS) {
        const int64 i = tile + threadIdx.x;
        const bool found = i < last && convert<bool>(self[i]);
        const int64 place = rank + before_in_block<THREADS>(found ? 1 : 0, whole);
        if (found) {
            J rest = J(i);
            for (int d = int(c.ndim) - 1; d >= 0; d--) {
                J size = J(c.sizes[d]), next = d > 0 ? J(rest / size) : J(0);
                out[place * c.row + d * c.column] = int64(rest - next * size);
                rest = next;
            }
        }
        rank += whole;
    }
}

// --- joining -----------------------------------------------------------------------------------------------

constexpr int JOINED = 120;

// Arrays without gaps, whose rows follow each other in the rows of the result.
struct Joined {
    uint64 address[JOINED];
    int64 ends[JOINED];  // where the row of each ends in the row of the result
    int64 count, row, first, parts;  // elements to write; of a row of the result; where in it the first part begins
};

template <typename T, typename J>
__global__ void join_rows(T *out, const Joined p) {
    const J width = J(p.ends[p.parts - 1] - p.first);
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        J row = id / width, at = id - row * width + J(p.first);
        int low = 0, high = int(p.parts) - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (at < J(p.ends[middle])) high = middle;
            else low = middle + 1;
        }
        J begin = J(low > 0 ? p.ends[low - 1] : p.first), own = J(p.ends[low]) - begin;
        out[row * J(p.row) + at] = reinterpret_cast<const T *>(p.address[low])[row * own + (at - begin)];
    }
}

#endif  // TT_INDEXING_CUH
