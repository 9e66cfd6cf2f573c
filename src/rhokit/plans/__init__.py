"""Plans: what a model chooses from its rows before it sums them up."""

from rhokit.plans.density import plan_density
from rhokit.plans.plan import SAMPLE_ROWS, Candidate, Plan
from rhokit.plans.request import PlanRequest
from rhokit.plans.scaling import Scaling
from rhokit.plans.supervised import SupervisedChoice

__all__ = [
    "SAMPLE_ROWS",
    "Candidate",
    "Plan",
    "PlanRequest",
    "Scaling",
    "SupervisedChoice",
    "plan_density",
]
