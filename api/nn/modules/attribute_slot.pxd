# See Note [Reading parameters].
cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030C0000
    static PyObject *tt_module_attribute(PyObject *self, PyObject *name) {
        static PyObject *tables[3] = {NULL, NULL, NULL}, *fallback = NULL;
        PyObject *found = _PyObject_GenericGetAttrWithDict(self, name, NULL, 1), *members;
        int i;
        if (found != NULL || PyErr_Occurred())
            return found;
        if (fallback == NULL) {
            tables[0] = PyUnicode_InternFromString("_parameters");
            tables[1] = PyUnicode_InternFromString("_buffers");
            tables[2] = PyUnicode_InternFromString("_modules");
            fallback = PyUnicode_InternFromString("__getattr__");
            if (tables[0] == NULL || tables[1] == NULL || tables[2] == NULL || fallback == NULL)
                return NULL;
        }
        members = PyObject_GenericGetDict(self, NULL);
        if (members == NULL)
            return NULL;
        for (i = 0; i < 3 && found == NULL; i++) {
            PyObject *table = PyDict_GetItemWithError(members, tables[i]);
            if (table != NULL && PyDict_Check(table))
                found = PyDict_GetItemWithError(table, name);
            if (found == NULL && PyErr_Occurred()) {
                Py_DECREF(members);
                return NULL;
            }
        }
        Py_XINCREF(found);
        Py_DECREF(members);
        return found != NULL ? found : PyObject_CallMethodOneArg(self, fallback, name);
    }
    static void tt_install_slot(PyObject *kind) {
        ((PyTypeObject *)kind)->tp_getattro = tt_module_attribute;
        PyType_Modified((PyTypeObject *)kind);
    }
    #else /* Python itself makes no exception any more */
    static void tt_install_slot(PyObject *kind) { (void)kind; }
    #endif
    """
    void install_slot "tt_install_slot"(object kind)
