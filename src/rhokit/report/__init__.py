"""Reports: one self-contained HTML page about a fitted model.

:func:`write_report` is all that most people need. The numbers of a page are gathered
apart from their pictures and words: :func:`gather` returns them as plain dataclasses.
"""

from rhokit.report.comparison import write_comparison
from rhokit.report.facts import Facts, gather
from rhokit.report.fidelity import write_fidelity
from rhokit.report.page import render, write_report
from rhokit.report.timeline import write_timeline

__all__ = [
    "Facts",
    "gather",
    "render",
    "write_comparison",
    "write_fidelity",
    "write_report",
    "write_timeline",
]
