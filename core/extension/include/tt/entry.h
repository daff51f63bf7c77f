/* What generated entries and their caller agree on; no part of the interface of extensions. */
#ifndef TT_ENTRY_H
#define TT_ENTRY_H

#include <tt/extension.h>

/* A value that goes in or out; which member counts follows from the signature of the function. */
typedef union tt_value {
    tt_tensor *tensor;
    double floating;
    int64_t integer;
    double complex_parts[2];
    const char *text;
} tt_value;

typedef struct tt_call {
    /* Makes a tensor for tt_empty; the caller owns it. */
    tt_tensor *(*empty)(struct tt_call *call, int32_t dtype, int32_t ndim, const int64_t *shape);
    void *context; /* the caller's */

    /* A function over tensors: its arguments, and what it returned. */
    tt_value *values;
    tt_value result;

    /* A function over elements: the result first, then the arguments; strides in bytes. */
    char **data;
    const int64_t *strides;
    int64_t count;

    char message[512]; /* of an error; empty if all is well */
} tt_call;

#ifdef __cplusplus
extern "C" {
#endif
/* The call in progress in this thread. */
extern __attribute__((visibility("hidden"))) __thread tt_call *tt_current_call;
#ifdef __cplusplus
}
#endif

/* Returns 0, or 1 when there is a message. */
typedef int (*tt_entry)(tt_call *call);

#endif
