"""Errors of model files."""

from rhokit.errors import ModelFileError

__all__ = ["ModelFileError"]
