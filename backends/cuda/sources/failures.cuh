// Faults that only the device can find, such as an index out of range.
//
// Note [Faults are noted on the device]
// -------------------------------------
// What a kernel finds is never followed: nothing is read or written outside of an array.  The first fault is noted in a
// record in memory of the host, which the host looks at whenever it has waited for the device, and then raises.
#ifndef TT_FAILURES_CUH
#define TT_FAILURES_CUH

#include "common.cuh"

// `taken` is set by whoever comes first; backends/cuda/runtime/device_asserts.py reads the rest.
struct Failure {
    uint64 taken;
    int64 what, index, dim, size;
};

TT_INLINE void note_failure(uint64 address, int64 what, int64 index, int64 dim, int64 size) {
    Failure* failure = reinterpret_cast<Failure*>(address);
    if (atomicCAS(&failure->taken, 0ull, 1ull) == 0ull) {
        failure->what = what;
        failure->index = index;
        failure->dim = dim;
        failure->size = size;
        __threadfence_system();
    }
}

#endif  // TT_FAILURES_CUH
