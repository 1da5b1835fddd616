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

"""
A servo with a PD controller: an inertia that a motor turns to a target of one.

  symbol   meaning
  wn       natural frequency sqrt(p) [1/s]
  z        damping d / (2 wn)
"""
import math


def overshoot(p, d):
    """Return the share by which the servo passes its target."""
    z = d / (2 * math.sqrt(p))
    return math.exp(-math.pi * z / math.sqrt(1 - z ** 2)) if z < 1 else 0.0


def settling_time(p, d):
    """Return the time [s] after which two per cent of the way are left, by the slowest pole."""
    wn, z = math.sqrt(p), d / (2 * math.sqrt(p))
    rate = wn * (z - math.sqrt(max(z ** 2 - 1, 0.0)))
    return 4.0 / rate
