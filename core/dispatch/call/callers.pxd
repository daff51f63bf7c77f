cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.call_cache cimport CallCache
from tt.core.dispatch.call.entry cimport CachedCall
from tt.core.dispatch.call.signature_plan cimport SignaturePlan
from tt.core.types.state cimport DispatchState
from tt.core.tensor cimport blank
from tt.core.tensor.base cimport TensorBase, TensorSpec

cdef DispatchState STATE
cdef dict SCALARS
cdef int LAST_SHIFT
cdef object FALL_THROUGH
cdef CachedCall EMPTY
cdef type Dtype
cdef long long OVERRIDDEN

# `cdef` members are not looked up in subclasses and are invisible to Python, except `two` (for the methods of Tensor)
# and `fast_path`.
cdef class OpOverload(CallCache):
    cdef public SignaturePlan plan
    cdef public str name
    cdef public int leading
    cdef public int target_shift
    cdef public object binder
    cdef public bint functional
    cdef public OpOverload out_caller
    cdef public long long home
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", code="long long", place=int, at=int,
                   how=int, shift=int, tensor=TensorBase, beyond=list)
    cpdef tuple scan(self, tuple args)
    cpdef execute(self, tuple args)
    cpdef dispatch(self, tuple args)
    @cython.locals(count="Py_ssize_t", place="Py_ssize_t", variadic="Py_ssize_t", kind=int, shift=int, keys="long long",
                   bits="unsigned long long", positions="long long", code="long long", changed=list, tensor=TensorBase,
                   entry=CachedCall, kinds=bytes, shifts=tuple, plan=SignaturePlan, number=double)
    cpdef fast_path(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", shift=int, tensor=TensorBase,
                   entry=CachedCall)
    cpdef of_one(self, tuple args)
    @cython.locals(count="Py_ssize_t", caller=OpOverload, plan=SignaturePlan)
    cdef fast_path_out(self, tuple args, dict kwargs)
    cdef general(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", entry=CachedCall)
    cpdef called(self, tuple bound, function, tuple args, dict kwargs)
    @cython.locals(tensor=TensorBase, entry=CachedCall)
    cdef one(self, value)
    @cython.locals(first=TensorBase, second=TensorBase, keys="long long", bits="unsigned long long", positions="long long",
                   entry=CachedCall)
    cpdef two(self, left, right)
