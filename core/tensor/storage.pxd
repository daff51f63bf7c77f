cdef class Storage:
    cdef public object owner
    cdef public object backend
    cdef public long long version
    cdef object __weakref__
