cimport cython

from tt.core.dispatch.call.op_overload cimport OpOverload

cdef object FALL_THROUGH

cdef class OpOverloadPacket:
    cdef public dict choices
    cdef public OpOverload unary
    cdef public tuple recent
    @cython.locals(count="Py_ssize_t", index="Py_ssize_t", recent=tuple, key=tuple, overload=OpOverload)
    cpdef call(self, tuple args, dict kwargs)
