"""The path of every call, from what a user wrote to the kernel and back."""
