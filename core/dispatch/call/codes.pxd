# The constants of codes.py, as C constants for hot modules.

cdef enum:  # Kinds of cached calls.
    KERNEL = 0
    COMPOSITE = 1
    LAYER = 2
    REROUTE = 3
    MUTATE = 4
    PYTHON = 5
    OUT = 6

cdef enum:  # How a kernel returns its results.
    ONE = 0
    SEVERAL = 1
    LIST = 2
    RAW = 3
    MIXED = 4

cdef enum:  # How the form of a call is made from that of its kernel.
    RETURNS = 0
    CHANGES_FIRST = 1
    WRITES_OUTPUT = 2
    CHANGES_METADATA = 3
    FROM_INPLACE = 4
    FROM_OUT = 5

cdef enum:  # How an argument contributes to the keys and to the level-2 bits.
    GROUP_TENSOR = 0
    GROUP_LIST = 1
    OTHER_TENSOR = 2
    OTHER_LIST = 3
    DTYPE = 4
    DEVICE = 5
    LAYOUT = 6
    SCALAR_IN_GROUP = 7

cdef enum:  # Values that a parameter takes unconverted.
    UNUSUAL = 0
    TENSOR = 1
    OPERAND = 2
    TENSORS = 3
    INT = 4
    SIZES = 5
    BOOL = 6
    NUMBER = 7
    FLOAT = 8
    DTYPE_OBJECT = 9
    STRING = 10

cdef enum:  # Masks over the kinds of a parameter.
    KIND_MASK = 15
    NONE_TAKEN = 16
    IN_RANGE = 32

cdef enum:  # Whose memory the results of a view share, besides the positions of arguments.
    UNSHARED = -1
    FIRST_MEMORY = -2
