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

"""All pictures of the pendulum agree with its equations of motion."""
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from pacsbo_ros.robots.drawing import Ball, drawing_of, Rod
from pacsbo_ros.robots.furuta import drawing as pendulum
from pacsbo_ros.robots.furuta.dynamics import accelerations
from pacsbo_ros.robots.furuta.parameters import Parameters
import pytest
from scipy.spatial.transform import Rotation

URDF = Path(__file__).parents[3] / 'config' / 'furuta.urdf'
ANGLES = st.floats(-4, 4)


@given(ANGLES, ANGLES)
def test_the_pendulum_keeps_its_length(theta, alpha):
    joint, end = pendulum.arm_end(theta), pendulum.tip(theta, alpha)
    assert np.linalg.norm(np.subtract(end, joint)) == pytest.approx(pendulum.PENDULUM)
    assert end[2] - joint[2] == pytest.approx(pendulum.PENDULUM * np.cos(alpha))


@given(ANGLES, ANGLES)
def test_the_drawn_sense_of_alpha_is_that_of_the_dynamics(theta, alpha):
    """The inertia that couples both joints, from the drawn geometry and from the equations."""
    p, step = Parameters(), 1e-5

    def centre(t, a):
        return (np.array(pendulum.arm_end(t)) + pendulum.tip(t, a)) / 2

    by_theta = (centre(theta + step, alpha) - centre(theta - step, alpha)) / (2 * step)
    by_alpha = (centre(theta, alpha + step) - centre(theta, alpha - step)) / (2 * step)
    coupling = p.pendulum_mass * by_theta @ by_alpha
    # In the equations a torque on the arm turns the pendulum by b2 cos(alpha) per arm's turn.
    s, k, c = np.sin(alpha), np.cos(alpha), p.coefficients
    pushed, free = (accelerations(0.0, s, k, 0, 0, volts, c) for volts in (1.0, 0.0))
    turn = (pushed[1] - free[1]) / (pushed[0] - free[0])
    assert coupling == pytest.approx(-turn * c.a3, abs=1e-9)


def moving_joints(root):
    return [joint for joint in root.iter('joint') if joint.get('type') != 'fixed']


def urdf_tip(theta, alpha):
    """Walk along the URDF's joints to the end of the pendulum."""
    root = ElementTree.parse(URDF).getroot()
    place, turn = np.zeros(3), Rotation.identity()
    for joint, angle in zip(moving_joints(root), (theta, alpha), strict=True):
        place = place + turn.apply([float(x) for x in joint.find('origin').get('xyz').split()])
        axis = np.array([float(x) for x in joint.find('axis').get('xyz').split()])
        turn = turn * Rotation.from_rotvec(axis * angle)
    return place + turn.apply([0, 0, pendulum.PENDULUM])


@given(ANGLES, ANGLES)
def test_the_urdf_is_the_same_pendulum(theta, alpha):
    np.testing.assert_allclose(urdf_tip(theta, alpha), pendulum.tip(theta, alpha), atol=1e-9)


def test_the_urdf_has_the_joints_of_the_joint_states_and_the_parameters_of_the_plant():
    root = ElementTree.parse(URDF).getroot()
    assert [j.get('name') for j in moving_joints(root)] == ['theta', 'alpha']
    # The markers' frame, and the robot's own, where everybody looks for it.
    assert [link.get('name') for link in root.iter('link')][:2] == ['pacsbo', 'base_link']
    assert moving_joints(root)[0].find('parent').get('link') == 'base_link'
    masses = [float(m.get('value')) for m in root.iter('mass')]
    assert masses == [Parameters().arm_mass, Parameters().pendulum_mass]


@given(ANGLES, ANGLES)
def test_the_parts_hang_together_and_follow_the_signals(theta, alpha):
    drawing = drawing_of('furuta')
    parts = drawing.parts({'alpha': alpha, 'theta': theta})
    arm, rod = (p for p in parts if isinstance(p, Rod) and p.radius == pendulum.RADIUS)
    joint, tip = (p for p in parts if isinstance(p, Ball))
    assert arm.end == rod.start == joint.centre == pendulum.arm_end(theta)
    assert rod.end == tip.centre == pendulum.tip(theta, alpha)
    assert [type(p) for p in drawing.parts({})] == [type(p) for p in parts]


def test_a_robot_without_a_drawing_has_none():
    assert drawing_of('cart_pole') is None
