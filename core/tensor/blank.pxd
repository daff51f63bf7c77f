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
    static CYTHON_INLINE PyObject *tt_become(PyObject *object, PyTypeObject *kind) {
        if (Py_TYPE(object) != kind) {
            if (!PyType_IsSubtype(kind, Py_TYPE(object)) || kind->tp_basicsize != Py_TYPE(object)->tp_basicsize) {
                PyErr_SetString(PyExc_TypeError, "become(): the class is no subclass of the same layout");
                return NULL;
            }
            Py_INCREF(kind); /* an instance holds its class if that was made at run time, as all subclasses were */
            Py_SET_TYPE(object, kind);
        }
        Py_RETURN_NONE;
    }
    """
    object instance "tt_instance"(type base, object kind)
    bint is_long "tt_long_int"(object number)
    object become "tt_become"(object value, type kind)
