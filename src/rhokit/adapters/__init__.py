"""rhokit's models under the base classes of other packages.

:mod:`rhokit.adapters.pyod` needs PyOD, :mod:`rhokit.adapters.river` needs river;
:mod:`rhokit.adapters.mlflow` says what MLflow has to trust, and needs skops.
"""
