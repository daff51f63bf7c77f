cimport cython

from tt.core.types.state cimport DispatchState
from tt.core.tensor cimport blank
from tt.core.tensor.base cimport TensorBase

cdef DispatchState STATE
cdef object FALL_THROUGH
cdef object WHOLE
cdef long long OVERRIDDEN

cpdef getitem(TensorBase self, index)
@cython.locals(dim=int)
cpdef fast_path(TensorBase tensor, index)
cpdef part(TensorBase tensor, int dim, slice bounds)
