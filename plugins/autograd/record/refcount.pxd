cpdef Py_ssize_t references(list values) except -1
