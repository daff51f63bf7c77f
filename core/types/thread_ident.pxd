cdef extern from *:
    """
    static CYTHON_INLINE long long tt_this_thread(void) {
        return (long long)PyThread_get_thread_ident();
    }
    """
    long long this_thread "tt_this_thread"() noexcept
