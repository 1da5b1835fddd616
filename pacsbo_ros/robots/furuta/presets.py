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

"""Plants by name; docs/furuta.md says where every number comes from."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Plant
from pacsbo_ros.robots.furuta.preset_file import read_preset

# The bare equations with Quanser's courseware values. It has no upper stability edge near the
# real one: good for checking mathematics, useless for tuning.
IDEAL = Plant(voltage_limit=18.0)

# A real Qube-Servo. Fitted to recordings of one device (data/qube_chirps.csv, qube_swing_ups.csv,
# without those that are held out) and, friction and filter, to twenty trials on another
# (data/qube_trials.csv): `python -m studies.predictions` and `python -m studies.trials` judge it.
# Masses, arm and resistance: courseware.
CALIBRATED = Plant(
    parameters=Parameters(
        arm_inertia=9.6e-5, pendulum_length=0.1222, torque_constant=0.0371, back_emf=0.0371,
        arm_damping=1.5e-5, pendulum_damping=7e-6, coulomb_torque=6.5e-4, coulomb_speed=0.3,
        cable_stiffness=7.4e-4, cable_rest=-0.49),
    encoder_counts=2048,
    velocity_filter=82.0,
    delay=1,
    voltage_limit=18.0,
    arm_stop=2.4,
)

# Qube-Servo 3 by its courseware. No recordings of one were at hand: dry friction and the filter
# are assumed, the delay is that of the calibrated plant.
QUBE3 = replace(CALIBRATED, voltage_limit=15.0, velocity_filter=50.0, parameters=Parameters(
    arm_inertia=0.095 * 0.085 ** 2 / 3, resistance=7.5, torque_constant=0.0422,
    back_emf=0.0422, arm_damping=1e-3, coulomb_torque=9e-4, coulomb_speed=0.5))

PRESETS = {'ideal': IDEAL, 'calibrated': CALIBRATED, 'qube3': QUBE3}

# (k_theta, k_alpha) from which a run begins: poor, and safe in 20 of 20 episodes.
STARTS = {
    'ideal': ((-5.4, 24.5), (-5.2, 24.0), (-5.0, 24.6)),
    'calibrated': ((-5.4, 24.5), (-5.2, 24.0), (-5.0, 24.6)),
    'qube3': ((-5.4, 32.5), (-5.2, 32.0), (-5.0, 32.6)),
}


def preset(name: str) -> Plant:
    """Return the plant of that name, or the one in the preset file of that name."""
    if name.endswith('.yaml'):
        return read_preset(Path(name))
    if name not in PRESETS:
        raise ValueError(f'plant preset {name!r} is unknown; choose one of {sorted(PRESETS)}, or '
                         'a file that ends in .yaml (docs/identify.md)')
    return PRESETS[name]
