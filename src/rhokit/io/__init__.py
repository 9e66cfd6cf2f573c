"""Model files: safetensors with JSON metadata, data only."""

from rhokit.errors import ModelFileError
from rhokit.io.model_files import dumps, load, loads, save
from rhokit.io.protocol import PROTOCOL

__all__ = ["PROTOCOL", "ModelFileError", "dumps", "load", "loads", "save"]
