# Copyright 2026 the pacsbo_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Arrays that grow: room for twice as much when it is needed, so that a row costs little."""

from __future__ import annotations

import numpy as np
from pacsbo_ros.core.kernels import Array


def doubled(M: Array, axes: int = 1) -> Array:
    """Return an array with twice the room along its first axes; what is new is zero."""
    return np.pad(M, [(0, size if axis < axes else 0) for axis, size in enumerate(M.shape)])
