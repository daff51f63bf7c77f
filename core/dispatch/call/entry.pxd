cimport cython

from tt.core.dispatch.call cimport codes
from tt.core.tensor.base cimport TensorBase, TensorSpec, wrap_handle

from tt.core.types.state cimport DispatchState

cdef type Tensor
cdef DispatchState STATE

cdef class BoundKernel:
    cdef public object function
    cdef public tuple takes
    cdef public tuple omitted
    cdef public object registration
    cdef public int leading
    @cython.locals(position="Py_ssize_t")
    cpdef bint accepts(self, tuple args) except -1

cdef class LayerRule:
    cpdef call(self, CachedCall entry, tuple args)

cdef class CachedCall:
    cdef public long long keys
    cdef public unsigned long long promotion
    cdef public long long positions
    cdef public long long epoch
    cdef public object operator
    cdef public str form
    cdef public int kind
    cdef public bint functional
    cdef public int dtype_at
    cdef public object native
    cdef public int device_at
    cdef public int like_at
    cdef public tuple operands
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
    cdef public unsigned long long result_bits
    cdef public object downcast
    cdef public int shares
    cdef public object backend
    cdef public object handle_type
    cdef public int writes_target
    cdef public CachedCall below
    cdef public object rule
    cdef public long long clear
    cdef public object function
    cdef public CachedCall rest
    cdef public object resolution
    cdef object __weakref__
    @cython.locals(rule=object, layer_rule=LayerRule)
    cpdef run(self, tuple args)
    @cython.locals(tensor=TensorBase)
    cpdef TensorSpec spec_at(self, TensorSpec spec, tuple args)
    @cython.locals(target=TensorBase, tensor=TensorBase, choice=BoundKernel, prepared=list, plain=bint, filled=bint,
                   count="Py_ssize_t", place="Py_ssize_t")
    cpdef run_out(self, tuple args)
    @cython.locals(tensor=TensorBase, code=int)
    cpdef prepare(self, value, int position)
    @cython.locals(takes=tuple, count="Py_ssize_t", position=int, prepared=list)
    cpdef call_kernel(self, BoundKernel choice, tuple args)
    cpdef call_below(self, tuple args)
    cpdef strip(self, args)
    @cython.locals(choice=BoundKernel)
    cpdef BoundKernel choose(self, tuple args)
    @cython.locals(position=int)
    cpdef list handles(self, BoundKernel choice, tuple args)
    @cython.locals(tensor=TensorBase, code=int)
    cpdef list handle_list(self, list values, int position)
    @cython.locals(choice=BoundKernel)
    cpdef run_kernel(self, tuple args)
    @cython.locals(spec=TensorSpec, bits="unsigned long long")
    cpdef TensorBase wrap_direct(self, handle)
    @cython.locals(spec=TensorSpec, new=TensorBase, source=TensorBase, bits="unsigned long long")
    cpdef wrap_one(self, handle, int index, tuple args)
    @cython.locals(choice=BoundKernel, target=TensorBase, other=TensorBase, how=int, shared=bint)
    cpdef run_inplace(self, tuple args)
    cpdef wrap_all(self, handles, tuple args)
    @cython.locals(tensor=TensorBase, seen=set, count="Py_ssize_t")
    cpdef bint all_apart(self, tuple args) except -1
    @cython.locals(shared=bint)
    cpdef run_mutating(self, tuple args)
    cpdef cast(self, handle, int position)
    cpdef as_handle(self, found, TensorSpec spec, tuple args)
