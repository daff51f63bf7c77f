/* What the extension `_threads` offers to the others, by way of a capsule. */
#ifndef TT_THREADS_H
#define TT_THREADS_H

#include <stdint.h>

#define TT_THREADS_VERSION 1
#define TT_THREADS_CAPSULE "tt.backends.cpu.native._threads.api"

typedef void (*tt_body)(int64_t begin, int64_t end, void *context);

typedef struct {
    int version;
    void (*parallel_for)(int64_t begin, int64_t end, int64_t grain, tt_body body, void *context);
    int (*thread_count)(void);
    int (*in_parallel)(void);
} tt_threads_api;

#endif
