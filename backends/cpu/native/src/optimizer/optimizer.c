/* Steps of optimizers, and scales of gradients, over lists of arrays: each element is read and written once. */
#include "fallback.h"
#include "halves.h"

#define NUMPY(NAME) TT_PYTHON(numpy_##NAME, "tt.backends.cpu.optimizer", #NAME)
NUMPY(fused_sgd);
NUMPY(fused_adam);
NUMPY(fused_adamw);
NUMPY(fused_adagrad);

#define MOST_LISTS 5 /* parameters, gradients, states */
#define MOST_NUMBERS 6
#define GRAIN 16384
#define UNSCALED 4096 /* gradients that are in the cache when the step reads them */

typedef struct {
    char *arrays[MOST_LISTS]; /* NULL: not given */
    double lr, beta1, beta2, decay, eps, momentum, dampening, step_size, root, scale, sign;
    double kept, numbers[MOST_NUMBERS]; /* of steps by rule */
    int rule;
    bool maximize, nesterov, first, amsgrad, decoupled, scaled;
    bool *found; /* set by whichever thread finds an element that is not finite */
} Step;

/* The rules of `_fused_step_`, and how many numbers and states each needs. */
enum { ADAMAX, NADAM, RADAM, ADADELTA, RMSPROP, RPROP, ASGD, RULES };
static const struct {
    const char *name;
    int numbers, states;
} rules[RULES] = {
    [ADAMAX] = {"adamax", 4, 2}, [NADAM] = {"nadam", 6, 2}, [RADAM] = {"radam", 5, 2}, [ADADELTA] = {"adadelta", 3, 2},
    [RMSPROP] = {"rmsprop", 4, 1}, [RPROP] = {"rprop", 4, 2}, [ASGD] = {"asgd", 3, 1},
};

/* --- steps of one array -------------------------------------------------------------------------------------- */

/* The loops are made once for each way to take a step: `decays`, `nesterov` and `largest` are constants in each. */

#define NAME f32
#define TYPE float
#define ROOT sqrtf
#define ABS fabsf
#define BITS uint32_t
#define EXPONENT 0x7f800000u
#include "optimizer_steps.inc"

#define NAME f64
#define TYPE double
#define ROOT sqrt
#define ABS fabs
#define BITS uint64_t
#define EXPONENT 0x7ff0000000000000u
#include "optimizer_steps.inc"

/* --- lists --------------------------------------------------------------------------------------------------- */

/* The arrays of a list or tuple; their number, or -1. */
static Py_ssize_t items_of(PyObject *list, PyObject ***items)
{
    if (!PyList_Check(list) && !PyTuple_Check(list)) return -1;
    *items = PySequence_Fast_ITEMS(list);
    return PySequence_Fast_GET_SIZE(list);
}

/* Whether each list has an array for each parameter that lies in memory as that does, without gaps, in float32 or float64. */
static bool alike(PyObject *const *lists, int number)
{
    PyObject **params = NULL, **others = NULL;
    Py_ssize_t count = items_of(lists[0], &params);
    if (count < 1) return false;
    for (int list = 0; list < number; list++) {
        if (lists[list] == NULL) continue;
        if (items_of(lists[list], &others) != count) return false;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyArrayObject *param = tt_plain_target(params[i]), *other = tt_plain_target(others[i]);
            if (param == NULL || other == NULL) return false;
            tt_dtype dtype = tt_dtype_of(param);
            if ((dtype != TT_F32 && dtype != TT_F64) || tt_dtype_of(other) != dtype || !tt_same_shape(param, other))
                return false;
            bool rows = PyArray_IS_C_CONTIGUOUS(param) && PyArray_IS_C_CONTIGUOUS(other);
            bool columns = PyArray_IS_F_CONTIGUOUS(param) && PyArray_IS_F_CONTIGUOUS(other);
            if (!rows && !columns) return false;
        }
    }
    return true;
}

/* A number, or the only element of an array of float32 or float64. */
static bool number_of(PyObject *object, double *value)
{
    if (tt_double(object, value)) return true;
    PyArrayObject *array = tt_plain(object);
    if (array == NULL || PyArray_SIZE(array) != 1) return false;
    tt_dtype dtype = tt_dtype_of(array);
    if (dtype == TT_F32) *value = *(const float *)PyArray_DATA(array);
    else if (dtype == TT_F64) *value = *(const double *)PyArray_DATA(array);
    else return false;
    return true;
}

/* Reads grad_scale and found_inf; false: left to NumPy. */
static bool scaling(Step *s, PyObject *grad_scale, PyObject *found_inf, bool *stops)
{
    double found = 0;
    s->scaled = grad_scale != Py_None;
    s->scale = 1;
    if (s->scaled && !number_of(grad_scale, &s->scale)) return false;
    if (found_inf != Py_None && !number_of(found_inf, &found)) return false;
    *stops = found == 1;
    return true;
}

/* What is done to one array of each list, and the elements of the arrays before it. */
typedef struct {
    Step step;
    tt_body take, unscale;
    int64_t before, size;
} Task;

typedef struct {
    Task *tasks;
    Py_ssize_t count;
} Tasks;

/* One job over the elements of all arrays: small arrays need no threads of their own, and nobody waits between two. */
static void run_tasks(int64_t begin, int64_t end, void *context)
{
    const Tasks *all = context;
    Py_ssize_t low = 0, high = all->count - 1; /* the last task that begins at or before `begin` */
    while (low < high) {
        Py_ssize_t middle = (low + high + 1) / 2;
        if (all->tasks[middle].before <= begin) low = middle;
        else high = middle - 1;
    }
    for (Task *task = &all->tasks[low]; begin < end; task++) {
        int64_t from = begin - task->before, to = end - task->before < task->size ? end - task->before : task->size;
        begin = task->before + to;
        for (; task->unscale != NULL && from < to; from += UNSCALED) {
            int64_t until = from + UNSCALED < to ? from + UNSCALED : to;
            task->unscale(from, until, &task->step);
            task->take(from, until, &task->step);
        }
        if (from < to) task->take(from, to, &task->step);
    }
}

/* The step of the arrays at a place of the lists. */
static void set_task(Tasks *all, Py_ssize_t at, const Step *s, PyObject *const *lists, int number, tt_body single, tt_body twice)
{
    Task *task = &all->tasks[at];
    PyArrayObject *param = NULL;
    task->step = *s;
    task->step.sign = s->maximize ? -1 : 1;
    for (int list = 0; list < number; list++) {
        PyObject **items = NULL;
        task->step.arrays[list] = NULL;
        if (lists[list] == NULL) continue;
        items_of(lists[list], &items);
        if (list == 0) param = (PyArrayObject *)items[at];
        task->step.arrays[list] = PyArray_BYTES((PyArrayObject *)items[at]);
    }
    bool floats = tt_dtype_of(param) == TT_F32;
    task->take = floats ? single : twice;
    task->unscale = !s->scaled ? NULL : floats ? unscale_f32 : unscale_f64;
    task->size = PyArray_SIZE(param);
    task->before = at == 0 ? 0 : task[-1].before + task[-1].size;
}

/* Memory for the steps of all arrays; false with an error. */
static bool begin_tasks(Tasks *all, PyObject *params)
{
    all->count = PySequence_Fast_GET_SIZE(params);
    all->tasks = malloc((size_t)all->count * sizeof(Task));
    if (all->tasks == NULL) PyErr_NoMemory();
    return all->tasks != NULL;
}

static PyObject *end_tasks(Tasks *all)
{
    const Task *last = &all->tasks[all->count - 1];
    int64_t total = last->before + last->size;
    TT_BEGIN_WORK(total)
    tt_parallel_for(0, total, GRAIN, run_tasks, all);
    TT_END_WORK
    free(all->tasks);
    return Py_NewRef(Py_None);
}

TT_INLINE bool flag_of(PyObject *object, bool *value)
{
    *value = object == Py_True;
    return PyBool_Check(object);
}

/* fused_sgd(self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step,
 *           grad_scale, found_inf) */
static PyObject *fused_sgd(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Step s = {0};
    bool stops = false;
    bool fine = count == 12 && tt_double(args[3], &s.decay) && tt_double(args[4], &s.momentum) &&
                number_of(args[5], &s.lr) && tt_double(args[6], &s.dampening) && flag_of(args[7], &s.nesterov) &&
                flag_of(args[8], &s.maximize) && flag_of(args[9], &s.first) && scaling(&s, args[10], args[11], &stops);
    PyObject *lists[] = {args[0], args[1], fine && s.momentum != 0 ? args[2] : NULL};
    if (!fine || !alike(lists, 3)) return tt_leave(&numpy_fused_sgd, args, count);
    if (stops) return Py_NewRef(Py_None);
    Tasks all;
    if (!begin_tasks(&all, args[0])) return NULL;
    for (Py_ssize_t i = 0; i < all.count; i++) set_task(&all, i, &s, lists, 3, sgd_f32, sgd_f64);
    return end_tasks(&all);
}

/* fused_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
 *            maximize, grad_scale, found_inf) */
static PyObject *adam(PyObject *const *args, Py_ssize_t count, bool decoupled, tt_python *numpy)
{
    Step s = {.decoupled = decoupled};
    bool stops = false;
    PyObject **steps = NULL;
    bool fine = count == 15 && number_of(args[6], &s.lr) && tt_double(args[7], &s.beta1) && tt_double(args[8], &s.beta2) &&
                tt_double(args[9], &s.decay) && tt_double(args[10], &s.eps) && flag_of(args[11], &s.amsgrad) &&
                flag_of(args[12], &s.maximize) && scaling(&s, args[13], args[14], &stops);
    PyObject *lists[] = {args[0], args[1], args[2], args[3], fine && s.amsgrad ? args[4] : NULL};
    fine = fine && alike(lists, 5) && items_of(args[5], &steps) == PySequence_Fast_GET_SIZE(args[0]);
    double step;
    for (Py_ssize_t i = 0; fine && i < PySequence_Fast_GET_SIZE(args[0]); i++) fine = number_of(steps[i], &step);
    if (!fine) return tt_leave(numpy, args, count);
    if (stops) return Py_NewRef(Py_None);
    Tasks all;
    if (!begin_tasks(&all, args[0])) return NULL;
    for (Py_ssize_t i = 0; i < all.count; i++) {
        number_of(steps[i], &step);
        s.step_size = s.lr / (1 - pow(s.beta1, step));
        s.root = sqrt(1 - pow(s.beta2, step));
        set_task(&all, i, &s, lists, 5, adam_f32, adam_f64);
    }
    return end_tasks(&all);
}

static PyObject *fused_adam(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return adam(args, count, false, &numpy_fused_adam);
}

static PyObject *fused_adamw(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return adam(args, count, true, &numpy_fused_adamw);
}

/* fused_adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale, found_inf) */
static PyObject *fused_adagrad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Step s = {0};
    bool stops = false;
    PyObject **steps = NULL;
    double fall = 0, step;
    bool fine = count == 11 && number_of(args[4], &s.lr) && tt_double(args[5], &fall) && tt_double(args[6], &s.decay) &&
                tt_double(args[7], &s.eps) && flag_of(args[8], &s.maximize) && scaling(&s, args[9], args[10], &stops);
    PyObject *lists[] = {args[0], args[1], args[2]};
    fine = fine && alike(lists, 3) && items_of(args[3], &steps) == PySequence_Fast_GET_SIZE(args[0]);
    for (Py_ssize_t i = 0; fine && i < PySequence_Fast_GET_SIZE(args[0]); i++) fine = number_of(steps[i], &step);
    if (!fine) return tt_leave(&numpy_fused_adagrad, args, count);
    if (stops) return Py_NewRef(Py_None);
    Tasks all;
    if (!begin_tasks(&all, args[0])) return NULL;
    for (Py_ssize_t i = 0; i < all.count; i++) {
        number_of(steps[i], &step);
        s.step_size = s.lr / (1 + (step - 1) * fall);
        set_task(&all, i, &s, lists, 3, adagrad_f32, adagrad_f64);
    }
    return end_tasks(&all);
}

/* fused_step(self, grads, first, second, third, rule, numbers, maximize): whether the arrays could be served. */
static PyObject *fused_step(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    Step s = {0};
    PyObject **numbers = NULL, **items = NULL;
    if (count != 8 || !PyUnicode_Check(args[5]) || !flag_of(args[7], &s.maximize)) return Py_NewRef(Py_False);
    while (s.rule < RULES && PyUnicode_CompareWithASCIIString(args[5], rules[s.rule].name) != 0) s.rule++;
    if (s.rule == RULES || items_of(args[6], &numbers) != rules[s.rule].numbers + 2) return Py_NewRef(Py_False);
    bool fine = tt_double(numbers[0], &s.decay) && tt_double(numbers[1], &s.kept);
    for (int i = 0; fine && i < rules[s.rule].numbers; i++) fine = tt_double(numbers[i + 2], &s.numbers[i]);
    PyObject *lists[MOST_LISTS];
    for (int i = 0; i < MOST_LISTS; i++) lists[i] = i >= 2 && items_of(args[i], &items) == 0 ? NULL : args[i];
    for (int i = 0; i < rules[s.rule].states; i++) fine = fine && lists[i + 2] != NULL;
    if (!fine || !alike(lists, MOST_LISTS)) return Py_NewRef(Py_False);
    Tasks all;
    if (!begin_tasks(&all, args[0])) return NULL;
    for (Py_ssize_t i = 0; i < all.count; i++) set_task(&all, i, &s, lists, MOST_LISTS, step_f32, step_f64);
    Py_XDECREF(end_tasks(&all));
    return Py_NewRef(Py_True);
}

/* --- scales of losses ---------------------------------------------------------------------------------------- */

static void note(const Step *s, bool found)
{
    if (found) __atomic_store_n(s->found, true, __ATOMIC_RELAXED);
}

static void scale_f32(int64_t begin, int64_t end, void *context)
{
    const Step *s = context;
    note(s, scale_found_f32((float *)s->arrays[0] + begin, end - begin, (float)s->scale));
}

static void scale_f64(int64_t begin, int64_t end, void *context)
{
    const Step *s = context;
    note(s, scale_found_f64((double *)s->arrays[0] + begin, end - begin, s->scale));
}

/* Half precision is scaled in float: the factor of a large scale is less than float16's least number. */
static void scale_f16(int64_t begin, int64_t end, void *context)
{
    const Step *s = context;
    float floats[UNSCALED];
    for (; begin < end; begin += UNSCALED) {
        int64_t count = end - begin < UNSCALED ? end - begin : UNSCALED;
        tt_half *halves = (tt_half *)s->arrays[0] + begin;
        tt_floats_of_halves(floats, halves, count);
        note(s, scale_found_f32(floats, count, (float)s->scale));
        tt_halves_of_floats(halves, floats, count);
    }
}

static void scale_bf16(int64_t begin, int64_t end, void *context)
{
    const Step *s = context;
    float floats[UNSCALED];
    for (; begin < end; begin += UNSCALED) {
        int64_t count = end - begin < UNSCALED ? end - begin : UNSCALED;
        tt_bfloat *bfloats = (tt_bfloat *)s->arrays[0] + begin;
        tt_floats_of_bfloats(floats, bfloats, count);
        note(s, scale_found_f32(floats, count, (float)s->scale));
        tt_bfloats_of_floats(bfloats, floats, count);
    }
}

static tt_body scale_of(tt_dtype dtype)
{
    switch (dtype) {
    case TT_F32: return scale_f32;
    case TT_F64: return scale_f64;
    case TT_F16: return scale_f16;
    case TT_BF16: return scale_bf16;
    default: return NULL;
    }
}

/* Whether the elements fill their memory, in whichever order of the dimensions. */
static bool dense(PyArrayObject *array)
{
    npy_intp expected = PyArray_ITEMSIZE(array), size = PyArray_SIZE(array);
    if (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array)) return true;
    for (npy_intp covered = 1; covered < size;) {
        int next = -1;
        for (int d = 0; d < PyArray_NDIM(array) && next < 0; d++)
            if (PyArray_DIM(array, d) > 1 && PyArray_STRIDE(array, d) == expected) next = d;
        if (next < 0) return false;
        covered *= PyArray_DIM(array, next);
        expected *= PyArray_DIM(array, next);
    }
    return true;
}

/* The place of the only element of an array of a dtype, or NULL. */
static void *number_in(PyObject *object, tt_dtype dtype, bool written)
{
    PyArrayObject *array = written ? tt_plain_target(object) : tt_plain(object);
    return array != NULL && PyArray_SIZE(array) == 1 && tt_dtype_of(array) == dtype ? PyArray_DATA(array) : NULL;
}

/* amp_unscale(self, found_inf, inv_scale): whether the arrays could be served; nothing is written where not. */
static PyObject *amp_unscale(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    PyObject **grads = NULL;
    Py_ssize_t length = count == 3 ? items_of(args[0], &grads) : -1;
    float *found_inf = length < 0 ? NULL : number_in(args[1], TT_F32, true);
    const float *inv_scale = length < 0 ? NULL : number_in(args[2], TT_F32, false);
    if (found_inf == NULL || inv_scale == NULL) return Py_NewRef(Py_False);
    for (Py_ssize_t i = 0; i < length; i++) {
        PyArrayObject *grad = tt_plain_target(grads[i]);
        if (grad == NULL || scale_of(tt_dtype_of(grad)) == NULL || !dense(grad)) return Py_NewRef(Py_False);
    }
    if (length == 0) return Py_NewRef(Py_True);
    bool found = false;
    Tasks all;
    if (!begin_tasks(&all, args[0])) return NULL;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyArrayObject *grad = (PyArrayObject *)grads[i];
        int64_t before = i == 0 ? 0 : all.tasks[i - 1].before + all.tasks[i - 1].size;
        all.tasks[i] = (Task){
            .step = {.arrays = {PyArray_BYTES(grad)}, .scale = *inv_scale, .found = &found},
            .take = scale_of(tt_dtype_of(grad)), .before = before, .size = PyArray_SIZE(grad),
        };
    }
    Py_XDECREF(end_tasks(&all));
    if (found) *found_inf = 1;
    return Py_NewRef(Py_True);
}

/* amp_update_scale(self, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval): whether all could be read. */
static PyObject *amp_update_scale(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    double growth, backoff;
    int64_t interval;
    if (count != 6 || !tt_double(args[3], &growth) || !tt_double(args[4], &backoff) || !tt_int(args[5], &interval))
        return Py_NewRef(Py_False);
    float *scale = number_in(args[0], TT_F32, true);
    int32_t *tracker = number_in(args[1], TT_I32, true);
    const float *found_inf = number_in(args[2], TT_F32, false);
    if (scale == NULL || tracker == NULL || found_inf == NULL) return Py_NewRef(Py_False);
    if (*found_inf != 0) {
        *scale = (float)(*scale * backoff);
        *tracker = 0;
    } else if (*tracker + (int64_t)1 == interval) {
        float grown = (float)(*scale * growth);
        if (isfinite(grown)) *scale = grown;
        *tracker = 0;
    } else *tracker = (int32_t)((uint32_t)*tracker + 1);
    return Py_NewRef(Py_True);
}

static PyMethodDef methods[] = {
    TT_METHOD(amp_unscale, "amp_unscale(self, found_inf, inv_scale): in place"),
    TT_METHOD(amp_update_scale, "amp_update_scale(self, growth_tracker, found_inf, ...): in place"),
    TT_METHOD(fused_step, "fused_step(self, grads, first, second, third, rule, numbers, maximize): in place"),
    TT_METHOD(fused_sgd, "fused_sgd(self, grads, momentum_buffer_list, weight_decay, momentum, lr, ...): in place"),
    TT_METHOD(fused_adam, "fused_adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, ...): in place"),
    TT_METHOD(fused_adamw, "fused_adamw(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, ...): in place"),
    TT_METHOD(fused_adagrad, "fused_adagrad(self, grads, state_sums, state_steps, lr, ...): in place"),
    {NULL, NULL, 0, NULL},
};

#define NAME _optimizer
#define DOC "Steps of optimizers."
#include "module.inc"
