cimport cython

from tt.core.dispatch.call.callers cimport Caller
from tt.core.dispatch.call.entry cimport Entry
from tt.core.types.state cimport DispatchState
from tt.core.tensor.base cimport TensorBase

cdef DispatchState STATE
cdef dict SCALARS
cdef object MISSED

cdef class UnaryCaller(Caller):
    @cython.locals(tensor=TensorBase, entry=Entry)
    cpdef one(self, value)

cdef class BinaryCaller(Caller):
    @cython.locals(first=TensorBase, second=TensorBase, entry=Entry, keys="long long", bits="long long")
    cpdef two(self, left, right)
