"""What is raised for files that are no models."""


class ModelFileError(ValueError):
    """A file is no model that can be read here: damaged, foreign, newer or hostile."""
