"""The training loop: Adam, one cycle of the learning rate, the best epoch kept.

It trains one module, or many models side by side in one: then losses have the models'
axes, each model keeps its own best epoch, and none touches another.
"""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rhokit.nn.checkpoint_form import check_form, check_optimizer, require_form
from rhokit.nn.checkpoints import fingerprint, read_checkpoint, write_checkpoint
from rhokit.nn.feature_layer import FeatureLayer
from rhokit.nn.recipe import Recipe, TrainingRows
from rhokit.progress import ProgressBar

Loss = Callable[[Any, Tensor | None, Tensor | None], Tensor]

# Losses of many rows are computed in blocks of so many.
_BLOCK = 4096
# So many rows tell whether the end is better than the start.
_WATCHED = 1024


class TrainingWarning(UserWarning):
    """Training went wrong; the last good model was kept."""


def train(
    module: nn.Module,
    loss: Loss,
    rows: TrainingRows,
    recipe: Recipe,
    *,
    validation: TrainingRows | None = None,
    forward: Callable[..., Any] | None = None,
    checkpoint: str | Path | None = None,
    settings: str = "",
    on_epoch: Callable[[int], object] | None = None,
    label: str = "Training",
) -> dict[str, list[Any]]:
    """Train a module in place, and leave the best that was seen in it.

    Parameters
    ----------
    module : nn.Module
    loss : callable
        ``loss(output, target, weight)``: mean over rows, one number per model.
    rows : TrainingRows
    recipe : Recipe
    validation : TrainingRows, optional
        Rows whose loss decides which epoch is kept; without them it is the last.
    forward : callable, optional
        Makes outputs of inputs, instead of the module itself.
    checkpoint : path, optional
        Written after every epoch. If it is there already, training goes on from it
        and ends with the same bits as if it had never stopped.
    settings : str
        What else the training depends on, such as parameters of the loss: a checkpoint
        of other settings is refused.
    on_epoch : callable, optional
        Called with the number of epochs done, before the first and after each.
    label : str
        For the progress bar.

    Returns
    -------
    history : dict of lists
        ``"loss"``, ``"learning_rate"`` and, with validation rows,
        ``"validation_loss"``, one entry per epoch; an array where there are models.

    Examples
    --------
    >>> import torch
    >>> from rhokit.core import cross_entropy
    >>> from rhokit.nn import ClassifierHead, FourierLayer, Recipe, TrainingRows, train
    >>> x = torch.linspace(-1, 1, 200)[:, None]
    >>> y = (x[:, 0].abs() < 0.5).long()
    >>> head = ClassifierHead(FourierLayer(1, 64, gamma=9.0, random_state=0), 2, 4,
    ...                       random_state=0)
    >>> rows = TrainingRows((x,), y)
    >>> history = train(head, cross_entropy, rows, Recipe(0.01, 30, 50))
    >>> bool(history["loss"][-1] < 0.2)
    True
    """
    run = TrainingRun(module, loss, rows, recipe, validation, forward or module)
    if checkpoint is not None:
        digest = fingerprint(recipe, settings, module, rows, validation)
        saved = read_checkpoint(checkpoint, digest, len(rows), run.check)
        if saved is not None:
            run.restore(saved)
    with ProgressBar(label) as bar:
        if on_epoch is not None:
            on_epoch(run.epochs_done)
        while run.goes_on():
            run.epoch(bar)
            if on_epoch is not None:
                on_epoch(run.epochs_done)
            if checkpoint is not None:
                write_checkpoint(checkpoint, digest, run.state())
    run.finish()
    return run.history


class TrainingRun:
    """One training: everything that changes from epoch to epoch."""

    def __init__(
        self,
        module: nn.Module,
        loss: Loss,
        rows: TrainingRows,
        recipe: Recipe,
        validation: TrainingRows | None,
        forward: Callable[..., Any],
    ) -> None:
        self.module, self.loss, self.forward = module, loss, forward
        self.rows, self.validation, self.recipe = rows, validation, recipe
        self.trained = {
            name: weight
            for name, weight in module.named_parameters()
            if weight.requires_grad
        }
        if not self.trained:
            raise ValueError(
                "nothing to train: no weight of the module needs gradients"
            )
        real = not any(weight.is_complex() for weight in self.trained.values())
        self.optimizer = torch.optim.AdamW(
            _groups(module, self.trained, recipe.weight_decay),
            lr=recipe.learning_rate,
            fused=real,
        )
        self.steps_per_epoch = -(-len(rows) // recipe.batch_size)
        self.epochs_done = 0
        self.history: dict[str, list[Any]] = {"loss": [], "learning_rate": []}
        if validation is not None:
            self.history["validation_loss"] = []
        spread = np.linspace(0, len(rows) - 1, min(_WATCHED, len(rows))).astype(int)
        self.watched = rows.take(torch.as_tensor(spread, device=_device(rows)))
        self.start = self.evaluate(self.watched)  # (models,)
        self.best = self.start if validation is None else self.evaluate(validation)
        self.broken = ~torch.isfinite(self.start)
        self.stale = torch.zeros_like(self.start, dtype=torch.int64)
        self.first = self._copy()
        self.kept = self._copy()

    def goes_on(self) -> bool:
        """Whether another epoch is worth it."""
        if self.epochs_done >= self.recipe.max_epochs:
            return False
        return not bool((self.broken | self._tired()).all())

    def _tired(self) -> Tensor:
        """Models that have waited in vain for as long as they may."""
        patience = self.recipe.patience
        if patience is None or self.validation is None:
            return torch.zeros_like(self.broken)
        return self.stale >= patience

    def epoch(self, bar: ProgressBar) -> None:
        """Every row once; then see which models are worth keeping."""
        order = np.random.default_rng([self.recipe.seed, self.epochs_done])
        index = torch.as_tensor(
            order.permutation(len(self.rows)), device=_device(self.rows)
        )
        total: Tensor | float = 0.0
        self.module.train()
        done = self.epochs_done * self.steps_per_epoch
        for batch in self.rows.batches(self.recipe.batch_size, index):
            total = total + len(batch) * self.step(batch, done)
            done += 1
            share = done / (self.steps_per_epoch * self.recipe.max_epochs)
            bar.update(share, self._note())
        losses = torch.as_tensor(total) / len(self.rows)
        self.epochs_done += 1
        self.history["loss"].append(_plain(losses))
        self.history["learning_rate"].append(self.rate(done - 1))
        self._judge(losses)

    def step(self, batch: TrainingRows, step: int) -> Tensor:
        """One step of the optimiser; the losses before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step)
        losses = self._losses(batch)
        self.optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return losses.detach()

    def rate(self, step: int) -> float:
        """Learning rate of a step."""
        total = self.steps_per_epoch * self.recipe.max_epochs
        return self.recipe.rate(step, total)

    def evaluate(self, rows: TrainingRows) -> Tensor:
        """Losses of rows that are not trained on, shape (models,)."""
        self.module.eval()
        with torch.no_grad():
            index = torch.arange(len(rows), device=_device(rows))
            parts = [
                len(part) * self._losses(part) for part in rows.batches(_BLOCK, index)
            ]
            return torch.stack(parts).sum(dim=0) / len(rows)

    def _losses(self, rows: TrainingRows) -> Tensor:
        output = self.forward(*rows.inputs)
        return self.loss(output, rows.target, rows.weight)

    def _judge(self, losses: Tensor) -> None:
        """Keep what is better; count how long nothing was."""
        self.broken |= ~torch.isfinite(losses)
        if self.validation is None:
            better = ~self.broken
        else:
            judged = self.evaluate(self.validation)
            self.history["validation_loss"].append(_plain(judged))
            better = (judged < self.best) & ~self.broken & ~self._tired()
            self.best = torch.where(better, judged, self.best)
            self.stale = torch.where(better, 0, self.stale + 1)
        self._keep(better)

    def finish(self) -> None:
        """Leave the best in the module; say so where training did harm."""
        harmed = ~(self.evaluate(self.watched) < self.start)
        self._load(self.kept)
        if self.validation is None:
            self._keep(~(self.evaluate(self.watched) < self.start), self.first)
            self._load(self.kept)
        if self.epochs_done or bool(self.broken.any()):
            self._say_what_went_wrong(harmed)

    def _say_what_went_wrong(self, harmed: Tensor) -> None:
        rate = f"learning_rate={self.recipe.learning_rate}"
        if not self.epochs_done:
            _warn(
                "the loss is infinite or NaN before the first step: nothing is trained"
            )
        elif bool(self.broken.any()):
            _warn(
                f"the loss became infinite or NaN within {self.epochs_done} epochs: "
                f"{rate} is too large for these data; the last good model is kept"
            )
        elif bool(harmed.any()):
            _warn(
                f"training raised the loss of its own rows: {rate} is too large for "
                "these data, or nothing was left to learn; the best model that was "
                "seen is kept"
            )
        elif not bool(torch.isfinite(self.best).all()):
            _warn(
                "the loss of the validation rows is infinite: some of them cannot "
                "occur under the model, such as rows outside a grid's box; the model "
                "is the one that training started from"
            )

    # ---- what is kept ---------------------------------------------------------------

    def _copy(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._values().items()}

    def _values(self) -> dict[str, Tensor]:
        """All that training changes: trained weights, and statistics of layers."""
        buffers = dict(self.module.named_buffers()) if self.start.ndim == 0 else {}
        weights = {name: weight.detach() for name, weight in self.trained.items()}
        return weights | buffers

    def _keep(self, better: Tensor, values: dict[str, Tensor] | None = None) -> None:
        for name, value in (values or self._values()).items():
            mask = better.reshape((*better.shape, *[1] * (value.ndim - better.ndim)))
            self.kept[name] = torch.where(mask, value, self.kept[name])

    def _load(self, values: dict[str, Tensor]) -> None:
        for name, value in self._values().items():
            value.copy_(values[name])

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "epochs_done": self.epochs_done,
            "values": self._copy(),
            "optimizer": self.optimizer.state_dict(),
            "history": {
                name: [_stored(entry) for entry in entries]
                for name, entries in self.history.items()
            },
            "kept": self.kept,
            "judged": [self.start, self.best, self.broken, self.stale],
        }

    def check(self, saved: Any) -> None:
        """Refuse what is no checkpoint of this training."""
        done: Any = saved.get("epochs_done") if type(saved) is dict else None
        most = self.recipe.max_epochs
        possible = type(done) is int and 1 <= done <= most
        require_form(possible, "epochs_done", f"an integer from 1 to {most}")
        loss = 0.0 if self.start.ndim == 0 else self.start
        form = self.state() | {
            "epochs_done": done,
            "optimizer": saved.get("optimizer"),
            "history": {
                name: [0.0 if name == "learning_rate" else loss] * done
                for name in self.history
            },
        }
        check_optimizer(form["optimizer"], self.optimizer, done * self.steps_per_epoch)
        check_form(saved, form, "checkpoint")

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.epochs_done = saved["epochs_done"]
        self._load(saved["values"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.history = {
            name: [_plain(entry) for entry in entries]
            for name, entries in saved["history"].items()
        }
        self.kept = saved["kept"]
        self.start, self.best, self.broken, self.stale = saved["judged"]

    def _note(self) -> str:
        note = f"epoch {self.epochs_done + 1} of {self.recipe.max_epochs}"
        for name, entries in self.history.items():
            if entries and name != "learning_rate":
                note += f", {name.replace('_', ' ')} {np.mean(entries[-1]):.4g}"
        return note


def _groups(
    module: nn.Module, trained: Mapping[str, Tensor], weight_decay: float
) -> list[dict[str, Any]]:
    """What fades and what does not: frequencies and landmarks are places, not sizes."""
    layers = [each for each in module.modules() if isinstance(each, FeatureLayer)]
    places = {id(weight) for each in layers for weight in each.parameters()}
    still = [weight for weight in trained.values() if id(weight) in places]
    fading = [weight for weight in trained.values() if id(weight) not in places]
    return [
        {"params": weights, "weight_decay": decay}
        for weights, decay in ((fading, weight_decay), (still, 0.0))
        if weights
    ]


def _plain(values: Any) -> Any:
    """A number, or an array where there are many models."""
    if isinstance(values, float):
        return values
    return float(values) if values.ndim == 0 else values.cpu().numpy()


def _stored(entry: Any) -> Any:
    """An entry of the history as a checkpoint keeps it: as it is, and no array."""
    return entry if isinstance(entry, float) else torch.from_numpy(entry)


def _device(rows: TrainingRows) -> torch.device:
    assert rows.inputs[0] is not None
    return rows.inputs[0].device


def _warn(message: str) -> None:
    warnings.warn(message, TrainingWarning, stacklevel=4)
