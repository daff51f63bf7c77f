/* Tensors of few numbers, of increasing ones and of places; triangles of matrices, and elements moved around. */
#include "fallback.h"
#include "padding.h"

#define NUMPY(NAME, MODULE, FUNCTION) TT_PYTHON(numpy_##NAME, "tt.backends.cpu." MODULE, FUNCTION)
NUMPY(empty, "creation", "empty");
NUMPY(full, "creation", "full");
NUMPY(ones, "creation", "ones");
NUMPY(eye, "creation", "eye");
NUMPY(numbers, "creation", "numbers");
NUMPY(linspace, "creation", "linspace");
NUMPY(tril_indices, "creation", "tril_indices");
NUMPY(triu_indices, "creation", "triu_indices");
NUMPY(tril, "shaping", "tril");
NUMPY(triu, "shaping", "triu");
NUMPY(roll, "shaping", "roll");
NUMPY(constant_pad_nd, "shaping", "constant_pad_nd");
NUMPY(pad_places, "shaping", "pad_places");

#define GRAIN 32768

/* --- of one value -------------------------------------------------------------------------------------------- */

typedef struct { char *out; uint64_t bits; npy_intp item; } Fill;

static void fill_part(int64_t begin, int64_t end, void *context)
{
    const Fill *f = context;
    if (f->item == 8) {
        for (int64_t i = begin; i < end; i++) ((uint64_t *)f->out)[i] = f->bits;
    } else if (f->item == 4) {
        for (int64_t i = begin; i < end; i++) ((uint32_t *)f->out)[i] = (uint32_t)f->bits;
    } else {
        memset(f->out + begin, (int)(f->bits & 255), (size_t)(end - begin));
    }
}

/* The bits of a number in a dtype; false: left to NumPy. */
static bool bits_of(tt_dtype dtype, double number, uint64_t *bits)
{
    union { uint64_t bits; double twice; float single[2]; int64_t whole; int32_t half[2]; } u = {0};
    switch (dtype) {
    case TT_F64: u.twice = number; break;
    case TT_F32:
        u.single[0] = (float)number;
        if (isinf(u.single[0]) && !isinf(number)) return false;
        break;
    case TT_I64: u.whole = (int64_t)number; return fabs(number) <= 0x1p53 && number == (double)u.whole && (*bits = u.bits, true);
    case TT_I32:
        if (!(fabs(number) < 0x1p31) || number != (double)(int32_t)number) return false;
        u.half[0] = (int32_t)number;
        break;
    case TT_BOOL:
        if (number != 0 && number != 1) return false;
        u.whole = (int64_t)number;
        break;
    default: return false;
    }
    *bits = u.bits;
    return true;
}

static PyObject *filled(PyObject *size, double number, tt_dtype dtype, tt_python *numpy, PyObject *const *args,
                        Py_ssize_t count)
{
    npy_intp shape[NPY_MAXDIMS];
    int ndim = tt_shape(size, shape);
    Fill f;
    if (ndim < 0 || dtype == TT_NONE || !bits_of(dtype, number, &f.bits)) return tt_leave(numpy, args, count);
    if (f.bits == 0) return PyArray_ZEROS(ndim, shape, tt_number_of(dtype), 0);
    PyArrayObject *out = tt_empty(ndim, shape, dtype);
    if (out == NULL) return NULL;
    f.out = PyArray_BYTES(out);
    f.item = PyArray_ITEMSIZE(out);
    int64_t n = PyArray_SIZE(out);
    TT_BEGIN_WORK(n)
    tt_parallel_for(0, n, 8 * GRAIN, fill_part, &f);
    TT_END_WORK
    return (PyObject *)out;
}

/* empty(size, dtype): in memory that is kept when it is freed, as results are */
static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    npy_intp shape[NPY_MAXDIMS];
    int ndim = count == 2 && PyArray_DescrCheck(args[1]) ? tt_shape(args[0], shape) : -1;
    if (ndim < 0) return tt_leave(&numpy_empty, args, count);
    return (PyObject *)tt_new((PyArray_Descr *)Py_NewRef(args[1]), ndim, shape, NULL);
}

/* full(size, fill_value, dtype) */
static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    double number = 0;
    tt_dtype dtype = count == 3 ? tt_dtype_argument(args[2]) : TT_NONE;
    bool fine = count == 3 && tt_double(args[1], &number);
    return filled(fine ? args[0] : Py_None, number, dtype, &numpy_full, args, count);
}

/* ones(size, dtype) */
static PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return filled(count == 2 ? args[0] : Py_None, 1, count == 2 ? tt_dtype_argument(args[1]) : TT_NONE, &numpy_ones, args, count);
}

/* eye(n, m, dtype) */
static PyObject *eye(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t n, m;
    uint64_t bits;
    tt_dtype dtype = count == 3 ? tt_dtype_argument(args[2]) : TT_NONE;
    if (dtype == TT_NONE || !tt_int(args[0], &n) || n < 0 || !bits_of(dtype, 1, &bits))
        return tt_leave(&numpy_eye, args, count);
    if (args[1] == Py_None) m = n;
    else if (!tt_int(args[1], &m) || m < 0) return tt_leave(&numpy_eye, args, count);
    npy_intp shape[2] = {(npy_intp)n, (npy_intp)m}, item = tt_sizes[dtype];
    PyArrayObject *out = (PyArrayObject *)PyArray_ZEROS(2, shape, tt_number_of(dtype), 0);
    if (out != NULL)
        for (int64_t i = 0; i < n && i < m; i++) memcpy(PyArray_BYTES(out) + i * (m + 1) * item, &bits, (size_t)item);
    return (PyObject *)out;
}

/* --- of increasing numbers ----------------------------------------------------------------------------------- */

typedef struct {
    void *out;
    tt_dtype dtype;
    double start, step, end;
    int64_t first, last; /* linspace: where numbers begin to be counted from the end, and the last place */
    int64_t whole_start, whole_step;
} Range;

#define BLOCK 512

/* Multiplied and added in two loops, so that no compiler makes one rounding of two. */
static void range_part(int64_t begin, int64_t end, void *context)
{
    const Range *r = context;
    double block[BLOCK];
    for (int64_t at = begin; at < end; at += BLOCK) {
        int64_t n = end - at < BLOCK ? end - at : BLOCK, split = r->first - at;
        split = split < 0 ? 0 : split > n ? n : split;
        for (int64_t i = 0; i < split; i++) block[i] = (double)(at + i) * r->step;
        for (int64_t i = split; i < n; i++) block[i] = (double)(at + i - r->last) * r->step;
        __asm__ volatile("" : : "r"(block) : "memory");
        for (int64_t i = 0; i < split; i++) block[i] += r->start;
        for (int64_t i = split; i < n; i++) block[i] += r->end;
        if (r->dtype == TT_F64) memcpy((double *)r->out + at, block, (size_t)n * sizeof(double));
        else for (int64_t i = 0; i < n; i++) ((float *)r->out)[at + i] = (float)block[i];
    }
}

static void whole_part(int64_t begin, int64_t end, void *context)
{
    const Range *r = context;
    uint64_t start = (uint64_t)r->whole_start, step = (uint64_t)r->whole_step;
    switch (r->dtype) {
    case TT_I64: for (int64_t i = begin; i < end; i++) ((int64_t *)r->out)[i] = (int64_t)(start + (uint64_t)i * step); break;
    case TT_I32: for (int64_t i = begin; i < end; i++) ((int32_t *)r->out)[i] = (int32_t)(start + (uint64_t)i * step); break;
    case TT_F64: for (int64_t i = begin; i < end; i++) ((double *)r->out)[i] = (double)(int64_t)(start + (uint64_t)i * step); break;
    default: for (int64_t i = begin; i < end; i++) ((float *)r->out)[i] = (float)(int64_t)(start + (uint64_t)i * step);
    }
}

static PyObject *range_of(Range *r, int64_t n, tt_body body)
{
    npy_intp shape[1] = {(npy_intp)n};
    PyArrayObject *out = tt_empty(1, shape, r->dtype);
    if (out == NULL) return NULL;
    r->out = PyArray_DATA(out);
    TT_BEGIN_WORK(n)
    tt_parallel_for(0, n, GRAIN, body, r);
    TT_END_WORK
    return (PyObject *)out;
}

/* arange(end, dtype), arange(start, end, dtype), arange(start, end, step, dtype) */
static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (!tt_expect_count("arange", count, 2, 4)) return NULL;
    PyObject *zero = PyLong_FromLong(0), *one = PyLong_FromLong(1), *result = NULL; /* small numbers are not made anew */
    PyObject *all[4] = {count == 2 ? zero : args[0], count == 2 ? args[0] : args[1], count == 4 ? args[2] : one, args[count - 1]};
    Range r = {.dtype = tt_dtype_argument(all[3])};
    int64_t start, end, step;
    double last;
    bool floats = r.dtype == TT_F32 || r.dtype == TT_F64;
    if (PyLong_CheckExact(all[0]) && PyLong_CheckExact(all[1]) && PyLong_CheckExact(all[2])) {
        if ((floats || r.dtype == TT_I64 || r.dtype == TT_I32) && tt_int(all[0], &start) && tt_int(all[1], &end) &&
            tt_int(all[2], &step) && step != 0 && llabs(start) < (1LL << 52) && llabs(end) < (1LL << 52) &&
            llabs(step) < (1LL << 52) && (end == start || (end > start) == (step > 0))) {
            int64_t width = llabs(end - start), size = llabs(step);
            r.whole_start = start;
            r.whole_step = step;
            result = range_of(&r, (width + size - 1) / size, whole_part);
        }
    } else if (floats && tt_double(all[0], &r.start) && tt_double(all[1], &last) && tt_double(all[2], &r.step) &&
               !PyBool_Check(all[0]) && !PyBool_Check(all[1]) && !PyBool_Check(all[2])) {
        double n = ceil((last - r.start) / r.step);
        if (isfinite(r.start) && isfinite(last) && r.step != 0 && n >= 0 && n < 0x1p40 && (last - r.start) * r.step >= 0) {
            r.first = INT64_MAX;
            result = range_of(&r, (int64_t)n, range_part);
        }
    }
    if (result == NULL && !PyErr_Occurred()) result = tt_leave(&numpy_numbers, all, 4);
    Py_DECREF(zero);
    Py_DECREF(one);
    return result;
}

/* linspace(start, end, steps, dtype): from both ends, so that the last number is exact. */
static PyObject *linspace(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Range r = {.dtype = count == 4 ? tt_dtype_argument(args[3]) : TT_NONE};
    int64_t steps;
    if ((r.dtype != TT_F32 && r.dtype != TT_F64) || !tt_double(args[0], &r.start) || !tt_double(args[1], &r.end) ||
        !tt_int(args[2], &steps) || steps < 0)
        return tt_leave(&numpy_linspace, args, count);
    if (r.dtype == TT_F32) {
        r.start = (float)r.start;
        r.end = (float)r.end;
    }
    r.step = steps > 1 ? (r.end - r.start) / (double)(steps - 1) : 0.0;
    r.first = steps / 2 > 0 ? steps / 2 : steps < 1 ? steps : 1;
    r.last = steps - 1;
    return range_of(&r, steps, range_part);
}

/* --- triangles ----------------------------------------------------------------------------------------------- */

TT_INLINE int64_t within(int64_t value, int64_t most) { return value < 0 ? 0 : value > most ? most : value; }

static PyObject *triangle_indices(PyObject *const *args, Py_ssize_t count, bool lower, tt_python *numpy)
{
    int64_t rows, columns, offset;
    tt_dtype dtype = count == 4 ? tt_dtype_argument(args[3]) : TT_NONE;
    if ((dtype != TT_I64 && dtype != TT_I32) || !tt_int(args[0], &rows) || !tt_int(args[1], &columns) ||
        !tt_int(args[2], &offset) || rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX) {
        return tt_leave(numpy, args, count);
    }
    offset = offset < -rows - columns ? -rows - columns : offset > rows + columns ? rows + columns : offset;
    int64_t total = 0;
    for (int64_t i = 0; i < rows; i++)
        total += lower ? within(i + offset + 1, columns) : columns - within(i + offset, columns);
    npy_intp shape[2] = {2, (npy_intp)total};
    PyArrayObject *out = tt_empty(2, shape, dtype);
    if (out == NULL) return NULL;
    void *to = PyArray_DATA(out);
    TT_BEGIN_WORK(total)
    for (int64_t i = 0, at = 0; i < rows; i++) {
        int64_t first = lower ? 0 : within(i + offset, columns), last = lower ? within(i + offset + 1, columns) : columns;
        if (dtype == TT_I64) {
            int64_t *row = (int64_t *)to + at, *column = row + total;
            for (int64_t j = first; j < last; j++) row[j - first] = i;
            for (int64_t j = first; j < last; j++) column[j - first] = j;
        } else {
            int32_t *row = (int32_t *)to + at, *column = row + total;
            for (int64_t j = first; j < last; j++) row[j - first] = (int32_t)i;
            for (int64_t j = first; j < last; j++) column[j - first] = (int32_t)j;
        }
        at += last - first;
    }
    TT_END_WORK
    return (PyObject *)out;
}

static PyObject *tril_indices(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return triangle_indices(args, count, true, &numpy_tril_indices);
}

static PyObject *triu_indices(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return triangle_indices(args, count, false, &numpy_triu_indices);
}

typedef struct {
    const char *in;
    char *out;
    int64_t rows, columns, diagonal;
    npy_intp item;
    bool lower;
} Triangle;

static void triangle_rows(int64_t begin, int64_t end, void *context)
{
    const Triangle *t = context;
    size_t width = (size_t)(t->columns * t->item);
    for (int64_t row = begin; row < end; row++) {
        const char *in = t->in + (size_t)row * width;
        char *out = t->out + (size_t)row * width;
        int64_t i = row % t->rows;
        size_t cut = (size_t)(within(i + t->diagonal + t->lower, t->columns) * t->item);
        if (t->lower) {
            memcpy(out, in, cut);
            memset(out + cut, 0, width - cut);
        } else {
            memset(out, 0, cut);
            memcpy(out + cut, in + cut, width - cut);
        }
    }
}

static PyObject *triangle(PyObject *const *args, Py_ssize_t count, bool lower, tt_python *numpy)
{
    Triangle t = {.lower = lower};
    PyArrayObject *self = count == 2 ? tt_plain(args[0]) : NULL;
    int ndim = self == NULL ? 0 : PyArray_NDIM(self);
    if (ndim < 2 || !tt_int(args[1], &t.diagonal)) return tt_leave(numpy, args, count);
    PyArrayObject *held = tt_contiguous(self);
    if (held == NULL) return NULL;
    PyArrayObject *out = tt_empty_of(ndim, PyArray_DIMS(held), held);
    if (out != NULL && PyArray_SIZE(out) > 0) {
        t.in = PyArray_BYTES(held);
        t.out = PyArray_BYTES(out);
        t.item = PyArray_ITEMSIZE(held);
        t.rows = PyArray_DIM(held, ndim - 2);
        t.columns = PyArray_DIM(held, ndim - 1);
        int64_t bound = t.rows + t.columns;
        t.diagonal = t.diagonal < -bound ? -bound : t.diagonal > bound ? bound : t.diagonal;
        int64_t n = PyArray_SIZE(out);
        TT_BEGIN_WORK(n)
        tt_parallel_for(0, n / t.columns, GRAIN / t.columns + 1, triangle_rows, &t);
        TT_END_WORK
    }
    Py_DECREF(held);
    return (PyObject *)out;
}

static PyObject *tril(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return triangle(args, count, true, &numpy_tril);
}

static PyObject *triu(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return triangle(args, count, false, &numpy_triu);
}

/* --- elements moved around ----------------------------------------------------------------------------------- */

typedef struct {
    const char *in;
    char *out;
    size_t row, cut; /* bytes of a row, and of what comes from its end to its beginning */
} Roll;

static void roll_rows(int64_t begin, int64_t end, void *context)
{
    const Roll *r = context;
    for (int64_t row = begin; row < end; row++) {
        const char *in = r->in + (size_t)row * r->row;
        char *out = r->out + (size_t)row * r->row;
        memcpy(out, in + r->row - r->cut, r->cut);
        memcpy(out + r->cut, in, r->row - r->cut);
    }
}

/* A contiguous array whose elements are shifted along an axis; of a flat one for ndim 1. */
static PyArrayObject *rolled(PyArrayObject *self, int64_t shift, int64_t outer, int64_t size, int64_t inner)
{
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(self), PyArray_DIMS(self), self);
    if (out == NULL || PyArray_SIZE(out) == 0) return out;
    shift %= size;
    shift += shift < 0 ? size : 0;
    size_t item = (size_t)PyArray_ITEMSIZE(self) * (size_t)inner;
    Roll r = {PyArray_BYTES(self), PyArray_BYTES(out), (size_t)size * item, (size_t)shift * item};
    int64_t n = PyArray_SIZE(out);
    TT_BEGIN_WORK(n)
    tt_parallel_for(0, outer, GRAIN / (size * inner) + 1, roll_rows, &r);
    TT_END_WORK
    return out;
}

/* roll(self, shifts, dims) */
static PyObject *roll(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyArrayObject *self = count == 3 ? tt_plain(args[0]) : NULL;
    if (self == NULL || (!PyTuple_Check(args[1]) && !PyList_Check(args[1])) || (!PyTuple_Check(args[2]) && !PyList_Check(args[2])))
        return tt_leave(&numpy_roll, args, count);
    Py_ssize_t shifts = PySequence_Fast_GET_SIZE(args[1]), dims = PySequence_Fast_GET_SIZE(args[2]);
    int ndim = PyArray_NDIM(self);
    int64_t shift = 0, dim = 0;
    bool fine = dims == 0 ? shifts == 1 : shifts == dims;
    for (Py_ssize_t i = 0; fine && i < shifts; i++) fine = tt_int(PySequence_Fast_GET_ITEM(args[1], i), &shift);
    for (Py_ssize_t i = 0; fine && i < dims; i++)
        fine = tt_int(PySequence_Fast_GET_ITEM(args[2], i), &dim) && tt_axis(dim, ndim) >= 0 && ndim > 0;
    if (!fine && (ndim > 0 || dims > 0)) {
        PyErr_SetString(PyExc_ValueError, "shifts or dimensions that the shape rule refuses");
        return NULL;
    }
    if (ndim == 0 || shifts == 0) return tt_leave(&numpy_roll, args, count);
    PyArrayObject *now = tt_contiguous(self);
    if (dims == 0 && now != NULL) {
        PyArrayObject *next = rolled(now, shift, 1, PyArray_SIZE(now), 1);
        Py_DECREF(now);
        return (PyObject *)next;
    }
    for (Py_ssize_t i = 0; now != NULL && i < dims; i++) {
        int64_t outer = 1, inner = 1;
        tt_int(PySequence_Fast_GET_ITEM(args[1], i), &shift);
        tt_int(PySequence_Fast_GET_ITEM(args[2], i), &dim);
        int axis = tt_axis(dim, ndim);
        for (int d = 0; d < axis; d++) outer *= PyArray_DIM(now, d);
        for (int d = axis + 1; d < ndim; d++) inner *= PyArray_DIM(now, d);
        PyArrayObject *next = rolled(now, shift, outer, PyArray_DIM(now, axis), inner);
        Py_DECREF(now);
        now = next;
    }
    return (PyObject *)now;
}

/* empty_bytes(count): in memory that is kept when it is freed, as the results of kernels are */
static PyObject *empty_bytes(PyObject *module, PyObject *count)
{
    (void)module;
    npy_intp size = PyLong_AsSsize_t(count);
    if (size == -1 && PyErr_Occurred()) return NULL;
    return (PyObject *)tt_new(PyArray_DescrFromType(NPY_UINT8), 1, &size, NULL);
}

/* constant_pad_nd(self, pad, value) */
static PyObject *constant_pad_nd(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    padding p = {.mode = PAD_VALUE};
    npy_intp shape[NPY_MAXDIMS];
    double value;
    PyArrayObject *self = count == 3 ? tt_plain(args[0]) : NULL;
    padding_fit fit = self == NULL ? PADDING_LEFT : padding_sizes(&p, self, args[1], shape);
    if (fit == PADDING_WRONG) return padding_refused();
    if (fit == PADDING_LEFT || !tt_double(args[2], &value)) return tt_leave(&numpy_constant_pad_nd, args, count);
    if (value != 0 || signbit(value)) {
        if (!bits_of(tt_dtype_of(self), value, &p.bits)) return tt_leave(&numpy_constant_pad_nd, args, count);
        p.element = (int)PyArray_ITEMSIZE(self);
    }
    return padded(&p, self, shape);
}

/* _pad_places(self, pad, mode) */
static PyObject *pad_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    padding p = {.mode = PAD_REFLECT};
    npy_intp shape[NPY_MAXDIMS];
    PyArrayObject *self = count == 3 ? tt_plain(args[0]) : NULL;
    if (self == NULL || !padding_mode_of(args[2], &p.mode)) return self == NULL ? tt_leave(&numpy_pad_places, args, count) : padding_refused();
    padding_fit fit = padding_sizes(&p, self, args[1], shape);
    for (int d = 0; d < PyArray_NDIM(self) && fit == PADDING_FITS; d++) {
        npy_intp size = p.sizes[d], after = p.grown[d] - size - p.before[d], more = after > p.before[d] ? after : p.before[d];
        npy_intp most = p.mode == PAD_REFLECT ? size - 1 : size == 0 ? 0 : NPY_MAX_INTP;
        if (more > 0 && more > most) fit = PADDING_WRONG;
    }
    if (fit == PADDING_WRONG) return padding_refused();
    return fit == PADDING_LEFT ? tt_leave(&numpy_pad_places, args, count) : padded(&p, self, shape);
}

static PyMethodDef methods[] = {
    {"empty_bytes", empty_bytes, METH_O, "empty_bytes(count): an array of bytes"},
    TT_METHOD(empty, "empty(size, dtype)"),
    TT_METHOD(full, "full(size, fill_value, dtype)"),
    TT_METHOD(ones, "ones(size, dtype)"),
    TT_METHOD(eye, "eye(n, m, dtype)"),
    TT_METHOD(arange, "arange([start,] end[, step], dtype)"),
    TT_METHOD(linspace, "linspace(start, end, steps, dtype)"),
    TT_METHOD(tril_indices, "tril_indices(row, col, offset, dtype)"),
    TT_METHOD(triu_indices, "triu_indices(row, col, offset, dtype)"),
    TT_METHOD(tril, "tril(self, diagonal)"),
    TT_METHOD(triu, "triu(self, diagonal)"),
    TT_METHOD(roll, "roll(self, shifts, dims)"),
    TT_METHOD(constant_pad_nd, "constant_pad_nd(self, pad, value)"),
    TT_METHOD(pad_places, "pad_places(self, pad, mode)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _creation
#define DOC "Making tensors."
#include "module.inc"
