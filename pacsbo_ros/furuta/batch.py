# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Many simulated episodes at once, with the numbers of run_episode on a SimulatedDriver.

Each line mirrors its scalar twin in dynamics.py, driver.py or episode.py, operation by operation,
so that rounding is the same and the encoders see the same counts. NumPy takes sine and cosine of
doubles from the C library, as Python does; all other operations are exactly rounded anyway.

Symbol     Shape     Meaning
n          -         episodes still running; those that ended are taken out now and then
theta ..   (n,)      true state
q_..       (n,)      measured state
pending    list      voltages (n,) on their way to the motor, oldest first
"""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from numpy import add, divide, multiply, subtract
from numpy.typing import ArrayLike, NDArray

from pacsbo_ros.furuta.dynamics import ONE_24TH, ONE_120TH, SIXTH
from pacsbo_ros.furuta.episode import EpisodeSettings, Limits, Start, check_delay
from pacsbo_ros.furuta.outcome import Outcome
from pacsbo_ros.furuta.parameters import Coefficients
from pacsbo_ros.furuta.plant import SAMPLE_PERIOD, Plant, filter_coefficients
from pacsbo_ros.furuta.presets import CALIBRATED

Array = NDArray[np.float64]
CHUNK = 2000  # episodes at a time, so that the working set stays in the cache


@dataclass(frozen=True)
class BatchResult:
    """Report n episodes; the fields are those of EpisodeResult."""

    reward: Array  # (n,)
    max_abs_alpha: Array  # (n,) rad
    max_abs_theta: Array  # (n,) rad
    ringing: Array  # (n,) rad
    values: Array  # (n, 3) for the optimiser: reward, angle and arm constraint
    outcome: NDArray[np.int64]  # (n,)
    duration: Array  # (n,) s


def simulate_batch(gains: ArrayLike, seeds: ArrayLike, plant: Plant = CALIBRATED,
                   limits: Limits | None = None,
                   settings: EpisodeSettings | None = None) -> BatchResult:
    """Run episode i with gains[i], shape (n, 4), from the start that seeds[i] draws."""
    k = np.atleast_2d(np.asarray(gains, float))
    start_seeds = np.atleast_1d(np.asarray(seeds))
    settings = settings or EpisodeSettings()
    limits = limits or Limits()
    if k.ndim != 2 or k.shape[1] != 4:
        raise ValueError(f'gains have shape {k.shape}; need (n, 4)')
    if start_seeds.shape != (len(k),):
        raise ValueError(f'seeds have shape {start_seeds.shape} for {len(k)} gains; '
                         'give one seed for each')
    if not np.isfinite(k).all():
        raise ValueError(f'gains of row {np.argmin(np.isfinite(k).all(1))} are not finite')
    if settings.start is not Start.UPRIGHT or settings.trace:
        raise ValueError('a batch starts upright and keeps no trace; use run_episode instead')
    check_delay(plant, settings)
    spread = plant.start_spread
    starts = np.array([np.random.default_rng(seed).uniform(-spread, spread, 2)
                       for seed in start_seeds]).reshape(-1, 2)
    tallies = [_simulate(k[i:i + CHUNK], starts[i:i + CHUNK], plant, limits, settings)
               for i in range(0, len(k), CHUNK)]
    total, count, alpha, theta, ringing, outcome = np.hstack([np.zeros((6, 0)), *tallies])
    missing = settings.samples - count
    reward = (total + missing * settings.reward.worst) / settings.samples
    values = [settings.scaling.values(
        reward[i], (alpha[i], limits.alpha), (theta[i], limits.theta), ringing[i],
        missing[i] / settings.samples if Outcome(int(outcome[i])).is_trip else None)
        for i in range(len(k))]
    return BatchResult(reward, alpha, theta, ringing, np.array(values).reshape(-1, 3),
                       outcome.astype(np.int64), count * SAMPLE_PERIOD)


def _simulate(k: Array, starts: Array, plant: Plant, limits: Limits,
              settings: EpisodeSettings) -> Array:
    """Return reward sum, samples scored, peak alpha and theta, ringing and outcome."""
    tally = np.zeros((6, len(k)))
    running = np.arange(len(k))  # the columns of tally to which the working arrays belong
    total, count, peak_alpha, peak_theta, ringing, outcome = tally.copy()
    alive = np.ones(len(k), bool)
    bias = np.array([[plant.theta_bias], [plant.alpha_bias]])
    pole, gain = filter_coefficients(plant.velocity_filter or 0.0)
    physics = _Integrator(starts.T, np.zeros((2, len(k))), plant)
    measured_speeds = np.zeros((2, len(k)))
    last: Array | None = None
    volts = np.zeros(len(k))
    pending = deque([volts] * plant.delay)
    kt = k.T
    for tick in range(settings.samples):
        measured = physics.angles + bias
        if plant.resolution:
            measured = plant.resolution * np.rint(measured / plant.resolution)
        if plant.velocity_filter is None:
            measured_speeds = physics.speeds.copy()
        elif last is not None:
            measured_speeds = pole * measured_speeds + gain * (measured - last)
        last = measured
        q_theta, q_alpha = measured
        q_alpha = q_alpha - 2 * math.pi * np.rint(q_alpha / (2 * math.pi))
        q_w, q_v = measured_speeds

        abs_theta, abs_alpha = np.abs(q_theta), np.abs(q_alpha)
        if tick == 0:
            _end(alive, outcome, (abs_alpha > settings.start_angle)
                 | (abs_theta > 3 * settings.start_angle), Outcome.START_FAILED)
        if tick % settings.control_every == 0:
            with np.errstate(over='ignore', invalid='ignore'):  # absurd gains: an outcome
                volts = -(kt[0] * q_theta + kt[1] * q_alpha + kt[2] * q_w + kt[3] * q_v)
            _end(alive, outcome, ~np.isfinite(volts), Outcome.TRIPPED_VOLTAGE)
            volts = _clamp(np.where(alive, volts, 0.0), limits.voltage)
        total += alive * settings.reward.samples(q_theta, q_alpha, q_w, q_v, volts)
        count += alive
        np.maximum(peak_alpha, abs_alpha, out=peak_alpha, where=alive)
        np.maximum(peak_theta, abs_theta, out=peak_theta, where=alive)
        if tick >= settings.ringing_sample:
            np.maximum(ringing, abs_alpha, out=ringing, where=alive)
        _end(alive, outcome, abs_alpha > limits.alpha, Outcome.TRIPPED_ANGLE)
        _end(alive, outcome, abs_theta > limits.theta, Outcome.TRIPPED_ARM)
        _end(alive, outcome, np.abs(measured_speeds).max(0) > limits.speed,
             Outcome.TRIPPED_SPEED)
        if tick == settings.push_sample and settings.push is not None:
            physics.speeds[1] += settings.push.alpha_dot

        if tick % 20 == 19 and alive.mean() < 0.95:
            tally[:, running] = total, count, peak_alpha, peak_theta, ringing, outcome
            if not alive.any():
                return tally
            running, kt, volts = running[alive], kt[:, alive], volts[alive]
            total, count, peak_alpha, peak_theta, ringing, outcome = tally[:, running]
            measured_speeds, last = measured_speeds[:, alive], last[:, alive]
            physics = _Integrator(physics.angles[:, alive], physics.speeds[:, alive], plant)
            pending = deque(x[alive] for x in pending)
            alive = alive[alive]
        pending.append(volts)
        applied = _clamp(pending.popleft(), plant.voltage_limit)
        for _ in range(plant.substeps):
            physics.step(applied)
            if plant.arm_stop != math.inf and np.abs(physics.angles[0]).max() > plant.arm_stop:
                theta = physics.angles[0]
                stopped = np.abs(theta) > plant.arm_stop
                theta[stopped] = np.copysign(plant.arm_stop, theta[stopped])
                physics.speeds[0, stopped] = 0.0
    tally[:, running] = total, count, peak_alpha, peak_theta, ringing, outcome
    return tally


def _end(alive: NDArray[np.bool_], outcome: Array, hit: NDArray[np.bool_],
         code: Outcome) -> None:
    """Let the episodes that are hit and still alive end with a code."""
    if hit.any():
        outcome[alive & hit] = code
        alive &= ~hit


def _clamp(x: Array, limit: float) -> Array:
    """Return x within plus and minus limit; faster than np.clip."""
    return np.minimum(np.maximum(x, -limit), limit)


class _Integrator:
    """
    Mirror dynamics.rk4 for n states, operation by operation.

    It keeps its memory, its views and its constants as 0-d arrays: at a thousand states half of
    the time would else go into making them.
    """

    def __init__(self, angles: Array, speeds: Array, plant: Plant) -> None:
        n = angles.shape[1]
        dt = SAMPLE_PERIOD / plant.substeps
        self.angles = angles.copy()  # (2, n)
        self.speeds = speeds.copy()  # (2, n)
        self._c = Coefficients(*map(np.array, plant.parameters.coefficients))  # type: ignore
        self._sixth, self._two = np.array(dt / 6.0), np.array(2.0)
        self._series = tuple(map(np.array, (1.0, 0.5, SIXTH, ONE_24TH, ONE_120TH)))
        self._reaches = (np.array(0.5 * dt), np.array(0.5 * dt), np.array(dt))
        self._rates = [self.speeds, *np.empty((3, 2, n))]  # speeds at the four stages
        self._accs = list(np.empty((4, 2, n)))
        self._stage_views = [(*rate, *acc) for rate, acc in
                             zip(self._rates, self._accs, strict=True)]
        self._alpha = self.angles[1]
        self._sum = np.empty((2, n))
        self._base_s, self._base_k = np.empty((2, n))  # sine and cosine of alpha
        self._work = tuple(np.empty((5, n)))
        self._drive = np.empty(n)

    def step(self, volts: Array) -> None:
        """Advance angles and speeds in place by one step."""
        rates, accs, work = self._rates, self._accs, self._sum
        multiply(self._c.drive, volts, self._drive)
        np.sin(self._alpha, self._base_s)
        np.cos(self._alpha, self._base_k)
        self._work[0][:] = self._base_s
        self._work[1][:] = self._base_k
        self._accelerate(0)
        for stage, reach in enumerate(self._reaches):
            rate = rates[stage + 1]
            multiply(reach, accs[stage], rate)
            add(self.speeds, rate, rate)
            self._turn(reach, self._stage_views[stage][1])
            self._accelerate(stage + 1)
        for total, (d1, d2, d3, d4) in ((self.angles, rates), (self.speeds, accs)):
            add(d2, d3, work)
            multiply(self._two, work, work)
            add(d1, work, work)
            add(work, d4, work)
            multiply(self._sixth, work, work)
            add(total, work, total)

    def _turn(self, reach: Array, v: Array) -> None:
        """Mirror dynamics.turn by the angle reach v, into the first two work arrays."""
        one, half, sixth, one_24th, one_120th = self._series
        s, k, d, y, t = self._work
        multiply(reach, v, d)
        multiply(d, d, y)
        multiply(y, one_120th, t)
        subtract(sixth, t, t)
        multiply(y, t, t)
        subtract(one, t, t)
        multiply(d, t, d)  # sine
        multiply(y, one_24th, t)
        subtract(half, t, t)
        multiply(y, t, t)
        subtract(one, t, y)  # cosine
        multiply(self._base_s, y, s)
        multiply(self._base_k, d, t)
        add(s, t, s)
        multiply(self._base_k, y, k)
        multiply(self._base_s, d, t)
        subtract(k, t, k)

    def _accelerate(self, stage: int) -> None:
        """Mirror dynamics.accelerations; sine and cosine are in the first two work arrays."""
        (b0, b1, b2, b4, _, arm_damping, pendulum_damping, coulomb, omega_c_squared,
         _) = self._c
        w, v, theta_acc, f2 = self._stage_views[stage]
        s, k, p, q, f = self._work
        multiply(b1, s, p)
        multiply(p, k, q)
        multiply(q, w, q)
        multiply(b2, k, k)  # m12
        multiply(w, w, f)
        add(f, omega_c_squared, f)
        np.sqrt(f, f)
        divide(coulomb, f, f)
        add(f, arm_damping, f)
        multiply(f, w, f)
        subtract(self._drive, f, f)
        multiply(q, w, f2)
        add(q, q, q)
        multiply(b2, s, theta_acc)
        multiply(theta_acc, v, theta_acc)
        add(q, theta_acc, q)
        multiply(q, v, q)
        subtract(f, q, f)  # f1
        multiply(b4, s, q)
        add(f2, q, f2)
        multiply(pendulum_damping, v, q)
        subtract(f2, q, f2)
        multiply(k, f2, q)
        add(q, f, q)
        multiply(p, s, p)
        add(p, b0, p)
        multiply(k, k, f)
        subtract(p, f, p)
        divide(q, p, theta_acc)
        multiply(k, theta_acc, q)
        add(q, f2, f2)
