cimport cython

from tt.core.dispatch.callers cimport Caller
from tt.core.dispatch.entry cimport Entry
from tt.core.dispatch.state cimport DispatchState
from tt.core.tensor_base cimport TensorBase, TensorSpec

cdef DispatchState STATE
cdef dict SCALARS
cdef object MISSED
cdef type Tensor

cdef class UnaryCaller(Caller):
    @cython.locals(tensor=TensorBase, entry=Entry, new=TensorBase, spec=TensorSpec, bits="long long")
    cpdef one(self, value)

cdef class BinaryCaller(Caller):
    @cython.locals(first=TensorBase, second=TensorBase, entry=Entry, keys="long long", bits="long long",
                   new=TensorBase, spec=TensorSpec)
    cpdef two(self, left, right)
