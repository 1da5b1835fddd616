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

"""The amplifier's watchdog and the assistant who sets the pendulum upright again."""
import math

import numpy as np
from pacsbo_ros.robots.furuta.assisted import AssistedPlant
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import CALIBRATED
import pytest


class Bench:
    """Step a plant through time."""

    def __init__(self, **options):
        self.plant = AssistedPlant(CALIBRATED, 0.05, 0.5, np.random.default_rng(0), **options)
        self.now = 10.0

    def step(self, volts=None):
        self.now += SAMPLE_PERIOD
        if volts is not None:
            self.plant.command(self.now, volts)
        return self.plant.step(self.now)


def test_the_pendulum_is_held_upright_until_the_first_voltage():
    bench = Bench()
    first = bench.step()
    assert 0 < abs(first.alpha) < 0.06
    assert all(bench.step(0.0) == first for _ in range(100))
    bench.step(1.0)
    assert bench.plant.applied == 1.0
    assert bench.step(1.0) != first


def test_silence_and_numbers_that_are_none_mean_zero_volts_in_time():
    bench = Bench()
    for hostile in (None, math.nan, math.inf, -math.inf):
        bench.step(3.0)
        start = bench.now
        while bench.plant.applied:
            bench.step(hostile)
        assert 0.05 < bench.now - start <= 0.05 + 2 * SAMPLE_PERIOD


def test_a_voltage_beyond_the_supply_is_clamped():
    bench = Bench()
    bench.step(-1e300)
    assert bench.plant.applied == -18.0


def test_a_fallen_pendulum_is_set_upright_after_a_while_at_zero_volts():
    bench = Bench()
    bench.step(2.0)
    angles = [abs(bench.step().alpha) for _ in range(round(1.0 / SAMPLE_PERIOD))]
    assert max(angles) > 0.3
    assert angles[-1] < 0.06


def test_nobody_helps_a_pendulum_that_is_to_be_swung_up():
    bench = Bench(hanging=True)
    assert all(bench.step().alpha == pytest.approx(math.pi, abs=0.01) for _ in range(300))


def test_good_gains_keep_it_upright():
    bench = Bench()
    state = bench.step()
    for sample in range(400):
        if sample % 4 == 0:
            volts = -float(np.dot(PAPER_GAINS.as_tuple(), state))
        state = bench.step(volts)
        assert abs(state.alpha) < 0.3
