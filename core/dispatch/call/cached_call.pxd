cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.dispatch.call.memory_formats cimport in_format_of
from tt.core.tensor.base cimport TensorBase, TensorSpec, wrap_handle
from tt.core.tensor.storage cimport Storage
from tt.core.types.state cimport DispatchState

cdef type Tensor
cdef DispatchState STATE
cdef object NOT_HANDLED

cdef class BoundKernel:
    cdef public object function
    cdef public tuple takes
    cdef public tuple omitted
    cdef public object registration
    cdef public int leading
    @cython.locals(position="Py_ssize_t")
    cpdef bint accepts(self, tuple args) except -1

cdef class LayerRule:
    cpdef call(self, CachedCall cached, tuple args)

cdef class PassThrough(LayerRule):
    cpdef call(self, CachedCall cached, tuple args)

# `cdef` methods are invisible to Python; `run`, `choose` and `wrap_one` are called from there.
cdef class CachedCall:
    cdef public long long keys
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
    cdef public object operator
    cdef public str form
    cdef public int dtype_at
    cdef public object native
    cdef public int device_at
    cdef public int like_at
    cdef public bint direct
    cdef public bint verified
    cdef public object plain
    cdef public tuple choices
    cdef public int compute_code
    cdef public object compute_native
    cdef public tuple group
    cdef public int result
    cdef public TensorSpec spec
    cdef public tuple specs
    cdef public object downcast
    cdef public int shares
    cdef public object backend
    cdef public object handle_type
    cdef public tuple format_of
    cdef public object resolution
    cdef object __weakref__
    cdef public int writes_target
    cdef public tuple operands
    cdef public object function
    cdef public unsigned long long promotion
    cdef public unsigned long long result_bits
    @cython.locals(rule=object, layer_rule=LayerRule, choice=BoundKernel)
    cpdef run(self, tuple args)
    cpdef call_below(self, tuple args)
    cpdef strip(self, args)
    @cython.locals(choice=BoundKernel)
    cpdef BoundKernel choose(self, tuple args)
    @cython.locals(position=int)
    cdef list handles(self, BoundKernel choice, tuple args)
    @cython.locals(tensor=TensorBase, code=int)
    cdef prepare(self, value, int position)
    @cython.locals(tensor=TensorBase, code=int)
    cdef list handle_list(self, list values, int position)
    cdef cast(self, handle, int position)
    cdef run_kernel(self, BoundKernel choice, tuple args)
    @cython.locals(takes=tuple, count="Py_ssize_t", position=int, prepared=list)
    cdef call_kernel(self, BoundKernel choice, tuple args)
    @cython.locals(spec=TensorSpec, bits="unsigned long long")
    cdef TensorBase wrap_direct(self, handle)
    @cython.locals(spec=TensorSpec, new=TensorBase, source=TensorBase, bits="unsigned long long")
    cpdef wrap_one(self, handle, int index, tuple args)
    cdef wrap_all(self, handles, tuple args)
    cdef as_handle(self, value, TensorSpec spec, tuple args)
    @cython.locals(tensor=TensorBase)
    cdef TensorSpec spec_at(self, TensorSpec spec, tuple args)
    @cython.locals(target=TensorBase, other=TensorBase, memory=Storage, how=int, shared=bint)
    cdef run_inplace(self, BoundKernel choice, tuple args)
    @cython.locals(target=TensorBase, tensor=TensorBase, memory=Storage, choice=BoundKernel, prepared=list, plain=bint, filled=bint,
                   count="Py_ssize_t", position="Py_ssize_t")
    cdef run_out(self, tuple args)
    @cython.locals(shared=bint)
    cdef run_mutating(self, BoundKernel choice, tuple args)
    @cython.locals(tensor=TensorBase, seen=set, viewed=set, spans=list, count="Py_ssize_t")
    cdef bint all_apart(self, tuple args) except -1
