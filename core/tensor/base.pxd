cimport cython

from tt.core.tensor cimport blank

cdef long long _EPOCH

cdef class TensorSpec:
    cdef public object dtype
    cdef public object device
    cdef public object layout
    cdef public object backend
    cdef public long long keys
    cdef public unsigned long long dim_bit
    cdef public unsigned long long zero_dim_bit
    cdef public int code
    cdef public object memory_format
    cdef object __weakref__

cdef class TensorBase:
    cdef public object _handle
    cdef public long long _epoch
    cdef public long long _keys
    cdef public unsigned long long _promotion
    cdef public object _record
    cdef public object _root
    cdef public TensorSpec _spec
    cdef public object _storage
    cdef object __weakref__
    cpdef _ensure_storage(self)
    cpdef _bump_version(self)
    cpdef _set_data(self, handle, TensorSpec spec)

@cython.locals(new=TensorBase)
cpdef TensorBase wrap_handle(kind, handle, TensorSpec spec, long long keys, unsigned long long promotion)
