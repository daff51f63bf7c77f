cimport cython

from tt.core.dispatch.call.cached_call cimport BoundKernel, CachedCall, LayerRule
from tt.core.tensor cimport blank
from tt.core.tensor.base cimport TensorBase, wrap_handle
from tt.plugins.autograd.record cimport codes
from tt.plugins.autograd.record.grad_state cimport GradState
from tt.plugins.autograd.record.graph cimport AutogradMeta, Node, ViewMeta, attach, start

cdef GradState STATE
cdef long long OVERRIDDEN
cdef tuple NO_NUMBERS

cdef class GradientRule(LayerRule)

cdef class SavePlan:
    cdef public tuple slots
    cdef public tuple calls
    cdef public bint keeps_tensors
    cdef public bint reusable
    cdef public bint saves_self

cdef class OpNode(Node):
    cdef public GradientRule rule
    cdef public SavePlan plan
    cdef public tuple saved
    cdef public tuple versions
    cdef public tuple starts
    @cython.locals(tensor=TensorBase, slot=int, kind=int, position=int, version="long long")
    cpdef tuple unpack(self)
    @cython.locals(number=int, count=int, slots=tuple, results=list, values=tuple)
    cpdef apply(self, list gradients, wanted)
    cpdef release(self)

@cython.locals(kind=int, position=int, total="long long", tensor=TensorBase, slots=tuple, saved=list)
cpdef save(OpNode node, tuple args, result)

cpdef bint all_absent(list gradients) except -1

@cython.locals(new=TensorBase)
cpdef bare_alias(TensorBase tensor)

cdef class GradientRule(LayerRule):
    cdef public object operator
    cdef public tuple differentiable
    cdef public str node_name
    cdef public bint takes_all
    cdef public object joint
    cdef public frozenset list_places
    cdef public object make_plan
    cdef public int first
    cdef public int second
    cdef public list plans
    cdef public bint is_view
    @cython.locals(tensor=TensorBase, record=AutogradMeta, first=int, second=int, needs="long long", numbers=tuple, one=Node,
                   other=Node)
    cpdef call(self, CachedCall entry, tuple args)
    @cython.locals(tensor=TensorBase, record=AutogradMeta, needs="long long", far=int, number=int, next_nodes=list, differentiable=tuple,
                   nodes=tuple, numbers=tuple, node=Node)
    cpdef call_many(self, CachedCall entry, tuple args)
    cpdef SavePlan plan(self, long long needs)
    @cython.locals(single=TensorBase, node=OpNode, record=AutogradMeta)
    cpdef finish(self, tuple args, result, long long needs, tuple nodes, tuple numbers, tuple starts)
    @cython.locals(tensor=TensorBase, node=OpNode, record=AutogradMeta, number=int, shapes=list, specs=list)
    cpdef finish_several(self, tuple args, results, long long needs, tuple nodes, tuple numbers, tuple starts)

@cython.locals(record=AutogradMeta)
cpdef AutogradMeta current(TensorBase tensor)

@cython.locals(below=CachedCall, choice=BoundKernel, tensor=TensorBase, second=TensorBase)
cpdef run_below(CachedCall entry, tuple args)
