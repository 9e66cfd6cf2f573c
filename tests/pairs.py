"""Few combinations of many values: every pair of them, or every value once."""

from itertools import combinations, cycle, product


def each_once(*choices):
    """Every value of every choice at least once, in as few tuples as that takes."""
    choices = [list(choice) for choice in choices]
    size = max(map(len, choices))
    columns = [cycle(choice) for choice in choices]
    return [tuple(next(column) for column in columns) for _ in range(size)]


def pairs(*choices):
    """Tuples in which every pair of values of two choices comes up at least once.

    Greedily: of all tuples, that with the most pairs which are still to come.
    """
    everything = list(product(*choices))

    def of(row):
        return set(combinations(enumerate(row), 2))

    open_pairs, taken = set().union(*map(of, everything)), []
    while open_pairs:
        best = max(everything, key=lambda row: len(of(row) & open_pairs))
        open_pairs -= of(best)
        taken.append(best)
    return taken
