cimport cython

from tt.plugins.autograd.record cimport codes
from tt.core.dispatch.call.entry cimport BoundKernel, CachedCall, LayerRule
from tt.core.tensor.base cimport TensorBase, TensorSpec, wrap_handle
from tt.plugins.autograd.record.graph cimport GradState, Node, AutogradMeta, ViewMeta, attach, start

cdef GradState STATE
cdef tuple NO_NUMBERS
cdef long long OVERRIDDEN

cdef class SavePlan:
    cdef public tuple slots
    cdef public tuple calls
    cdef public bint keeps_tensors
    cdef public bint saves_self

cdef class OpNode(Node):
    cdef public GradientRule rule
    cdef public SavePlan plan
    cdef public tuple saved
    cdef public tuple versions
    cdef public tuple starts
    @cython.locals(tensor=TensorBase, place=int, kind=int, position=int, version="long long")
    cpdef tuple unpack(self)
    @cython.locals(place=int, count=int, slots=tuple, results=list, values=tuple)
    cpdef apply(self, list gradients, wanted)
    cpdef release(self)

cdef class GradientRule(LayerRule):
    cdef public object operator
    cdef public tuple differentiable
    cdef public object make_plan
    cdef public bint takes_all
    cdef public object joint
    cdef public int first
    cdef public int second
    cdef public list plans
    cdef public frozenset list_places
    cdef public bint is_view
    cdef public str node_name
    @cython.locals(tensor=TensorBase, record=AutogradMeta, first=int, second=int, needs="long long", numbers=tuple, one=Node,
                   other=Node)
    cpdef call(self, CachedCall entry, tuple args)
    @cython.locals(tensor=TensorBase, record=AutogradMeta, needs="long long", far=int, place=int, found=list, differentiable=tuple,
                   nodes=tuple, numbers=tuple, node=Node)
    cpdef call_many(self, CachedCall entry, tuple args)
    cpdef SavePlan plan(self, long long needs)
    @cython.locals(single=TensorBase, node=OpNode, record=AutogradMeta)
    cpdef finish(self, tuple args, result, long long needs, tuple nodes, tuple numbers, tuple starts)

@cython.locals(record=AutogradMeta)
cpdef AutogradMeta current(TensorBase tensor)

@cython.locals(below=CachedCall, choice=BoundKernel, tensor=TensorBase, second=TensorBase)
cpdef run_below(CachedCall entry, tuple args)

@cython.locals(kind=int, position=int, total="long long", tensor=TensorBase, slots=tuple, saved=list)
cpdef save(OpNode node, tuple args, result)

@cython.locals(new=TensorBase)
cpdef bare_alias(TensorBase tensor)
