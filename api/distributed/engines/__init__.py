"""Engines that come with tt; each is an entry point of the group `tt.distributed.backends`."""
