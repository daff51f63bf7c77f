cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.cached_call cimport CachedCall
from tt.core.dispatch.call.call_cache cimport CallCache
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

cdef class FastPath(CallCache):
    cdef public SignaturePlan plan
    cdef public int leading
    cdef public int target_shift
    cdef public bint functional
    cdef public bint ranged_operand
    cdef public FastPath out_overload
    cdef public long long home
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", code="long long", place=int, at=int,
                   how=int, shift=int, tensor=TensorBase, beyond=list)
    cpdef tuple scan(self, tuple args)
    @cython.locals(count="Py_ssize_t", place="Py_ssize_t", variadic="Py_ssize_t", kind=int, shift=int, keys="long long",
                   bits="unsigned long long", positions="long long", code="long long", changed=list, tensor=TensorBase,
                   cached=CachedCall, kinds=bytes, shifts=tuple, plan=SignaturePlan, number=double, largest=double)
    cpdef fast_path(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", cached=CachedCall)
    cdef first_call(self, tuple args)
    @cython.locals(below=CachedCall)
    cdef refuse_out_of_range(self, CachedCall cached, tuple args)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", shift=int, tensor=TensorBase,
                   cached=CachedCall)
    cpdef of_one(self, tuple args)
    @cython.locals(count="Py_ssize_t", overload=FastPath, plan=SignaturePlan)
    cdef fast_path_out(self, tuple args, dict kwargs)
