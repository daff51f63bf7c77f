cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.bound_kernel cimport BoundKernel
from tt.core.dispatch.call.kernel_call cimport KernelCall
from tt.core.tensor.base cimport TensorBase
from tt.core.tensor.storage cimport Storage

cdef class MutatingCall(KernelCall):
    cdef public int writes_target
    cdef public tuple operands
    cdef public object function
    @cython.locals(target=TensorBase, other=TensorBase, memory=Storage, how=int, shared=bint)
    cdef run_inplace(self, BoundKernel choice, tuple args)
    @cython.locals(target=TensorBase, tensor=TensorBase, memory=Storage, choice=BoundKernel, prepared=list, plain=bint, filled=bint,
                   count="Py_ssize_t", place="Py_ssize_t")
    cdef run_out(self, tuple args)
    @cython.locals(shared=bint)
    cdef run_mutating(self, BoundKernel choice, tuple args)
    @cython.locals(tensor=TensorBase, seen=set, viewed=set, spans=list, count="Py_ssize_t")
    cdef bint all_apart(self, tuple args) except -1
