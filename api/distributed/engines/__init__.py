"""Engines that come with tt."""
