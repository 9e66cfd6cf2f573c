"""What tests of estimators share."""

from dataclasses import replace


def with_sample_of(size, estimator):
    """A prepared estimator that keeps at most so many rows to leave them out."""
    model = estimator.model_
    return estimator.with_model(
        replace(model, plan=replace(model.plan, sample_rows=size))
    )
