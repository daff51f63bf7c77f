// Combining values with the elements at places that indices name.
//
// Note [Two ways to combine]
// --------------------------
// `add_places` adds with atomics: one pass, in no particular order, so sums of floating point numbers may differ in their last
// digits from run to run.  `combine_segments` gets the values ordered by their place, and one thread combines all values of a
// place in their order: every run gives the same bits, in float32 for half precision, for every dtype and reduction.
#ifndef TT_SCATTERING_CUH
#define TT_SCATTERING_CUH

#include "indexing.cuh"

// --- atomics -----------------------------------------------------------------------------------------------

TT_INLINE void add_atomically(float *at, float value) { atomicAdd(at, value); }
TT_INLINE void add_atomically(double *at, double value) { atomicAdd(at, value); }
TT_INLINE void add_atomically(int *at, int value) { atomicAdd(at, value); }
TT_INLINE void add_atomically(int64 *at, int64 value) {
    atomicAdd(reinterpret_cast<uint64 *>(at), uint64(value));
}

// self[indices] += values * value; T is float, double, int or int64, and complex numbers are two of them (PARTS = 2).
template <typename T, typename J, int K, int PARTS>
__global__ void add_places(T *self, const T *values, const Places p, const Pointed q) {
    const T factor = *reinterpret_cast<const T *>(q.value);
    for (J id = J(first_element()); id < J(p.count); id += J(element_step())) {
        Located<J> at = locate<J, K>(p, q, id);
        if (at.fine) {
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                add_atomically(self + at.base * PARTS + part, values[at.other * PARTS + part] * factor);
            }
        }
    }
}

// --- segments ----------------------------------------------------------------------------------------------

// Sums of float32 carry what each addition rounds off (Kahan), since a segment may be long.
template <typename A>
struct Summing {
    A sum, lost;
    TT_INLINE void start(A value) { sum = value, lost = A(0); }
    TT_INLINE void add(A value) {
        A next = value - lost, total = sum + next;
        lost = (total - sum) - next;
        // of infinite sums nothing is lost
        if (!(lost == lost)) lost = A(0);
        sum = total;
    }
    TT_INLINE A result() const { return sum; }
};

template <typename A>
struct Adding {
    A sum;
    TT_INLINE void start(A value) { sum = value; }
    TT_INLINE void add(A value) { sum = sum + value; }
    TT_INLINE A result() const { return sum; }
};

template <>
struct Adding<float> : Summing<float> {};

template <>
struct Adding<bool> {
    bool sum;
    TT_INLINE void start(bool value) { sum = value; }
    TT_INLINE void add(bool value) { sum = sum || value; }
    TT_INLINE bool result() const { return sum; }
};

template <typename A>
struct Multiplying {
    A product;
    TT_INLINE void start(A value) { product = value; }
    TT_INLINE void add(A value) { product = product * value; }
    TT_INLINE A result() const { return product; }
};

template <>
struct Multiplying<bool> {
    bool product;
    TT_INLINE void start(bool value) { product = value; }
    TT_INLINE void add(bool value) { product = product && value; }
    TT_INLINE bool result() const { return product; }
};

template <typename A>
struct Largest {
    A best;
    TT_INLINE void start(A value) { best = value; }
    TT_INLINE void add(A value) { best = value > best || value != value ? value : best; }
    TT_INLINE A result() const { return best; }
};

template <typename A>
struct Smallest {
    A best;
    TT_INLINE void start(A value) { best = value; }
    TT_INLINE void add(A value) { best = value < best || value != value ? value : best; }
    TT_INLINE A result() const { return best; }
};

// The mean of integers is rounded down.
template <typename A>
TT_INLINE A divided(A sum, int64 count) { return sum / A(count); }
template <typename A>
TT_INLINE A divided_down(A sum, int64 count) {
    int64 quotient = int64(sum) / count;
    return A(int64(sum) % count < 0 ? quotient - 1 : quotient);
}
template <>
TT_INLINE int divided(int sum, int64 count) { return divided_down(sum, count); }
template <>
TT_INLINE int64 divided(int64 sum, int64 count) { return divided_down(sum, count); }
template <>
TT_INLINE signed char divided(signed char sum, int64 count) { return divided_down(sum, count); }
template <>
TT_INLINE short divided(short sum, int64 count) { return divided_down(sum, count); }
template <>
TT_INLINE bool divided(bool sum, int64) { return sum; }

struct Segments {
    int64 members, outer, size, inner;  // values [outer, members, inner], target [outer, size, inner], without gaps
    int include, mean, by_count, reserved;  // by_count: each value is divided by how many there are in its segment
};

// sorted: places in ascending order, -1 for those to leave out; order: which value each place belongs to.
template <typename T, template <typename> class Combine, typename J>
__global__ void combine_segments(T *target, const T *values, const int64 *sorted, const int64 *order, const Segments p) {
    using A = compute_t<T>;
    const J inner = J(p.inner), columns = J(p.outer) * inner, members = J(p.members);
    for (J id = J(first_element()); id < members * columns; id += J(element_step())) {
        J first = id / columns, column = id - first * columns, outer = column / inner;
        int64 place = sorted[first];
        if (place < 0 || (first > 0 && sorted[first - 1] == place)) continue;
        const T *own = values + outer * members * inner + (column - outer * inner);
        T *out = target + (outer * J(p.size) + J(place)) * inner + (column - outer * inner);
        Combine<A> result;
        J last = first;
        if (p.include) result.start(A(*out));
        else result.start(A(own[J(order[last++]) * inner]));
        for (; last < members && sorted[last] == place; last++) {
            result.add(A(own[J(order[last]) * inner]));
        }
        A found = result.result();
        if (p.mean) found = divided(found, int64(last - first) + (p.include ? 1 : 0));
        if (p.by_count) found = divided(found, int64(last - first));
        *out = convert<T>(found);
    }
}

#endif  // TT_SCATTERING_CUH
