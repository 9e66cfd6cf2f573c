"""Trained models, which learn no rows one by one: their answers must stay."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import rhokit
from rhokit.io import dumps
from rhokit.testing.comparisons import answers_of, assert_same_answers
from tests.soak.victims import moment, run_and_kill, save_in_turn

THREADS = 4


class TrainedWorld:
    """A trained model, and what it answered at first."""

    def __init__(self, case, folder):
        self.folder, self.model = folder, case.fitted()
        self.queries = case.queries()
        self.first = answers_of(self.model, self.queries)

    def step(self, rng):
        """One of the operations; its name."""
        name = ["save", "pickle", "ask", "kill"][int(rng.integers(4))]
        getattr(self, f"_{name}")(rng)
        return f"trained: {name}"

    def check(self):
        """The model answers as it did."""
        assert_same_answers(answers_of(self.model, self.queries), self.first, 1e-12)

    def _save(self, rng):
        path = self.folder / "model.rhokit"
        rhokit.save(self.model, path)
        self.model = rhokit.load(path)

    def _pickle(self, rng):
        self.model = pickle.loads(pickle.dumps(self.model))

    def _ask(self, rng):
        with ThreadPoolExecutor(THREADS) as pool:
            asked = [
                pool.submit(answers_of, self.model, self.queries)
                for _ in range(THREADS)
            ]
        for each in asked:
            assert_same_answers(each.result(), self.first, 1e-12)

    def _kill(self, rng):
        path, small = self.folder / "killed.rhokit", self.model.compact()
        files = [dumps(self.model), dumps(small)]
        path.write_bytes(files[0])
        run_and_kill(save_in_turn, path, files, watched=path, **moment(rng))
        assert path.read_bytes() in files
        self.model = rhokit.load(path)
