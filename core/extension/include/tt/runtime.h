/* The functions of extension.h that need the call in progress: included once in each library, after the user's code. */
#include <stdarg.h>
#include <stdio.h>
#include <tt/entry.h>

#ifdef __cplusplus
extern "C" {
#endif

__thread tt_call *tt_current_call = NULL;

tt_tensor *tt_empty(int32_t dtype, int32_t ndim, const int64_t *shape) {
    tt_call *call = tt_current_call;
    return call == NULL ? NULL : call->empty(call, dtype, ndim, shape);
}

tt_tensor *tt_error(const char *format, ...) {
    tt_call *call = tt_current_call;
    if (call != NULL && call->message[0] == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(call->message, sizeof call->message, format, arguments);
        va_end(arguments);
        if (call->message[0] == 0) snprintf(call->message, sizeof call->message, "(no message)");
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif
