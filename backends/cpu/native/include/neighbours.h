/* Other programs on the same processors: how many helpers a job may have.  Included by threads.c alone. */

/* Note [Busy processors]
 * Where other programs use the processors, too, helpers cost more than they do: one that waits for a processor holds
 * its part of the job up for milliseconds, and one that gets it takes it from somebody, perhaps from the caller.  Two
 * processes with two threads each on two processors had half of the throughput that they have with one thread each.
 * Where the number of processors without work is known (Note [Spare processors]), it says how many helpers a job has.
 * Elsewhere the pool looks for two signs: the scheduler took a thread of the job off its processor, and a helper has
 * not run SOON after it was woken.  One sign may be chance.  After a second one within LATELY, jobs run in the caller
 * alone for a pause, which gets longer if signs go on.  The system's own threads take a processor every few milliseconds
 * on an idle machine, too, so moments do not count.  Rejected: signs alone (a helper that gets the processor of another
 * program's thread at once has none); the time of waiting for helpers (parts take microseconds or milliseconds, so no
 * time is long for all).
 */
#define SOON 200000              /* nanoseconds, more than waking a thread takes on an idle machine */
#define LATELY 5000000           /* nanoseconds, more than a turn of the scheduler */
#define SHORTEST_PAUSE 4000000   /* nanoseconds */
#define LONGEST_PAUSE 256000000  /* nanoseconds */
#define LOOK_EVERY 200000        /* nanoseconds between looks of a thread: one costs 0.5 microseconds */
#define LOST 100000              /* nanoseconds off the processor: more than the system's own threads take */

static struct {
    _Atomic int64_t alone_until; /* by clock_now; 0 before the first pause */
    _Atomic int64_t pause;       /* the length of the last one */
    _Atomic int64_t noticed;     /* the last sign */
} busy;

static bool alone(void)
{
    int64_t until = atomic_load_explicit(&busy.alone_until, memory_order_relaxed);
    return until != 0 && clock_now() < until;
}

/* Takes note of a sign in a job that began and ended (or ends now) at these times. */
static void notice(int64_t began, int64_t now)
{
    int64_t until = atomic_load(&busy.alone_until), before = atomic_exchange(&busy.noticed, now);
    if (now < until) return; /* of a job from before the pause */
    if (until > 0 && began - until < LATELY) {
        int64_t pause = 4 * atomic_load(&busy.pause);
        atomic_store(&busy.pause, pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
    } else if (before > 0 && began - before < LATELY)
        atomic_store(&busy.pause, SHORTEST_PAUSE);
    else
        return;
    atomic_store(&busy.alone_until, now + atomic_load(&busy.pause));
}

/* What this thread knew when it last looked: the time, how much of it the thread had computed, and how often the
 * scheduler had taken it off its processor. */
static _Thread_local struct {
    int64_t time, computed;
    long taken;
} last;

static int64_t look(int64_t now, long *taken)
{
    *taken = 0;
#ifdef RUSAGE_THREAD
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) *taken = usage.ru_nivcsw;
#endif
    last.time = now;
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Begins to watch whether the scheduler takes this thread off its processor; not again for jobs that follow at once. */
static void watch(int64_t now)
{
    if (now - last.time >= LOOK_EVERY) last.computed = look(now, &last.taken);
}

/* Notices if this thread was taken off its processor, and not for a moment only. */
static void watched(int64_t began, int64_t now)
{
    int64_t elapsed = now - last.time;
    if (elapsed < LOOK_EVERY) return;
    long taken;
    int64_t computed = look(now, &taken), lost = elapsed - (computed - last.computed);
    if (taken != last.taken && lost > LOST && lost > elapsed / 16) notice(began, now);
    last.computed = computed;
    last.taken = taken;
}

/* Note [Spare processors]
 * Linux tells how many threads of the whole machine run or wait (/proc/loadavg).  Those of this process do not count,
 * because OpenBLAS's threads, for one, run for a tenth of a second after their work, but give way.  One look takes about
 * two microseconds, and ten more for each thread of the process where others run, so looks are CHECK_EVERY apart, and
 * make up a hundredth of the time at most.  A thread of the system may wait for some milliseconds behind one that
 * computes, so the best of the last LOOKS counts: other programs that compute are there in each.  Where a process may
 * use a part of the processors only, or asks for more threads than there are processors, the number says nothing.
 */
#define CHECK_EVERY 2000000 /* nanoseconds */
#define LOOKS 8

static struct {
    _Atomic int64_t due; /* the next look, by clock_now */
    _Atomic int found;   /* the most processors without work at the last ones */
    int looks[LOOKS];    /* what these found; only who changes `due` writes here */
    unsigned number;
    int processors;      /* 0 where nobody can tell how many are without work */
    int file;            /* /proc/loadavg */
} spare;

#ifdef __linux__

/* Reads a small file; false if that fails. */
static bool contents(int file, char *text, size_t size)
{
    ssize_t length = pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* How many threads of this process run or wait for a processor, apart from the pool's and this one. */
static int running_here(void)
{
    int running = 0;
    pid_t self = (pid_t)syscall(SYS_gettid);
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        char name[64], text[256];
        pid_t thread = (pid_t)atoi(entry->d_name);
        bool ours = thread <= 0 || thread == self;
        for (int i = 0; i < MOST_THREADS && !ours; i++) ours = atomic_load(&crew[i].thread) == thread;
        if (ours) continue;
        snprintf(name, sizeof(name), "/proc/self/task/%d/stat", (int)thread);
        int file = open(name, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        char *end = contents(file, text, sizeof(text)) ? strrchr(text, ')') : NULL; /* of its name */
        running += end != NULL && strncmp(end, ") R", 3) == 0;
        close(file);
    }
    closedir(threads);
    return running;
}

/* How many processors are without work, or MOST_THREADS if nobody can tell. */
static int count_spare(void)
{
    cpu_set_t allowed;
    char text[128];
    int running, awake = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) != spare.processors) return MOST_THREADS;
    if (!contents(spare.file, text, sizeof(text))) return MOST_THREADS;
    char *end = strchr(text, '/'), *begin = end; /* 0.59 0.79 0.62 1/79 30990 */
    while (begin > text && begin[-1] != ' ') begin--;
    if (end == NULL || (running = atoi(begin)) < 1) return MOST_THREADS;
    for (int i = 0; i < MOST_THREADS; i++) awake += atomic_load(&crew[i].thread) != 0 && !atomic_load(&crew[i].asleep);
    int others = running - 1 - awake;
    if (others > 0) others -= running_here();
    return spare.processors - 1 - (others > 0 ? others : 0);
}

static void prepare_spare(void)
{
    spare.processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    spare.file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (spare.file < 0) spare.processors = 0;
    for (int i = 0; i < LOOKS; i++) spare.looks[i] = spare.processors;
}

#else

static int count_spare(void) { return MOST_THREADS; }
static void prepare_spare(void) {}

#endif

/* How many of these helpers may have a processor without taking it from somebody. */
static int with_processors(int helpers)
{
    if (helpers >= spare.processors) return alone() ? 0 : helpers;
    int64_t now = clock_now(), due = atomic_load_explicit(&spare.due, memory_order_relaxed);
    if (now >= due && atomic_compare_exchange_strong(&spare.due, &due, INT64_MAX)) {
        int most = spare.looks[spare.number++ % LOOKS] = count_spare();
        for (int i = 0; i < LOOKS; i++) most = spare.looks[i] > most ? spare.looks[i] : most;
        atomic_store(&spare.found, most);
        int64_t took = clock_now() - now;
        atomic_store(&spare.due, now + (100 * took > CHECK_EVERY ? 100 * took : CHECK_EVERY));
    }
    int found = atomic_load_explicit(&spare.found, memory_order_relaxed);
    if (found == MOST_THREADS) return alone() ? 0 : helpers;
    return helpers < found ? helpers : found > 0 ? found : 0;
}

/* Notes when workers that sleep are woken; pool.lock is held. */
static void mark_woken(int workers, int64_t now)
{
    for (int i = 0; i < workers; i++)
        if (atomic_load(&crew[i].asleep) && atomic_load(&crew[i].woken) == 0) atomic_store(&crew[i].woken, now);
}

/* Returns whether a worker was woken long ago and has not run. */
static bool waits_for_processor(int workers, int64_t now)
{
    for (int i = 0; i < workers; i++) {
        int64_t woken = atomic_load(&crew[i].woken);
        if (woken != 0 && now - woken > SOON) return true;
    }
    return false;
}
