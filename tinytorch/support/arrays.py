"""Arrays from what people hand in, and errors in words that name shapes where NumPy's do not."""

import numpy as np

__all__ = ["copy_of", "explained", "fresh", "row_lengths"]


def copy_of(data):
    """A new array with the numbers in `data`, of NumPy's choice of dtype.

    data     a number, nested lists of numbers, or an array
    returns  an ndarray that shares no memory with `data`

    Raises ValueError when rows differ in length, TypeError when `data` holds anything but
    real numbers.

    >>> copy_of([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    try:
        array = np.array(data)
    except ValueError:
        raise ValueError(
            f"a tensor is a full grid, but here rows of length {row_lengths(data)} meet"
        ) from None
    if array.dtype.kind not in "biuf":  # bool, int, unsigned int, float
        raise TypeError(f"a tensor holds real numbers, not {data!r:.60}")
    return array


def fresh(part):
    """A new array of an index: of the places or truth values in a list, an array or a Tensor.

    [] names places too, none of them, so it becomes an array of integers.

    >>> fresh([2, 0]), fresh([]).dtype.kind
    (array([2, 0]), 'i')
    """
    array = np.array(part)
    return array if array.size or array.dtype.kind != "f" else array.astype(int)


def row_lengths(rows):
    """The lengths that differ in a ragged nested list, as text; a bare number has length "none".

    >>> row_lengths([[1, 2], [3]])
    '2 and 1'
    """
    lengths = [
        len(row) if isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) else "none"
        for row in rows
    ]
    if len(set(lengths)) == 1 and "none" not in lengths:
        return row_lengths([part for row in rows for part in row])
    return " and ".join(str(n) for n in dict.fromkeys(lengths))


def explained(error, op, arrays, options, common_shape):
    """The error to raise when NumPy refused op(*arrays, **options): one that names the shapes.

    error         the IndexError, ValueError or TypeError that NumPy raised
    op            the function that was called
    arrays        tuple of what it was called with: ndarrays and numbers
    options       dictionary of its keyword arguments
    common_shape  a function of the shapes that raises a ValueError which says the rule they
                  break; asked when `op` is a ufunc or np.where
    returns       an exception of the same kind, not raised

    >>> error = explained(ValueError("bad"), np.reshape, (np.ones(3),), {"shape": (2, 2)}, None)
    >>> print(error)
    reshape refused shape (3,): bad
    """
    if not isinstance(arrays, (tuple, list)) or not isinstance(options, dict):
        return TypeError(
            "run(op, arrays, options) takes one tuple of arrays and one dictionary, "
            "without * and **"
        )
    shapes = [np.shape(a) for a in arrays]
    if isinstance(error, np.exceptions.AxisError):
        n = len(shapes[0])
        return np.exceptions.AxisError(
            f"there is no axis {options.get('axis')} in shape {shapes[0]}: "
            + (f"its axes are 0 to {n - 1}, or -{n} to -1" if n else "it has no axes")
        )
    if isinstance(error, ValueError) and (isinstance(op, np.ufunc) or op is np.where):
        try:
            common_shape(*shapes)
        except ValueError as clearer:
            return clearer
    kind = next(k for k in (IndexError, ValueError, TypeError) if isinstance(error, k))
    name = op.__name__.removesuffix("_forward")
    return kind(
        f"{name} refused shape{'s' * (len(shapes) > 1)} {', '.join(map(str, shapes))}: {error}"
    )
