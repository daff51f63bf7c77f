cimport cython

from tt.core.dispatch.call.cached_call cimport LayerRule
from tt.core.tensor.base cimport TensorBase, wrap_handle
from tt.plugins.autograd.record cimport codes
from tt.plugins.autograd.record.grad_state cimport GradState
from tt.plugins.autograd.record.graph cimport Node

cdef GradState STATE
cdef long long OVERRIDDEN

cdef class SavePlan:
    cdef public tuple slots
    cdef public tuple calls
    cdef public bint keeps_tensors
    cdef public bint reusable
    cdef public bint saves_self

cdef class FormulaRule(LayerRule):
    cdef public object operator
    cdef public tuple differentiable
    cdef public str node_name
    cdef public bint takes_all
    cdef public object joint
    cdef public frozenset list_places

cdef class OpNode(Node):
    cdef public FormulaRule rule
    cdef public SavePlan plan
    cdef public tuple saved
    cdef public tuple versions
    cdef public tuple starts
    @cython.locals(tensor=TensorBase, place=int, kind=int, position=int, version="long long")
    cpdef tuple unpack(self)
    @cython.locals(place=int, count=int, slots=tuple, results=list, values=tuple)
    cpdef apply(self, list gradients, wanted)
    cpdef release(self)

@cython.locals(kind=int, position=int, total="long long", tensor=TensorBase, slots=tuple, saved=list)
cpdef save(OpNode node, tuple args, result)

cpdef bint all_absent(list gradients) except -1

@cython.locals(new=TensorBase)
cpdef bare_alias(TensorBase tensor)
