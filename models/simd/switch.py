"""Whether vector operations are replaced by plain loops: `UMBEL_PLAIN_LOOPS`, read once.

It imports neither NumPy nor numba: the template of job processes reads it before it removes
variables from its environment.
"""

from __future__ import annotations

import os

_NAME = "UMBEL_PLAIN_LOOPS"
_MEANING = {"": False, "0": False, "1": True}


def is_plain(value: str) -> bool:
    """What the variable's value means. Raises ValueError if it is none of 0, 1 and empty."""
    if value not in _MEANING:
        raise ValueError(f"{_NAME} is {value!r}; 1 selects plain loops, 0 the vectors.")
    return _MEANING[value]


PLAIN = is_plain(os.environ.get(_NAME, ""))
"""Whether everything runs on the plain loops."""
