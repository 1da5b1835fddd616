# Copyright the pacsbo_ros developers. Apache-2.0.
"""Plants by name; docs/furuta.md says where every number comes from."""
from __future__ import annotations

from dataclasses import replace

from pacsbo_ros.furuta.parameters import Parameters
from pacsbo_ros.furuta.plant import Plant

# The bare equations with Quanser's courseware values. It has no upper stability edge near the
# real one: good for checking mathematics, useless for tuning.
IDEAL = Plant(voltage_limit=18.0)

# Qube-Servo 2. Arm inertia (divisor 6 where sources have 12 or 3), Coulomb torque, Coulomb speed
# and delay were fitted to twenty trials on one real device (data/qube_trials.csv).
CALIBRATED = Plant(
    parameters=Parameters(arm_inertia=0.095 * 0.085 ** 2 / 6, coulomb_torque=9e-4,
                          coulomb_speed=0.5),
    encoder_counts=2048,
    velocity_filter=50.0,
    delay=1,
    voltage_limit=18.0,
    arm_stop=2.4,
)

# Qube-Servo 3 by its courseware; friction, filter and delay as on the calibrated Qube-Servo 2,
# because no trials of a Qube-Servo 3 were at hand.
QUBE3 = replace(CALIBRATED, voltage_limit=15.0, parameters=Parameters(
    arm_inertia=0.095 * 0.085 ** 2 / 3, resistance=7.5, torque_constant=0.0422,
    back_emf=0.0422, arm_damping=1e-3, coulomb_torque=9e-4, coulomb_speed=0.5))

PRESETS = {'ideal': IDEAL, 'calibrated': CALIBRATED, 'qube3': QUBE3}


def preset(name: str) -> Plant:
    """Return the plant of that name."""
    if name not in PRESETS:
        raise ValueError(f'plant preset {name!r} is unknown; choose one of {sorted(PRESETS)}')
    return PRESETS[name]
