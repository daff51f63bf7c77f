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
    static CYTHON_INLINE int tt_long_int(PyObject *number) { /* of the very type int, with more than two digits */
    #if PY_VERSION_HEX >= 0x030C0000
        return ((PyLongObject *)number)->long_value.lv_tag >= (3 << 3);
    #else
        return (size_t)(Py_SIZE(number) + 2) > 4;
    #endif
    }
    """
    object instance "tt_instance"(type base, object kind)
    bint is_long "tt_long_int"(object number)
