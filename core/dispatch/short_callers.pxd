cimport cython

from tt.core.dispatch.callers cimport Caller
from tt.core.dispatch.entry cimport Entry
from tt.core.dispatch.state cimport DispatchState
from tt.core.tensor_base cimport TensorBase

cdef DispatchState STATE
cdef dict SCALARS
cdef object MISSED

cdef class UnaryCaller(Caller):
    @cython.locals(tensor=TensorBase, entry=Entry)
    cpdef one(self, value)

cdef class BinaryCaller(Caller):
    @cython.locals(first=TensorBase, second=TensorBase, entry=Entry, keys="long long", bits="long long")
    cpdef two(self, left, right)
