"""Devices as users see them: their modules, streams, generators and memory."""
