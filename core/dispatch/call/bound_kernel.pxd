cimport cython

from tt.core.tensor.base cimport TensorBase

cdef class BoundKernel:
    cdef public object function
    cdef public tuple takes
    cdef public tuple omitted
    cdef public object registration
    cdef public int leading
    @cython.locals(position="Py_ssize_t")
    cpdef bint accepts(self, tuple args) except -1
