/* The threads that native kernels share: a pool whose workers sleep between jobs.
 *
 * One job runs at a time.  The thread that brings it works too, and returns when all parts are done.  A call inside a
 * job, and a call while another thread's job runs, runs in its own thread alone: nobody waits for the pool, and there are
 * never more threads at work than were asked for.  Workers start when first needed.  After a fork the child has none of
 * them and starts its own.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#endif

#include "threads.h"

#define MOST_THREADS 256
#define PARTS 4            /* of what is left of a range, so that threads end together, also if one of them was held up */
#define LINE 64            /* bytes of a line of the cache */
#define SPIN 20000         /* nanoseconds of looking for the next job before sleeping */
#define WAIT 200000        /* nanoseconds of looking whether helpers have ended before sleeping; Note [Falling asleep in turn] */

static struct {
    pthread_mutex_t job;  /* held by the thread whose job runs */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake, done;
    int workers;          /* started */
    _Atomic int places;   /* in the present job, for the workers before this one; 0 when it is too late */
    _Atomic uint64_t number; /* of the present job */
    tt_body body;
    void *context;
    int64_t grain;
    int ranges;           /* of the present job: the caller's and one for each place */
    _Atomic int inside;   /* workers in the present job */
} pool = {.job = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

/* Note [Ranges of their own]
 * Each thread has a range of the job: the same one in every job of as many elements, the caller the first.  So a thread
 * finds in its own caches what it wrote or read in the job before.  On processors made of several dies, and on machines
 * with several processors, fetching it from another one's caches takes three times as long: with parts that went to
 * whoever came first, two threads were hardly faster than one on arrays of 4 MB.  Who has done its own range helps with
 * the others, from their front, so a thread that is held up holds up nobody.
 */
static struct {
    _Alignas(LINE) _Atomic int64_t next; /* where what is left begins; a line for each: the others rarely look */
    int64_t end;
} ranges[MOST_THREADS];

/* Each worker; what is not atomic is guarded by pool.lock. */
static struct {
    _Atomic pid_t thread; /* its number for the system, 0 before it runs */
#ifdef __linux__
    cpu_set_t allowed; /* its processors, while it has others (Note [Waking up elsewhere]) */
    bool moved;
#endif
    _Atomic bool asleep;  /* until it runs: also when it has been woken, but has no processor yet */
    _Atomic int64_t woken; /* when, by clock_now, if it has not run since; else 0 */
} crew[MOST_THREADS];

static _Atomic int wanted = 1; /* until `loading` sets it */
static _Thread_local bool working = false;

/* A moment's rest while looking at a counter: 10 to 50 nanoseconds, by processor. */
static inline void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory"); /* `yield` takes no time at all */
#endif
}

/* The nanoseconds of a clock. */
static int64_t clock_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t clock_now(void) { return clock_of(CLOCK_MONOTONIC); }

#include "neighbours.h"

/* Waits as long as a condition holds, but only for a moment.
 *
 * Note [Falling asleep in turn]
 * Waking a thread takes 50 to 100 microseconds on a virtual machine.  A caller that slept while the last helper ended came
 * back so late that the helpers had gone to sleep, had to wake them for its next job, waited for them longer for that, and
 * slept again: products that take 115 microseconds with two threads took 190, for as long as they followed one another.
 */
#define SPIN_WHILE(condition, most) \
    for (int64_t end = clock_now() + (most); (condition) && clock_now() < end;) \
        for (int rests = 0; rests < 8; rests++) rest();

/* Sees to it that workers which sleep will wake on another processor than the caller's; pool.lock is held.
 *
 * Note [Waking up elsewhere]
 * A scheduler puts a thread that is woken on an idle processor, unless it finds none.  Linux on a virtual machine takes
 * a processor that sleeps for one that the host took away, or keeps few processors busy on purpose, so it finds none:
 * the worker takes the processor of the thread that brought the job, or waits behind it while it does all parts
 * itself, and so on with the next jobs, until the load is balanced many milliseconds later.  So the caller's processor
 * is forbidden to a sleeping worker, until it runs: a gelu of a million elements after a pause takes 0.4 instead of
 * 0.7 ms.  That is a microsecond for each worker that was asleep, about what waking it costs.  Rejected: a processor
 * for each worker (the caller's thread may run on any, and balancing takes as long), workers that never sleep, moving
 * the worker after it was woken (it may have taken the caller's processor by then, which looks like another program's
 * doing, or is moved back before the other processor is awake).
 */
static void wake_elsewhere(int workers)
{
#ifdef __linux__
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE) return;
    for (int i = 0; i < workers; i++) {
        cpu_set_t *allowed = &crew[i].allowed, others;
        if (atomic_load(&crew[i].thread) == 0 || crew[i].moved || !atomic_load(&crew[i].asleep)) continue;
        if (sched_getaffinity(crew[i].thread, sizeof(*allowed), allowed) != 0) continue;
        others = *allowed;
        CPU_CLR(here, &others);
        crew[i].moved = CPU_COUNT(&others) > 0 && sched_setaffinity(crew[i].thread, sizeof(others), &others) == 0;
    }
#else
    (void)workers;
#endif
}

/* Lets a worker that runs go to every processor again; pool.lock is held. */
static void move_freely(int index)
{
#ifdef __linux__
    if (crew[index].moved) sched_setaffinity(0, sizeof(crew[index].allowed), &crew[index].allowed);
    crew[index].moved = false;
#else
    (void)index;
#endif
}

/* Parts of elements begin where lines of the cache do; few elements are perhaps rows, and not to be divided less evenly. */
static int64_t whole_lines(int64_t size) { return size > 256 ? (size + 63) / 64 * 64 : size; }

/* Takes a part of what is left of a range and does it; false if nothing is left. */
static bool run_part(int range)
{
    int64_t end, begin = atomic_load_explicit(&ranges[range].next, memory_order_relaxed);
    do {
        int64_t left = ranges[range].end - begin, part = left / PARTS;
        if (left <= 0) return false;
        if (part < pool.grain) part = pool.grain;
        part = whole_lines(part);
        end = part < left ? begin + part : ranges[range].end;
    } while (!atomic_compare_exchange_weak(&ranges[range].next, &begin, end));
    pool.body(begin, end, pool.context);
    return true;
}

/* Does what is left of a thread's own range, then of the others'. */
static void run_parts(int own)
{
    working = true;
    for (int i = 0; i < pool.ranges; i++)
        while (run_part((own + i) % pool.ranges)) continue;
    working = false;
}

/* Divides a job into ranges; pool.lock is held. */
static void divide(int64_t begin, int64_t end, int count)
{
    int64_t size = whole_lines((end - begin + count - 1) / count);
    pool.ranges = count;
    for (int i = 0; i < count; i++, begin += size) {
        ranges[i].end = end - begin < size ? end : begin + size;
        atomic_store_explicit(&ranges[i].next, begin, memory_order_relaxed);
    }
}

static void *worker(void *place)
{
    uint64_t seen = 0;
    int index = (int)(intptr_t)place;
    pthread_mutex_lock(&pool.lock);
#ifdef __linux__
    atomic_store(&crew[index].thread, (pid_t)syscall(SYS_gettid));
#endif
    for (;;) {
        if (atomic_load(&pool.number) == seen) { /* operators follow one another: the next job is often there at once */
            pthread_mutex_unlock(&pool.lock);
            SPIN_WHILE(atomic_load_explicit(&pool.number, memory_order_relaxed) == seen, SPIN)
            pthread_mutex_lock(&pool.lock);
        }
        while (atomic_load(&pool.number) == seen) {
            atomic_store(&crew[index].asleep, true);
            pthread_cond_wait(&pool.wake, &pool.lock);
        }
        atomic_store(&crew[index].asleep, false);
        atomic_store(&crew[index].woken, 0);
        move_freely(index);
        seen = atomic_load(&pool.number);
        if (index >= pool.places) continue; /* too late, but the next may come at once */
        atomic_fetch_add(&pool.inside, 1);
        pthread_mutex_unlock(&pool.lock);
        int64_t began = clock_now();
        watch(began);
        run_parts(index + 1);
        watched(began, clock_now());
        pthread_mutex_lock(&pool.lock);
        if (atomic_fetch_sub(&pool.inside, 1) == 1) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

/* Starts workers until there are `count`, or no more can be had; pool.lock is held. */
static void start_workers(int count)
{
    if (pool.workers >= count) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the business of Python's main thread */
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (pool.workers < count) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, worker, (void *)(intptr_t)pool.workers) != 0) break;
        pool.workers++;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void parallel_for(int64_t begin, int64_t end, int64_t grain, tt_body body, void *context)
{
    int threads = atomic_load(&wanted);
    int64_t count = end - begin;
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    int most = threads == 1 || count <= grain || working ? 0 : with_processors(threads - 1);
    if (most == 0 || pthread_mutex_trylock(&pool.job) != 0) {
        body(begin, end, context);
        return;
    }
    int64_t parts = (count + grain - 1) / grain;
    int helpers = parts - 1 < most ? (int)(parts - 1) : most;
    pthread_mutex_lock(&pool.lock);
    start_workers(helpers);
    pool.body = body;
    pool.context = context;
    pool.grain = grain;
    pool.places = helpers < pool.workers ? helpers : pool.workers;
    divide(begin, end, pool.places + 1);
    wake_elsewhere(pool.workers);
    atomic_fetch_add(&pool.number, 1);
    if (pool.places == 1 && pool.workers == 1)
        pthread_cond_signal(&pool.wake);
    else
        pthread_cond_broadcast(&pool.wake);
    int64_t began = clock_now();
    mark_woken(pool.workers, began);
    pthread_mutex_unlock(&pool.lock);
    watch(began);
    run_parts(0);
    watched(began, clock_now());
    SPIN_WHILE(atomic_load_explicit(&pool.inside, memory_order_relaxed) != 0, WAIT)
    int64_t now = clock_now();
    pthread_mutex_lock(&pool.lock);
    if (waits_for_processor(pool.workers, now)) notice(began, now);
    pool.places = 0; /* who has not begun need not */
    while (atomic_load(&pool.inside) != 0) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.job);
}

static int thread_count(void) { return atomic_load(&wanted); }

static int in_parallel(void) { return working; }

static const tt_threads_api api = {TT_THREADS_VERSION, parallel_for, thread_count, in_parallel};

/* --- forks -------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    if (!working) pthread_mutex_lock(&pool.job); /* waits for the end of a job */
    pthread_mutex_lock(&pool.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
    if (!working) pthread_mutex_unlock(&pool.job);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool.job, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers = 0;
    pool.places = 0;
    atomic_store(&pool.inside, 0);
    memset(crew, 0, sizeof(crew));
    atomic_store(&spare.due, 0);
    working = false;
}

/* --- for Python --------------------------------------------------------------------------------------------- */

static PyObject *get_num_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(atomic_load(&wanted));
}

static PyObject *set_num_threads(PyObject *module, PyObject *number)
{
    (void)module;
    long count = PyLong_AsLong(number);
    if (count == -1 && PyErr_Occurred()) return NULL;
    if (count < 1) {
        PyErr_SetString(PyExc_ValueError, "the number of threads must be positive");
        return NULL;
    }
    atomic_store(&wanted, count < MOST_THREADS ? (int)count : MOST_THREADS);
    Py_RETURN_NONE;
}

static PyObject *worker_count(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(pool.workers);
}

static PyObject *cpu_level(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    /* What x86-64-v3 has besides (F16C, LZCNT, MOVBE) came with AVX2 and BMI2. */
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd");
    if (avx512) return PyUnicode_FromString("avx512");
    if (avx2) return PyUnicode_FromString("avx2");
#endif
    return PyUnicode_FromString("baseline");
}

struct mark { long number; _Atomic int64_t *sum; _Atomic int *threads; };

static _Thread_local long counted = 0; /* the number of the last job that this thread took part in */

static void add_part(int64_t begin, int64_t end, void *context)
{
    struct mark *mark = context;
    int64_t sum = 0;
    for (int64_t i = begin; i < end; i++) sum += i;
    atomic_fetch_add(mark->sum, sum);
    if (counted != mark->number) {
        counted = mark->number;
        atomic_fetch_add(mark->threads, 1);
    }
}

static void add_nested(int64_t begin, int64_t end, void *context)
{
    for (int64_t i = begin; i < end; i++) parallel_for(i, i + 1, 1, add_part, context);
}

/* For tests: the sum of the numbers below `count`, and how many threads took part. */
static PyObject *sum_below(PyObject *module, PyObject *args)
{
    (void)module;
    long long count, grain = 1;
    int nested = 0;
    if (!PyArg_ParseTuple(args, "L|Lp", &count, &grain, &nested)) return NULL;
    _Atomic int64_t sum = 0;
    _Atomic int threads = 0;
    static _Atomic long jobs = 0;
    struct mark mark = {atomic_fetch_add(&jobs, 1) + 1, &sum, &threads};
    Py_BEGIN_ALLOW_THREADS
    parallel_for(0, count, grain, nested ? add_nested : add_part, &mark);
    Py_END_ALLOW_THREADS
    return Py_BuildValue("Li", (long long)sum, (int)threads);
}

static PyMethodDef methods[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads a kernel may use."},
    {"set_num_threads", set_num_threads, METH_O, "Set how many threads a kernel may use."},
    {"worker_count", worker_count, METH_NOARGS, "How many workers have been started."},
    {"cpu_level", cpu_level, METH_NOARGS, "The highest instruction set of this processor: avx512, avx2 or baseline."},
    {"sum_below", sum_below, METH_VARARGS, "sum_below(count, grain=1, nested=False): the sum, and the threads that added."},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module)
{
    static bool prepared = false;
    if (!prepared) {
        if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
            PyErr_NoMemory();
            return -1;
        }
        prepare_spare();
        prepared = true;
    }
    PyObject *capsule = PyCapsule_New((void *)&api, TT_THREADS_CAPSULE, NULL);
    if (capsule == NULL) return -1;
    int failed = PyModule_AddObjectRef(module, "api", capsule);
    Py_DECREF(capsule);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_threads", "The threads of native kernels.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__threads(void) { return PyModuleDef_Init(&definition); }
