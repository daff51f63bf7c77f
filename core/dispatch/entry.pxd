cimport cython

from tt.core.tensor_base cimport TensorBase, TensorSpec

cdef type Tensor

cdef class Choice:
    cdef public object function
    cdef public tuple takes
    cdef public tuple omitted
    cdef public object registration
    cdef public int leading
    cpdef bint covers(self, tuple args) except -1

cdef class Entry:
    cdef public long long keys
    cdef public long long bits
    cdef public long long epoch
    cdef public object operator
    cdef public str form
    cdef public int kind
    cdef public bint direct
    cdef public bint verified
    cdef public object plain
    cdef public tuple choices
    cdef public int compute_code
    cdef public object compute_native
    cdef public tuple group
    cdef public int result
    cdef public TensorSpec spec
    cdef public tuple specs
    cdef public long long result_bits
    cdef public object downcast
    cdef public int shares
    cdef public object backend
    cdef public object handle_type
    cdef public int writes_target
    cdef public Entry below
    cdef public object rule
    cdef public long long clear
    cdef public object function
    cdef public Entry rest
    cdef public object resolution
    cdef object __weakref__
    cpdef run(self, tuple args)
    cpdef call_below(self, tuple args)
    cpdef strip(self, args)
    cpdef Choice choose(self, tuple args)
    cpdef list handles(self, Choice choice, tuple args)
    cpdef list handle_list(self, list values, int position)
    cpdef run_kernel(self, tuple args)
    cpdef wrap_one(self, handle, int index, tuple args)
    cpdef run_inplace(self, tuple args)
    cpdef wrap_all(self, handles, tuple args)
    @cython.locals(shared=bint)
    cpdef run_mutating(self, tuple args)
