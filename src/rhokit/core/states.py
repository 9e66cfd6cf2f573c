"""Feature maps as plain functions of arrays: rows in, states out."""

from array_api_compat import array_namespace, device

from rhokit.core.arrays import Array, arange_like, squared_modulus
from rhokit.core.kernel import GaussianKernel


def normalize_states(states: Array) -> Array:
    """Scale every row to length one (eq. normalized_rff); rows of zeros stay."""
    xp = array_namespace(states)
    squares = xp.sum(squared_modulus(states), axis=-1)[..., None]
    safe = xp.where(squares > 0, squares, xp.ones_like(squares))
    return states / xp.astype(xp.sqrt(safe), states.dtype)


def cosine_states(
    rows: Array,
    frequencies: Array,
    phases: Array | None,
    amplitudes: Array,
    *,
    normalize: bool,
) -> Array:
    r"""Fourier features (eq. phi_rff): real with phases, complex without.

    .. math:: \phi_j(x) = a_j \cos(w_j^\top x + b_j) \quad\text{or}\quad
              \phi_j(x) = a_j e^{i w_j^\top x}

    Parameters
    ----------
    rows : array of shape (..., n, d)
    frequencies : array of shape (..., d, F)
    phases : array of shape (..., D), optional
        ``D`` is a multiple of ``F``: the projections are repeated, so that pairs
        (cos, sin) are the phases 0 and -π/2 of the same frequencies.
    amplitudes : array of shape (D,)
    normalize : bool
        Whether to scale each state to length one.

    Returns
    -------
    states : array of shape (..., n, D)
        Leading axes are those of many maps at once, and broadcast.
    """
    xp = array_namespace(rows)
    angles = rows @ frequencies
    if phases is None:
        states = amplitudes * xp.exp(angles * 1j)
    else:
        repeats = phases.shape[-1] // angles.shape[-1]
        if repeats > 1:
            angles = xp.concat([angles] * repeats, axis=-1)
        states = amplitudes * xp.cos(angles + phases[..., None, :])
    return normalize_states(states) if normalize else states


def squared_distances(
    rows: Array, landmarks: Array, *, by_product: bool = False
) -> Array:
    """Squared distances of rows (..., n, d) and landmarks (..., m, d): (..., n, m).

    ``by_product`` takes them from one matrix product, which is much faster with many
    columns and loses digits where both lie far from the origin.
    """
    xp = array_namespace(rows)
    if not by_product:
        difference = rows[..., :, None, :] - landmarks[..., None, :, :]
        return xp.sum(difference * difference, axis=-1)
    lengths = [xp.sum(each * each, axis=-1) for each in (rows, landmarks)]
    sums = lengths[0][..., :, None] + lengths[1][..., None, :]
    return xp.clip(sums - 2 * (rows @ landmarks.mT), 0, None)


def gaussian_columns(
    rows: Array,
    landmarks: Array,
    rate: float,
    *,
    relative: bool = False,
    by_product: bool = False,
) -> tuple[Array, Array | None]:
    r"""Kernel columns :math:`e^{-\text{rate}\,\|x - l_j\|^2}` of rows and landmarks.

    With ``relative``, each row's largest exponent is taken out before ``exp`` and
    returned as ``log_scale``: columns then never underflow all at once, however far
    the row lies from every landmark.

    Parameters
    ----------
    rows : array of shape (..., n, d)
    landmarks : array of shape (..., m, d)
    rate : float
    relative : bool
    by_product : bool
        See :func:`squared_distances`.

    Returns
    -------
    columns : array of shape (..., n, m)
    log_scale : array of shape (..., n), or None
    """
    xp = array_namespace(rows)
    squares = squared_distances(rows, landmarks, by_product=by_product)
    exponents = GaussianKernel(rate).log(squares)
    if not relative:
        return xp.exp(exponents), None
    largest = xp.max(exponents, axis=-1)
    return xp.exp(exponents - largest[..., None]), largest


def onehot_states(codes: Array, n_categories: int) -> Array:
    """Unit vectors ``E_i`` of integer codes (eq. phi_ohe), shape (n, n_categories)."""
    xp = array_namespace(codes)
    known = xp.arange(n_categories, dtype=codes.dtype, device=device(codes))
    return xp.astype(codes[:, None] == known, xp.float64)


def softmax_states(values: Array, n_landmarks: int, beta: float) -> Array:
    r"""Square roots of a softmax over landmarks in [0, 1] (eq. phi_sm).

    .. math:: \phi_i(y) = \sqrt{p_i(y)}, \qquad
              p_i(y) \propto e^{-\beta (y - \alpha_i)^2}, \quad
              \alpha_i = \tfrac{i-1}{m-1}

    Parameters
    ----------
    values : array of shape (...,), in [0, 1]
    n_landmarks : int
    beta : float
        How sharp: above zero.

    Returns
    -------
    states : array of shape (..., n_landmarks), of length one
    """
    xp = array_namespace(values)
    landmarks = arange_like(n_landmarks, values) / max(n_landmarks - 1, 1)
    exponents = -beta * (values[..., None] - landmarks) ** 2
    exponents = exponents - xp.max(exponents, axis=-1)[..., None]
    weights = xp.exp(exponents)
    return xp.sqrt(weights / xp.sum(weights, axis=-1)[..., None])
