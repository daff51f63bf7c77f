cimport cython

from tt.core.dispatch.call.entry cimport CachedCall
from tt.core.types.state cimport DispatchState
from tt.core.tensor.base cimport TensorBase, TensorSpec

cdef DispatchState STATE
cdef dict SCALARS
cdef int LAST_SHIFT
cdef object FALL_THROUGH
cdef CachedCall EMPTY
cdef object NO_DEFAULT
cdef type Dtype
cdef long long OVERRIDDEN
cdef long long NOT_OVERRIDDEN

cdef table_key(unsigned long long bits, long long positions)

cdef class OpOverload:
    cdef public object operator
    cdef public str form
    cdef public CachedCall last
    cdef public dict tables
    cdef public long long generation
    cdef public tuple plan
    cdef public tuple tail
    cdef public object binder
    cdef public str name
    cdef public bytes kinds
    cdef public tuple shifts
    cdef public tuple lengths
    cdef public int required
    cdef public int positional
    cdef public int variadic
    cdef public tuple defaults
    cdef public tuple tails
    cdef public dict names
    cdef public bint looks_at_all
    cdef public int target_shift
    cdef public bint wide
    cdef public long long home
    cdef public bint functional
    cdef public OpOverload out_caller
    cpdef CachedCall find(self, long long keys, unsigned long long bits, long long positions)
    @cython.locals(generation="long long", epoch="long long")
    cpdef CachedCall entry(self, long long keys, unsigned long long bits, long long positions, tuple args)
    cpdef CachedCall enter(self, CachedCall entry, long long epoch, long long generation)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", code="long long", place=int, at=int, how=int, shift=int,
                   tensor=TensorBase, beyond=list)
    cpdef tuple scan(self, tuple args)
    cpdef execute(self, tuple args)
    cpdef dispatch(self, tuple args)
    @cython.locals(count="Py_ssize_t", place="Py_ssize_t", variadic="Py_ssize_t", kind=int, shift=int, keys="long long", bits="unsigned long long", positions="long long",
                   code="long long", changed=list, tensor=TensorBase, entry=CachedCall, kinds=bytes)
    cpdef fast_path(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", shift=int, tensor=TensorBase, entry=CachedCall)
    cpdef of_one(self, tuple args)
    @cython.locals(count="Py_ssize_t", position="Py_ssize_t", placed=list, names=dict, missing=int, defaults=tuple)
    cpdef tuple placed(self, tuple args, dict kwargs)
    @cython.locals(count="Py_ssize_t", caller=OpOverload)
    cpdef fast_path_out(self, tuple args, dict kwargs)
    cpdef general(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="unsigned long long", positions="long long", entry=CachedCall)
    cpdef called(self, tuple bound, function, tuple args, dict kwargs)
    cpdef one(self, value)
    cpdef two(self, left, right)
