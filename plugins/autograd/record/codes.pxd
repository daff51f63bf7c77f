# The constants of codes.py, as C constants for hot modules.

cdef enum:  # What a slot of a plan holds.
    PLAIN = 0
    TENSOR = 1
    TENSORS = 2
    RESULT = 3
    FACT = 4
