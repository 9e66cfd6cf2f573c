"""Measurements of rhokit's promises: accuracy, speed as ratios, memory.

``python -m benchmarks`` runs them all; see ``benchmarks/README.md``.
"""
