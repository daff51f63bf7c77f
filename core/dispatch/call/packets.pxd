cimport cython

from tt.core.dispatch.call.callers cimport Caller

cdef object MISSED

cdef class Packet:
    cdef public dict choices
    cdef public Caller unary
    cdef public tuple recent
    @cython.locals(count="Py_ssize_t", place="Py_ssize_t", recent=tuple, key=tuple, caller=Caller)
    cpdef call(self, tuple args, dict kwargs)
