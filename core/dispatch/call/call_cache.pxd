cimport cython

from tt.core.dispatch.call.cached_call cimport CachedCall
from tt.core.types.state cimport DispatchState

cdef DispatchState STATE
cdef CachedCall EMPTY
cdef long long NOT_OVERRIDDEN

cdef table_key(unsigned long long bits, long long positions)

cdef class CallCache:
    cdef public object operator
    cdef public str form
    cdef public CachedCall last
    cdef public dict tables
    cdef public long long generation
    cdef CachedCall find(self, long long keys, unsigned long long bits, long long positions)
    @cython.locals(generation="long long", epoch="long long")
    cpdef CachedCall cached_call(self, long long keys, unsigned long long bits, long long positions, tuple args)
    cpdef CachedCall enter(self, CachedCall cached, long long epoch, long long generation)
