/* Convolutions: where windows lie, and the product of filters and windows. */

/* --- geometry --- */

typedef struct {
    npy_intp kernel[3], stride[3], padding[3], dilation[3], more[3], in[3], out[3];
    npy_intp n, groups, m, c; /* filters and channels of a group, as the product sees them */
} geometry;

#define LARGEST_PLANES ((npy_intp)1 << 56) /* elements; no memory is that large */

static npy_intp volume(const npy_intp *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/* Sizes of fewer than three dimensions come last; those in front are 1. */
static bool spread(PyObject *value, int count, npy_intp least, npy_intp missing, npy_intp *sizes)
{
    for (int i = 0; i < 3 - count; i++) sizes[i] = missing;
    return tt_sizes_of(value, count, least, sizes + 3 - count);
}

static void spatial(PyArrayObject *array, int count, npy_intp *sizes)
{
    for (int i = 0; i < 3; i++) {
        sizes[i] = i < 3 - count ? 1 : PyArray_DIM(array, PyArray_NDIM(array) - 3 + i);
    }
}

static bool refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

/* What a part of the work costs in products, as the elements that decide whether the GIL is given up. */
static npy_intp effort(const geometry *g, const npy_intp *places)
{
    return g->n * g->groups * g->m * volume(places) * (1 + g->c * volume(g->kernel) / 16);
}

/* The images whose planes are held at once: enough for all threads, few enough for the caches. */
static npy_intp images_at_once(npy_intp images, npy_intp bytes)
{
    npy_intp most = ((npy_intp)4 << 20) / (bytes > 0 ? bytes : 1);
    npy_intp threads = tt_threads->thread_count();
    most = most < threads ? threads : most;
    return images < most ? images : most;
}

/* Lays the planes out; false where the input itself serves. */
static bool lay_planes(tt_convolution *job)
{
    tt_axis *axis = job->axis;
    bool copied = false;
    job->planes = 1;
    for (int d = 0; d < 3; d++) {
        job->planes *= axis[d].hop;
        copied |= axis[d].hop != 1 || axis[d].pad != 0 || axis[d].rows != axis[d].size;
    }
    job->pitch[1] = axis[2].rows;
    job->pitch[0] = axis[2].rows * axis[1].rows;
    job->plane = job->pitch[0] * axis[0].rows;
    job->image_size = job->groups * job->c * job->planes * job->plane;
    return copied;
}

/* Whether the planes of all images, and what is computed of their sizes, stay below what any memory holds. */
static bool planes_fit(const geometry *g, const npy_intp *rows)
{
    npy_intp sizes[6] = {rows[0], rows[1], rows[2], g->n, g->groups, g->c};
    if (tt_product_below(sizes, 6, LARGEST_PLANES)) return true;
    PyErr_SetString(PyExc_MemoryError, "the input with its padding is too large");
    return false;
}

/* Checks sizes and finds how many windows there are; false where they do not fit.  A stride that no second window takes, and a
 * dilation without a second element, do not count, however large they are. */
static bool count_windows(geometry *g, int d)
{
    npy_intp span, padded;
    if (g->kernel[d] == 1) g->dilation[d] = 1;
    if (!tt_window_sizes(g->in[d], g->padding[d], g->kernel[d], g->dilation[d], &span, &padded) || span >= padded) return false;
    g->out[d] = (padded - span - 1) / g->stride[d] + 1;
    if (g->out[d] == 1 && g->stride[d] > padded) g->stride[d] = 1;
    return true;
}

/* Whether an input with its padding fits. */
static bool padded_fits(const geometry *g)
{
    npy_intp most[3];
    for (int d = 0; d < 3; d++)
        if (!tt_multiply_add(2, g->padding[d], g->in[d] + g->stride[d], &most[d])) most[d] = LARGEST_PLANES;
    return planes_fit(g, most);
}

/* Where the windows of a convolution lie in planes, one for each remainder by the stride. */
static bool place_windows(const geometry *g, tt_convolution *job, tt_phase *phase)
{
    if (!padded_fits(g)) return false;
    for (int d = 0; d < 3; d++) {
        npy_intp span = (g->kernel[d] - 1) * g->dilation[d], hop = g->stride[d];
        npy_intp rows = hop == 1 ? g->in[d] + 2 * g->padding[d] : span / hop + g->out[d];
        job->axis[d] = (tt_axis){g->in[d], rows, hop, g->padding[d]};
        phase->out[d] = g->out[d];
    }
    phase->step[2] = 1;
    phase->step[1] = g->out[2];
    phase->step[0] = g->out[1] * g->out[2];
    bool copied = lay_planes(job);
    phase->k = g->c * volume(g->kernel);
    phase->offset = malloc((size_t)(2 * phase->k + 1) * sizeof(npy_intp));
    job->used = calloc((size_t)job->planes, 1);
    if (phase->offset == NULL || job->used == NULL) {
        PyErr_NoMemory();
        return false;
    }
    phase->tap = phase->offset + phase->k;
    npy_intp at = 0, taps = volume(g->kernel);
    for (npy_intp i = 0; i < (g->c > 0 ? g->kernel[0] : 0); i++) {
        for (npy_intp j = 0; j < g->kernel[1]; j++) {
            for (npy_intp k = 0; k < g->kernel[2]; k++, at++) {
                npy_intp z = i * g->dilation[0], y = j * g->dilation[1], x = k * g->dilation[2];
                npy_intp number = (z % g->stride[0] * g->stride[1] + y % g->stride[1]) * g->stride[2] + x % g->stride[2];
                job->used[number] = 1;
                phase->offset[at] = number * job->plane + z / g->stride[0] * job->pitch[0] + y / g->stride[1] * job->pitch[1] +
                                    x / g->stride[2];
            }
        }
    }
    /* The other channels follow without divisions, of which there are six for each element. */
    for (; at < phase->k; at++) phase->offset[at] = phase->offset[at - taps] + job->planes * job->plane;
    for (at = 0; at < phase->k; at++) phase->tap[at] = at;
    job->direct = !copied;
    return true;
}

static void release(tt_convolution *job, tt_phase *phases, npy_intp count)
{
    for (npy_intp i = 0; phases != NULL && i < count; i++) {
        free(phases[i].offset);
        free(phases[i].packed);
    }
    free(job->used);
}

/* --- products --- */

#define TT_SINGLE 128 /* elements of a channel's only filter, up to which rows are computed at once */

/* Whether windows are read in place: their copies would not be used often, and few places lie between the rows. */
static bool prefers_flat(npy_intp filters, npy_intp span, npy_intp places)
{
    if (filters <= 8) return 2 * span <= 3 * places + 32;
    if (filters <= 16) return 4 * span <= 5 * places;
    return filters <= 32 && 8 * span <= 9 * places;
}

/* Decides how the places of a phase are divided into blocks, for one image: in place, all together or slice by slice, or copied. */
static void divide(const tt_convolution_code *code, tt_convolution *job, tt_phase *phase)
{
    npy_intp width = code->width, span = (phase->out[1] - 1) * job->pitch[1] + phase->out[2], whole = span, slices = phase->out[0];
    npy_intp places = volume(phase->out);
    if (slices > 1) {
        whole += (slices - 1) * job->pitch[0];
        if (slices * ((span + width - 1) / width) >= (whole + width - 1) / width) slices = 1;
    }
    job->span = slices > 1 ? span : whole;
    job->tiles_of_slice = (job->span + width - 1) / width;
    job->tiles_of_image = slices * job->tiles_of_slice;
    phase->flat = prefers_flat(job->m, job->tiles_of_image * width, places);
    /* The rows of an input as it is often lie at distances that share places of the cache: each is read once only. */
    if (job->direct) phase->flat = phase->flat && job->m <= code->rows && job->span >= width;
}

/* Whether rows of results are whole strips, of few filters with few elements. */
static bool is_strips(const tt_convolution_code *code, const tt_convolution *job, const tt_phase *phase)
{
    if (code->strip == 0 || job->m < 4 || job->m > 32 || phase->k == 0 || phase->k > (job->direct ? 48 : 80)) return false;
    return phase->step[2] == 1 && phase->out[2] > 0 && phase->out[2] % code->strip == 0;
}

/* Rows that follow each other are one row. */
static void join_rows(const tt_convolution *job, tt_phase *phase)
{
    for (int d = 1; d >= 0; d--) {
        if (phase->out[2] != job->pitch[d] || phase->step[d] != phase->out[2] * phase->step[2]) break;
        phase->out[2] *= phase->out[d];
        phase->out[d] = 1;
    }
}

/* Whether each result is a product of a filter and the channels at its own place of the input. */
static bool is_pointwise(const tt_convolution *job, const tt_phase *phases, npy_intp count)
{
    if (!job->direct || count != 1 || phases[0].k != job->c || job->c == 0) return false;
    return volume(phases[0].out) == job->plane && job->channel_size == job->plane && phases[0].first == 0 && phases[0].offset[0] == 0;
}

/* Decides how many blocks of places are computed together, and into how many parts their filters are divided: where there are few such
 * blocks, threads that share the filters read each of them once. */
static void share_filters(const tt_convolution_code *code, tt_convolution *job, const tt_phase *phase, npy_intp size)
{
    npy_intp panels = (job->m + code->rows - 1) / code->rows, parts = 2 * tt_threads->thread_count();
    /* Short sums end before what was asked for arrives. */
    job->distant = phase->step[2] == 1 && phase->k >= (phase->flat ? 128 : 256) && job->images * job->groups * job->m * job->channel_size * size > TT_NEAR_BYTES;
    bool many = !phase->flat && job->m * phase->k * size >= TT_FILTER_BYTES;
    job->once = many ? TT_AT_ONCE : 1;
    job->chunks = job->tiles;
    job->bands = 1;
    if (!many || parts == 2 || job->groups * job->tiles >= 4 * parts) return;
    job->chunks = (job->tiles + job->once - 1) / job->once;
    job->bands = (parts + job->groups * job->chunks - 1) / (job->groups * job->chunks);
    job->bands = job->bands < panels ? job->bands : panels;
}

/* Computes all phases for all images; false without memory.  Runs without the GIL. */
static bool multiply_all(const tt_convolution_code *code, tt_convolution *job, tt_phase *phases, npy_intp count,
                         npy_intp images, const char *input, char *result, npy_intp size)
{
    npy_intp channels = job->groups * job->m, in = job->axis[0].size * job->axis[1].size * job->axis[2].size;
    npy_intp step = images, panels = job->groups * ((job->m + code->rows - 1) / code->rows), places = 0;
    void *planes = NULL;
    job->phases = phases, job->phase_count = count;
    job->single = job->m == 1;
    for (npy_intp i = 0; i < count; i++) {
        job->single = job->single && phases[i].k <= TT_SINGLE;
        places += volume(phases[i].out);
    }
    job->own_planes = job->single && job->c == 1;
    job->direct = job->direct && !job->single;
    bool pointwise = job->m <= 2 * code->rows && is_pointwise(job, phases, count);
    npy_intp at_once = job->direct || job->own_planes ? images : images_at_once(images, job->image_size * size);
    for (npy_intp i = 0; i < count && !pointwise; i++) {
        tt_phase *phase = job->phase = &phases[i];
        if (!job->single) divide(code, job, phase);
        bool near = 2 * job->row_stride * code->rows * size >= 64; /* rows of a block use most of a line of the cache */
        phase->strips = !job->single && is_strips(code, job, phase);
        phase->plain = !job->single && !phase->flat && !phase->strips && at_once * volume(phase->out) <= TT_PLAIN_PLACES && near;
        npy_intp packed = (job->single ? channels : panels * code->rows) * phase->k;
        phase->in_order = 1;
        for (npy_intp k = 0; k < phase->k; k++) phase->in_order &= phase->tap[k] == k;
        if (phase->plain) continue;
        if (phase->strips) {
            npy_intp parts = job->groups * ((job->m + code->strip_rows - 1) / code->strip_rows);
            if (posix_memalign(&phase->packed, 64, (size_t)(parts * code->strip_rows * phase->k * size + 1)) != 0) return false;
            tt_parallel_for(0, parts, 1 + 20000 / (6 * phase->k + 1), code->pack_strips, job);
            continue;
        }
        if (posix_memalign(&phase->packed, 64, (size_t)(packed * size + 1)) != 0) return false;
        tt_parallel_for(0, panels, 1 + 20000 / (4 * phase->k + 1), code->pack, job);
    }
    if (!job->direct && !job->own_planes) {
        step = at_once;
        /* Blocks read whole vectors, beyond the last plane. */
        planes = scratch_take((size_t)((step * job->image_size + 4 * code->width) * size));
        if (planes == NULL) return false;
        memset((char *)planes + step * job->image_size * size, 0, (size_t)(4 * code->width * size));
    }
    for (npy_intp n = 0; n < images; n += step) {
        job->images = images - n < step ? images - n : step;
        job->input = input + n * job->groups * job->c * in * size;
        job->result = result + n * channels * job->channel_size * size;
        job->source = job->direct ? (void *)job->input : planes;
        if (planes != NULL) {
            tt_parallel_for(0, job->images * job->groups * job->c, 1 + 16384 / (job->planes * job->plane + 1), code->fill, job);
        }
        if (job->single) {
            npy_intp cost = places * (phases[0].k + 4) + job->planes * job->plane;
            tt_parallel_for(0, job->images * job->groups, 1 + 100000 / cost, code->single, job);
            continue;
        }
        if (pointwise) {
            job->phase = &phases[0];
            npy_intp pieces = (job->plane + code->piece - 1) / code->piece, cost = job->m * (job->c + 1) * code->piece;
            tt_parallel_for(0, job->images * job->groups * pieces, 1 + 300000 / cost, code->pointwise, job);
            continue;
        }
        for (npy_intp i = 0; i < count; i++) {
            tt_phase *phase = job->phase = &phases[i];
            if (volume(phase->out) == 0) continue;
            if (phase->strips) {
                npy_intp cost = job->m * (phase->k + 1) * phase->out[2];
                tt_parallel_for(0, job->images * job->groups * phase->out[0] * phase->out[1], 1 + 300000 / cost, code->strips, job);
                continue;
            }
            divide(code, job, phase);
            if (!phase->flat) join_rows(job, phase);
            job->tiles = phase->flat ? job->images * job->tiles_of_image
                                     : (job->images * volume(phase->out) + code->width - 1) / code->width;
            npy_intp grain = 1 + 300000 / (job->m * (phase->k + 1) * code->width);
            share_filters(code, job, phase, size);
            tt_parallel_for(0, job->groups * job->chunks * job->bands, grain, code->multiply, job);
        }
    }
    scratch_give(planes);
    return !job->failed;
}

static PyArrayObject *result_of(const geometry *g, PyArrayObject *input, int dims, const npy_intp *sizes)
{
    npy_intp shape[5], at = 0;
    if (PyArray_NDIM(input) == dims + 2) shape[at++] = g->n;
    shape[at++] = g->groups * g->m;
    for (int d = 3 - dims; d < 3; d++) shape[at++] = sizes[d];
    return tt_empty_of((int)at, shape, input);
}

static PyObject *run(const geometry *g, tt_convolution *job, tt_phase *phases, npy_intp count, PyArrayObject *input,
                     PyArrayObject *weight, PyArrayObject *bias, int dims, const npy_intp *sizes)
{
    PyArrayObject *result = result_of(g, input, dims, sizes);
    if (result == NULL) return NULL;
    const tt_convolution_code *code = code_of(tt_dtype_of(input));
    job->weight = PyArray_DATA(weight);
    job->bias = bias != NULL ? PyArray_DATA(bias) : NULL;
    job->channel_size = volume(sizes);
    bool done = true;
    if (PyArray_SIZE(result) > 0) {
        TT_BEGIN_WORK(effort(g, sizes))
        done = multiply_all(code, job, phases, count, g->n, PyArray_DATA(input), PyArray_DATA(result), PyArray_ITEMSIZE(input));
        TT_END_WORK
    }
    if (!done) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    return (PyObject *)result;
}

typedef struct { PyArrayObject *input, *weight, *bias; bool last, weight_last; } operands; /* whether the channels of an array lie last */

static void drop(operands *o)
{
    Py_XDECREF(o->input);
    Py_XDECREF(o->weight);
    Py_XDECREF(o->bias);
}

/* A new reference to an array whose channels lie last, or to one in row-major order. */
static PyArrayObject *last_or_row_major(PyObject *object, const char *name, int dims, bool allowed, bool *last)
{
    *last = allowed && PyArray_Check(object) && tt_lies_last((PyArrayObject *)object, dims);
    return *last ? (PyArrayObject *)Py_NewRef(object) : tt_row_major(object, name);
}

/* Brings arrays whose channels lie last into row-major order; false with an error. */
static bool turn_to_rows(operands *o)
{
    PyArrayObject **arrays[2] = {&o->input, &o->weight};
    for (int i = 0; i < 2; i++) {
        PyArrayObject *array = tt_row_major((PyObject *)*arrays[i], "input");
        if (array == NULL) return false;
        Py_SETREF(*arrays[i], array);
    }
    o->last = o->weight_last = false;
    return true;
}

/* Takes the arrays of a call and checks what they have in common; `own` is the dimension of the weight that bias has. */
static bool take(operands *o, PyObject *const *args, int dims, const char *name)
{
    *o = (operands){0};
    o->input = last_or_row_major(args[0], "input", dims, true, &o->last);
    if (o->input == NULL) return false;
    o->weight = last_or_row_major(args[1], "weight", dims, o->last, &o->weight_last);
    if (o->weight == NULL) return false;
    if (args[2] != Py_None) {
        o->bias = tt_row_major(args[2], "bias");
        if (o->bias == NULL) return false;
    }
    tt_dtype dtype = tt_dtype_of(o->input);
    if (dtype != TT_F32 && dtype != TT_F64) return tt_refuse_dtype(name, o->input) != NULL;
    if (tt_dtype_of(o->weight) != dtype || (o->bias != NULL && tt_dtype_of(o->bias) != dtype)) {
        return refuse("the dtypes differ");
    }
    int ndim = PyArray_NDIM(o->input);
    if (PyArray_NDIM(o->weight) != dims + 2 || (ndim != dims + 1 && ndim != dims + 2)) {
        return refuse("the arrays have the wrong number of dimensions");
    }
    return true;
}

static bool groups_of(PyObject *value, geometry *g)
{
    g->groups = PyLong_AsSsize_t(value);
    if (g->groups == -1 && PyErr_Occurred()) return false;
    return g->groups > 0 || refuse("groups must be positive");
}

static PyObject *convolve_last(const geometry *g, const operands *o, int dims);
static bool serves_last(const geometry *g, const tt_convolution_code *code);

static PyObject *convolve(PyObject *const *args, Py_ssize_t count, int dims)
{
    if (!tt_expect_count("conv", count, 7, 7)) return NULL;
    operands o;
    geometry g = {0};
    tt_convolution job = {0};
    tt_phase phase = {0};
    PyObject *result = NULL;
    if (!take(&o, args, dims, "conv")) goto end;
    if (!spread(args[3], dims, 1, 1, g.stride) || !spread(args[4], dims, 0, 0, g.padding) ||
        !spread(args[5], dims, 1, 1, g.dilation) || !groups_of(args[6], &g)) goto end;
    int ndim = PyArray_NDIM(o.input);
    npy_intp channels = PyArray_DIM(o.input, ndim - dims - 1), filters = PyArray_DIM(o.weight, 0);
    g.n = ndim == dims + 2 ? PyArray_DIM(o.input, 0) : 1;
    spatial(o.input, dims, g.in);
    spatial(o.weight, dims, g.kernel);
    g.m = filters / g.groups;
    g.c = PyArray_DIM(o.weight, 1);
    bool fits = filters >= g.groups && filters % g.groups == 0 && g.c * g.groups == channels && volume(g.kernel) > 0;
    fits = fits && (o.bias == NULL || (PyArray_NDIM(o.bias) == 1 && PyArray_DIM(o.bias, 0) == filters));
    for (int d = 0; d < 3 && fits; d++) {
        fits = count_windows(&g, d);
    }
    npy_intp sizes[5] = {g.n, filters, g.out[0], g.out[1], g.out[2]};
    fits = fits && tt_product_below(sizes, 5, LARGEST_PLANES);
    if (!fits) {
        refuse("the shapes do not fit");
        goto end;
    }
    if (o.last && serves_last(&g, code_of(tt_dtype_of(o.input)))) {
        if (padded_fits(&g)) result = convolve_last(&g, &o, dims);
        goto end;
    }
    if (o.last && !turn_to_rows(&o)) goto end;
    job.groups = g.groups, job.m = g.m, job.c = g.c;
    job.row_stride = g.c * volume(g.kernel), job.group_stride = g.m * job.row_stride;
    if (place_windows(&g, &job, &phase)) result = run(&g, &job, &phase, 1, o.input, o.weight, o.bias, dims, g.out);
end:
    release(&job, &phase, 1);
    drop(&o);
    return result;
}
