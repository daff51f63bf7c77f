cimport cython

from tt.core.dispatch.call.cached_call cimport CachedCall
from tt.core.dispatch.call.fast_path cimport FastPath
from tt.core.types.state cimport DispatchState
from tt.core.tensor.base cimport TensorBase, TensorSpec

cdef DispatchState STATE
cdef dict SCALARS
cdef object FALL_THROUGH
cdef CachedCall EMPTY
cdef long long OVERRIDDEN

# `cdef` members are not looked up in subclasses and are invisible to Python, except `two` (for the methods of Tensor)
# and `fast_path`.
cdef class OpOverload(FastPath):
    cdef public str name
    cdef public object binder
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
