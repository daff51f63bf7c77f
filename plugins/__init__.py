"""Extensions of tensors and operators that add no device: autograd, sparse layouts."""
