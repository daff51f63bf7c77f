/* Products of matrices by compressed rows, and sorting of coordinates: what sparse layouts are computed with.
 *
 * Arrays come as they are: `starts` says where each row begins in `columns` and `data`.  Indices are int32 or int64,
 * elements float or double.  Whoever made the matrix has checked its indices, but they are tensors that anyone can write to,
 * in another thread, too: every index is read once, and checked as it is read.
 */
#include "fallback.h"
#include "isa.h"

#define TT_JOIN_(A, B) A##_##B
#define TT_JOIN(A, B) TT_JOIN_(A, B)
#define WORK_PER_PART 65536 /* multiplications of neighbours that are worth a thread */
#define LOOKS_PER_PART 16384 /* elements that are, where each is looked up or looked at alone */
#define PAIRS_PER_PART 4096 /* elements that are, where each meets a row of another matrix */

/* What a row found that was out of range is an error when all rows are done. */
static PyObject *finished(PyArrayObject *out, bool wrong)
{
    if (TT_UNLIKELY(wrong) && !tt_refuse_changed()) Py_CLEAR(out);
    return (PyObject *)out;
}

static void sort_columns(int64_t *values, npy_intp count)
{
    while (count > 24) { /* quicksort; the larger part in the loop */
        int64_t a = values[0], b = values[count / 2], c = values[count - 1];
        int64_t pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        npy_intp i = 0, j = count - 1;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i <= j) {
                int64_t held = values[i];
                values[i++] = values[j];
                values[j--] = held;
            }
        }
        if (j + 1 < count - i) {
            sort_columns(values, j + 1);
            values += i;
            count -= i;
        } else {
            sort_columns(values + i, count - i);
            count = j + 1;
        }
    }
    for (npy_intp i = 1; i < count; i++) {
        int64_t held = values[i];
        npy_intp j = i;
        for (; j > 0 && values[j - 1] > held; j--) values[j] = values[j - 1];
        values[j] = held;
    }
}

#define T float
#define INDEX int64_t
#define S f32_i64
#define WITH_SAMPLES
#include "sparse.inc"
#undef WITH_SAMPLES
#undef INDEX
#undef S
#define INDEX int32_t
#define S f32_i32
#include "sparse.inc"
#undef T
#undef INDEX
#undef S
#define T double
#define INDEX int64_t
#define S f64_i64
#define WITH_SAMPLES
#include "sparse.inc"
#undef WITH_SAMPLES
#undef INDEX
#undef S
#define INDEX int32_t
#define S f64_i32
#include "sparse.inc"
#undef T
#undef INDEX
#undef S

/* --- arguments ---------------------------------------------------------------------------------------------- */

typedef struct {
    PyArrayObject *starts, *columns, *data;
    npy_intp rows, count;
    bool narrow, wide_data; /* int32 indices, double elements */
} matrix;

static bool fits(const matrix *found)
{
    if (found->rows >= 0 && PyArray_DIM(found->data, 0) == found->count) return true;
    PyErr_SetString(PyExc_TypeError, "a matrix has as many elements as columns, and where its rows begin and end");
    return false;
}

/* Reads the three arrays of a matrix; false with an error where they are not contiguous or of other dtypes. */
static bool read_matrix(PyObject *const *args, matrix *found)
{
    for (int i = 0; i < 3; i++) {
        if (!PyArray_Check(args[i]) || !PyArray_ISCARRAY_RO((PyArrayObject *)args[i]) ||
            PyArray_NDIM((PyArrayObject *)args[i]) != 1) {
            PyErr_SetString(PyExc_TypeError, "a matrix consists of three contiguous arrays of one dimension");
            return false;
        }
    }
    found->starts = (PyArrayObject *)args[0];
    found->columns = (PyArrayObject *)args[1];
    found->data = (PyArrayObject *)args[2];
    tt_dtype index = tt_dtype_of(found->starts), dtype = tt_dtype_of(found->data);
    if (index != tt_dtype_of(found->columns) || (index != TT_I32 && index != TT_I64)) {
        PyErr_SetString(PyExc_TypeError, "indices must be int32 or int64");
        return false;
    }
    if (dtype != TT_F32 && dtype != TT_F64) {
        tt_refuse_dtype("a sparse matrix", found->data);
        return false;
    }
    found->narrow = index == TT_I32;
    found->wide_data = dtype == TT_F64;
    found->rows = PyArray_DIM(found->starts, 0) - 1;
    found->count = PyArray_DIM(found->columns, 0);
    return fits(found);
}

#define BY_TYPES(M, CALL) \
    do { \
        if (!(M).wide_data && !(M).narrow) { CALL(float, int64_t, f32_i64); } \
        else if (!(M).wide_data) { CALL(float, int32_t, f32_i32); } \
        else if (!(M).narrow) { CALL(double, int64_t, f64_i64); } \
        else { CALL(double, int32_t, f64_i32); } \
    } while (0)

/* --- products with dense matrices ----------------------------------------------------------------------------- */

static PyArrayObject *read_dense(PyObject *object, const matrix *m, npy_intp expected)
{
    PyArrayObject *dense = tt_array(object, "dense");
    if (dense == NULL) return NULL;
    if (!PyArray_ISCARRAY_RO(dense) || PyArray_NDIM(dense) < 1 || PyArray_NDIM(dense) > 2 ||
        PyArray_TYPE(dense) != PyArray_TYPE(m->data) || (expected >= 0 && PyArray_DIM(dense, 0) != expected)) {
        PyErr_SetString(PyExc_TypeError, "the dense matrix must be contiguous, of the dtype of the sparse one, and fit");
        return NULL;
    }
    return dense;
}

static PyObject *times(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    matrix m;
    if (!tt_expect_count("times", count, 4, 4) || !read_matrix(args, &m)) return NULL;
    PyArrayObject *dense = read_dense(args[3], &m, -1);
    if (dense == NULL) return NULL;
    int ndim = PyArray_NDIM(dense);
    npy_intp wide = ndim == 2 ? PyArray_DIM(dense, 1) : 1, shape[2] = {m.rows, wide};
    PyArrayObject *out = tt_empty_of(ndim, shape, m.data);
    if (out == NULL) return NULL;
    npy_intp work = m.count * wide + m.rows, least = wide == 1 ? LOOKS_PER_PART : WORK_PER_PART;
    npy_intp grain = work <= least ? m.rows : m.rows / (work / least) + 1, height = PyArray_DIM(dense, 0);
    int wrong = height == 0 && m.count > 0;
    TT_BEGIN_WORK(work)
#define RUN(T, INDEX, S) \
        product_##S job = {PyArray_DATA(m.starts), PyArray_DATA(m.columns), PyArray_DATA(m.data), PyArray_DATA(dense), \
                           PyArray_DATA(out), wide, m.count, height, 0}; \
        if (!wrong) tt_parallel_for(0, m.rows, grain, wide == 1 ? times_vector_##S : times_rows_##S, &job); \
        wrong |= job.wrong
    BY_TYPES(m, RUN);
#undef RUN
    TT_END_WORK
    return finished(out, wrong);
}

static PyObject *transposed_times(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    matrix m;
    if (!tt_expect_count("transposed_times", count, 5, 5) || !read_matrix(args, &m)) return NULL;
    PyArrayObject *dense = read_dense(args[3], &m, m.rows);
    npy_intp columns = PyNumber_AsSsize_t(args[4], PyExc_OverflowError);
    if (dense == NULL || PyErr_Occurred()) return NULL;
    int ndim = PyArray_NDIM(dense);
    npy_intp wide = ndim == 2 ? PyArray_DIM(dense, 1) : 1, shape[2] = {columns, wide};
    PyArrayObject *out = tt_empty_of(ndim, shape, m.data);
    if (out == NULL) return NULL;
    int wrong = columns == 0 && m.count > 0;
    TT_BEGIN_WORK(m.count * wide + columns * wide)
    if (PyArray_NBYTES(out) > 0) memset(PyArray_DATA(out), 0, (size_t)PyArray_NBYTES(out));
#define RUN(T, INDEX, S) \
        product_##S job = {PyArray_DATA(m.starts), PyArray_DATA(m.columns), PyArray_DATA(m.data), PyArray_DATA(dense), \
                           PyArray_DATA(out), wide, m.count, columns, 0}; \
        if (!wrong) scatter_rows_##S(&job, m.rows); \
        wrong |= job.wrong
    BY_TYPES(m, RUN);
#undef RUN
    TT_END_WORK
    return finished(out, wrong);
}

/* --- products of two sparse matrices -------------------------------------------------------------------------- */

static void free_buffer(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, NULL)); }

/* An array over memory that malloc gave, which it frees; NULL with an error, and then the memory is the caller's. */
static PyArrayObject *adopt(void *memory, npy_intp count, int number)
{
    PyObject *owner = PyCapsule_New(memory, NULL, free_buffer);
    if (owner == NULL) return NULL;
    PyObject *made = PyArray_New(&PyArray_Type, 1, &count, number, NULL, memory, 0, NPY_ARRAY_CARRAY, NULL);
    if (made == NULL || PyArray_SetBaseObject((PyArrayObject *)made, owner) < 0) {
        PyCapsule_SetDestructor(owner, NULL);
        Py_XDECREF(made);
        return NULL;
    }
    return (PyArrayObject *)made;
}

static PyObject *multiply(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    matrix a, b;
    if (!tt_expect_count("multiply", count, 7, 7) || !read_matrix(args, &a) || !read_matrix(args + 3, &b)) return NULL;
    npy_intp wide = PyNumber_AsSsize_t(args[6], PyExc_OverflowError), rows = a.rows;
    if (wide == -1 && PyErr_Occurred()) return NULL;
    if (a.narrow != b.narrow || a.wide_data != b.wide_data) {
        PyErr_SetString(PyExc_TypeError, "both matrices must have the same dtypes");
        return NULL;
    }
    int parts = rows < 64 ? 1 : tt_threads->thread_count();
    npy_intp most = 1 + (a.count + rows) / PAIRS_PER_PART;
    parts = parts < 1 ? 1 : parts < most ? parts : (int)most;
    npy_intp length = rows + 1;
    PyArrayObject *starts = tt_empty(1, &length, TT_I64), *columns = NULL, *data = NULL;
    int64_t **lists = calloc((size_t)parts, sizeof(int64_t *));
    void **values = calloc((size_t)parts, sizeof(void *));
    int failed = starts == NULL || lists == NULL || values == NULL, wrong = 0;
    int64_t *offsets = failed ? NULL : PyArray_DATA(starts);
    if (!failed) {
        offsets[0] = 0;
        TT_BEGIN_WORK(a.count + b.count)
#define RUN(T, INDEX, S) \
            pair_##S job = {PyArray_DATA(a.starts), PyArray_DATA(a.columns), PyArray_DATA(b.starts), \
                            PyArray_DATA(b.columns), PyArray_DATA(a.data), PyArray_DATA(b.data), rows, wide, offsets, \
                            lists, (T **)values, parts, 0, 0, a.count, b.count, b.rows}; \
            tt_parallel_for(0, parts, 1, multiply_parts_##S, &job); \
            failed = job.failed; \
            wrong = job.wrong
        BY_TYPES(a, RUN);
#undef RUN
        TT_END_WORK
    }
    if (!failed) {
        for (npy_intp row = 0; row < rows; row++) offsets[row + 1] += offsets[row];
        npy_intp total = offsets[rows];
        size_t size = a.wide_data ? sizeof(double) : sizeof(float);
        if (parts == 1 && total > 0) { /* no copy */
            columns = adopt(lists[0], total, NPY_INT64);
            if (columns != NULL) lists[0] = NULL;
            data = columns == NULL ? NULL : adopt(values[0], total, PyArray_TYPE(a.data));
            if (data != NULL) values[0] = NULL;
            failed = columns == NULL || data == NULL;
            parts = failed ? 1 : 0;
        } else {
            columns = tt_empty(1, &total, TT_I64);
            data = tt_empty_of(1, &total, a.data);
            failed = columns == NULL || data == NULL;
        }
        for (int part = 0; !failed && part < parts; part++) {
            int64_t from = offsets[rows * part / parts], to = offsets[rows * (part + 1) / parts];
            if (to == from) continue;
            memcpy((int64_t *)PyArray_DATA(columns) + from, lists[part], (size_t)(to - from) * sizeof(int64_t));
            memcpy((char *)PyArray_DATA(data) + (size_t)from * size, values[part], (size_t)(to - from) * size);
        }
    }
    for (int part = 0; part < parts; part++) {
        if (lists != NULL) free(lists[part]);
        if (values != NULL) free(values[part]);
    }
    free(lists);
    free(values);
    if (failed) {
        Py_XDECREF(starts);
        Py_XDECREF(columns);
        Py_XDECREF(data);
        if (wrong && !PyErr_Occurred()) tt_refuse_changed();
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("NNN", starts, columns, data);
}

/* --- products of dense matrices at some places ------------------------------------------------------------------ */

static PyObject *sampled(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("sampled", count, 4, 4)) return NULL;
    PyArrayObject *a[4];
    for (int i = 0; i < 4; i++) {
        a[i] = tt_array(args[i], "an argument");
        if (a[i] == NULL) return NULL;
        if (!PyArray_ISCARRAY_RO(a[i]) || PyArray_NDIM(a[i]) != (i < 2 ? 1 : 2)) {
            PyErr_SetString(PyExc_TypeError, "sampled() takes contiguous rows, columns and two matrices");
            return NULL;
        }
    }
    tt_dtype dtype = tt_dtype_of(a[2]);
    if (tt_dtype_of(a[0]) != TT_I64 || tt_dtype_of(a[1]) != TT_I64 || tt_dtype_of(a[3]) != dtype ||
        (dtype != TT_F32 && dtype != TT_F64) || PyArray_DIM(a[2], 1) != PyArray_DIM(a[3], 1) ||
        PyArray_DIM(a[0], 0) != PyArray_DIM(a[1], 0)) {
        PyErr_SetString(PyExc_TypeError, "sampled() takes int64 indices and matrices of float32 or float64 that fit");
        return NULL;
    }
    npy_intp places = PyArray_DIM(a[0], 0), inner = PyArray_DIM(a[2], 1);
    PyArrayObject *out = tt_empty_of(1, &places, a[2]);
    if (out == NULL) return NULL;
    npy_intp grain = WORK_PER_PART / (inner + 1) + 1;
    int wrong = 0;
    TT_BEGIN_WORK(places * (inner + 1))
#define RUN(S) \
        samples_##S job = {PyArray_DATA(a[0]), PyArray_DATA(a[1]), PyArray_DATA(a[2]), PyArray_DATA(a[3]), \
                           PyArray_DATA(out), inner, PyArray_DIM(a[2], 0), PyArray_DIM(a[3], 0), 0}; \
        tt_parallel_for(0, places, grain, sample_rows_##S, &job); \
        wrong = job.wrong
    if (dtype == TT_F32) { RUN(f32_i64); }
    else { RUN(f64_i64); }
#undef RUN
    TT_END_WORK
    return finished(out, wrong);
}

/* --- sorting ------------------------------------------------------------------------------------------------------ */

#define RADIX_BITS 11
#define RADIX (1 << RADIX_BITS)

/* Sorts keys below a bound, stably, a digit at a time; returns the sorted keys and where each was. */
static PyObject *sort_keys(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("sort_keys", count, 2, 2)) return NULL;
    PyArrayObject *keys = tt_array(args[0], "keys");
    int64_t bound = PyLong_AsLongLong(args[1]);
    if (keys == NULL || PyErr_Occurred()) return NULL;
    if (!PyArray_ISCARRAY_RO(keys) || PyArray_NDIM(keys) != 1 || tt_dtype_of(keys) != TT_I64) {
        PyErr_SetString(PyExc_TypeError, "keys must be contiguous and int64");
        return NULL;
    }
    npy_intp n = PyArray_DIM(keys, 0);
    int passes = 0;
    while (passes * RADIX_BITS < 63 && bound - 1 >= (int64_t)1 << (passes * RADIX_BITS)) passes++;
    passes += passes % 2; /* so that the result ends where it began */
    PyArrayObject *sorted = tt_empty(1, &n, TT_I64), *order = tt_empty(1, &n, TT_I64);
    int64_t *spare = malloc((size_t)(n + 1) * 2 * sizeof(int64_t));
    if (sorted == NULL || order == NULL || spare == NULL) {
        Py_XDECREF(sorted);
        Py_XDECREF(order);
        free(spare);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    TT_BEGIN_WORK(n * 4)
    int64_t *from = PyArray_DATA(sorted), *places = PyArray_DATA(order), *to = spare, *moved = spare + n;
    memcpy(from, PyArray_DATA(keys), (size_t)n * sizeof(int64_t));
    for (npy_intp i = 0; i < n; i++) places[i] = i;
    for (int pass = 0; pass < passes; pass++) {
        npy_intp counts[RADIX] = {0}, at = 0;
        int shift = pass * RADIX_BITS;
        for (npy_intp i = 0; i < n; i++) counts[(from[i] >> shift) & (RADIX - 1)]++;
        for (int digit = 0; digit < RADIX; digit++) {
            npy_intp held = counts[digit];
            counts[digit] = at;
            at += held;
        }
        for (npy_intp i = 0; i < n; i++) {
            npy_intp place = counts[(from[i] >> shift) & (RADIX - 1)]++;
            to[place] = from[i];
            moved[place] = places[i];
        }
        int64_t *held = from;
        from = to;
        to = held;
        held = places;
        places = moved;
        moved = held;
    }
    TT_END_WORK
    free(spare);
    return Py_BuildValue("NN", sorted, order);
}

/* Adds up values of equal keys: of sorted keys, the order that sorts the values, and the values. */
static PyObject *sum_runs(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("sum_runs", count, 3, 3)) return NULL;
    PyArrayObject *a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = tt_array(args[i], "an argument");
        if (a[i] == NULL) return NULL;
        tt_dtype dtype = tt_dtype_of(a[i]);
        if (!PyArray_ISCARRAY_RO(a[i]) || PyArray_NDIM(a[i]) != 1 || PyArray_DIM(a[i], 0) != PyArray_DIM(a[0], 0) ||
            (i < 2 ? dtype != TT_I64 : dtype != TT_F32 && dtype != TT_F64)) {
            PyErr_SetString(PyExc_TypeError, "sum_runs() takes contiguous int64 keys, their order, and float values");
            return NULL;
        }
    }
    npy_intp n = PyArray_DIM(a[0], 0), found = 0, runs = n > 0;
    const int64_t *keys = PyArray_DATA(a[0]);
    for (npy_intp i = 1; i < n; i++) runs += keys[i] != keys[i - 1];
    PyArrayObject *unique = tt_empty(1, &runs, TT_I64), *sums = tt_empty_of(1, &runs, a[2]);
    if (unique == NULL || sums == NULL) {
        Py_XDECREF(unique);
        Py_XDECREF(sums);
        return NULL;
    }
    TT_BEGIN_WORK(n)
#define RUN(S) found = sum_runs_##S(keys, PyArray_DATA(a[1]), PyArray_DATA(a[2]), n, runs, PyArray_DATA(unique), PyArray_DATA(sums))
    if (tt_dtype_of(a[2]) == TT_F32) { RUN(f32_i64); }
    else { RUN(f64_i64); }
#undef RUN
    TT_END_WORK
    if (found != runs) {
        Py_DECREF(unique);
        Py_DECREF(sums);
        return tt_refuse_changed(), NULL;
    }
    return Py_BuildValue("NN", unique, sums);
}

#include "sparse_layouts.inc"

static PyMethodDef methods[] = {
    TT_METHOD(transpose, "transpose(starts, columns, data, count)"),
    TT_METHOD(to_dense, "to_dense(starts, columns, data, count)"),
    TT_METHOD(from_dense, "from_dense(dense)"),
    TT_METHOD(starts_of, "starts_of(rows, count)"),
    TT_METHOD(rows_of, "rows_of(starts)"),
    TT_METHOD(times, "times(starts, columns, data, dense)"),
    TT_METHOD(transposed_times, "transposed_times(starts, columns, data, dense, count)"),
    TT_METHOD(multiply, "multiply(starts, columns, data, other_starts, other_columns, other_data, count)"),
    TT_METHOD(sampled, "sampled(rows, columns, left, right)"),
    TT_METHOD(sort_keys, "sort_keys(keys, bound)"),
    TT_METHOD(sum_runs, "sum_runs(keys, order, values)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _sparse
#define DOC "Products of matrices by compressed rows, and sorting of coordinates."
#include "module.inc"
