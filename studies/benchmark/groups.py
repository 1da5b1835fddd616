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

"""Which problems ask the same question."""
from __future__ import annotations

from studies.benchmark.problems import PROBLEMS


def _those(*beginnings: str) -> tuple[str, ...]:
    return tuple(name for name in PROBLEMS if name.startswith(beginnings))


GROUPS = {
    'as assumed': _those('assumed', 'large', 'smooth'),
    'rough': _those('rough'),
    'jump': _those('jump'),
    'noise': _those('heavy', 'uneven'),
    'one start': _those('LoSBO', 'camelback', 'hartmann', 'gaussian'),
    'ℓ too short': _those('ell x 0.'),
    'ℓ too long': _those('ell x 2', 'ell x 4', 'ell x 8'),
    'drift': _those('drift'),
    'pendulum': _those('pendulum'),
}
