/* The loss of sequences whose alignment is unknown, and its gradient: one item after the other, each along its steps. */
#include "fallback.h"

typedef struct {
    npy_intp steps, batch, classes, length, states; /* length of the longest target; states: 2 length + 1 */
    const void *x, *grad;
    const int64_t *targets, *input_lengths, *target_lengths;
    int64_t blank;
    int64_t zero_infinity;
    void *loss, *alpha, *slope, *scratch;
} sequences;

/* The class of a state: blanks before, between and behind the labels. */
TT_INLINE int64_t label_of(const sequences *job, npy_intp item, int64_t state)
{
    return state & 1 ? job->targets[item * job->length + state / 2] : job->blank;
}

/* Whether a state may directly follow the one before the last: a label that differs from the one before. */
TT_INLINE bool may_skip(const sequences *job, npy_intp item, int64_t state)
{
    return state & 1 && state > 1 && label_of(job, item, state) != label_of(job, item, state - 2);
}

#define T float
#define EXP expf
#define LOG logf
#include "ctc.inc"

#define T double
#define EXP exp
#define LOG log
#include "ctc.inc"

/* Reads lengths, each at most `most`. */
static bool lengths_of(PyObject *object, int64_t *to, npy_intp count, int64_t most)
{
    if ((!PyTuple_Check(object) && !PyList_Check(object)) || PySequence_Fast_GET_SIZE(object) != count) return false;
    for (npy_intp i = 0; i < count; i++) {
        if (!tt_int(PySequence_Fast_GET_ITEM(object, i), to + i) || to[i] < 0 || to[i] > most) return false;
    }
    return true;
}

static bool holds(PyArrayObject *array, tt_dtype dtype, int ndim, const npy_intp *shape)
{
    return array != NULL && tt_dtype_of(array) == dtype && PyArray_NDIM(array) == ndim &&
           tt_same_sizes(PyArray_DIMS(array), shape, ndim);
}

/* (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity); with `grad` before, and with loss and log_alpha
 * behind the lengths, for the gradient */
static PyObject *run(PyObject *const *args, bool back)
{
    PyArrayObject *grad = back ? tt_plain(args[0]) : NULL, *x = tt_plain(args[back]), *targets = tt_plain(args[back + 1]);
    PyArrayObject *loss = back ? tt_plain(args[5]) : NULL, *alpha = back ? tt_plain(args[6]) : NULL, *slope = NULL;
    PyObject *const *rest = args + (back ? 7 : 4);
    PyObject *result = NULL;
    int64_t *lengths = NULL;
    const char *wrong = "the arguments are of the wrong kinds";
    if (x == NULL || targets == NULL || PyArray_NDIM(x) != 3 || PyArray_NDIM(targets) != 2 || tt_dtype_of(targets) != TT_I64)
        goto refused;
    tt_dtype dtype = tt_dtype_of(x);
    sequences job = {.steps = PyArray_DIM(x, 0), .batch = PyArray_DIM(x, 1), .classes = PyArray_DIM(x, 2),
                     .length = PyArray_DIM(targets, 1)};
    job.states = 2 * job.length + 1;
    const npy_intp shape[3] = {job.batch, job.steps, job.states};
    if ((dtype != TT_F32 && dtype != TT_F64) || !tt_int(rest[0], &job.blank) || job.steps == 0) goto refused;
    if (back && (!holds(grad, dtype, 1, shape) || !holds(loss, dtype, 1, shape) || !holds(alpha, dtype, 3, shape))) goto refused;
    wrong = "the sizes do not fit";
    job.zero_infinity = PyObject_IsTrue(rest[1]);
    if (PyArray_DIM(targets, 0) != job.batch || job.blank < 0 || job.blank >= job.classes) goto refused;
    npy_intp scratch = back ? 2 * job.batch * job.states : 0;
    lengths = malloc((size_t)(2 * job.batch + scratch + 1) * sizeof(int64_t));
    if (lengths == NULL) return PyErr_NoMemory();
    if (!lengths_of(args[back + 2], lengths, job.batch, job.steps)) goto refused;
    if (!lengths_of(args[back + 3], lengths + job.batch, job.batch, job.length)) goto refused;
    job.input_lengths = lengths, job.target_lengths = lengths + job.batch, job.scratch = lengths + 2 * job.batch;

    x = tt_contiguous(x), targets = (PyArrayObject *)PyArray_NewCopy(targets, NPY_CORDER); /* as it is checked */
    if (back) grad = tt_contiguous(grad), loss = tt_contiguous(loss), alpha = tt_contiguous(alpha);
    else loss = tt_empty(1, shape, dtype), alpha = tt_empty(3, shape, dtype);
    if (back && x != NULL) slope = tt_empty(3, PyArray_DIMS(x), dtype);
    if (x == NULL || targets == NULL || loss == NULL || alpha == NULL || (back && (grad == NULL || slope == NULL))) goto done;
    job.targets = PyArray_DATA(targets);
    for (npy_intp n = 0; n < job.batch; n++) {
        for (int64_t i = 0; i < job.target_lengths[n]; i++) {
            int64_t label = job.targets[n * job.length + i];
            if (label >= 0 && label < job.classes) continue;
            static tt_python error = {"tt.core.errors", "PlaceError", NULL};
            PyObject *type = tt_imported(&error);
            if (type != NULL) PyErr_Format(type, "ctc_loss(): the target %lld is not one of %zd classes", (long long)label, job.classes);
            goto done;
        }
    }
    job.x = PyArray_DATA(x), job.loss = PyArray_DATA(loss), job.alpha = PyArray_DATA(alpha);
    if (back) job.grad = PyArray_DATA(grad), job.slope = PyArray_DATA(slope);
    npy_intp cost = job.steps * (job.states * 16 + (back ? job.classes * 4 : 0)) + 1;
    tt_body body = dtype == TT_F32 ? (back ? backward_float : forward_float) : (back ? backward_double : forward_double);
    TT_BEGIN_WORK(job.batch * cost)
    tt_parallel_for(0, job.batch, 1 + 16384 / cost, body, &job);
    TT_END_WORK
    result = back ? Py_NewRef((PyObject *)slope) : Py_BuildValue("(OO)", (PyObject *)loss, (PyObject *)alpha);
done:
    free(lengths);
    Py_XDECREF(x);
    Py_XDECREF(targets);
    Py_XDECREF(loss);
    Py_XDECREF(alpha);
    if (back) Py_XDECREF(grad);
    Py_XDECREF(slope);
    return result;
refused:
    free(lengths);
    PyErr_SetString(PyExc_ValueError, wrong);
    return NULL;
}

static PyObject *_ctc_loss(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_ctc_loss", count, 6, 6) ? run(args, false) : NULL;
}

static PyObject *_ctc_loss_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return tt_expect_count("_ctc_loss_backward", count, 9, 9) ? run(args, true) : NULL;
}

static PyMethodDef methods[] = {
    TT_METHOD(_ctc_loss, "_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)"),
    TT_METHOD(_ctc_loss_backward, "_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, "
                                  "blank, zero_infinity)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _ctc
#define DOC "The loss of sequences whose alignment is unknown."
#include "module.inc"
