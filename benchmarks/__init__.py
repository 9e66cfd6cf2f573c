"""rhokit measured: side by side with others, and against its own promises.

``python -m benchmarks`` compares, ``python -m benchmarks.goals`` measures what was
promised; see ``benchmarks/README.md``.
"""
