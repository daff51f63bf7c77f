/* Views: other shapes and strides over the same memory.
 *
 * NumPy makes views quickly, but its conventions differ (strides of zero for new dimensions, read-only results), and
 * what has to be checked first costs more in Python than the view.  Errors are short: the dispatcher runs the shape
 * rule of the operator after them, which says in the operator's words what is wrong.
 */
#include "common.h"

typedef struct {
    int ndim;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char *data;
} geometry;

/* NumPy's strides of an array that it makes without elements are zeros, and so are those of its own views of it.  A
 * tensor's are those of its shape, which its views begin with. */
static void fill_empty_strides(PyArrayObject *array, geometry *g)
{
    for (int i = 0; i < g->ndim; i++) {
        if (g->strides[i]) return;
    }
    PyArrayObject *owner = array;
    while (PyArray_BASE(owner) != NULL && PyArray_CheckExact(PyArray_BASE(owner))) {
        owner = (PyArrayObject *)PyArray_BASE(owner);
    }
    if (PyArray_SIZE(array) || PyArray_SIZE(owner)) return;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int i = g->ndim - 1; i >= 0; i--) {
        g->strides[i] = step;
        step *= g->shape[i] > 1 ? g->shape[i] : 1;
    }
}

TT_INLINE void read_geometry(PyArrayObject *array, geometry *g)
{
    g->ndim = PyArray_NDIM(array);
    g->data = PyArray_BYTES(array);
    tt_copy_sizes(g->shape, PyArray_DIMS(array), g->ndim);
    memcpy(g->strides, PyArray_STRIDES(array), (size_t)g->ndim * sizeof(npy_intp));
    if (g->ndim && g->strides[g->ndim - 1] == 0) fill_empty_strides(array, g);
}

/* A view of the array with another geometry. */
static PyObject *make_view(PyArrayObject *array, const geometry *g)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    int flags = PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE;
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, g->ndim, g->shape, g->strides, g->data, flags, NULL);
    if (view == NULL) return NULL;
    Py_INCREF(array);
    if (PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)array) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

/* The dimension that an argument names, in [0, limit); -1 with an error.  A number has one dimension to name. */
static int read_dim(PyObject *object, int limit)
{
    Py_ssize_t dim = PyLong_AsSsize_t(object);
    if (dim == -1 && PyErr_Occurred()) return -1;
    if (limit == 0) limit = 1;
    if (dim < -limit || dim >= limit) {
        PyErr_Format(PyExc_IndexError, "dimension %zd is not there", dim);
        return -1;
    }
    return (int)(dim < 0 ? dim + limit : dim);
}

/* Numbers of a tuple or list into `values`; their count, or -1 with an error. */
static int read_sizes(PyObject *object, npy_intp *values)
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "sizes are a tuple or a list");
        return -1;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    PyObject **items = PySequence_Fast_ITEMS(object);
    if (count > NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d dimensions", NPY_MAXDIMS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = PyLong_AsSsize_t(items[i]);
        if (values[i] == -1 && PyErr_Occurred()) return -1;
    }
    return (int)count;
}

/* The array that a function with so many arguments begins with, and its geometry; NULL with an error. */
TT_INLINE PyArrayObject *begin(const char *name, PyObject *const *args, Py_ssize_t count, Py_ssize_t expected, geometry *g)
{
    if (!tt_expect_count(name, count, expected, expected)) return NULL;
    PyArrayObject *self = tt_array(args[0], "self");
    if (self != NULL) read_geometry(self, g);
    return self;
}

/* --- the same elements in another shape --------------------------------------------------------------------- */

static PyObject *alias(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("alias", args, count, 1, &g);
    if (self == NULL) return NULL;
    return make_view(self, &g);
}

/* The strides of a view in another shape, as PyTorch finds them: from the last dimension on, runs of dimensions that
 * lie in memory like one are cut anew.  False where that needs a copy. */
static bool cut_anew(const geometry *old, geometry *new, npy_intp itemsize)
{
    npy_intp elements = 1;
    for (int i = 0; i < old->ndim; i++) elements *= old->shape[i];
    if (elements == 0) {
        bool same = old->ndim == new->ndim &&
                    memcmp(old->shape, new->shape, (size_t)old->ndim * sizeof(npy_intp)) == 0;
        npy_intp step = itemsize;
        for (int i = new->ndim - 1; i >= 0; i--) {
            new->strides[i] = same ? old->strides[i] : step;
            step *= new->shape[i] > 1 ? new->shape[i] : 1;
        }
        return true;
    }
    int at = new->ndim - 1;
    npy_intp base = old->ndim ? old->strides[old->ndim - 1] : itemsize, run = 1, made = 1;
    if (old->ndim == 0) {
        for (; at >= 0; at--) new->strides[at] = itemsize;
        return true;
    }
    for (int i = old->ndim - 1; i >= 0; i--) {
        run *= old->shape[i];
        bool ends = i == 0 || (old->shape[i - 1] != 1 && old->strides[i - 1] != run * base);
        if (!ends) continue;
        while (at >= 0 && (made < run || new->shape[at] == 1)) {
            new->strides[at] = made * base;
            made *= new->shape[at];
            at--;
        }
        if (made != run) return false;
        if (i > 0) {
            base = old->strides[i - 1];
            run = made = 1;
        }
    }
    return at == -1;
}

static PyObject *view(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("view", args, count, 2, &g);
    if (self == NULL) return NULL;
    geometry new;
    new.data = g.data;
    new.ndim = read_sizes(args[1], new.shape);
    if (new.ndim < 0) return NULL;
    npy_intp known = 1, elements = PyArray_SIZE(self);
    int open = -1;
    for (int i = 0; i < new.ndim; i++) {
        if (new.shape[i] >= 0) {
            known *= new.shape[i];
        } else if (new.shape[i] == -1 && open < 0) {
            open = i;
        } else {
            PyErr_SetString(PyExc_ValueError, "view() to a negative size");
            return NULL;
        }
    }
    if (open >= 0) {
        if (known == 0 || elements % known) {
            PyErr_SetString(PyExc_ValueError, "view() to another number of elements");
            return NULL;
        }
        new.shape[open] = elements / known;
        known = elements;
    }
    if (known != elements) {
        PyErr_SetString(PyExc_ValueError, "view() to another number of elements");
        return NULL;
    }
    if (!cut_anew(&g, &new, PyArray_ITEMSIZE(self))) {
        PyErr_SetString(PyExc_ValueError, "view() of memory that would have to be copied");
        return NULL;
    }
    return make_view(self, &new);
}

static PyObject *transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("transpose", args, count, 3, &g);
    if (self == NULL) return NULL;
    int a = read_dim(args[1], g.ndim), b = a < 0 ? -1 : read_dim(args[2], g.ndim);
    if (a < 0 || b < 0) return NULL;
    if (g.ndim) {
        npy_intp size = g.shape[a], stride = g.strides[a];
        g.shape[a] = g.shape[b];
        g.strides[a] = g.strides[b];
        g.shape[b] = size;
        g.strides[b] = stride;
    }
    return make_view(self, &g);
}

static PyObject *t(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("t", args, count, 1, &g);
    if (self == NULL) return NULL;
    if (g.ndim > 2) {
        PyErr_SetString(PyExc_ValueError, "t() takes at most two dimensions");
        return NULL;
    }
    if (g.ndim == 2) {
        npy_intp size = g.shape[0], stride = g.strides[0];
        g.shape[0] = g.shape[1];
        g.strides[0] = g.strides[1];
        g.shape[1] = size;
        g.strides[1] = stride;
    }
    return make_view(self, &g);
}

static PyObject *permute(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("permute", args, count, 2, &g);
    if (self == NULL) return NULL;
    geometry new;
    new.data = g.data;
    new.ndim = read_sizes(args[1], new.shape);
    if (new.ndim < 0) return NULL;
    bool seen[NPY_MAXDIMS] = {false};
    for (int i = 0; i < new.ndim; i++) {
        npy_intp dim = new.shape[i] < 0 ? new.shape[i] + g.ndim : new.shape[i];
        if (new.ndim != g.ndim || dim < 0 || dim >= g.ndim || seen[dim]) {
            PyErr_SetString(PyExc_ValueError, "permute() takes each dimension once");
            return NULL;
        }
        seen[dim] = true;
        new.shape[i] = g.shape[dim];
        new.strides[i] = g.strides[dim];
    }
    if (new.ndim != g.ndim) {
        PyErr_SetString(PyExc_ValueError, "permute() takes each dimension once");
        return NULL;
    }
    return make_view(self, &new);
}

static PyObject *expand(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("expand", args, count, 2, &g);
    if (self == NULL) return NULL;
    geometry new;
    new.data = g.data;
    new.ndim = read_sizes(args[1], new.shape);
    if (new.ndim < 0) return NULL;
    int before = new.ndim - g.ndim;
    for (int i = new.ndim - 1; i >= 0; i--) {
        bool fresh = i < before; /* then i is not the last dimension, unless a number is expanded */
        npy_intp size = fresh ? 1 : g.shape[i - before], wanted = new.shape[i];
        npy_intp behind = fresh && g.ndim ? new.shape[i + 1] * new.strides[i + 1] : 0;
        new.strides[i] = fresh ? behind : g.strides[i - before];
        if (wanted == -1 && !fresh) wanted = size;
        if (wanted < 0 || (wanted != size && size != 1)) {
            PyErr_SetString(PyExc_ValueError, "expand() of a dimension that does not repeat");
            return NULL;
        }
        if (wanted != size) new.strides[i] = 0;
        new.shape[i] = wanted;
    }
    if (before < 0) {
        PyErr_SetString(PyExc_ValueError, "expand() to fewer dimensions");
        return NULL;
    }
    return make_view(self, &new);
}

/* --- dimensions of size 1 ----------------------------------------------------------------------------------- */

static PyObject *unsqueeze(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("unsqueeze", args, count, 2, &g);
    if (self == NULL) return NULL;
    int dim = read_dim(args[1], g.ndim + 1);
    if (dim < 0) return NULL;
    if (g.ndim == NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d dimensions", NPY_MAXDIMS);
        return NULL;
    }
    npy_intp step = dim < g.ndim ? g.shape[dim] * g.strides[dim] : PyArray_ITEMSIZE(self);
    memmove(g.shape + dim + 1, g.shape + dim, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    memmove(g.strides + dim + 1, g.strides + dim, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    g.shape[dim] = 1;
    g.strides[dim] = step;
    g.ndim++;
    return make_view(self, &g);
}

static PyObject *without_ones(PyArrayObject *self, geometry *g, const bool *asked)
{
    int kept = 0;
    for (int i = 0; i < g->ndim; i++) {
        if (g->shape[i] == 1 && asked[i]) continue;
        g->shape[kept] = g->shape[i];
        g->strides[kept++] = g->strides[i];
    }
    g->ndim = kept;
    return make_view(self, g);
}

static PyObject *squeeze(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("squeeze", args, count, 1, &g);
    if (self == NULL) return NULL;
    bool asked[NPY_MAXDIMS];
    for (int i = 0; i < g.ndim; i++) asked[i] = true;
    return without_ones(self, &g, asked);
}

static PyObject *squeeze_dim(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("squeeze", args, count, 2, &g);
    if (self == NULL) return NULL;
    npy_intp dims[NPY_MAXDIMS];
    int given = read_sizes(args[1], dims), limit = g.ndim ? g.ndim : 1;
    if (given < 0) return NULL;
    bool asked[NPY_MAXDIMS] = {false};
    for (int i = 0; i < given; i++) {
        npy_intp dim = dims[i] < 0 ? dims[i] + limit : dims[i];
        if (dim < 0 || dim >= limit || asked[dim]) {
            PyErr_SetString(PyExc_IndexError, "squeeze() of a dimension that is not there, or named twice");
            return NULL;
        }
        asked[dim] = true;
    }
    return without_ones(self, &g, asked);
}

/* --- parts -------------------------------------------------------------------------------------------------- */

static PyObject *select_(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("select", args, count, 3, &g);
    if (self == NULL) return NULL;
    if (g.ndim == 0) {
        PyErr_SetString(PyExc_IndexError, "select() of a number");
        return NULL;
    }
    int dim = read_dim(args[1], g.ndim);
    Py_ssize_t index = dim < 0 ? -1 : PyLong_AsSsize_t(args[2]);
    if (dim < 0 || (index == -1 && PyErr_Occurred())) return NULL;
    if (index < -g.shape[dim] || index >= g.shape[dim]) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds", index);
        return NULL;
    }
    g.data += (index < 0 ? index + g.shape[dim] : index) * g.strides[dim];
    g.ndim--;
    memmove(g.shape + dim, g.shape + dim + 1, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    memmove(g.strides + dim, g.strides + dim + 1, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    return make_view(self, &g);
}

/* A bound of a slice, clamped to [0, size]; false with an error. */
static bool read_bound(PyObject *object, npy_intp size, npy_intp absent, npy_intp *bound)
{
    *bound = absent;
    if (object == Py_None) return true;
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (value == -1 && PyErr_Occurred()) return false;
    if (overflow) value = overflow > 0 ? NPY_MAX_INTP : NPY_MIN_INTP;
    if (value < 0) value = value < -size ? 0 : value + size;
    *bound = value > size ? size : (npy_intp)value;
    return true;
}

static PyObject *slice(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("slice", args, count, 5, &g);
    if (self == NULL) return NULL;
    if (g.ndim == 0) {
        PyErr_SetString(PyExc_IndexError, "slice() of a number");
        return NULL;
    }
    int dim = read_dim(args[1], g.ndim);
    if (dim < 0) return NULL;
    npy_intp size = g.shape[dim], start, end, step = PyLong_AsSsize_t(args[4]);
    if (step == -1 && PyErr_Occurred()) return NULL;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "slice() takes a positive step");
        return NULL;
    }
    if (!read_bound(args[2], size, 0, &start) || !read_bound(args[3], size, size, &end)) return NULL;
    if (end < start) end = start;
    g.data += start * g.strides[dim];
    g.shape[dim] = (end - start) / step + ((end - start) % step != 0);
    /* A step beyond the dimension leaves one element, whose stride is never used. */
    g.strides[dim] = step <= NPY_MAX_INTP / 64 ? g.strides[dim] * step : g.strides[dim];
    return make_view(self, &g);
}

static PyObject *diagonal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("diagonal", args, count, 4, &g);
    if (self == NULL) return NULL;
    Py_ssize_t offset = PyLong_AsSsize_t(args[1]);
    if (offset == -1 && PyErr_Occurred()) return NULL;
    int a = read_dim(args[2], g.ndim), b = a < 0 ? -1 : read_dim(args[3], g.ndim);
    if (a < 0 || b < 0) return NULL;
    if (a == b || g.ndim < 2) {
        PyErr_SetString(PyExc_ValueError, "diagonal() takes two dimensions");
        return NULL;
    }
    npy_intp rows = g.shape[a], columns = g.shape[b], size;
    size = offset >= 0 ? (rows < columns - offset ? rows : columns - offset)
                       : (rows + offset < columns ? rows + offset : columns);
    if (size < 0) size = 0;
    if (size > 0) g.data += offset >= 0 ? offset * g.strides[b] : -offset * g.strides[a];
    npy_intp step = g.strides[a] + g.strides[b];
    int kept = 0;
    for (int i = 0; i < g.ndim; i++) {
        if (i == a || i == b) continue;
        g.shape[kept] = g.shape[i];
        g.strides[kept++] = g.strides[i];
    }
    g.shape[kept] = size;
    g.strides[kept] = step;
    g.ndim--;
    return make_view(self, &g);
}

/* unfold(self, dimension, size, step): the windows of a dimension, whose places come last. */
static PyObject *unfold(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("unfold", args, count, 4, &g);
    if (self == NULL) return NULL;
    Py_ssize_t size = PyLong_AsSsize_t(args[2]);
    if (size == -1 && PyErr_Occurred()) return NULL;
    Py_ssize_t step = PyLong_AsSsize_t(args[3]);
    if (step == -1 && PyErr_Occurred()) return NULL;
    int dim = read_dim(args[1], g.ndim);
    if (dim < 0) return NULL;
    npy_intp have = g.ndim ? g.shape[dim] : 1, stride = g.ndim ? g.strides[dim] : PyArray_ITEMSIZE(self);
    if (size < 0 || size > have || step <= 0 || g.ndim == NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "unfold() beyond a dimension");
        return NULL;
    }
    if (g.ndim) {
        g.shape[dim] = (have - size) / step + 1;
        /* A step beyond the dimension leaves one window, whose stride is never used. */
        if (step <= NPY_MAX_INTP / 64) g.strides[dim] *= step;
    }
    g.shape[g.ndim] = size;
    g.strides[g.ndim++] = stride;
    return make_view(self, &g);
}

/* Puts the part of a dimension from `start` on at the end of the list; the list is released where that fails. */
static PyObject *put_part(PyObject *parts, Py_ssize_t at, PyArrayObject *self, const geometry *g, int dim, npy_intp start,
                          npy_intp size)
{
    geometry part = *g;
    part.data += start * g->strides[dim];
    part.shape[dim] = size;
    PyObject *made = make_view(self, &part);
    if (made == NULL) {
        Py_DECREF(parts);
        return NULL;
    }
    PyList_SET_ITEM(parts, at, made);
    return parts;
}

/* split(self, split_size, dim) */
static PyObject *split(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("split", args, count, 3, &g);
    if (self == NULL) return NULL;
    Py_ssize_t size = PyLong_AsSsize_t(args[1]);
    if (size == -1 && PyErr_Occurred()) return NULL;
    int dim = read_dim(args[2], g.ndim);
    if (dim < 0) return NULL;
    npy_intp have = g.ndim ? g.shape[dim] : 0;
    if (g.ndim == 0 || size < 0 || (size == 0 && have)) {
        PyErr_SetString(PyExc_ValueError, "split() into such pieces");
        return NULL;
    }
    Py_ssize_t pieces = have ? have / size + (have % size != 0) : 1;
    PyObject *parts = PyList_New(pieces);
    for (Py_ssize_t i = 0; parts != NULL && i < pieces; i++) {
        npy_intp start = i * size;
        parts = put_part(parts, i, self, &g, dim, start, have - start < size ? have - start : size);
    }
    return parts;
}

/* split_sizes(self, split_size, dim) */
static PyObject *split_sizes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("split", args, count, 3, &g);
    if (self == NULL) return NULL;
    if (!PyTuple_Check(args[1]) && !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "sizes are a tuple or a list");
        return NULL;
    }
    int dim = read_dim(args[2], g.ndim);
    if (dim < 0) return NULL;
    Py_ssize_t pieces = PySequence_Fast_GET_SIZE(args[1]);
    npy_intp start = 0, have = g.ndim ? g.shape[dim] : -1;
    PyObject *parts = PyList_New(pieces);
    for (Py_ssize_t i = 0; parts != NULL && i < pieces; i++) {
        Py_ssize_t size = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(args[1], i));
        if (size < 0 || size > have - start) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "split() into other sizes");
            Py_DECREF(parts);
            return NULL;
        }
        parts = put_part(parts, i, self, &g, dim, start, size);
        start += size;
    }
    if (parts != NULL && start != have) {
        PyErr_SetString(PyExc_ValueError, "split() into other sizes");
        Py_CLEAR(parts);
    }
    return parts;
}

static PyObject *unbind(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    geometry g;
    PyArrayObject *self = begin("unbind", args, count, 2, &g);
    if (self == NULL) return NULL;
    if (g.ndim == 0) {
        PyErr_SetString(PyExc_IndexError, "unbind() of a number");
        return NULL;
    }
    int dim = read_dim(args[1], g.ndim);
    if (dim < 0) return NULL;
    npy_intp size = g.shape[dim], stride = g.strides[dim];
    g.ndim--;
    memmove(g.shape + dim, g.shape + dim + 1, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    memmove(g.strides + dim, g.strides + dim + 1, (size_t)(g.ndim - dim) * sizeof(npy_intp));
    PyObject *parts = PyList_New(size);
    for (npy_intp i = 0; parts != NULL && i < size; i++, g.data += stride) {
        PyObject *part = make_view(self, &g);
        if (part == NULL) {
            Py_CLEAR(parts);
        } else {
            PyList_SET_ITEM(parts, i, part);
        }
    }
    return parts;
}

static PyMethodDef methods[] = {
    TT_METHOD(alias, "alias(self)"),
    TT_METHOD(view, "view(self, size)"),
    TT_METHOD(transpose, "transpose(self, dim0, dim1)"),
    TT_METHOD(t, "t(self)"),
    TT_METHOD(permute, "permute(self, dims)"),
    TT_METHOD(expand, "expand(self, size)"),
    TT_METHOD(unsqueeze, "unsqueeze(self, dim)"),
    TT_METHOD(squeeze, "squeeze(self)"),
    TT_METHOD(squeeze_dim, "squeeze_dim(self, dim)"),
    TT_METHOD_AS("select", select_, "select(self, dim, index)"),
    TT_METHOD(slice, "slice(self, dim, start, end, step)"),
    TT_METHOD(diagonal, "diagonal(self, offset, dim1, dim2)"),
    TT_METHOD(unfold, "unfold(self, dimension, size, step)"),
    TT_METHOD(split, "split(self, split_size, dim)"),
    TT_METHOD(split_sizes, "split_sizes(self, split_size, dim)"),
    TT_METHOD(unbind, "unbind(self, dim)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _shaping
#define DOC "Views: other shapes and strides over the same memory."
#include "module.inc"
