cimport cython

from tt.core.dispatch.entry cimport Entry
from tt.core.dispatch.state cimport DispatchState
from tt.core.tensor_base cimport TensorBase, TensorSpec

cdef DispatchState STATE
cdef dict SCALARS
cdef type Tensor
cdef long long OVERRIDDEN
cdef long long NOT_OVERRIDDEN

cdef class Caller:
    cdef public object operator
    cdef public str form
    cdef public Entry last
    cdef public dict tables
    cdef public long long generation
    cdef public tuple plan
    cdef public tuple tail
    cdef public object binder
    cdef public str name
    cpdef Entry find(self, long long keys, long long bits)
    @cython.locals(generation="long long", epoch="long long")
    cpdef Entry entry(self, long long keys, long long bits, tuple args)
    @cython.locals(keys="long long", bits="long long", code="long long", place=int, position=int, how=int, shift=int,
                   tensor=TensorBase)
    cpdef tuple scan(self, tuple args)
    cpdef execute(self, tuple args)
    cpdef dispatch(self, tuple args)
    cpdef general(self, tuple args, dict kwargs)
    @cython.locals(keys="long long", bits="long long", entry=Entry)
    cpdef called(self, tuple bound, function, tuple args, dict kwargs)
    cpdef one(self, value)
    cpdef two(self, left, right)

cdef class UnaryCaller(Caller):
    @cython.locals(tensor=TensorBase, entry=Entry, new=TensorBase, spec=TensorSpec, bits="long long")
    cpdef one(self, value)

cdef class BinaryCaller(Caller):
    @cython.locals(first=TensorBase, second=TensorBase, entry=Entry, keys="long long", bits="long long",
                   new=TensorBase, spec=TensorSpec)
    cpdef two(self, left, right)
