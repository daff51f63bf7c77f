cimport cython

from tt.core.dispatch.call cimport codes, guard
from tt.core.dispatch.call.cached_call cimport CachedCall
from tt.core.dispatch.call.signature cimport SignaturePlan
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
cdef long long NOT_OVERRIDDEN

cdef table_key(unsigned long long bits, long long positions)

# `cdef` members are not looked up in subclasses and are invisible to Python, except `two` (for the methods of Tensor)
# and `fast_path`.
cdef class OpOverload:
    cdef public object operator
    cdef public str form
    cdef public CachedCall last
    cdef public dict tables
    cdef public long long generation
    cdef public str name
    cdef public object binder
    cdef public SignaturePlan plan
    cdef public int leading
    cdef public int target_shift
    cdef public bint functional
    cdef public bint ranged_operand
    cdef public OpOverload out_overload
    cdef public long long home
    @cython.locals(last=CachedCall)
    cdef CachedCall find(self, long long epoch, long long keys, unsigned long long bits, long long positions)
    @cython.locals(generation="long long", epoch="long long", cached=CachedCall)
    cpdef CachedCall cached_call(self, long long keys, unsigned long long bits, long long positions, tuple args)
    cpdef CachedCall enter(self, CachedCall cached, long long epoch, long long generation)
    cpdef execute(self, tuple args)
    cpdef dispatch(self, tuple args)
    cdef general(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", cached=CachedCall)
    cpdef called(self, tuple bound, function, tuple args, dict kwargs)
    @cython.locals(tensor=TensorBase, cached=CachedCall)
    cdef one(self, value)
    @cython.locals(first=TensorBase, second=TensorBase, keys="long long", bits="unsigned long long", positions="long long",
                   cached=CachedCall)
    cpdef two(self, left, right)
    cdef two_apart(self, left, right)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", code="long long", placed=int, at=int,
                   how=int, shift=int, tensor=TensorBase, beyond=list)
    cpdef tuple scan(self, tuple args)
    @cython.locals(count="Py_ssize_t", position="Py_ssize_t", variadic="Py_ssize_t", kind=int, shift=int, keys="long long",
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
    @cython.locals(count="Py_ssize_t", overload=OpOverload, plan=SignaturePlan)
    cdef fast_path_out(self, tuple args, dict kwargs)
