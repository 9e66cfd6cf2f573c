"""What models answer to rows, whatever kind of model they are."""

from rhokit.cli.errors import UserError

# What the columns of classes' probabilities start with.
PROBABILITY = "probability_"


def log_density(model, X):
    """Log-density of rows, in the user's units, shape (n,)."""
    if hasattr(model, "score_samples"):
        return model.score_samples(X)
    raise UserError(f"a {type(model).__name__} knows no density of rows")


def log_density_left_out(model, X, y=None):
    """The same for rows that the model was fitted to, each without itself.

    Models with a target need it, since a row is left out of its own outcome's state.
    """
    if not hasattr(model, "classes_") and not hasattr(model, "predict"):
        return model.score_samples(X, leave_one_out=True)
    return model.score_samples(X, y, leave_one_out=True)


def can_leave_out(model, has_target):
    """Whether rows can be left out of what a model says about them."""
    if hasattr(model, "_sample_roots"):
        return has_target and hasattr(model.state_, "total")
    return hasattr(model, "_without_own") and hasattr(model.state_, "total")


def predictions(model, X, coverage, targets=()):
    """What a model with a target predicts: columns by name, each of shape (n,).

    ``targets`` are the targets' names, which tell several of them apart.
    """
    if hasattr(model, "predict_proba"):
        return _class_predictions(model, X)
    if not hasattr(model, "predict"):
        raise UserError(
            f"a {type(model).__name__} was fitted without a target and predicts "
            "nothing: take score, or fit one with --target"
        )
    return _value_predictions(model, X, coverage, targets)


def _class_predictions(model, X):
    chances = model.predict_proba(X)  # (n, K)
    labels = model.predict(X)
    columns = {"prediction": labels.astype(str) if labels.dtype == object else labels}
    for label, chance in zip(model.classes_.tolist(), chances.T, strict=True):
        columns[f"{PROBABILITY}{label}"] = chance
    return columns


def _value_predictions(model, X, coverage, targets):
    mean, std = model.predict(X, return_std=True)  # (n,) or (n, t)
    ends = model.predict_interval(X, coverage=coverage)  # (n, 2) or (n, t, 2)
    if mean.ndim == 1:
        return _value_columns("", mean, std, ends)
    columns = {}
    for index in range(mean.shape[1]):
        known = index < len(targets)
        name = f"_{targets[index] if known else index + 1}"
        columns |= _value_columns(name, mean[:, index], std[:, index], ends[:, index])
    return columns


def _value_columns(name, mean, std, ends):
    return {
        f"prediction{name}": mean,
        f"std{name}": std,
        f"low{name}": ends[:, 0],
        f"high{name}": ends[:, 1],
    }
