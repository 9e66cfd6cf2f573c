"""A neural spline flow of zuko, trained as its users would, within a time limit."""

import copy
import time

import numpy as np

_TRANSFORMS = 5
_HIDDEN = 128, 128
_BATCH = 256
_RATE = 1e-3
_HELD_OUT = 0.1
_PATIENCE = 20
_LARGEST_GRADIENT = 5.0
_ASKED = 4_096
_WARM_SECONDS = 1.0


class SplineFlow:
    """Five spline transforms by networks of 128 × 128, stopped early.

    Adam, batches of 256 rows; after every pass the likelihood of a tenth of the rows
    that is held out; the best weights are kept, and training ends 20 passes after them
    or when the time is over.

    Parameters
    ----------
    seconds : float
        Of training, at most; of the processor's time for each thread, which is what
        the clock says where nothing else runs.
    threads : int
    seed : int
    """

    def __init__(self, seconds, threads=1, seed=0):
        self._seconds, self._threads, self._seed = seconds, threads, seed

    def warm_up(self, rows, queries):
        """A second of training, for what is loaded at first use."""
        brief = SplineFlow(_WARM_SECONDS, self._threads, self._seed)
        brief.fit(rows[:_BATCH])
        brief.answer(queries[:_BATCH])

    def fit(self, rows, target=None):
        """Train until nothing is gained, or until the time is over."""
        import torch
        import zuko

        torch.set_num_threads(self._threads)
        torch.manual_seed(self._seed)
        rng = np.random.default_rng(self._seed)
        order = rng.permutation(len(rows))
        n_held_out = max(1, round(_HELD_OUT * len(rows)))
        rows = torch.as_tensor(np.asarray(rows)[order], dtype=torch.float32)
        d = rows.shape[1]
        self._flow = zuko.flows.NSF(d, transforms=_TRANSFORMS, hidden_features=_HIDDEN)
        self._train(rows[n_held_out:], rows[:n_held_out])
        return self

    @property
    def chosen(self):
        """How training went, for the lines."""
        return {
            "limit_seconds": self._seconds,
            "passes": self.passes_,
            "stopped_early": self.stopped_early_,
        }

    def answer(self, queries):
        """Log-density of each query."""
        import torch

        queries = torch.as_tensor(np.asarray(queries), dtype=torch.float32)
        with torch.no_grad():
            parts = [self._flow().log_prob(part) for part in queries.split(_ASKED)]
        return torch.cat(parts).double().numpy()

    def _train(self, rows, held_out):
        """Passes over the rows; the weights of the best one stay."""
        import torch

        optimizer = torch.optim.Adam(self._flow.parameters(), lr=_RATE)
        end = self._clock() + self._seconds
        best, weights, since = -np.inf, copy.deepcopy(self._flow.state_dict()), 0
        self.passes_, self.stopped_early_ = 0, False
        while self._clock() < end and not self.stopped_early_:
            for batch in rows[torch.randperm(len(rows))].split(_BATCH):
                self._step(optimizer, batch)
                if self._clock() > end:
                    break
            self.passes_ += 1
            value = float(self.answer(held_out).mean())
            if value > best:
                best, since = value, 0
                weights = copy.deepcopy(self._flow.state_dict())
            else:
                since += 1
                self.stopped_early_ = since >= _PATIENCE
        self._flow.load_state_dict(weights)

    def _clock(self):
        return time.process_time() / self._threads

    def _step(self, optimizer, batch):
        import torch

        optimizer.zero_grad()
        loss = -self._flow().log_prob(batch).mean()
        if not torch.isfinite(loss):  # one bad batch must not spoil all weights
            return
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._flow.parameters(), _LARGEST_GRADIENT)
        optimizer.step()
