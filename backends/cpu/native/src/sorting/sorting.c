/* Sorting and selecting: by the bytes of keys (keys.h), stable, several rows in several threads. */
#include "keys.h"

#define NUMPY(NAME, MODULE, FUNCTION) TT_PYTHON(numpy_##NAME, "tt.backends.cpu." MODULE, FUNCTION)
NUMPY(sort, "sorting", "sort");
NUMPY(argsort, "sorting", "argsort");
NUMPY(topk, "sorting", "topk");
NUMPY(searchsorted, "sorting", "searchsorted");
NUMPY(unique, "sorting", "unique");
NUMPY(unique_consecutive, "sorting", "unique_consecutive");
NUMPY(bincount, "statistics", "bincount");
NUMPY(histc, "statistics", "histc");
NUMPY(kthvalue, "statistics", "kthvalue");
NUMPY(median_dim, "statistics", "median_dim");
NUMPY(median, "statistics", "median");

/* --- rows ---------------------------------------------------------------------------------------------------- */

typedef struct Rows Rows;
struct Rows {
    tt_dtype dtype;
    npy_intp item;                   /* bytes of an element */
    int ndim, axis;
    npy_intp shape[NPY_MAXDIMS], from[NPY_MAXDIMS], to[NPY_MAXDIMS]; /* steps: in bytes of self, in elements of a result */
    int64_t n, rows, taken;          /* elements and rows of self, elements of a row of the results */
    npy_intp step, out_step;         /* along the axis */
    const char *data;
    char *values;                    /* may be NULL */
    int64_t *places;
    bool descending, sorted;
    int kind;
    void (*body)(const Rows *rows, void *memory, const char *from, char *values, int64_t *places);
    size_t memory;
    _Atomic int failed;
};

#define TOP_BIT 0x8000000000000000u

static void run_rows(int64_t begin, int64_t end, void *context)
{
    Rows *r = context;
    void *memory = end - begin == r->rows ? scratch_take(r->memory) : malloc(r->memory);
    if (memory == NULL) {
        r->failed = 1;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        int64_t left = row, from = 0, to = 0;
        for (int d = r->ndim - 1; d >= 0; d--) {
            if (d == r->axis) continue;
            from += left % r->shape[d] * r->from[d];
            to += left % r->shape[d] * r->to[d];
            left /= r->shape[d];
        }
        r->body(r, memory, r->data + from, r->values == NULL ? NULL : r->values + to * r->item, r->places + to);
    }
    if (end - begin == r->rows) scratch_give(memory);
    else free(memory);
}

/* Sets up the rows of an array along a dimension; false: left to NumPy. */
static bool rows_of(Rows *r, PyArrayObject *self, int64_t dim)
{
    int ndim = PyArray_NDIM(self), axis = tt_axis(dim, ndim);
    r->dtype = tt_dtype_of(self);
    if (ndim == 0 || axis < 0 || !has_keys(r->dtype) || PyArray_SIZE(self) == 0) return false;
    r->item = PyArray_ITEMSIZE(self);
    r->ndim = ndim;
    r->axis = axis;
    r->n = PyArray_DIM(self, axis);
    if (r->n > INT32_MAX) return false;
    r->rows = PyArray_SIZE(self) / r->n;
    r->step = PyArray_STRIDE(self, axis);
    for (int d = 0; d < ndim; d++) {
        r->shape[d] = PyArray_DIM(self, d);
        r->from[d] = PyArray_STRIDE(self, d);
    }
    r->data = PyArray_BYTES(self);
    r->memory = row_bytes(r->dtype, r->n);
    r->values = NULL;
    r->failed = 0;
    return true;
}

static bool rows_run(Rows *r)
{
    TT_BEGIN_WORK(r->n * r->rows)
    tt_parallel_for(0, r->rows, 8192 / r->n + 1, run_rows, r);
    TT_END_WORK
    if (r->failed) PyErr_NoMemory();
    return !r->failed;
}

/* New arrays of `taken` elements along the axis; values only where asked for. */
static bool rows_results(Rows *r, PyArrayObject *self, int64_t taken, PyArrayObject **values, PyArrayObject **places)
{
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, r->shape, (size_t)r->ndim * sizeof *shape);
    shape[r->axis] = (npy_intp)taken;
    r->taken = taken;
    *places = tt_empty(r->ndim, shape, TT_I64);
    if (*places == NULL) return false;
    if (values != NULL) {
        *values = tt_empty_of(r->ndim, shape, self);
        if (*values == NULL) {
            Py_CLEAR(*places);
            return false;
        }
        r->values = PyArray_BYTES(*values);
    }
    for (int d = 0; d < r->ndim; d++) r->to[d] = PyArray_STRIDE(*places, d) / (npy_intp)sizeof(int64_t);
    r->out_step = r->to[r->axis];
    r->places = (int64_t *)PyArray_DATA(*places);
    return true;
}

TT_INLINE void copy_item(char *to, const char *from, npy_intp size)
{
    switch (size) {
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    case 2: memcpy(to, from, 2); break;
    default: *to = *from;
    }
}

#define NAME 1
#define TYPE uint8_t
#include "sorting_rows.inc"

#define NAME 2
#define TYPE uint16_t
#include "sorting_rows.inc"

#define NAME 4
#define TYPE uint32_t
#include "sorting_rows.inc"

#define NAME 8
#define TYPE tt_moved8
#include "sorting_rows.inc"

static void write_row(const Rows *r, const Row *row, int64_t count, const char *from, char *values, int64_t *places)
{
    switch (r->item) {
    case 4: write_row_4(r, row, count, from, values, places); break;
    case 8: write_row_8(r, row, count, from, values, places); break;
    case 2: write_row_2(r, row, count, from, values, places); break;
    default: write_row_1(r, row, count, from, values, places);
    }
}

/* --- sort, argsort, topk ------------------------------------------------------------------------------------- */

static void sort_row(const Rows *r, void *memory, const char *from, char *values, int64_t *places)
{
    Row row;
    row_load(&row, memory, r->dtype, from, r->step, r->n, r->descending);
    row_sort(&row, true);
    write_row(r, &row, r->n, from, values, places);
}

static PyObject *sort_along(PyArrayObject *self, int64_t dim, PyObject *descending, bool values_too)
{
    Rows r;
    PyArrayObject *values = NULL, *places = NULL;
    if (!PyBool_Check(descending) || !rows_of(&r, self, dim)) return NULL;
    r.descending = descending == Py_True;
    r.body = sort_row;
    if (!rows_results(&r, self, r.n, values_too ? &values : NULL, &places)) return NULL;
    PyObject *result = NULL;
    if (rows_run(&r)) result = values_too ? PyTuple_Pack(2, values, places) : Py_NewRef((PyObject *)places);
    Py_XDECREF(values);
    Py_DECREF(places);
    return result;
}

/* sort(self, dim, descending[, stable]): always stable. */
static PyObject *sort(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 3 || count == 4 ? tt_plain(args[0]) : NULL;
    PyObject *result = self != NULL && tt_int(args[1], &dim) ? sort_along(self, dim, args[2], true) : NULL;
    return result != NULL || PyErr_Occurred() ? result : tt_leave(&numpy_sort, args, 3);
}

static PyObject *argsort(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim;
    PyArrayObject *self = count == 4 ? tt_plain(args[0]) : NULL;
    PyObject *result = self != NULL && tt_int(args[1], &dim) ? sort_along(self, dim, args[2], false) : NULL;
    return result != NULL || PyErr_Occurred() ? result : tt_leave(&numpy_argsort, args, count);
}

#define NAME words
#define ITEM uint64_t
#define LESS WORD_LESS
#include "sorting_best.inc"

#define NAME pairs
#define ITEM tt_pair
#define LESS PAIR_LESS
#include "sorting_best.inc"

/* Note [Candidates of the best]
 * Of k elements to be found, the k-th of the best of GROUPS groups has at least k that are not worse: the groups' own.  Few
 * others are, so they are all that is looked at closely.  Both passes go through the row without a branch that is hard to foresee.
 */
#define GROUPS 64
#define BEST_OF_GROUPS 32 /* k up to here: of more groups than half, the last is not good enough to leave much out */
#define STRETCH 16        /* elements that are looked at together */

/* Moves the candidates for the k smallest words to the front, in their order, and returns how many they are. */
static int64_t keep_candidates(uint64_t *items, int64_t n, int64_t k)
{
    if (k > BEST_OF_GROUPS || n < 4 * GROUPS) return n;
    int64_t least[GROUPS], ordered[BEST_OF_GROUPS], i = 0, count = 0;
    for (int j = 0; j < GROUPS; j++) least[j] = INT64_MAX;
    for (; i + GROUPS <= n; i += GROUPS)
        for (int j = 0; j < GROUPS; j++) {
            int64_t item = (int64_t)(items[i + j] ^ TOP_BIT); /* vectors compare signed numbers */
            least[j] = item < least[j] ? item : least[j];
        }
    for (int j = 0; j < GROUPS; j++) { /* the k smallest, by insertion */
        int64_t at = j < k ? j : k;
        for (; at > 0 && least[j] < ordered[at - 1]; at--)
            if (at < k) ordered[at] = ordered[at - 1];
        if (at < k) ordered[at] = least[j];
    }
    const int64_t last = ordered[k - 1];
    for (i = 0; i + STRETCH <= n; i += STRETCH) {
        int64_t any = 0;
        for (int j = 0; j < STRETCH; j++) any |= (int64_t)(items[i + j] ^ TOP_BIT) <= last ? -1 : 0;
        if (any)
            for (int j = 0; j < STRETCH; j++)
                if ((int64_t)(items[i + j] ^ TOP_BIT) <= last) items[count++] = items[i + j];
    }
    for (; i < n; i++)
        if ((int64_t)(items[i] ^ TOP_BIT) <= last) items[count++] = items[i];
    return count;
}

static void topk_row(const Rows *r, void *memory, const char *from, char *values, int64_t *places)
{
    Row row;
    row_load(&row, memory, r->dtype, from, r->step, r->n, r->descending);
    if (r->taken * 4 > r->n) {
        row_sort(&row, true);
    } else {
        if (row.wide) keep_best_pairs(row.items, row.n, r->taken);
        else keep_best_words(row.items, keep_candidates(row.items, row.n, r->taken), r->taken);
        row.n = r->taken;
        row_sort(&row, false);
    }
    write_row(r, &row, r->taken, from, values, places);
}

static PyObject *topk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t dim, k;
    Rows r;
    PyArrayObject *self = count == 5 ? tt_plain(args[0]) : NULL, *values = NULL, *places = NULL;
    if (self == NULL || !tt_int(args[1], &k) || !tt_int(args[2], &dim) || !PyBool_Check(args[3]) ||
        !rows_of(&r, self, dim) || k < 1 || k > r.n)
        return tt_leave(&numpy_topk, args, count);
    r.descending = args[3] == Py_True;
    r.body = topk_row;
    if (!rows_results(&r, self, k, &values, &places)) return NULL;
    PyObject *result = rows_run(&r) ? PyTuple_Pack(2, values, places) : NULL;
    Py_DECREF(values);
    Py_DECREF(places);
    return result;
}

#include "sorting_ranks.inc"
#include "sorting_distinct.inc"
#include "sorting_search.inc"

static PyMethodDef methods[] = {
    TT_METHOD(sort, "sort(self, dim, descending, stable=True)"),
    TT_METHOD(argsort, "argsort(self, dim, descending, stable)"),
    TT_METHOD(topk, "topk(self, k, dim, largest, sorted)"),
    TT_METHOD(kthvalue, "kthvalue(self, k, dim, keepdim)"),
    TT_METHOD(median_dim, "median_dim(self, dim, keepdim)"),
    TT_METHOD(median, "median(self)"),
    TT_METHOD(unique, "unique(self, sorted, return_inverse, return_counts)"),
    TT_METHOD(unique_consecutive, "unique_consecutive(self, return_inverse, return_counts)"),
    TT_METHOD(searchsorted, "searchsorted(sorted_sequence, self, right)"),
    TT_METHOD(bincount, "bincount(self, minlength)"),
    TT_METHOD(histc, "histc(self, bins, min, max)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _sorting
#define DOC "Sorting, selecting, counting."
#include "module.inc"
