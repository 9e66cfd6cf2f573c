"""What all targets of a stream have in common: text or numbers, and how many."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class TargetForm:
    """What targets are that can be learned together.

    Parameters
    ----------
    is_text : bool
    shape : tuple of int
        Of the targets of a row: () for one, (t,) for several.
    """

    is_text: bool
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, targets: NDArray[Any]) -> "TargetForm":
        """The form of targets (n,) or (n, t)."""
        is_text = targets.dtype.kind in "US"
        if targets.dtype.kind == "O" and targets.size:
            is_text = isinstance(targets.flat[0], str)
        return cls(is_text, targets.shape[1:])

    @property
    def n_targets(self) -> int:
        """Targets of a row."""
        return self.shape[0] if self.shape else 1

    def holds(self, target: Any) -> bool:
        """Whether a single label or number is of this form."""
        return not self.shape and isinstance(target, str) == self.is_text

    def fitted(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Targets (n,) or (n, t) in this form; refused where they are of another.

        NumPy would make text of numbers that stand beside text.
        """
        other = TargetForm.of(targets)
        if other == self:
            return targets
        if other.is_text != self.is_text:
            raise ValueError(
                f"y must be {_kind(self.is_text)}, as before, got "
                f"{_kind(other.is_text)}: labels of a model are all of one kind"
            )
        if other.n_targets != self.n_targets:
            raise ValueError(
                f"y must have {self.n_targets} targets in each row, as before, got "
                f"{other.n_targets}"
            )
        return targets.reshape(len(targets), *self.shape)


def _kind(is_text: bool) -> str:
    return "text" if is_text else "numbers"
