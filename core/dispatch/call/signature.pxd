cimport cython

cdef object NO_DEFAULT

cdef class SignaturePlan:
    cdef public tuple steps
    cdef public bint wide
    cdef public int leading
    cdef public tuple tail
    cdef public bytes kinds
    cdef public tuple shifts
    cdef public tuple lengths
    cdef public int required
    cdef public int positional
    cdef public int variadic
    cdef public tuple defaults
    cdef public tuple tails
    cdef public dict names
    cdef public bint looks_at_all
    cdef public bint ranged
    @cython.locals(count="Py_ssize_t", position="Py_ssize_t", placed=list, names=dict, missing=int, defaults=tuple)
    cdef tuple placed(self, tuple args, dict kwargs)
