cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.bound_kernel cimport BoundKernel
from tt.core.dispatch.call.memory_formats cimport in_format_of
from tt.core.tensor.base cimport TensorBase, TensorSpec, wrap_handle
from tt.core.types.state cimport DispatchState

cdef type Tensor
cdef DispatchState STATE

# `cdef` methods are invisible to Python; `choose` and `wrap_one` are called from there.
cdef class KernelCall:
    cdef public object operator
    cdef public str form
    cdef public int dtype_at
    cdef public object native
    cdef public int device_at
    cdef public int like_at
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
    cdef public unsigned long long result_bits
    cdef public object downcast
    cdef public int shares
    cdef public object backend
    cdef public object handle_type
    cdef public tuple format_of
    cdef public object resolution
    cdef object __weakref__
    @cython.locals(choice=BoundKernel)
    cpdef BoundKernel choose(self, tuple args)
    @cython.locals(position=int)
    cdef list handles(self, BoundKernel choice, tuple args)
    @cython.locals(tensor=TensorBase, code=int)
    cdef prepare(self, value, int position)
    @cython.locals(tensor=TensorBase, code=int)
    cdef list handle_list(self, list values, int position)
    cdef cast(self, handle, int position)
    cdef run_kernel(self, BoundKernel choice, tuple args)
    @cython.locals(takes=tuple, count="Py_ssize_t", position=int, prepared=list)
    cdef call_kernel(self, BoundKernel choice, tuple args)
    @cython.locals(spec=TensorSpec, bits="unsigned long long")
    cdef TensorBase wrap_direct(self, handle)
    @cython.locals(spec=TensorSpec, new=TensorBase, source=TensorBase, bits="unsigned long long")
    cpdef wrap_one(self, handle, int index, tuple args)
    cdef wrap_all(self, handles, tuple args)
    cdef as_handle(self, found, TensorSpec spec, tuple args)
    @cython.locals(tensor=TensorBase)
    cdef TensorSpec spec_at(self, TensorSpec spec, tuple args)
