/* Calls the entries of compiled extensions with arrays that have the buffer protocol.
 *
 * One such module serves all extensions: it is compiled at first use and gets the address of an entry and a
 * description of what the function takes.  Whatever it finds wrong with a call it leaves to Python to explain.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <tt/entry.h>

#define MAX_PARAMETERS 32

/* What a parameter is: the order of PARAMETER_KINDS in caller.py. */
enum { ELEMENT, TENSOR, POINTER, NUMBER, TEXT, RESULT };

typedef struct {
    int kind;
    int dtype;    /* of an element, a pointer or a number; -1: any */
    int writes;   /* the function changes it */
    int optional; /* None is passed as NULL */
} Parameter;

typedef struct {
    PyMethodDef method;
    tt_entry entry;
    int count;                /* parameters */
    int taken;                /* of them given by the caller: all but results */
    int elementwise;
    int result_kind;          /* of a function over tensors: TENSOR, NUMBER or -1 (void) */
    int result_dtype;
    Parameter parameters[MAX_PARAMETERS];
    PyObject *name;           /* str */
    PyObject *empty;          /* numpy.empty */
    PyObject *dtypes;         /* tuple of numpy.dtype, by number */
    PyObject *result_numpy;   /* numpy.dtype of an elementwise result */
    PyObject *make_like;      /* (shape, dtype, arguments) -> array: strides in the order of the arguments */
    PyObject *explain;        /* (arguments) -> raises what is wrong with them */
    PyObject *failed;         /* (message) -> raises */
    PyObject *text_name;      /* the attribute "dtype" and "name", to look at what has no buffer format */
    PyObject *text_dtype;
} Function;

static const int ALIGNMENT[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 4, 8};

/* --- arrays ------------------------------------------------------------------------------------------------------ */

static int dtype_of(const char *format, Py_ssize_t itemsize) {
    if (format == NULL) return TT_UINT8;
    if (format[0] == '@' || format[0] == '=') format++;
    if (format[0] == 'Z' && format[1] && !format[2]) {
        return format[1] == 'f' ? TT_COMPLEX64 : format[1] == 'd' ? TT_COMPLEX128 : -1;
    }
    if (format[0] == 0 || format[1] != 0) return -1;
    switch (format[0]) {
    case '?': return TT_BOOL;
    case 'e': return TT_FLOAT16;
    case 'f': return TT_FLOAT32;
    case 'd': return TT_FLOAT64;
    case 'b': case 'h': case 'i': case 'l': case 'q':
        return itemsize == 1 ? TT_INT8 : itemsize == 2 ? TT_INT16 : itemsize == 4 ? TT_INT32 : TT_INT64;
    case 'B': case 'H': case 'I': case 'L': case 'Q':
        return itemsize == 1 ? TT_UINT8 : itemsize == 2 ? TT_UINT16 : itemsize == 4 ? TT_UINT32 : TT_UINT64;
    }
    return -1;
}

/* Gets the memory of an array and its dtype; returns -1, with no exception set, if that cannot be. */
static int get_array(Function *f, PyObject *object, int writes, Py_buffer *view) {
    int flags = PyBUF_STRIDES | (writes ? PyBUF_WRITABLE : 0), dtype = -1;
    if (!PyObject_CheckBuffer(object)) return -1;
    if (PyObject_GetBuffer(object, view, flags | PyBUF_FORMAT) == 0) {
        dtype = dtype_of(view->format, view->itemsize);
    } else {
        /* The buffer protocol has no letter for bfloat16. */
        PyErr_Clear();
        if (PyObject_GetBuffer(object, view, flags) != 0) {
            PyErr_Clear();
            return -1;
        }
        PyObject *type = PyObject_GetAttr(object, f->text_dtype);
        PyObject *name = type ? PyObject_GetAttr(type, f->text_name) : NULL;
        if (name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0) {
            dtype = TT_BFLOAT16;
        }
        PyErr_Clear();
        Py_XDECREF(name);
        Py_XDECREF(type);
    }
    if (dtype < 0 || view->ndim > TT_MAX_NDIM) {
        PyBuffer_Release(view);
        return -1;
    }
    uintptr_t bits = (uintptr_t)view->buf;
    for (int dim = 0; dim < view->ndim; dim++) {
        if (view->shape[dim] > 1) bits |= (uintptr_t)view->strides[dim];
        if (view->shape[dim] == 0) bits = 0;
    }
    if (bits & (uintptr_t)(ALIGNMENT[dtype] - 1)) {
        PyBuffer_Release(view);
        return -1;
    }
    return dtype;
}

static int is_contiguous(const Py_buffer *view) {
    Py_ssize_t step = view->itemsize;
    for (int dim = view->ndim - 1; dim >= 0; dim--) {
        if (view->shape[dim] == 0) return 1;
        if (view->shape[dim] != 1 && view->strides[dim] != step) return 0;
        step *= view->shape[dim];
    }
    return 1;
}

static PyObject *shape_tuple(int ndim, const int64_t *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int dim = 0; tuple && dim < ndim; dim++) {
        PyObject *size = PyLong_FromLongLong(shape[dim]);
        if (size == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, dim, size);
    }
    return tuple;
}

static PyObject *arguments_tuple(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple && i < count; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

/* Raises what Python finds wrong with the arguments. */
static PyObject *explain(Function *f, PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = arguments_tuple(args, count);
    if (tuple == NULL) return NULL;
    PyObject *result = PyObject_CallOneArg(f->explain, tuple);
    Py_DECREF(tuple);
    return result; /* where the arguments could be mended (copied), what a call with them gives */
}

static PyObject *fail(Function *f, const char *message) {
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    if (text == NULL) return NULL;
    PyObject *result = PyObject_CallOneArg(f->failed, text);
    Py_DECREF(text);
    Py_XDECREF(result);
    return NULL;
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static int integer_fits(int64_t value, int dtype) {
    switch (dtype) {
    case TT_BOOL: return value == 0 || value == 1;
    case TT_UINT8: return 0 <= value && value <= UINT8_MAX;
    case TT_INT8: return INT8_MIN <= value && value <= INT8_MAX;
    case TT_INT16: return INT16_MIN <= value && value <= INT16_MAX;
    case TT_INT32: return INT32_MIN <= value && value <= INT32_MAX;
    case TT_UINT16: return 0 <= value && value <= UINT16_MAX;
    case TT_UINT32: return 0 <= value && value <= UINT32_MAX;
    }
    return 1;
}

/* Converts a Python number; returns 0, or -1, with no exception set, if the dtype does not have it. */
static int get_number(PyObject *object, int dtype, tt_value *value) {
    if (dtype >= TT_COMPLEX64) {
        Py_complex number = PyComplex_AsCComplex(object);
        if (PyErr_Occurred()) goto wrong;
        value->complex_parts[0] = number.real;
        value->complex_parts[1] = number.imag;
        return 0;
    }
    if (dtype >= TT_FLOAT16) {
        if (PyComplex_Check(object)) return -1;
        value->floating = PyFloat_AsDouble(object);
        if (value->floating == -1.0 && PyErr_Occurred()) goto wrong;
        return 0;
    }
    if (dtype == TT_BOOL && !PyBool_Check(object)) return -1;
    PyObject *index = PyNumber_Index(object);
    if (index == NULL) goto wrong;
    if (dtype == TT_UINT64) {
        value->integer = (int64_t)PyLong_AsUnsignedLongLong(index);
    } else {
        value->integer = PyLong_AsLongLong(index);
    }
    Py_DECREF(index);
    if (PyErr_Occurred()) goto wrong;
    return dtype == TT_UINT64 || integer_fits(value->integer, dtype) ? 0 : -1;
wrong:
    PyErr_Clear(); /* what is wrong with it, Python explains */
    return -1;
}

/* Writes a number as an element; `place` has room for the largest. */
static void put_element(const tt_value *value, int dtype, char *place) {
    switch (dtype) {
    case TT_BOOL: *(bool *)place = value->integer != 0; break;
    case TT_UINT8: case TT_INT8: *(int8_t *)place = (int8_t)value->integer; break;
    case TT_UINT16: case TT_INT16: *(int16_t *)place = (int16_t)value->integer; break;
    case TT_UINT32: case TT_INT32: *(int32_t *)place = (int32_t)value->integer; break;
    case TT_UINT64: case TT_INT64: *(int64_t *)place = value->integer; break;
    case TT_FLOAT32: *(float *)place = (float)value->floating; break;
    case TT_FLOAT64: *(double *)place = value->floating; break;
    case TT_COMPLEX64:
        ((float *)place)[0] = (float)value->complex_parts[0];
        ((float *)place)[1] = (float)value->complex_parts[1];
        break;
    case TT_COMPLEX128:
        ((double *)place)[0] = value->complex_parts[0];
        ((double *)place)[1] = value->complex_parts[1];
        break;
    }
}

/* --- functions over elements ------------------------------------------------------------------------------------- */

/* Runs the loop over all elements: the inner dimension by the entry, the outer ones here. */
static int run_elementwise(Function *f, tt_call *call, int operands, int ndim, const int64_t *shape,
                           int64_t strides[][TT_MAX_NDIM], char **data) {
    int64_t inner[MAX_PARAMETERS + 1], counter[TT_MAX_NDIM] = {0}, sizes[TT_MAX_NDIM];
    int dims = 0;
    for (int dim = 0; dim < ndim; dim++) {
        if (shape[dim] == 0) return 0;
    }
    /* Merge dimensions that every operand runs through in one stride. */
    for (int dim = 0; dim < ndim; dim++) {
        if (shape[dim] == 1) continue;
        int merges = dims > 0;
        for (int i = 0; merges && i < operands; i++) {
            merges = strides[i][dims - 1] == strides[i][dim] * shape[dim];
        }
        if (merges) {
            sizes[dims - 1] *= shape[dim];
        } else {
            sizes[dims++] = shape[dim];
        }
        for (int i = 0; i < operands; i++) strides[i][dims - 1] = strides[i][dim];
    }
    for (int i = 0; i < operands; i++) inner[i] = dims ? strides[i][dims - 1] : 0;
    call->strides = inner;
    call->count = dims ? sizes[dims - 1] : 1;
    call->data = data;
    for (;;) {
        if (f->entry(call)) return 1;
        int dim = dims - 2;
        for (; dim >= 0; dim--) {
            for (int i = 0; i < operands; i++) data[i] += strides[i][dim];
            if (++counter[dim] < sizes[dim]) break;
            for (int i = 0; i < operands; i++) data[i] -= strides[i][dim] * sizes[dim];
            counter[dim] = 0;
        }
        if (dim < 0) return 0;
    }
}

static PyObject *call_elementwise(Function *f, PyObject *const *args, Py_ssize_t count) {
    Py_buffer views[MAX_PARAMETERS + 1];
    int held[MAX_PARAMETERS], held_count = 0, ndim = 0, plain = 1;
    char *data[MAX_PARAMETERS + 1], numbers[MAX_PARAMETERS][16];
    int64_t shape[TT_MAX_NDIM], strides[MAX_PARAMETERS + 1][TT_MAX_NDIM];
    PyObject *result = NULL, *out = NULL, *size = NULL;
    if (count != f->count) return explain(f, args, count);
    for (int i = 0; i < count; i++) {
        Parameter *parameter = &f->parameters[i];
        tt_value value;
        if (PyObject_CheckBuffer(args[i])) {
            int dtype = get_array(f, args[i], 0, &views[i]);
            if (dtype >= 0) held[held_count++] = i;
            if (dtype != parameter->dtype) goto wrong;
            if (views[i].ndim > ndim) ndim = views[i].ndim;
            data[i + 1] = views[i].buf;
        } else {
            if (get_number(args[i], parameter->dtype, &value)) goto wrong;
            put_element(&value, parameter->dtype, numbers[i]);
            data[i + 1] = numbers[i];
            views[i].ndim = -1;
        }
    }
    for (int dim = 0; dim < ndim; dim++) shape[dim] = 1;
    for (int k = 0; k < held_count; k++) {
        Py_buffer *view = &views[held[k]];
        int lead = ndim - view->ndim;
        for (int dim = 0; dim < view->ndim; dim++) {
            int64_t found = view->shape[dim];
            if (found == 1 || found == shape[dim + lead]) continue;
            if (shape[dim + lead] != 1) goto wrong;
            shape[dim + lead] = found;
        }
        plain = plain && (view->ndim < 2 || is_contiguous(view));
    }
    size = shape_tuple(ndim, shape);
    if (size == NULL) goto done;
    if (plain) {
        PyObject *given[2] = {size, f->result_numpy};
        out = PyObject_Vectorcall(f->empty, given, 2, NULL);
    } else {
        PyObject *all = arguments_tuple(args, count);
        if (all == NULL) goto done;
        PyObject *given[3] = {size, f->result_numpy, all};
        out = PyObject_Vectorcall(f->make_like, given, 3, NULL);
        Py_DECREF(all);
    }
    if (out == NULL) goto done;
    if (PyObject_GetBuffer(out, &views[count], PyBUF_STRIDES | PyBUF_WRITABLE)) goto done;
    data[0] = views[count].buf;
    for (int dim = 0; dim < ndim; dim++) strides[0][dim] = views[count].strides[dim];
    for (int i = 0; i < count; i++) {
        int lead = ndim - (views[i].ndim < 0 ? 0 : views[i].ndim);
        for (int dim = 0; dim < ndim; dim++) {
            int own = dim - lead;
            strides[i + 1][dim] = own < 0 || views[i].ndim < 0 || views[i].shape[own] == 1 ? 0 : views[i].strides[own];
        }
    }
    tt_call call;
    call.message[0] = 0;
    call.empty = NULL;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = run_elementwise(f, &call, (int)count + 1, ndim, shape, strides, data);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&views[count]);
    if (failed) {
        fail(f, call.message);
    } else {
        result = Py_NewRef(out);
    }
    goto done;
wrong:
    result = explain(f, args, count);
done:
    for (int k = 0; k < held_count; k++) PyBuffer_Release(&views[held[k]]);
    Py_XDECREF(size);
    Py_XDECREF(out);
    return result;
}

/* --- functions over tensors -------------------------------------------------------------------------------------- */

/* A tensor together with what it points to. */
typedef struct Described {
    tt_tensor tensor;
    int64_t shape[TT_MAX_NDIM], strides[TT_MAX_NDIM];
    Py_buffer view;
    PyObject *array;        /* of what tt_empty made */
    struct Described *next; /* what tt_empty made before */
} Described;

typedef struct {
    Function *function;
    Described *made;
    PyThreadState *thread;
    PyObject *error_type, *error_value, *error_trace;
} Context;

static void describe(Described *described, int dtype) {
    Py_buffer *view = &described->view;
    described->tensor.data = view->buf;
    described->tensor.dtype = dtype;
    described->tensor.ndim = view->ndim;
    described->tensor.shape = described->shape;
    described->tensor.strides = described->strides;
    for (int dim = 0; dim < view->ndim; dim++) {
        described->shape[dim] = view->shape[dim];
        described->strides[dim] = view->strides[dim] / view->itemsize;
    }
}

/* Whether every stride is a whole number of elements, as tt_tensor says. */
static int has_element_strides(const Py_buffer *view) {
    for (int dim = 0; dim < view->ndim; dim++) {
        if (view->shape[dim] > 1 && view->strides[dim] % view->itemsize) return 0;
    }
    return 1;
}

static tt_tensor *make_empty(tt_call *call, int32_t dtype, int32_t ndim, const int64_t *shape) {
    Context *context = call->context;
    Described *made = NULL;
    if (dtype < 0 || dtype > TT_COMPLEX128 || ndim < 0 || ndim > TT_MAX_NDIM) {
        if (call->message[0] == 0) {
            snprintf(call->message, sizeof call->message, "tt_empty: there is no dtype %d with %d dimensions",
                     (int)dtype, (int)ndim);
        }
        return NULL;
    }
    PyEval_RestoreThread(context->thread);
    PyObject *size = shape_tuple(ndim, shape);
    if (size) {
        PyObject *given[2] = {size, PyTuple_GET_ITEM(context->function->dtypes, dtype)};
        PyObject *array = PyObject_Vectorcall(context->function->empty, given, 2, NULL);
        Py_DECREF(size);
        made = array ? PyMem_Malloc(sizeof(Described)) : NULL;
        if (array && made == NULL) PyErr_NoMemory();
        if (made && PyObject_GetBuffer(array, &made->view, PyBUF_STRIDES | PyBUF_WRITABLE)) {
            PyMem_Free(made);
            made = NULL;
        }
        if (made) {
            made->array = array;
            describe(made, dtype);
            made->next = context->made;
            context->made = made;
        } else {
            Py_XDECREF(array);
        }
    }
    if (made == NULL && context->error_type == NULL) {
        PyErr_Fetch(&context->error_type, &context->error_value, &context->error_trace);
    }
    PyErr_Clear();
    context->thread = PyEval_SaveThread();
    return made ? &made->tensor : NULL;
}

/* Returns (a new reference to) the array that tt_empty made for a tensor, or NULL with an exception. */
static PyObject *take_made(Function *f, Context *context, const tt_tensor *tensor) {
    for (Described *made = context->made; made; made = made->next) {
        if (&made->tensor == tensor) return Py_NewRef(made->array);
    }
    return fail(f, tensor ? "it returned a tensor that tt_empty did not make in this call"
                          : "it returned NULL instead of a tensor, without calling tt_error");
}

static PyObject *number_object(const tt_value *value, int dtype) {
    if (dtype >= TT_COMPLEX64) return PyComplex_FromDoubles(value->complex_parts[0], value->complex_parts[1]);
    if (dtype >= TT_FLOAT16) return PyFloat_FromDouble(value->floating);
    if (dtype == TT_BOOL) return PyBool_FromLong(value->integer != 0);
    if (dtype == TT_UINT64) return PyLong_FromUnsignedLongLong((unsigned long long)value->integer);
    return PyLong_FromLongLong(value->integer);
}

/* Returns what the call returns: the result of the function, else the tensors of its result parameters. */
static PyObject *collect(Function *f, Context *context, tt_call *call) {
    if (f->result_kind == TENSOR) return take_made(f, context, call->result.tensor);
    if (f->result_kind == NUMBER) return number_object(&call->result, f->result_dtype);
    int results = f->count - f->taken;
    if (results == 0) Py_RETURN_NONE;
    PyObject *several = results == 1 ? NULL : PyTuple_New(results);
    if (results > 1 && several == NULL) return NULL;
    for (int i = 0, at = 0; i < f->count; i++) {
        if (f->parameters[i].kind != RESULT) continue;
        PyObject *one = take_made(f, context, call->values[i].tensor);
        if (results == 1 || one == NULL) {
            Py_XDECREF(several);
            return one;
        }
        PyTuple_SET_ITEM(several, at++, one);
    }
    return several;
}

static PyObject *call_tensors(Function *f, PyObject *const *args, Py_ssize_t count) {
    if (count != f->taken) return explain(f, args, count);
    Described *inputs = PyMem_Malloc(sizeof(Described) * (size_t)(count ? count : 1));
    if (inputs == NULL) return PyErr_NoMemory();
    tt_value values[MAX_PARAMETERS];
    int held[MAX_PARAMETERS], held_count = 0, at = 0;
    PyObject *result = NULL;
    for (int i = 0; i < f->count; i++) {
        Parameter *parameter = &f->parameters[i];
        if (parameter->kind == RESULT) {
            values[i].tensor = NULL;
            continue;
        }
        PyObject *given = args[at];
        if (parameter->optional && given == Py_None) {
            values[i].tensor = NULL;
        } else if (parameter->kind == TENSOR || parameter->kind == POINTER) {
            Described *input = &inputs[at];
            int dtype = get_array(f, given, parameter->writes, &input->view);
            if (dtype < 0) goto wrong;
            held[held_count++] = at;
            if (parameter->dtype >= 0 && dtype != parameter->dtype) goto wrong;
            if (parameter->kind == POINTER && !is_contiguous(&input->view)) goto wrong;
            if (!has_element_strides(&input->view)) goto wrong;
            describe(input, dtype);
            values[i].tensor = &input->tensor;
        } else if (parameter->kind == NUMBER) {
            if (get_number(given, parameter->dtype, &values[i])) goto wrong;
        } else {
            if (!PyUnicode_Check(given)) goto wrong;
            values[i].text = PyUnicode_AsUTF8(given);
            if (values[i].text == NULL) goto done;
        }
        at++;
    }
    Context context = {f, NULL, NULL, NULL, NULL, NULL};
    tt_call call;
    call.empty = make_empty;
    call.context = &context;
    call.values = values;
    call.message[0] = 0;
    context.thread = PyEval_SaveThread();
    int failed = f->entry(&call);
    PyEval_RestoreThread(context.thread);
    if (context.error_type) {
        PyErr_Restore(context.error_type, context.error_value, context.error_trace);
    } else if (failed) {
        fail(f, call.message);
    } else {
        result = collect(f, &context, &call);
    }
    while (context.made) {
        Described *made = context.made;
        context.made = made->next;
        PyBuffer_Release(&made->view);
        Py_DECREF(made->array);
        PyMem_Free(made);
    }
    goto done;
wrong:
    result = explain(f, args, count);
done:
    for (int k = 0; k < held_count; k++) PyBuffer_Release(&inputs[held[k]].view);
    PyMem_Free(inputs);
    return result;
}

/* --- the module -------------------------------------------------------------------------------------------------- */

static const char CAPSULE[] = "tt.extension.function";

static PyObject *call_function(PyObject *capsule, PyObject *const *args, Py_ssize_t count) {
    Function *f = PyCapsule_GetPointer(capsule, CAPSULE);
    if (f == NULL) return NULL;
    return f->elementwise ? call_elementwise(f, args, count) : call_tensors(f, args, count);
}

static void forget(PyObject *capsule) {
    Function *f = PyCapsule_GetPointer(capsule, CAPSULE);
    Py_XDECREF(f->name);
    Py_XDECREF(f->empty);
    Py_XDECREF(f->dtypes);
    Py_XDECREF(f->result_numpy);
    Py_XDECREF(f->make_like);
    Py_XDECREF(f->explain);
    Py_XDECREF(f->failed);
    Py_XDECREF(f->text_name);
    Py_XDECREF(f->text_dtype);
    PyMem_Free(f);
}

/* make(name, address, parameters, elementwise, result_kind, result_dtype, empty, dtypes, make_like, explain, failed) */
static PyObject *make(PyObject *module, PyObject *args) {
    unsigned long long address;
    PyObject *name, *parameters, *empty, *dtypes, *make_like, *explained, *failed;
    int elementwise, result_kind, result_dtype;
    if (!PyArg_ParseTuple(args, "UKO!piiOO!OOO", &name, &address, &PyTuple_Type, &parameters, &elementwise,
                          &result_kind, &result_dtype, &empty, &PyTuple_Type, &dtypes, &make_like, &explained,
                          &failed)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(parameters);
    if (count > MAX_PARAMETERS) {
        PyErr_Format(PyExc_ValueError, "a function has at most %d parameters", MAX_PARAMETERS);
        return NULL;
    }
    Function *f = PyMem_Calloc(1, sizeof(Function));
    if (f == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        Parameter *p = &f->parameters[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parameters, i), "iipp", &p->kind, &p->dtype, &p->writes, &p->optional)) {
            PyMem_Free(f);
            return NULL;
        }
        f->taken += p->kind != RESULT;
    }
    f->entry = (tt_entry)(uintptr_t)address;
    f->count = (int)count;
    f->elementwise = elementwise;
    f->result_kind = result_kind;
    f->result_dtype = result_dtype;
    f->name = Py_NewRef(name);
    f->empty = Py_NewRef(empty);
    f->dtypes = Py_NewRef(dtypes);
    f->result_numpy = elementwise ? Py_NewRef(PyTuple_GET_ITEM(dtypes, result_dtype)) : NULL;
    f->make_like = Py_NewRef(make_like);
    f->explain = Py_NewRef(explained);
    f->failed = Py_NewRef(failed);
    f->text_name = PyUnicode_InternFromString("name");
    f->text_dtype = PyUnicode_InternFromString("dtype");
    f->method.ml_name = PyUnicode_AsUTF8(name);
    f->method.ml_meth = (PyCFunction)(void (*)(void))call_function;
    f->method.ml_flags = METH_FASTCALL;
    PyObject *capsule = PyCapsule_New(f, CAPSULE, forget);
    if (capsule == NULL) return NULL;
    PyObject *function = PyCFunction_NewEx(&f->method, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}

static PyMethodDef METHODS[] = {{"make", make, METH_VARARGS, "Return a callable for an entry."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_tt_caller", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__tt_caller(void) {
    return PyModule_Create(&MODULE);
}
