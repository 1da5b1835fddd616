# Copyright the pacsbo_ros developers. Apache-2.0.
"""Arrays that grow: room for twice as much when it is needed, so that a row costs little."""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array


def doubled(M: Array, axes: int = 1) -> Array:
    """Give an array with twice the room along its first axes; what is new is zero."""
    return np.pad(M, [(0, size if axis < axes else 0) for axis, size in enumerate(M.shape)])
