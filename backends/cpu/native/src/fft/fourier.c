/* Fourier transforms of float32 and float64.
 *
 * Note [Transforms in lanes]
 * As many lines as a vector has lanes are transformed at once: each number of a line is a lane of a vector, so butterflies are operations
 * of whole vectors, and the result of a line does not depend on its neighbours, nor on the number of threads.  Lines along the last
 * dimension are transposed when they are read and written; along others, neighbours lie side by side.  The stages overwrite their
 * input: blocks of the length L become `radix` blocks of the length L / radix, from the whole line down.  Blocks that fit the
 * first-level cache go through all their stages before the next one.  Frequencies end in the order of their digits, which writing undoes.
 * The inverse transform is the forward one with real and imaginary parts exchanged, on the way in and on the way out.
 *
 * 2 n real numbers are read as n complex ones; half of the frequencies follow from their transform and its reflection.  An odd number of
 * them is read as complex numbers without imaginary parts.
 *
 * Note [Large prime factors]
 * Primes up to DIRECT have stages that compute sums by their definition, which is faster than anything else: with fused operations, a
 * number takes `radix` of them, and log2(radix) stages of radix 2 would take five each.  The product of larger ones is the last radix, of
 * blocks that lie side by side: the transform of a block is a cyclic convolution of n - 1 numbers (Rader) where n is a prime and n - 1 has
 * no large factors, else one of at least 2 n - 1 numbers (Bluestein).  A convolution is a transform, a product, and a transform back.
 *
 * Note [Lines as matrices]
 * A single line of n1 n2 numbers is a matrix of n1 rows: its columns are transformed, in lanes, since neighbours lie side by side; they
 * are turned by e^(-2 pi i j k / n), where j is the column and k the frequency, and transposed; then the rows are transformed, each
 * a lane again, and the frequency f of row k is the frequency n1 f + k of the line, so that what the lanes hold lies side by side.
 * Each number goes through memory twice, however long the line is.
 *
 * A line whose length is no such product, such as a prime, is a convolution (Bluestein) of a length that is one.
 *
 * Few lines along other dimensions than the last, or longer ones than lanes serve, are copied, transformed and copied back.
 *
 * SciPy serves lines of many millions.
 */
#include "fallback.h"
#include "fourier.h"
#include "scratch.h"

enum { COMPLEX, REAL_TO_HALF, REAL_TO_WHOLE, HALF_TO_REAL };
enum { BEGINNING, COLUMNS, ROWS, CHIRP_BEGIN, CHIRP_MULTIPLY, CHIRP_END, ENDING }; /* steps of a single line */
enum { SHARED_NUMBERS = 16384 };                      /* of a line, which a thread gets at least */
enum { APART_SIZE = 1 << 24, APART_LINES = 8 };       /* bytes and number of neighbours that are copied before they are transformed */
enum { COLUMNS_SIZE = 5 << 17, COLUMNS_VECTORS = 8 }; /* bytes and vectors of neighbours that are transformed together */

typedef struct {
    const plan *plan;
    int kind, backward;         /* backward: exchange real and imaginary parts */
    bool odd;                   /* real lines have an odd length, that of the plan */
    double scale;
    const void *in;
    void *out;
    npy_intp inner;             /* lines that lie side by side; 1: numbers of a line do */
    npy_intp blocks;            /* of so many lines */
    npy_intp in_step, out_step; /* numbers from a block to the next; until `along`, from a line */
    npy_intp together;          /* neighbours that are read together, where they are no lanes */
    _Atomic int failed;
} transform;

/* A line that is transformed as a matrix, or as a convolution. */
typedef struct {
    transform *job;
    int step;
    bool real, only_real, exchanged; /* what columns read, and rows write */
    npy_intp written;                /* how many frequencies are */
    const void *from, *halves;       /* what columns read; the frequencies of real numbers that it is made of */
    void *to, *whole, *between;      /* `whole`: where what columns read is made */
} split_line;

#if 0 /* what follows is made of this, too: the build looks for such lines */
#include "fourier.inc"
#endif
#define TT_SOURCE "fourier.inc"
#include "instances.h"

#include "fourier_plans.h"

TT_PYTHON(numpy_c2c, "tt.backends.cpu.fft", "fft_c2c");
TT_PYTHON(numpy_r2c, "tt.backends.cpu.fft", "fft_r2c");
TT_PYTHON(numpy_c2r, "tt.backends.cpu.fft", "fft_c2r");

/* What a call asks for. */
typedef struct {
    PyArrayObject *in;
    tt_dtype dtype; /* of the numbers */
    bool real;      /* whether `in` is */
    bool odd;       /* the number of real values is */
    int ndim, count, dims[NPY_MAXDIMS];
    npy_intp shape[NPY_MAXDIMS];
    double scale;
    plan *plans[NPY_MAXDIMS]; /* of each of dims */
} request;

/* Reads array, dimensions and norm; false where SciPy serves. */
static bool read_request(request *r, PyObject *self, PyObject *dim, PyObject *norm, bool forward)
{
    r->in = tt_plain(self);
    tt_dtype dtype = r->in == NULL ? TT_NONE : tt_dtype_of(r->in);
    r->real = dtype == TT_F32 || dtype == TT_F64;
    if (!r->real && dtype != TT_C64 && dtype != TT_C128) return false;
    r->dtype = dtype == TT_F32 || dtype == TT_C64 ? TT_F32 : TT_F64;
    r->ndim = PyArray_NDIM(r->in);
    tt_copy_sizes(r->shape, PyArray_DIMS(r->in), r->ndim);
    if (PyArray_SIZE(r->in) == 0 || (!PyTuple_Check(dim) && !PyList_Check(dim)) || !PyUnicode_Check(norm)) return false;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(dim);
    if (count < 1 || count > r->ndim) return false;
    uint64_t seen = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t value;
        if (!tt_int(PySequence_Fast_GET_ITEM(dim, i), &value)) return false;
        int d = tt_axis(value, r->ndim);
        if (d < 0 || seen >> d & 1) return false;
        seen |= (uint64_t)1 << d;
        r->dims[r->count++] = d;
    }
    bool none = PyUnicode_CompareWithASCIIString(norm, forward ? "backward" : "forward") == 0;
    bool root = PyUnicode_CompareWithASCIIString(norm, "ortho") == 0;
    r->scale = none ? 0 : root ? 0.5 : 1; /* the power of the number of elements, until `plan_all` */
    return none || root || PyUnicode_CompareWithASCIIString(norm, forward ? "forward" : "backward") == 0;
}

/* Takes a plan for each dimension; `lengths` are those of the real or complex lines.  False where SciPy serves. */
static bool plan_all(request *r, const npy_intp *lengths, bool halved)
{
    double whole = 1;
    for (int i = 0; i < r->count; i++) {
        npy_intp n = lengths[i], inner = 1, number = PyArray_SIZE(r->in) / r->shape[r->dims[i]];
        whole *= (double)n;
        bool last = i == r->count - 1 && halved;
        for (int d = r->dims[i] + 1; d < r->ndim; d++) inner *= r->shape[d];
        npy_intp lines = inner > 1 ? inner : number, lanes = VB / (r->dtype == TT_F32 ? 4 : 8);
        if (last) r->odd = n % 2 != 0;
        if (last && !r->odd) n /= 2;
        bool many = 2 * lines >= lanes || n < SPLIT_SHORTEST;
        npy_intp most = r->dtype == TT_F64 || (last && r->odd) ? SPLIT_LATE : SPLIT_SOON; /* bytes of a group of lanes */
        if (inner == 1 && (!many || n * 2 * VB > most)) r->plans[i] = take_plan(n, r->dtype, true);
        if (r->plans[i] == NULL && many) r->plans[i] = take_plan(n, r->dtype, false);
        if (r->plans[i] == NULL && inner > 1) r->plans[i] = take_plan(n, r->dtype, true);
        if (r->plans[i] == NULL) return false;
    }
    r->scale = r->scale == 0 ? 1 : r->scale == 1 ? 1 / whole : 1 / sqrt(whole);
    return true;
}

static void leave_all(request *r)
{
    for (int i = 0; i < r->count; i++) leave_plan(r->plans[i]);
}

/* Transforms along dimension dims[i] of complex numbers; without the GIL. */
static void along(request *r, int i, const npy_intp *shape, transform *job)
{
    job->plan = r->plans[i];
    npy_intp n = job->plan->n;
    job->odd = r->odd;
    job->inner = job->blocks = 1;
    for (int d = r->dims[i] + 1; d < r->ndim; d++) job->inner *= shape[d];
    for (int d = 0; d < r->dims[i]; d++) job->blocks *= shape[d];
    npy_intp lanes = VB / (r->dtype == TT_F32 ? 4 : 8), groups = (job->inner > 1 ? job->inner : job->blocks) + lanes - 1;
    groups = groups / lanes * (job->inner > 1 ? job->blocks : 1);
    if (job->kind == COMPLEX) job->in_step = job->out_step = 2 * n;
    job->in_step *= job->inner, job->out_step *= job->inner;
    if (job->plan->split && job->inner > 1) {
        npy_intp size = n * (r->dtype == TT_F32 ? 16 : 32);
        job->together = size > APART_SIZE ? 1 : APART_SIZE / size < APART_LINES ? APART_SIZE / size : APART_LINES;
        tt_body body = r->dtype == TT_F32 ? apart_lines_f32 : apart_lines_f64;
        npy_intp number = (job->inner + job->together - 1) / job->together * job->blocks;
        if (n <= LONGEST) tt_parallel_for(0, number, 1 + 4096 / (n * job->together), body, job);
        else body(0, number, job);
        return;
    }
    if (job->plan->split) {
        tt_body body = r->dtype == TT_F32 ? split_lines_f32 : split_lines_f64;
        if (n <= LONGEST) tt_parallel_for(0, job->blocks, 1 + 4096 / n, body, job);
        else for (npy_intp i = 0; i < job->blocks; i++) body(i, i + 1, job);
        return;
    }
    tt_body body = r->dtype == TT_F32 ? (job->inner > 1 ? columns_f32 : lines_f32) : job->inner > 1 ? columns_f64 : lines_f64;
    tt_parallel_for(0, groups, 1 + 4096 / n, body, job);
}

static PyObject *finished(PyArrayObject *out, const transform *job)
{
    if (!job->failed) return (PyObject *)out;
    Py_DECREF(out);
    return PyErr_NoMemory();
}

static tt_dtype complex_of(tt_dtype dtype) { return dtype == TT_F32 ? TT_C64 : TT_C128; }

/* The complex numbers of a request that has its plans: the last dimension goes first, of real numbers as `kind` says. */
static PyObject *to_complex(request *r, int kind, bool forward)
{
    npy_intp n = r->shape[r->dims[r->count - 1]];
    if (kind == REAL_TO_HALF) r->shape[r->dims[r->count - 1]] = n / 2 + 1;
    PyArrayObject *in = tt_contiguous(r->in), *out = in == NULL ? NULL : tt_empty(r->ndim, r->shape, complex_of(r->dtype));
    transform job = {.kind = kind, .backward = !forward, .scale = 1};
    if (out != NULL) {
        TT_BEGIN_WORK(PyArray_SIZE(in) * 8)
        job.in = PyArray_DATA(in), job.out = PyArray_DATA(out);
        job.in_step = n, job.out_step = kind == REAL_TO_HALF ? n / 2 * 2 + 2 : 2 * n; /* of real lines */
        for (int i = r->count - 1; i >= 0; i--) {
            if (i == 0) job.scale = r->scale;
            along(r, i, r->shape, &job);
            job.kind = COMPLEX, job.in = job.out;
        }
        TT_END_WORK
    }
    leave_all(r);
    Py_XDECREF(in);
    return out == NULL ? NULL : finished(out, &job);
}

/* _fft_c2c(self, dim, norm, forward) */
static PyObject *_fft_c2c(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    request r = {0};
    bool forward = count == 4 && args[3] == Py_True;
    bool served = count == 4 && read_request(&r, args[0], args[1], args[2], forward) && (forward || !r.real);
    npy_intp lengths[NPY_MAXDIMS];
    for (int i = 0; i < r.count && served && r.real; i++) { /* the last dimension goes first */
        if (r.dims[i] == r.ndim - 1) r.dims[i] = r.dims[r.count - 1], r.dims[r.count - 1] = r.ndim - 1;
    }
    for (int i = 0; i < r.count; i++) lengths[i] = r.shape[r.dims[i]];
    if (served && plan_all(&r, lengths, r.real)) return to_complex(&r, r.real ? REAL_TO_WHOLE : COMPLEX, forward);
    leave_all(&r);
    return tt_leave(&numpy_c2c, args, count);
}

/* _fft_r2c(self, dim, norm) */
static PyObject *_fft_r2c(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    request r = {0};
    bool served = count == 3 && read_request(&r, args[0], args[1], args[2], true) && r.real;
    npy_intp lengths[NPY_MAXDIMS];
    for (int i = 0; i < r.count; i++) lengths[i] = r.shape[r.dims[i]];
    if (served && plan_all(&r, lengths, true)) return to_complex(&r, REAL_TO_HALF, true);
    leave_all(&r);
    return tt_leave(&numpy_r2c, args, count);
}

/* _fft_c2r(self, dim, norm, last_dim_size) */
static PyObject *_fft_c2r(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    request r = {0};
    int64_t n = 0;
    bool served = count == 4 && read_request(&r, args[0], args[1], args[2], false) && !r.real && tt_int(args[3], &n);
    npy_intp lengths[NPY_MAXDIMS];
    for (int i = 0; i < r.count; i++) lengths[i] = r.shape[r.dims[i]];
    served = served && n >= 1 && n / 2 + 1 == lengths[r.count - 1];
    if (served) lengths[r.count - 1] = n;
    if (!served || !plan_all(&r, lengths, true)) {
        leave_all(&r);
        return tt_leave(&numpy_c2r, args, count);
    }
    npy_intp shape[NPY_MAXDIMS];
    tt_copy_sizes(shape, r.shape, r.ndim);
    shape[r.dims[r.count - 1]] = n;
    PyArrayObject *in = tt_contiguous(r.in), *between = NULL;
    PyArrayObject *out = in == NULL ? NULL : tt_empty(r.ndim, shape, r.dtype);
    if (out != NULL && r.count > 1) between = tt_empty(r.ndim, r.shape, complex_of(r.dtype));
    if (out != NULL && r.count > 1 && between == NULL) Py_CLEAR(out);
    transform job = {.backward = 1, .scale = 1, .kind = COMPLEX};
    if (out != NULL) {
        TT_BEGIN_WORK(PyArray_SIZE(out) * 8)
        job.in = PyArray_DATA(in);
        for (int i = 0; i < r.count - 1; i++) {
            job.out = PyArray_DATA(between);
            along(&r, i, r.shape, &job);
            job.in = job.out;
        }
        job.kind = HALF_TO_REAL, job.in_step = n / 2 * 2 + 2, job.out_step = n, job.scale = r.scale, job.out = PyArray_DATA(out);
        along(&r, r.count - 1, r.shape, &job);
        TT_END_WORK
    }
    leave_all(&r);
    Py_XDECREF(in);
    Py_XDECREF(between);
    return out == NULL ? NULL : finished(out, &job);
}

static PyMethodDef methods[] = {
    TT_METHOD(_fft_c2c, "_fft_c2c(self, dim, norm, forward)"),
    TT_METHOD(_fft_r2c, "_fft_r2c(self, dim, norm)"),
    TT_METHOD(_fft_c2r, "_fft_c2r(self, dim, norm, last_dim_size)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _fourier
#define DOC "Fourier transforms."
#include "module.inc"
