cimport cython

from tt.core.dispatch.call.cached_call cimport BoundKernel
from tt.core.dispatch.call.cached_call cimport CachedCall
from tt.core.tensor.base cimport TensorBase
from tt.plugins.autograd.record.grad_state cimport GradState
from tt.plugins.autograd.record.graph cimport AutogradMeta, Node, ViewMeta, attach, start
from tt.plugins.autograd.record.op_node cimport FormulaRule, OpNode, SavePlan, save

cdef GradState STATE
cdef tuple NO_NUMBERS

cdef class GradientRule(FormulaRule):
    cdef public object make_plan
    cdef public int first
    cdef public int second
    cdef public list plans
    cdef public bint is_view
    @cython.locals(tensor=TensorBase, record=AutogradMeta, first=int, second=int, needs="long long", numbers=tuple, one=Node,
                   other=Node)
    cpdef call(self, CachedCall entry, tuple args)
    @cython.locals(tensor=TensorBase, record=AutogradMeta, needs="long long", far=int, place=int, found=list, differentiable=tuple,
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
