"""A pole on a cart, balanced by state feedback: a whole robot for the tuner, in one class."""
from math import cos, sin, sqrt
import random

from pacsbo_ros.robots.python import RewardScale, Robot, Signal, Tunable


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
        x = v = w = t = cost = late = 0.0
        a = random.Random(seed).gauss(0.12, 0.001)
        while t < 5.0 and self.watch(t, [a, x]):
            force = values['k_angle'] * a + 9.0 * w + values['k_cart'] * x + 5.0 * v
            cost += 0.002 * (25 * x * x + 100 * a * a)
            late = max(late, abs(a)) if t > 3.0 else late
            pull = (force + 0.1 * w * w * sin(a)) / 1.2
            turn = (9.81 * sin(a) - cos(a) * pull) / (0.5 * (4 / 3 - 0.2 * cos(a) ** 2 / 1.2))
            v += 0.002 * (pull - 0.1 * turn * cos(a) / 1.2)
            x, w, t = x + 0.002 * v, w + 0.002 * turn, t + 0.002
            a += 0.002 * w
        calm = 1.0 - late / 0.1 if t >= 5.0 else -1.0
        return -sqrt(cost), [1.0 - self.peaks['cart'] / 0.5, calm]
