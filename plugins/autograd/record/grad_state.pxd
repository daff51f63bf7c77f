cimport cython

cdef class GradState:
    cdef public object _local
    cdef public object _lock
    cdef public long long bit
    cdef public long long floating
    cdef public long long inference_bit
    cdef public int anomaly
    cdef public int packing
    cdef public int passes
    cdef public int watching
    cdef public int switched_off
    cdef public int transforming
    cdef public object tick
    cpdef bint enabled(self) except -1
    @cython.locals(before=bint)
    cpdef bint enable(self, bint enabled) except -1
    cpdef bint grad(self) except -1
    cpdef bint inferring(self) except -1
    @cython.locals(before=bint)
    cpdef bint infer(self, bint inferring) except -1
    @cython.locals(before=bint)
    cpdef _settle(self)
