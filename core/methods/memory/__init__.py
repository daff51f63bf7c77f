"""Members of `Tensor` about its memory: values on the host, copies, pickles, shared and page-locked memory."""
