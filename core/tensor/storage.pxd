cdef class Storage:
    cdef public object owner
    cdef public object backend
    cdef public long long version
    cdef public bint may_overlap
    cdef public bint fixed
    cdef object __weakref__
    cdef dict __dict__
