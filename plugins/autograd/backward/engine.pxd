cimport cython

from tt.core.tensor.base cimport TensorBase, TensorSpec
from tt.plugins.autograd.record.grad_state cimport GradState
from tt.plugins.autograd.record.graph cimport AccumulateGrad, Node
from tt.plugins.autograd.record.refcount cimport references

cdef GradState STATE
cdef int FEW

cdef class Buffers:
    cdef public Node node
    cdef public list gradients
    cdef public long long owned

cdef class Pass:
    cdef public dict captures
    cdef public bint create_graph
    cdef public list heap
    cdef public bint keep_graph
    cdef public set needed
    cdef public list results
    cdef public dict waiting
    cdef public Node following
    cdef public list following_gradients
    cdef public dict early
    @cython.locals(buffers=Buffers)
    cpdef send(self, Node node, int number, gradient)
    cpdef send_none(self, Node node)
    @cython.locals(buffers=Buffers, node=Node, gradients=list, heap=list, waiting=dict)
    cpdef run(self)
    @cython.locals(buffers=Buffers, target=Node, gradients=list, early=dict)
    cpdef run_leaves(self, Node node)
    cpdef bint capture(self, Node node, list gradients) except -1
    @cython.locals(target=Node, held=Node, next_nodes=tuple, next_numbers=tuple, count=int, position=int, number=int,
                   held_number=int)
    cpdef step(self, Node node, list gradients)

@cython.locals(gradient=TensorBase)
cpdef accumulate(AccumulateGrad node, list gradients, bint create_graph)
@cython.locals(spec=TensorSpec)
cpdef bint alone(TensorBase tensor, leaf) except -1

@cython.locals(task=Pass)
cpdef list run(list roots, list gradients, bint keep_graph, bint create_graph, list captures, bint accumulating)
@cython.locals(before=bint)
cpdef list drive(Pass task, list roots, list gradients, bint create_graph)
