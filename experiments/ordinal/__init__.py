"""Ordinal regression: nine sets of five ordered classes, in 20 partitions each."""
