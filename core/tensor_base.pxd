cimport cython

from tt.core cimport blank

cdef class TensorSpec:
    cdef public object dtype
    cdef public object device
    cdef public object layout
    cdef public object backend
    cdef public long long keys
    cdef public long long dim_bit
    cdef public long long zero_dim_bit
    cdef public int code
    cdef object __weakref__

cdef class TensorBase:
    cdef public object handle
    cdef public long long keys
    cdef public long long promotion
    cdef public object record
    cdef public object base
    cdef public TensorSpec spec
    cdef public object storage
    cdef object __weakref__
    cpdef ensure_storage(self)
    cpdef bump_version(self)
    cpdef set_data(self, handle, TensorSpec spec)

@cython.locals(new=TensorBase)
cpdef TensorBase wrap_handle(kind, handle, TensorSpec spec, long long keys, long long promotion)
