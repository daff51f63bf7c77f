/* Softmax and its logarithm along a dimension, and the gradients of both. */
#define ROWS_FLOATING
#include "lanes.h"
#include "lines.h"
#include "vector_math.h"

#define C float
#define S f32
#define EXP tt_exp_f
#include "softmax.inc"

#define C double
#define S f64
#define EXP tt_exp
#include "softmax.inc"

typedef struct {
    const char *name;
    int inputs;
    lines_line line[2]; /* for float, for double */
    lines_columns columns[2];
} softmax_op;

/* op(self, dim); op(grad, result, dim) */
static PyObject *call_softmax(const softmax_op *op, PyObject *const *args, Py_ssize_t nargs)
{
    PyArrayObject *arrays[3] = {NULL, NULL, NULL};
    lines_plan plan;
    int count = op->inputs, ok = 0;
    ROWS_EXPECT(op->name, count + 1, count + 1);
    for (int k = 0; k < count; k++)
        if (!(arrays[k] = rows_array(args[k]))) goto done;
    int dim = rows_dim(args[count], PyArray_NDIM(arrays[0]));
    if (dim < 0) goto done;
    tt_dtype type = tt_dtype_of(arrays[0]);
    if (!rows_is_floating(type)) {
        tt_refuse_dtype(op->name, arrays[0]);
        goto done;
    }
    if (count == 2 && (tt_dtype_of(arrays[1]) != type || !tt_same_shape(arrays[0], arrays[1]))) {
        PyErr_SetString(PyExc_ValueError, "a gradient and a result that do not fit each other");
        goto done;
    }
    arrays[count] = tt_empty_of(PyArray_NDIM(arrays[0]), PyArray_DIMS(arrays[0]), arrays[0]);
    if (!arrays[count]) goto done;
    lines_prepare(&plan, arrays, count, count + 1, dim);
    plan.line = op->line[type == TT_F64];
    plan.columns = op->columns[type == TT_F64];
    plan.params = NULL;
    ok = lines_run(&plan) == 0;
done:
    for (int k = 0; k < count; k++) Py_XDECREF(arrays[k]);
    if (!ok) Py_CLEAR(arrays[count]);
    return (PyObject *)arrays[count];
}

#define SOFTMAX(NAME, INPUTS) SOFTMAX_OF(NAME, INPUTS) ROWS_ENTRY(run_##NAME, call_softmax(&NAME##_entry, args, nargs))
#define SOFTMAX_OF(NAME, INPUTS) static const softmax_op NAME##_entry = {#NAME, INPUTS, OF_BOTH(NAME##_line), OF_BOTH(NAME##_columns)};
#define OF_BOTH(NAME) {NAME##_f32, NAME##_f64}

SOFTMAX(softmax, 1)
SOFTMAX(log_softmax, 1)
SOFTMAX(softmax_backward, 2)
SOFTMAX(log_softmax_backward, 2)

static PyMethodDef methods[] = {
    TT_METHOD_AS("softmax", run_softmax, "softmax(self, dim)"),
    TT_METHOD_AS("log_softmax", run_log_softmax, "log_softmax(self, dim)"),
    TT_METHOD_AS("softmax_backward", run_softmax_backward, "softmax_backward(grad, result, dim)"),
    TT_METHOD_AS("log_softmax_backward", run_log_softmax_backward, "log_softmax_backward(grad, result, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _softmax
#define DOC "Softmax along a dimension, its logarithm, and their gradients."
#include "module.inc"
