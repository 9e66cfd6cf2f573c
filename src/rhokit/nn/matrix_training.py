"""Training of density matrices: a head over a one-pass model's map and state."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rhokit.batch import Batch
from rhokit.core.spectrum import choose_rank
from rhokit.models import Model
from rhokit.nn.descent import Descent
from rhokit.nn.heads import Head
from rhokit.nn.holdout import split_batch
from rhokit.nn.starting_heads import trained_model
from rhokit.nn.tasks import TrainingTask
from rhokit.nn.trained import Trained


@dataclass(frozen=True, eq=False)
class MatrixTraining:
    """Trains the density matrices of a one-pass model.

    Parameters
    ----------
    shell : GradientEstimator
        Whose parameters count.
    task : TrainingTask
    """

    shell: Any
    task: TrainingTask

    def run(
        self, start: Any, whole: Batch, judges: Batch | None, *, goes_on: bool
    ) -> Trained:
        """Train on rows, judged by others, if there are any.

        Parameters
        ----------
        start : OnePassEstimator
            Not fitted; or, where training ``goes_on``, the one to go on from.
        whole : Batch
            All rows, those of weight zero included.
        judges : Batch, optional
            Rows of the caller's own; else some of these are held out, where that is
            asked for.
        goes_on : bool
        """
        shell, task = self.shell, self.task
        batch = whole.seen()
        if judges is None and shell.early_stopping:
            batch, judges = split_batch(
                batch,
                task.groups(batch),
                shell.validation_fraction,
                shell.early_stopping,
            )
        if not goes_on:
            start = self._planned(start, batch, task.foreseen(whole))
        for each in (batch, judges):
            if each is not None:
                task.refuse_unknown(start.readout_, each, type(shell).__name__)
        head = self._first_head(start.model_, batch, goes_on=goes_on)
        return self._trained(start, head, batch, judges, goes_on=goes_on)

    def _planned(self, start: Any, batch: Batch, foreseen: Any) -> Any:
        """Choose scaling, γ and map; for a start from the estimate, sum up."""
        shell, task = self.shell, self.task
        start.rank = shell.matrix_rank()
        model: Model = start.prepare(batch, targets=foreseen, bounded=True).model_
        plan = model.plan
        if shell.chooses_gamma and plan.gamma and task.widening > 1:
            gamma = plan.gamma / task.widening
            plan = plan.with_gamma(gamma, batch.rows, batch.weights)
        model = replace(model, plan=plan, rank=None)
        if shell.init == "estimate":
            model = model.add(batch)
        planned: Any = start.with_model(model)
        planned.rank = None  # nothing is truncated but what the head starts from
        return planned

    def _first_head(self, model: Model, batch: Batch, *, goes_on: bool) -> Head:
        """The head that training starts from."""
        shell, task = self.shell, self.task
        head = deepcopy(getattr(shell, "module_", None)) if goes_on else None
        if head is None:
            heads, dim = shell.heads(task), model.plan.feature_map.n_components_
            rank = choose_rank(np.ones(dim), shell.matrix_rank())
            if model.state is not None:
                head = heads.of_state(model, rank)
            else:
                head = heads.drawn(model, rank, task.outcome_weight(model, batch))
        task.update_head(head, model, batch)
        made: Head = head
        return made

    def _trained(
        self,
        start: Any,
        head: Head,
        batch: Batch,
        judges: Batch | None,
        *,
        goes_on: bool,
    ) -> Trained:
        """Train a head, and put what it has learned into a one-pass estimator."""
        shell, task = self.shell, self.task
        recipe = shell.recipe(len(batch), judged=judges is not None)
        history, improved = Descent(task, start.model_, head).run(
            batch,
            judges,
            recipe,
            at_random=shell.init == "random" and not goes_on,
            checkpoint=shell.checkpoint,
            settings=shell.settings(),
            label=f"Training {type(shell).__name__}",
        )
        trained: Any = start.with_model(trained_model(task, start.model_, head, batch))
        trained.rank = None  # what was learned is not truncated again
        trained = task.finish(trained, batch, judges)
        return Trained(trained, history, improved, head)
