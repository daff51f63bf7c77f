cimport cython

from tt.core.dispatch.call.callers cimport OpOverload
from tt.core.dispatch.call.entry cimport CachedCall
from tt.core.types.state cimport DispatchState
from tt.core.tensor.base cimport TensorBase

cdef DispatchState STATE
cdef dict SCALARS
cdef object FALL_THROUGH
cdef CachedCall EMPTY

cdef class UnaryOverload(OpOverload):
    @cython.locals(tensor=TensorBase, entry=CachedCall)
    cpdef one(self, value)

cdef class BinaryOverload(OpOverload):
    @cython.locals(first=TensorBase, second=TensorBase, entry=CachedCall, keys="long long", bits="unsigned long long", positions="long long")
    cpdef two(self, left, right)
