"""The compiled operators of torchvision and torchaudio, for tt: installing the package is all that it takes."""
