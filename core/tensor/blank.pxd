cdef extern from *:
    """
    static CYTHON_INLINE PyObject *tt_instance(PyTypeObject *base, PyObject *kind) {
        static PyObject *nothing = NULL; /* the tuple without elements, of which there is one */
        if (nothing == NULL) {
            nothing = PyTuple_New(0);
            if (nothing == NULL)
                return NULL;
        }
        return base->tp_new((PyTypeObject *)kind, nothing, NULL);
    }
    """
    object instance "tt_instance"(type base, object kind)
