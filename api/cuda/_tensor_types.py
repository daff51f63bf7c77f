"""`tt.cuda.FloatTensor` and similar types: see `tt._compat.typed_tensors`."""

from __future__ import annotations

from tt._compat.typed_tensors import of_device

_TYPES = of_device("cuda")
BFloat16Tensor = _TYPES["BFloat16Tensor"]
BoolTensor = _TYPES["BoolTensor"]
ByteTensor = _TYPES["ByteTensor"]
CharTensor = _TYPES["CharTensor"]
DoubleTensor = _TYPES["DoubleTensor"]
FloatTensor = _TYPES["FloatTensor"]
HalfTensor = _TYPES["HalfTensor"]
IntTensor = _TYPES["IntTensor"]
LongTensor = _TYPES["LongTensor"]
ShortTensor = _TYPES["ShortTensor"]
