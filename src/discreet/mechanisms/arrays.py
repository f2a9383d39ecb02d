"""Take numbers as an array without touching them: an integer stays that integer beside any other number.

NumPy brings a list to one type first. [2**62 + 512, 0.0] becomes doubles, and then two values that are 1,024
apart may be read as 2,048 apart, or as one: before the noise, where a sensitivity counts. So a list is read
value by value; it becomes an array of machine numbers where all of them are ints or all are floats, and else one
of Python's own objects, which are read exactly. Which of these happens changes the speed and not the numbers.

Values that NumPy would have converted already are refused: a frame whose columns are of different types, a masked
array, whose masked values would count, and an array in a list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter


def take(values: object) -> npt.NDArray[Any]:
    """Return the values in their shape: ints or floats of at most 64 bits, or objects.

    Raises:
        InvalidParameter: a boolean, text in the place of numbers, a masked array, a frame of mixed columns, no
            rectangular array, or another type.
    """
    if isinstance(values, (str, bytes)):
        raise _text()
    if isinstance(values, np.ma.MaskedArray):
        raise masked()
    if isinstance(values, np.ndarray) and values.dtype != object:
        return _plain(values)
    if hasattr(values, "__array__") and not isinstance(values, (np.ndarray, np.generic)):
        return _plain(_of_others(values))
    if not isinstance(values, np.ndarray):
        _no_arrays(values)
    try:
        return _of_objects(np.asarray(values, dtype=object))
    except ValueError:
        raise _ragged() from None


def _of_objects(items: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The narrowest array that holds the same numbers."""
    kinds = set(map(type, items.ravel().tolist()))
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        raise _boolean()
    if any(issubclass(kind, (str, bytes)) for kind in kinds):
        raise _text()
    if any(issubclass(kind, np.timedelta64) for kind in kinds):  # which NumPy counts among its integers
        raise InvalidParameter(
            "A value is a duration.", "Convert the values to numbers of a unit, such as seconds."
        )
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        raise masked()
    if any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds):
        raise _ragged()
    if kinds and all(issubclass(kind, (float, np.float16, np.float32)) for kind in kinds):
        return items.astype(np.float64)
    if kinds and all(issubclass(kind, (int, np.integer)) for kind in kinds):
        try:
            return items.astype(np.int64)
        except OverflowError:  # an integer beyond int64 stays an object, which is exact
            return items
    return items if kinds else np.zeros(items.shape)


def _of_others(values: Any) -> npt.NDArray[Any]:
    """A series or a frame of pandas, Polars or Arrow, or a tensor."""
    if np.ndim(values) > 1:
        schema = getattr(values, "schema", None)
        kinds = getattr(values, "dtypes", None)
        kinds = getattr(schema, "types", None) if kinds is None else kinds
        if kinds is not None and len(set(map(str, kinds))) > 1:
            raise InvalidParameter(
                "The columns are of different types.", "Convert them to one type, or release each by itself."
            )
    array = np.asarray(values)
    return _of_objects(array) if array.dtype == object else array


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind == "b":
        raise _boolean()
    if array.dtype.kind not in "iufO" or array.dtype.itemsize > 8:
        raise InvalidParameter(
            f"The values are of type {array.dtype}.", "Give integers or floats of at most 64 bits."
        )
    return array


def _no_arrays(values: object) -> None:
    """Refuse arrays inside a list, of which the types and masks would be lost."""
    if isinstance(values, (list, tuple)):
        for item in values:
            if isinstance(item, (list, tuple)):
                _no_arrays(item)
            elif isinstance(item, np.ma.MaskedArray):
                raise masked()
            elif hasattr(item, "__array__") and not isinstance(item, np.generic):
                if isinstance(item, np.ndarray) and item.dtype.kind in "iufbO" and item.dtype.itemsize <= 8:
                    continue  # NumPy takes its numbers out one by one
                raise InvalidParameter("There is an array in a list.", "Give one array, or plain lists.")


def _text() -> InvalidParameter:
    return InvalidParameter("A value is text, not a number.", "Give numbers.")


def _boolean() -> InvalidParameter:
    return InvalidParameter("A value is a boolean.", "Convert the values to integers.")


def _ragged() -> InvalidParameter:
    return InvalidParameter("The values are not a rectangular array.", "Give one.")


def masked() -> InvalidParameter:
    """The error for an array of which NumPy would forget the mask."""
    return InvalidParameter(
        "The array is masked, and the values under the mask would be released.",
        "Fill it with a public value, or release its compressed() values, if how many there are is public.",
    )
