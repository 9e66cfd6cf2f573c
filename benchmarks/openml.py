"""Sets that are on OpenML."""


class DataNotAvailable(Exception):
    """A set cannot be had; the text says which, why, and what to do."""
