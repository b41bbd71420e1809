"""Tests of `models.items`."""
