cimport cython

from tt.core.dispatch.call.cached_call cimport CachedCall

# None, in an overload that no constructor filled, serves no call: no further look at it is needed.
@cython.nonecheck(False)
cdef inline bint serves(CachedCall cached, long long epoch, long long keys, unsigned long long bits, long long positions) noexcept:
    return (
        cached is not None
        and cached.keys == keys
        and cached.promotion == bits
        and cached.positions == positions
        and cached.epoch == epoch
    )
