cimport cython

from tt.core.dispatch.call.cached_call cimport CachedCall, LayerRule
from tt.core.dispatch.call.op_overload cimport OpOverload
from tt.core.tensor.base cimport TensorBase
from tt.core.types.state cimport DispatchState

cdef DispatchState STATE
cdef object FLOAT32

# `converted` is called in the class of a policy, which may override it.
cdef class CastRule(LayerRule):
    cdef public object operator
    cdef public OpOverload overload
    cdef public long long device
    cdef public long long transform
    cdef public str device_type
    cdef public object precision
    cdef public tuple positions
    cdef public long long recorded
    cdef public OpOverload copy
    cdef public tuple rest
    cdef object __weakref__
    @cython.locals(suspended=bint)
    cpdef call(self, CachedCall cached, tuple args)
    cpdef tuple converted(self, tuple args)
    @cython.locals(tensor=TensorBase)
    cpdef bint takes(self, value) except -1
    @cython.locals(position="Py_ssize_t", values=list, casts=dict)
    cpdef tuple cast_all(self, tuple args, target)
    @cython.locals(tensor=TensorBase, kept=tuple)
    cpdef cast(self, value, target, dict casts)
    @cython.locals(tensor=TensorBase)
    cpdef cast_recorded(self, tensor, target)
