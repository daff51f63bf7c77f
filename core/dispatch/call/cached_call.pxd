cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.bound_kernel cimport BoundKernel
from tt.core.dispatch.call.mutating_call cimport MutatingCall
from tt.core.tensor.base cimport TensorBase
from tt.core.types.state cimport DispatchState

cdef DispatchState STATE
cdef object NOT_HANDLED

cdef class LayerRule:
    cpdef call(self, CachedCall cached, tuple args)

cdef class PassThrough(LayerRule):
    cpdef call(self, CachedCall cached, tuple args)

cdef class CachedCall(MutatingCall):
    cdef public long long keys
    cdef public unsigned long long promotion
    cdef public long long positions
    cdef public long long epoch
    cdef public int kind
    cdef public bint functional
    cdef public bint draws
    cdef public CachedCall below
    cdef public object rule
    cdef public long long clear
    cdef public CachedCall rest
    cdef public double limit
    @cython.locals(rule=object, layer_rule=LayerRule, choice=BoundKernel)
    cpdef run(self, tuple args)
    cpdef call_below(self, tuple args)
    cpdef strip(self, args)
