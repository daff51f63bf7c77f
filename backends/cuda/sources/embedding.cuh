// Rows of a table, reduced in bags.  A thread has one column of one bag.

#ifndef TT_EMBEDDING_CUH
#define TT_EMBEDDING_CUH

#include "failures.cuh"

struct Bags {
    int64 bags, columns, rows, indices, offsets, padding;  // `padding` is the row that does not count, or -1
};

// What is wrong with the indices of bags; runtime/device_asserts.py has the messages.
enum BagFault { NO_ROW = 0, FIRST_OFFSET = 1, LAST_OFFSET = 2, FALLING = 3 };

// MODE: 0 sums, 1 means, 2 the largest elements, whose positions among the indices go into `places`, -1 of empty bags.
// Without a last offset the last bag ends with the indices.
template <typename T, int MODE>
__global__ void reduce_bags(const T* table, const int64* indices, const int64* offsets, const compute_t<T>* weights, T* out,
                            int64* places, Bags b, uint64 failure, int64 what) {
    using C = compute_t<T>;
    for (int64 i = first_element(); i < b.bags * b.columns; i += element_step()) {
        const int64 bag = i / b.columns, column = i - bag * b.columns;
        int64 from = offsets[bag], to = bag + 1 < b.offsets ? offsets[bag + 1] : b.indices;
        if (column == 0) {
            if (bag == 0 && from != 0) note_failure(failure, what, from, FIRST_OFFSET, b.indices);
            else if (from > b.indices || to > b.indices) note_failure(failure, what, offsets[b.offsets - 1], LAST_OFFSET, b.indices);
            else if (to < from) note_failure(failure, what, from, FALLING, b.indices);
        }
        from = from < 0 ? 0 : from;
        to = to > b.indices ? b.indices : to;
        C total = C(0);
        T most = T(0.0f);
        int64 count = 0, place = -1;
        for (int64 k = from; k < to; k++) {
            const int64 row = indices[k];
            if (row < 0 || row >= b.rows) {
                if (column == 0) note_failure(failure, what, row, NO_ROW, b.rows);
                continue;
            }
            if (row == b.padding) continue;
            const T x = table[row * b.columns + column];
            if (MODE == 2) {
                if (place < 0 || C(x) > C(most) || (C(x) != C(x) && C(most) == C(most))) {
                    most = x;
                    place = k;
                }
            } else {
                total += weights ? C(x) * weights[k] : C(x);
                count++;
            }
        }
        if (MODE == 2) {
            out[i] = most;
            places[i] = place;
        } else {
            out[i] = T(MODE == 1 && count > 1 ? total / C(count) : total);
        }
    }
}

#endif  // TT_EMBEDDING_CUH
