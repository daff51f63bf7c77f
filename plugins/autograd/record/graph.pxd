cimport cython

from tt.core.tensor.base cimport TensorBase, TensorSpec
from tt.plugins.autograd.record.grad_state cimport GradState

cdef class AutogradMeta:
    cdef public Node node
    cdef public int number
    cdef public bint leaf
    cdef public ViewMeta view
    cdef public object retained

cdef class ViewMeta:
    cdef public TensorBase root
    cdef public object operator
    cdef public tuple args
    cdef public int index
    cdef public long long version

cdef class Retained:
    cdef public object gradient

cdef class NodeHooks:
    cdef public dict accumulated
    cdef public dict after
    cdef public dict before
    cdef public bint frozen
    cdef public dict metadata
    cdef public dict retained
    cdef public dict tensor_hooks

cdef class Node:
    cdef object __weakref__
    cdef public NodeHooks extras
    cdef public tuple next_nodes
    cdef public tuple next_numbers
    cdef public long long sequence
    cdef public int outputs
    cdef public object shape
    cdef public object spec
    cpdef apply(self, list gradients, wanted)
    cpdef release(self)
    cpdef shape_of(self, int number)
    cpdef spec_of(self, int number)

cdef class AccumulateGrad(Node):
    cdef public object gradient
    cdef public object _variable

cdef class Graphless(Node):
    cdef public str reason

# The same object as STATE, which as a Python name other modules import.
cdef GradState _STATE

cpdef AutogradMeta attach(TensorBase tensor, Node node, int number)
@cython.locals(record=AutogradMeta, end=AccumulateGrad)
cpdef bint clear_gradient(TensorBase tensor, long long wrapped) except -1
cpdef Node start(Node node, tuple next_nodes, tuple next_numbers)
