cdef class DispatchState:
    cdef public long long guard
    cdef public long long epoch
    cdef public long long modes
    cdef public long long drawing
    cdef public long long placed
    cdef public dict settings
    cdef dict _epochs
    cdef object _lock
