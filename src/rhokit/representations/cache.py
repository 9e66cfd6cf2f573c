"""Values that follow from a model's state, computed when first needed."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Cache:
    """Values computed when first needed, one per purpose; never pickled."""

    # What is computed may need another value.
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False)
    _values: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False)

    def get(self, purpose: str, key: Any, compute: Callable[[], Any]) -> Any:
        """The value for this key, computed by one thread for all."""
        with self._lock:
            known = self._values.get(purpose)
            if known is None or known[0] != key:
                known = self._values[purpose] = (key, compute())
            return known[1]

    def get_among(
        self, purpose: str, key: Any, compute: Callable[[], Any], most: int
    ) -> Any:
        """Get a value of one of several keys, of which some are kept."""
        with self._lock:
            known = self.get(purpose, None, dict)
            if key not in known:
                if len(known) >= most:
                    del known[next(iter(known))]
                known[key] = compute()
            return known[key]
