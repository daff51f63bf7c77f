cimport cython

from tt.core.types cimport thread_ident


cdef class AmbientState:
    cdef public dict settings
    cdef public bint suspended
    cdef public long long on
    cdef public long long epoch


cdef class DispatchState:
    cdef public long long guard
    cdef public long long epoch
    cdef public long long modes
    cdef public long long drawing
    cdef public long long placed
    cdef public long long ambient
    cdef public long long ambient_thread
    cdef public long long ambient_epoch
    cdef public dict settings
    cdef dict _epochs
    cdef object _lock
    cdef dict _ambients
    cdef dict _ambient_epochs
    @cython.locals(thread="long long", ambient=AmbientState)
    cpdef long long epoch_here(self) noexcept
    @cython.locals(ambient=AmbientState)
    cpdef dict ambient_settings(self)
    @cython.locals(ambient=AmbientState)
    cpdef tuple ambient_here(self)
    @cython.locals(ambient=AmbientState)
    cpdef _look_around(self)
    cpdef long long _number_of(self, tuple pairs)
    @cython.locals(thread="long long", ambient=AmbientState)
    cpdef bint suspend(self)
    @cython.locals(thread="long long", ambient=AmbientState)
    cpdef resume(self, bint suspended)
