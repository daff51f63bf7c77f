/* The gradient of the filters of a convolution. */

#define T float
#include "convolution_exact.inc"

#define T double
#include "convolution_exact.inc"

/* Computes the gradient of all filters, of channels with one each; false without memory. */
static bool weigh_single(const tt_convolution_code *code, tt_convolution *job, npy_intp images, const char *x, const char *y)
{
    job->images = images;
    job->input = x;
    job->grad = y;
    npy_intp cost = images * (job->places * (job->phase->k + 4) + job->planes * job->plane);
    tt_parallel_for(0, job->groups, 1 + 100000 / (cost + 1), code->single_weights, job);
    return !job->failed;
}

/* The same for any number of filters and channels. */
static bool weigh_groups(const tt_convolution_code *code, const geometry *g, tt_convolution *job, const char *x, const char *y,
                         npy_intp size)
{
    npy_intp in = volume(g->in), out = volume(g->out), channels = g->groups * g->c, filters = g->groups * g->m, places = job->places;
    npy_intp sums = job->many ? 0 : g->groups * job->tap_blocks * job->row_blocks * job->rows_of_block * job->taps_of_block * code->lanes;
    npy_intp pitched = job->many ? g->groups * job->row_blocks * code->width : filters + 8;
    npy_intp step = images_at_once(g->n, (job->image_size + pitched * places) * size), space = step * job->image_size + 4 * code->width;
    void *planes = NULL;
    bool direct = job->direct && job->many; /* vectors of places would reach beyond the input */
    if (job->last != NULL) direct = job->last->direct;
    bool done = posix_memalign(&job->pitched, 64, (size_t)(step * pitched * places * size + 1)) == 0 &&
                posix_memalign(&job->sums, 64, (size_t)(sums * size + 1)) == 0;
    if (done && !direct) {
        planes = scratch_take((size_t)(space * size));
        done = planes != NULL;
        if (done) memset((char *)planes + (space - 4 * code->width) * size, 0, (size_t)(4 * code->width * size));
    }
    for (npy_intp n = 0; n < g->n && done; n += step) {
        job->images = g->n - n < step ? g->n - n : step;
        job->first_chunk = n == 0;
        job->last_chunk = n + step >= g->n;
        job->input = x + n * channels * in * size;
        job->grad = y + n * filters * out * size;
        job->source = direct ? (void *)job->input : planes;
        if (!direct && job->last != NULL) {
            job->last->input = job->input;
            tt_parallel_for(0, job->images, 1 + 16384 / (job->image_size + 1), code->fill_images, job);
        } else if (!direct) {
            tt_parallel_for(0, job->images * channels, 1 + 16384 / (job->planes * job->plane + 1), code->fill, job);
        }
        npy_intp blocks = g->groups * job->tap_blocks;
        if (job->many) {
            npy_intp cost = job->images * places * code->width * (job->phase->k / job->tap_blocks + 1);
            tt_parallel_for(0, g->groups * job->row_blocks * job->images, 1 + 2048 / places, code->pack_grad, job);
            tt_parallel_for(0, blocks * job->row_blocks, 1 + 300000 / (cost + 1), code->weights_of_many, job);
        } else {
            npy_intp cost = job->images * places * g->m * job->taps_of_block;
            tt_parallel_for(0, job->images * filters, 1 + 16384 / places, code->pitch, job);
            tt_parallel_for(0, blocks, 1 + 300000 / (cost + 1), code->weights, job);
        }
    }
    scratch_give(planes);
    free(job->pitched);
    free(job->sums);
    return done && !job->failed;
}

/* Computes the gradient of all filters; false without memory.  Runs without the GIL. */
static bool weigh_all(const tt_convolution_code *code, const geometry *g, tt_convolution *job, tt_phase *phase, const char *x,
                      const char *y, void *w, npy_intp size)
{
    npy_intp span = (g->out[0] - 1) * job->pitch[0] + (g->out[1] - 1) * job->pitch[1] + g->out[2];
    bool single = g->m == 1 && g->c == 1;
    job->phase = phase;
    job->result = w;
    code->choose_block(job);
    if (job->last == NULL) {
        job->apart[0] = job->pitch[0], job->apart[1] = job->pitch[1], job->apart[2] = 1;
        job->group_size = g->c * job->planes * job->plane;
    }
    job->places = job->many && !single ? volume(g->out) : (span + code->lanes - 1) / code->lanes * code->lanes;
    bool done = single ? weigh_single(code, job, g->n, x, y) : weigh_groups(code, g, job, x, y, size);
    /* Zeros between the places meet elements that no product holds: of infinities and NaN they would make NaN. */
    if (done && job->unbounded && job->last == NULL) {
        if (size == 4) exact_float(g, (const float *)x, (const float *)y, w);
        else exact_double(g, (const double *)x, (const double *)y, w);
    }
    return done;
}

/* Where the elements of windows lie in an input whose channels are last; false without memory. */
static bool place_last(const geometry *g, tt_convolution *job, tt_last *last, tt_phase *phase)
{
    npy_intp taps = volume(g->kernel), at = 0, pixel = g->groups * g->c;
    *last = (tt_last){.groups = g->groups, .m = g->m, .c = g->c, .n = g->n, .direct = 1};
    for (int d = 0; d < 3; d++) {
        last->in[d] = g->in[d], last->pad[d] = g->padding[d], last->out[d] = g->out[d], last->hop[d] = g->stride[d];
        last->span[d] = (g->kernel[d] - 1) * g->dilation[d] + 1;
        last->direct &= g->padding[d] == 0;
        phase->out[d] = g->out[d];
    }
    npy_intp rows[3];
    for (int d = 0; d < 3; d++) rows[d] = last->direct ? g->in[d] : (g->out[d] - 1) * g->stride[d] + last->span[d];
    last->pitch[2] = rows[2] * pixel, last->pitch[1] = rows[1] * last->pitch[2], last->pitch[0] = rows[0] * last->pitch[1];
    job->image_size = last->pitch[0], job->group_size = g->c;
    job->apart[0] = g->stride[0] * last->pitch[1], job->apart[1] = g->stride[1] * last->pitch[2], job->apart[2] = g->stride[2] * pixel;
    phase->k = g->c * taps;
    phase->offset = malloc((size_t)(phase->k + 1) * sizeof(npy_intp));
    if (phase->offset == NULL) return PyErr_NoMemory() != NULL;
    for (npy_intp i = 0; i < g->kernel[0]; i++) {
        for (npy_intp j = 0; j < g->kernel[1]; j++) {
            for (npy_intp k = 0; k < g->kernel[2]; k++, at++) {
                phase->offset[at] = i * g->dilation[0] * last->pitch[1] + j * g->dilation[1] * last->pitch[2] + k * g->dilation[2] * pixel;
            }
        }
    }
    for (; at < phase->k; at++) phase->offset[at] = phase->offset[at - taps] + 1;
    job->last = last;
    return true;
}

/* What _conv_weight computes, once it is known that shapes fit; false without memory. */
static bool weigh(const geometry *g, PyArrayObject *input, PyArrayObject *grad, bool turned, PyArrayObject *result, bool *unbounded)
{
    tt_convolution job = {.groups = g->groups, .m = g->m, .c = g->c};
    tt_phase phase = {0};
    tt_last last;
    const tt_convolution_code *code = code_of(tt_dtype_of(input));
    bool done = turned ? padded_fits(g) && place_last(g, &job, &last, &phase) : place_windows(g, &job, &phase);
    if (done) {
        TT_BEGIN_WORK(effort(g, g->out))
        done = weigh_all(code, g, &job, &phase, PyArray_DATA(input), PyArray_DATA(grad), PyArray_DATA(result), PyArray_ITEMSIZE(input));
        TT_END_WORK
        if (!done) PyErr_NoMemory();
    }
    *unbounded = job.unbounded;
    release(&job, &phase, 1);
    return done;
}

/* Whether the filters of a group fill vectors, for which nothing is copied but what has padding. */
static bool weighs_last(const geometry *g, const tt_convolution_code *code)
{
    tt_phase phase = {.k = g->c * volume(g->kernel)};
    tt_convolution job = {.groups = g->groups, .m = g->m, .c = g->c, .phase = &phase};
    code->choose_block(&job);
    return job.many && phase.k > 0;
}

static PyObject *_conv_weight(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!tt_expect_count("_conv_weight", count, 7, 7)) return NULL;
    geometry g = {0};
    PyArrayObject *result = NULL, *input = NULL, *grad = NULL;
    bool done = false, turned, unbounded = false;
    npy_intp shape[5];
    Py_ssize_t length = PySequence_Size(args[2]);
    if (length == -1) return NULL;
    int dims = (int)length - 2;
    if ((input = last_or_row_major(args[0], "input", dims, true, &turned)) == NULL) goto end;
    if ((grad = last_or_row_major(args[1], "grad", dims, turned, &turned)) == NULL) goto end;
    int ndim = PyArray_NDIM(input);
    if (dims < 1 || dims > 3 || (ndim != dims + 1 && ndim != dims + 2) || PyArray_NDIM(grad) != ndim) {
        refuse("the arrays have the wrong number of dimensions");
        goto end;
    }
    tt_dtype dtype = tt_dtype_of(input);
    if ((dtype != TT_F32 && dtype != TT_F64) || tt_dtype_of(grad) != dtype) {
        tt_refuse_dtype("_conv_weight", input);
        goto end;
    }
    if (!tt_sizes_of(args[2], (int)length, 0, shape)) goto end;
    if (!spread(args[3], dims, 1, 1, g.stride) || !spread(args[4], dims, 0, 0, g.padding) ||
        !spread(args[5], dims, 1, 1, g.dilation) || !groups_of(args[6], &g)) goto end;
    g.n = ndim == dims + 2 ? PyArray_DIM(input, 0) : 1;
    g.m = shape[0] / g.groups;
    g.c = shape[1];
    for (int d = 0; d < 3; d++) g.kernel[d] = d < 3 - dims ? 1 : shape[d - 1 + dims];
    spatial(input, dims, g.in);
    spatial(grad, dims, g.out);
    bool fits = shape[0] % g.groups == 0 && PyArray_DIM(input, ndim - dims - 1) == g.c * g.groups;
    fits = fits && PyArray_DIM(grad, ndim - dims - 1) == shape[0] && (ndim == dims + 1 || PyArray_DIM(grad, 0) == g.n);
    for (int d = 0; d < 3 && fits; d++) {
        npy_intp reach, padded, last = 0;
        if (g.kernel[d] == 1) g.dilation[d] = 1;
        if (g.out[d] == 1) g.stride[d] = g.stride[d] <= g.in[d] ? g.stride[d] : 1;
        fits = g.kernel[d] > 0 && tt_window_sizes(g.in[d], g.padding[d], g.kernel[d], g.dilation[d], &reach, &padded) &&
               tt_multiply_add(g.out[d] - 1, g.stride[d], reach, &last) && last < padded;
    }
    if (!fits) {
        refuse("the shapes do not fit");
        goto end;
    }
    result = tt_empty_of((int)length, shape, input);
    if (result == NULL) goto end;
    if (PyArray_SIZE(result) == 0 || PyArray_SIZE(grad) == 0) {
        memset(PyArray_DATA(result), 0, (size_t)PyArray_NBYTES(result));
        done = true;
        goto end;
    }
    turned = turned && weighs_last(&g, code_of(dtype));
    if (turned && !(done = weigh(&g, input, grad, true, result, &unbounded))) goto end;
    if (!turned || unbounded) { /* zeros of the padding make NaN of infinities, for which only rows have exact sums */
        done = false;
        Py_SETREF(input, tt_row_major((PyObject *)input, "input"));
        if (input == NULL) goto end;
        Py_SETREF(grad, tt_row_major((PyObject *)grad, "grad"));
        done = grad != NULL && weigh(&g, input, grad, false, result, &unbounded);
    }
end:
    Py_XDECREF(input);
    Py_XDECREF(grad);
    if (!done) Py_CLEAR(result);
    return (PyObject *)result;
}
