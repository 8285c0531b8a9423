"""Paths: models ordered from simple to rich, computed from one fit where that is possible."""
