/* Recurrent layers in one direction: long short-term memories, gated recurrent units, Elman networks; and their gradients. */
#include "arguments.h"
#include "recurrent.h"

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "recurrent.inc"
#endif
#define TT_SOURCE "recurrent.inc"
#include "instances.h"

static const tt_gemm_code *tt_gemm_code_of(tt_dtype dtype) { return TT_CODE_OF(dtype); }

static const tt_rnn_code *rnn_code_of(tt_dtype dtype) { return dtype == TT_F32 ? &rnn_code_f32 : &rnn_code_f64; }

/* --- arguments --- */

enum { INPUT, HX, CX, W_IH, W_HH, B_IH, B_HH, W_HR, SIZES, OUTPUT, SAVED, GRAD, H_GRAD, C_GRAD, SAVED_GRAD, ARRAYS };

/* The arrays of a call, in row-major order, and the layer that they describe. */
typedef struct {
    tt_rnn job;
    PyArrayObject *array[ARRAYS];
    char *scratch;
} layer;

static void release(layer *l)
{
    for (int i = 0; i < ARRAYS; i++) Py_XDECREF(l->array[i]);
    scratch_give(l->scratch);
}

static bool refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

static bool take_mode(tt_rnn *job, PyObject *mode, PyObject *reverse)
{
    static const char *const names[] = {"lstm", "gru", "tanh", "relu"};
    int back = PyObject_IsTrue(reverse);
    if (back < 0 || !PyUnicode_Check(mode)) return refuse("a recurrent layer takes a mode and a direction");
    job->reverse = back;
    for (int i = 0; i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(mode, names[i]) == 0) {
            job->mode = (tt_rnn_mode)i;
            return true;
        }
    }
    return refuse("a recurrent layer has the mode lstm, gru, tanh or relu");
}

/* Whether an array, if there is one, has a dtype and these sizes; with one dimension, `columns` is -1. */
static bool fits(const layer *l, int which, npy_intp rows, npy_intp columns)
{
    PyArrayObject *a = l->array[which];
    if (a == NULL) return true;
    return tt_dtype_of(a) == l->job.dtype && PyArray_NDIM(a) == 1 + (columns >= 0) && PyArray_DIM(a, 0) == rows &&
           (columns < 0 || PyArray_DIM(a, 1) == columns);
}

/* The same for rows: a step's dimension and the batch's, or packed. */
static bool fits_rows(const layer *l, int which, npy_intp columns)
{
    PyArrayObject *a = l->array[which], *x = l->array[INPUT];
    if (a == NULL) return true;
    int ndim = PyArray_NDIM(x);
    return tt_dtype_of(a) == l->job.dtype && PyArray_NDIM(a) == ndim && PyArray_DIM(a, ndim - 1) == columns &&
           tt_same_sizes(PyArray_DIMS(a), PyArray_DIMS(x), ndim - 1);
}

/* The steps of packed rows: positive sizes that never rise. */
static bool take_steps(layer *l)
{
    tt_rnn *job = &l->job;
    PyArrayObject *sizes = l->array[SIZES], *x = l->array[INPUT];
    if (sizes == NULL) {
        job->steps = PyArray_DIM(x, 0), job->rows = job->steps * job->batch;
        return true;
    }
    if (tt_dtype_of(sizes) != TT_I64 || PyArray_NDIM(sizes) != 1) return refuse("batch_sizes must be a vector of int64");
    job->steps = PyArray_DIM(sizes, 0), job->rows = PyArray_DIM(x, 0);
    job->sizes = PyArray_DATA(sizes);
    npy_intp left = job->rows, most = job->batch;
    bool right = job->steps > 0 && job->sizes[0] == job->batch;
    for (npy_intp t = 0; right && t < job->steps; t++) {
        right = job->sizes[t] >= 1 && job->sizes[t] <= most && job->sizes[t] <= left;
        most = job->sizes[t], left -= most;
    }
    return right && left == 0 ? true : refuse("batch_sizes must be positive, never rise, start with the batch of hx and add up to the rows");
}

/* Takes the arrays that the forward and the backward pass have, by their places among the arguments; -1 for those not there. */
static bool take_layer(layer *l, PyObject *const *args, const int *places)
{
    tt_rnn *job = &l->job;
    for (int i = 0; i < ARRAYS; i++) {
        if (places[i] < 0 || args[places[i]] == Py_None) continue;
        l->array[i] = tt_row_major(args[places[i]], "an argument");
        if (l->array[i] == NULL) return false;
    }
    if (l->array[SIZES] != NULL) { /* as they are checked, whatever other threads write */
        PyArrayObject *checked = (PyArrayObject *)PyArray_NewCopy(l->array[SIZES], NPY_CORDER);
        Py_SETREF(l->array[SIZES], checked);
        if (checked == NULL) return false;
    }
    PyArrayObject *x = l->array[INPUT], *hx = l->array[HX], *u = l->array[W_IH];
    if (x == NULL || hx == NULL || u == NULL || l->array[W_HH] == NULL) return refuse("a recurrent layer lacks an argument");
    job->dtype = tt_dtype_of(x);
    bool packed = l->array[SIZES] != NULL;
    if ((job->dtype != TT_F32 && job->dtype != TT_F64) || PyArray_NDIM(x) != (packed ? 2 : 3) || PyArray_NDIM(hx) != 2 || PyArray_NDIM(u) != 2)
        return refuse("a recurrent layer takes an input and a state that fit");
    static const npy_intp gates[] = {4, 3, 1, 1}, kept[] = {5, 4, 0, 0}, width[] = {5, 4, 1, 1};
    job->in = PyArray_DIM(x, packed ? 1 : 2), job->batch = PyArray_DIM(hx, 0), job->out = PyArray_DIM(hx, 1);
    job->gates = PyArray_DIM(u, 0);
    job->hidden = job->gates / gates[job->mode];
    job->kept = kept[job->mode] * job->hidden, job->width = width[job->mode] * job->hidden;
    bool right = job->hidden * gates[job->mode] == job->gates && (packed || PyArray_DIM(x, 1) == job->batch) && PyArray_DIM(x, 0) > 0;
    right = right && (job->mode == TT_LSTM) == (l->array[CX] != NULL) && (l->array[W_HR] == NULL || job->mode == TT_LSTM);
    right = right && fits(l, HX, job->batch, l->array[W_HR] != NULL ? job->out : job->hidden) && fits(l, CX, job->batch, job->hidden);
    right = right && fits(l, W_IH, job->gates, job->in) && fits(l, W_HH, job->gates, job->out) && fits(l, W_HR, job->out, job->hidden);
    right = right && fits(l, B_IH, job->gates, -1) && fits(l, B_HH, job->gates, -1);
    right = right && fits_rows(l, OUTPUT, job->out) && fits_rows(l, SAVED, job->kept) && fits_rows(l, GRAD, job->out) && fits_rows(l, SAVED_GRAD, job->kept);
    right = right && fits(l, H_GRAD, job->batch, job->out) && (job->mode != TT_LSTM || fits(l, C_GRAD, job->batch, job->hidden));
    if (!right) return refuse("the arguments of a recurrent layer do not fit");
    bool gru = job->mode == TT_GRU;
    job->span[0] = (tt_rnn_span){0, 0, gru ? 2 * job->hidden : job->gates};
    job->span[1] = (tt_rnn_span){2 * job->hidden, 3 * job->hidden, job->hidden};
    job->spans = gru ? 2 : 1;
    job->x = PyArray_DATA(x), job->hx = PyArray_DATA(hx), job->u = PyArray_DATA(u), job->v = PyArray_DATA(l->array[W_HH]);
    job->cx = l->array[CX] == NULL ? NULL : PyArray_DATA(l->array[CX]);
    job->w = l->array[W_HR] == NULL ? NULL : PyArray_DATA(l->array[W_HR]);
    return take_steps(l);
}

/* --- scratch memory and threads --- */

/* A piece of scratch memory of `count` elements; first measured (memory NULL), then taken. */
static void *piece(const tt_rnn *job, char *memory, size_t *used, npy_intp count)
{
    void *found = memory == NULL ? NULL : memory + *used;
    *used += ((size_t)count * (size_t)tt_sizes[job->dtype] + 63) / 64 * 64;
    return found;
}

static void number_rows(tt_rnn *job)
{
    npy_intp start = 0;
    for (npy_intp t = 0; t < job->steps; t++) job->starts[t] = start, start += tt_rnn_size(job, t);
}

/* As many parts of the batch as threads, of whole blocks of registers. */
static void choose_parts(tt_rnn *job)
{
    npy_intp panel = rnn_code_of(job->dtype)->panel, panels = (job->batch + panel - 1) / panel, threads = tt_threads->thread_count();
    bool small = job->rows * job->gates * job->out < TT_GEMM_SHARED;
    job->parts = small || threads < 2 ? 1 : panels < threads ? panels : threads;
}

typedef struct { const tt_rnn *job; void (*run)(const tt_rnn *job, npy_intp first, npy_intp end); } rows_job;

static void run_parts(int64_t begin, int64_t end, void *context)
{
    const rows_job *rows = context;
    const tt_rnn *job = rows->job;
    npy_intp panel = rnn_code_of(job->dtype)->panel, panels = (job->batch + panel - 1) / panel;
    for (int64_t at = begin; at < end; at++) {
        npy_intp first = panels * at / job->parts * panel, last = panels * (at + 1) / job->parts * panel;
        rows->run(job, first, last < job->batch ? last : job->batch);
    }
}

static void run_rows(const tt_rnn *job, void (*run)(const tt_rnn *job, npy_intp first, npy_intp end))
{
    rows_job rows = {job, run};
    if (job->batch > 0) tt_parallel_for(0, job->parts, 1, run_parts, &rows);
}

static int multiply(const tt_rnn *job, npy_intp m, npy_intp n, npy_intp k, const void *a, npy_intp ars, npy_intp acs, const void *b,
                    npy_intp brs, npy_intp bcs, void *c, npy_intp ldc)
{
    tt_gemm product = {m, n, k, a, b, ars, acs, brs, bcs, c, ldc, 0, NULL, TT_ANY_WAY};
    return m == 0 || n == 0 ? 0 : tt_gemm_run(job->dtype, &product);
}

/* The address of an element. */
static void *at(const tt_rnn *job, const void *array, npy_intp index)
{
    return (char *)(uintptr_t)array + index * tt_sizes[job->dtype];
}

/* --- forward --- */

static size_t lay_out_forward(tt_rnn *job, char *memory)
{
    const tt_rnn_code *code = rnn_code_of(job->dtype);
    size_t used = 0;
    job->starts = piece(job, memory, &used, (npy_intp)((size_t)job->steps * sizeof(npy_intp) / (size_t)tt_sizes[job->dtype]));
    job->bias = piece(job, memory, &used, job->width);
    for (int k = 0; k < job->spans; k++) job->packed[k] = piece(job, memory, &used, code->packed_size(job->out, job->span[k].count));
    job->packed_u = piece(job, memory, &used, code->packed_size(job->in, job->gates));
    job->packed_w = piece(job, memory, &used, job->w == NULL ? 0 : code->packed_size(job->hidden, job->out));
    job->cells = piece(job, memory, &used, job->w == NULL ? 0 : job->batch * job->hidden);
    return used;
}

static void run_forward(layer *l)
{
    tt_rnn *job = &l->job;
    const tt_rnn_code *code = rnn_code_of(job->dtype);
    npy_intp size = tt_sizes[job->dtype];
    number_rows(job);
    memcpy(job->h, job->hx, (size_t)(job->batch * job->out * size));
    if (job->cx != NULL) memcpy(job->c, job->cx, (size_t)(job->batch * job->hidden * size));
    code->bias(job, l->array[B_IH] == NULL ? NULL : PyArray_DATA(l->array[B_IH]), l->array[B_HH] == NULL ? NULL : PyArray_DATA(l->array[B_HH]));
    for (int k = 0; k < job->spans; k++) {
        const tt_rnn_span *span = &job->span[k];
        code->pack(job->packed[k], at(job, job->v, span->from * job->out), 1, job->out, job->out, span->count);
    }
    if (job->w != NULL) code->pack(job->packed_w, job->w, 1, job->hidden, job->hidden, job->out);
    code->pack(job->packed_u, job->u, 1, job->in, job->in, job->gates);
    choose_parts(job);
    run_rows(job, code->forward);
}

static PyObject *_rnn_layer(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const int places[ARRAYS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1, -1, -1};
    layer l = {0};
    tt_rnn *job = &l.job;
    PyArrayObject *made[4] = {NULL, NULL, NULL, NULL};
    PyObject *result = NULL;
    if (!tt_expect_count("_rnn_layer", count, 11, 11) || !take_mode(job, args[9], args[10])) return NULL;
    if (take_layer(&l, args, places)) {
        int ndim = PyArray_NDIM(l.array[INPUT]);
        npy_intp shape[3], cell[2] = {job->batch, job->hidden}, nothing = 0;
        tt_copy_sizes(shape, PyArray_DIMS(l.array[INPUT]), ndim);
        shape[ndim - 1] = job->out;
        made[0] = tt_empty(ndim, shape, job->dtype);
        made[1] = tt_empty(2, PyArray_DIMS(l.array[HX]), job->dtype);
        made[2] = job->mode == TT_LSTM ? tt_empty(2, cell, job->dtype) : tt_empty(1, &nothing, job->dtype);
        shape[ndim - 1] = job->kept;
        made[3] = tt_empty(ndim, shape, job->dtype);
        size_t needed = lay_out_forward(job, NULL);
        bool enough = made[0] != NULL && made[1] != NULL && made[2] != NULL && made[3] != NULL;
        if (enough && (l.scratch = scratch_take(needed)) == NULL) PyErr_NoMemory();
        if (l.scratch != NULL) {
            lay_out_forward(job, l.scratch);
            job->output = PyArray_DATA(made[0]), job->h = PyArray_DATA(made[1]), job->c = PyArray_DATA(made[2]), job->saved = PyArray_DATA(made[3]);
            TT_BEGIN_WORK(job->rows * job->gates)
            run_forward(&l);
            TT_END_WORK
            result = PyTuple_Pack(4, made[0], made[1], made[2], made[3]);
        }
    }
    for (int i = 0; i < 4; i++) Py_XDECREF(made[i]);
    release(&l);
    return result;
}

/* --- gradients --- */

enum { TO_X, TO_H, TO_C, TO_U, TO_V, TO_P, TO_Q, TO_W, GRADIENTS };

static size_t lay_out_backward(tt_rnn *job, char *memory)
{
    const tt_rnn_code *code = rnn_code_of(job->dtype);
    size_t used = 0;
    bool projects = job->w != NULL;
    job->starts = piece(job, memory, &used, (npy_intp)((size_t)job->steps * sizeof(npy_intp) / (size_t)tt_sizes[job->dtype]));
    for (int k = 0; k < job->spans; k++) job->packed[k] = piece(job, memory, &used, code->packed_size(job->span[k].count, job->out));
    job->packed_u = piece(job, memory, &used, code->packed_size(job->gates, job->in));
    job->packed_w = piece(job, memory, &used, projects ? code->packed_size(job->out, job->hidden) : 0);
    job->cells = piece(job, memory, &used, projects ? job->batch * job->hidden : 0);
    job->extra = piece(job, memory, &used, job->kept);
    job->slopes = piece(job, memory, &used, job->rows * job->width);
    job->before = piece(job, memory, &used, job->rows * job->out);
    job->projected = piece(job, memory, &used, projects ? job->rows * job->hidden : 0);
    job->steepness = piece(job, memory, &used, projects ? job->rows * job->out : 0);
    return used;
}

typedef struct { const tt_rnn *job; void *own, *recurrent; } sums_job;

/* Sums for the biases, in pieces of 128 columns of the gradients of the gates. */
static void run_sums(int64_t begin, int64_t end, void *context)
{
    const sums_job *sums = context;
    const tt_rnn *job = sums->job;
    const tt_rnn_code *code = rnn_code_of(job->dtype);
    npy_intp used = job->mode == TT_GRU ? job->width : job->gates;
    for (npy_intp j = begin * 128; j < end * 128 && j < used; j += 128) {
        npy_intp stop = j + 128 < used ? j + 128 : used, own = stop < job->gates ? stop : job->gates;
        if (own > j) code->sum(job, at(job, sums->own, j), j, own - j);
        npy_intp shared = job->mode == TT_GRU ? 2 * job->hidden : job->gates, past = 3 * job->hidden;
        npy_intp end_shared = stop < shared ? stop : shared, from = j > past ? j : past;
        if (end_shared > j) memcpy(at(job, sums->recurrent, j), at(job, sums->own, j), (size_t)((end_shared - j) * tt_sizes[job->dtype]));
        if (job->mode == TT_GRU && stop > from) code->sum(job, at(job, sums->recurrent, from - job->hidden), from, stop - from);
    }
}

static int run_backward(layer *l, void *const *to)
{
    tt_rnn *job = &l->job;
    const tt_rnn_code *code = rnn_code_of(job->dtype);
    npy_intp size = tt_sizes[job->dtype], width = job->width, out = job->out, rows = job->rows;
    number_rows(job);
    job->h = to[TO_H], job->c = to[TO_C], job->to_x = to[TO_X];
    size_t states = (size_t)(job->batch * out * size), cells = (size_t)(job->batch * job->hidden * size);
    if (l->array[H_GRAD] != NULL) memcpy(job->h, PyArray_DATA(l->array[H_GRAD]), states);
    else memset(job->h, 0, states);
    if (job->cx != NULL && l->array[C_GRAD] != NULL) memcpy(job->c, PyArray_DATA(l->array[C_GRAD]), cells);
    else if (job->cx != NULL) memset(job->c, 0, cells);
    memset((void *)(uintptr_t)job->extra, 0, (size_t)(job->kept * size));
    if (l->array[SAVED_GRAD] != NULL) job->extra = PyArray_DATA(l->array[SAVED_GRAD]), job->extra_step = job->kept;
    for (int k = 0; k < job->spans; k++) {
        const tt_rnn_span *span = &job->span[k];
        code->pack(job->packed[k], at(job, job->v, span->from * out), out, 1, span->count, out);
    }
    code->pack(job->packed_u, job->u, job->in, 1, job->gates, job->in);
    if (job->w != NULL) code->pack(job->packed_w, job->w, job->hidden, 1, out, job->hidden);
    choose_parts(job);
    run_rows(job, code->backward);
    int failed = multiply(job, job->gates, job->in, rows, job->slopes, 1, width, job->x, job->in, 1, to[TO_U], job->in);
    for (int k = 0; k < job->spans; k++) {
        const tt_rnn_span *span = &job->span[k];
        failed |= multiply(job, span->count, out, rows, at(job, job->slopes, span->to), 1, width, job->before, out, 1,
                           at(job, to[TO_V], span->from * out), out);
    }
    if (job->w != NULL) failed |= multiply(job, out, job->hidden, rows, job->steepness, 1, out, job->projected, job->hidden, 1, to[TO_W], job->hidden);
    sums_job sums = {job, to[TO_P], to[TO_Q]};
    tt_parallel_for(0, (width + 127) / 128, 1 + 65536 / (128 * rows + 1), run_sums, &sums);
    return failed;
}

static PyObject *_rnn_layer_backward(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const int places[ARRAYS] = {4, 5, 6, 7, 8, -1, -1, 9, 10, 11, 12, 0, 1, 2, 3};
    layer l = {0};
    tt_rnn *job = &l.job;
    PyArrayObject *made[GRADIENTS] = {NULL};
    PyObject *result = NULL;
    if (!tt_expect_count("_rnn_layer_backward", count, 15, 15) || !take_mode(job, args[13], args[14])) return NULL;
    bool taken = take_layer(&l, args, places);
    if (taken && (l.array[OUTPUT] == NULL || l.array[SAVED] == NULL || l.array[GRAD] == NULL)) taken = refuse("the gradient, the output or what was saved is missing");
    if (taken) {
        static const int like[GRADIENTS] = {INPUT, HX, CX, W_IH, W_HH, -1, -1, W_HR};
        npy_intp nothing = 0;
        bool enough = true;
        void *to[GRADIENTS];
        for (int i = 0; enough && i < GRADIENTS; i++) {
            PyArrayObject *same = like[i] < 0 ? NULL : l.array[like[i]];
            if (same != NULL) made[i] = tt_empty(PyArray_NDIM(same), PyArray_DIMS(same), job->dtype);
            else made[i] = tt_empty(1, like[i] < 0 ? &job->gates : &nothing, job->dtype);
            enough = made[i] != NULL;
            if (enough) to[i] = PyArray_DATA(made[i]);
        }
        size_t needed = lay_out_backward(job, NULL);
        if (enough && (l.scratch = scratch_take(needed)) == NULL) PyErr_NoMemory();
        if (l.scratch != NULL) {
            int failed;
            job->output = PyArray_DATA(l.array[OUTPUT]), job->saved = PyArray_DATA(l.array[SAVED]), job->grad = PyArray_DATA(l.array[GRAD]);
            lay_out_backward(job, l.scratch);
            TT_BEGIN_WORK(job->rows * job->gates)
            failed = run_backward(&l, to);
            TT_END_WORK
            result = failed ? PyErr_NoMemory() : PyTuple_Pack(8, made[0], made[1], made[2], made[3], made[4], made[5], made[6], made[7]);
        }
    }
    for (int i = 0; i < GRADIENTS; i++) Py_XDECREF(made[i]);
    release(&l);
    return result;
}

static PyMethodDef methods[] = {
    TT_METHOD(_rnn_layer, "_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse)"),
    TT_METHOD(_rnn_layer_backward, "_rnn_layer_backward(grad, h_grad, c_grad, saved_grad, input, hx, cx, w_ih, w_hh, w_hr, "
                                   "batch_sizes, output, saved, mode, reverse)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _recurrent
#define DOC "Recurrent layers and their gradients."
#include "module.inc"
