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

"""A pole on a cart, balanced by state feedback: a whole robot for the tuner, in one class."""
from math import sqrt
import random

import mujoco
from pacsbo_ros.robots.python import RewardScale, Robot, Signal, Tunable

MODEL = mujoco.MjModel.from_xml_string("""
<mujoco>
  <worldbody>
    <body>
      <joint name="cart" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.1 0.05 0.05" mass="1"/>
      <body>
        <joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0 0 1" mass="0.2" contype="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="cart"/></actuator>
</mujoco>""")


class CartPole(Robot):
    """Balance for five seconds; 1 kg of cart carries 0.2 kg of pole, one metre long."""

    tunables = (Tunable('k_angle', 'N/rad', 25.0, 120.0, 45.0),
                Tunable('k_cart', 'N/m', 0.5, 30.0, 2.0))
    signals = (Signal('angle', 'rad', 0.5), Signal('cart', 'm', 1.0))
    constraints = ('cart', 'calm')
    reward = RewardScale(offset=-1.2, scale=0.5)
    safe = ((45.0, 2.0), (50.0, 2.0), (45.0, 3.0))

    def run(self, values, seed):
        """Return a reward for a short way back to rest; calm is the angle after three seconds."""
        data, cost, late = mujoco.MjData(MODEL), 0.0, 0.0
        data.qpos[1] = random.Random(seed).gauss(0.12, 0.001)
        while data.time < 5.0 and self.watch(data.time, data.qpos[::-1]):
            (x, a), (v, w) = data.qpos, data.qvel
            data.ctrl = values['k_angle'] * a + 9.0 * w + values['k_cart'] * x + 5.0 * v
            cost += 0.002 * (25 * x * x + 100 * a * a)
            late = max(late, abs(a)) if data.time > 3.0 else late
            mujoco.mj_step(MODEL, data)
        calm = 1.0 - late / 0.1 if data.time >= 5.0 else -1.0
        return -sqrt(cost), [1.0 - self.peaks['cart'] / 0.5, calm]
