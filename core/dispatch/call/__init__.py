"""The path of every call, from the user's arguments to the kernel and back."""
