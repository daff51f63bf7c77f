"""Stands where PyTorch would be installed: `import torch` runs this file, and gets tt under PyTorch's name."""

from tt.as_torch.facade import take_place

take_place()
