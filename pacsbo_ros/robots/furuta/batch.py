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
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.dynamics import ONE_24TH, ONE_120TH, SIXTH  # noqa: I101
from pacsbo_ros.robots.furuta.episode import check_delay, EpisodeSettings, Limits, Start
from pacsbo_ros.robots.furuta.judging import saturated, see
from pacsbo_ros.robots.furuta.parameters import Coefficients
from pacsbo_ros.robots.furuta.plant import filter_coefficients, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS

Array = NDArray[np.float64]
OUTPUTS = 1 + len(CONSTRAINTS)
CHUNK = 2000  # episodes at a time, so that the working set stays in the cache


@dataclass(frozen=True)
class BatchResult:
    """Report n episodes; the fields are those of EpisodeResult."""

    reward: Array  # (n,)
    max_abs_alpha: Array  # (n,) rad
    max_abs_theta: Array  # (n,) rad
    decay_rate: Array  # (n,) 1/s
    swing: Array  # (n,)
    saturated: Array  # (n,)
    values: Array  # (n, 5) for the optimiser: reward, then scaling.CONSTRAINTS
    noise: Array  # (n, 5)
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
    if settings.start is not Start.UPRIGHT or settings.trace or settings.backup:
        raise ValueError('a batch starts upright, keeps no trace and has no backup; use '
                         'run_episode instead')
    check_delay(plant, settings)
    spread = plant.start_spread
    starts = np.array([np.random.default_rng(seed).uniform(-spread, spread, 2)
                       for seed in start_seeds]).reshape(-1, 2)
    parts = [_chunk(k[i:i + CHUNK], starts[i:i + CHUNK], plant, limits, settings)
             for i in range(0, len(k), CHUNK)]
    columns = np.hstack([np.zeros((8 + 2 * OUTPUTS, 0)), *parts])
    reward, alpha, theta, decay, swing, share, outcome, count = columns[:8]
    return BatchResult(reward, alpha, theta, decay, swing, share, columns[8:8 + OUTPUTS].T,
                       columns[8 + OUTPUTS:].T, outcome.astype(np.int64), count * SAMPLE_PERIOD)


def _chunk(k: Array, starts: Array, plant: Plant, limits: Limits,
           settings: EpisodeSettings) -> Array:
    """Return the columns of a BatchResult for some episodes, values and noise last."""
    tally, alphas, rows = _simulate(k, starts, plant, limits, settings)
    columns = []
    for i, (total, count, alpha, theta, outcome) in enumerate(tally.T.tolist()):
        missing = settings.samples - count
        reward = (total + missing * settings.reward.worst) / settings.samples
        updates = rows[:math.ceil(count / settings.control_every), :, i].copy()
        seen = see(alphas[:int(count), i].copy(), updates, tuple(k[i].tolist()), limits, settings,
                   reward, (alpha, theta),
                   missing / settings.samples if outcome == Outcome.TRIPPED else None)
        columns.append((
            reward, alpha, theta, seen.decay.value if seen.decay else math.nan,
            seen.swing.value if seen.swing else math.nan, saturated(updates, limits.voltage),
            outcome, count, *settings.scaling.values(seen), *settings.scaling.noise(seen)))
    return np.array(columns).T


def _simulate(k: Array, starts: Array, plant: Plant, limits: Limits,
              settings: EpisodeSettings) -> tuple[Array, Array, Array]:
    """
    Return what the scalar episode collects.

    Reward sum, samples scored, peak alpha and theta, outcome; alpha (samples, n) at every sample;
    state and voltage (updates, 5, n) at every control update.
    """
    tally = np.zeros((5, len(k)))
    alphas = np.zeros((settings.samples, len(k)))
    rows = np.zeros((math.ceil(settings.samples / settings.control_every), 5, len(k)))
    running = np.arange(len(k))  # the columns of tally to which the working arrays belong
    total, count, peak_alpha, peak_theta, outcome = tally.copy()
    alive = np.ones(len(k), bool)
    bias = np.array([[plant.theta_bias], [plant.alpha_bias]])
    pole, gain = filter_coefficients(plant.velocity_filter or 0.0)
    coefficients, dt = plant.parameters.coefficients, SAMPLE_PERIOD / plant.substeps
    physics = Integrator(starts.T, np.zeros((2, len(k))), coefficients, dt)
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
            _end(alive, outcome, ~np.isfinite(volts), Outcome.INVALID_COMMAND)
            volts = _clamp(np.where(alive, volts, 0.0), limits.voltage)
            rows[tick // settings.control_every][:, running] = q_theta, q_alpha, q_w, q_v, volts
        alphas[tick, running] = q_alpha
        total += alive * settings.reward.samples(q_theta, q_alpha, q_w, q_v, volts)
        count += alive
        np.maximum(peak_alpha, abs_alpha, out=peak_alpha, where=alive)
        np.maximum(peak_theta, abs_theta, out=peak_theta, where=alive)
        _end(alive, outcome, abs_alpha > limits.alpha, Outcome.TRIPPED)
        _end(alive, outcome, abs_theta > limits.theta, Outcome.TRIPPED)
        _end(alive, outcome, np.abs(measured_speeds).max(0) > limits.speed,
             Outcome.TRIPPED)
        if tick == settings.push_sample and settings.push is not None:
            physics.speeds[1] += settings.push.alpha_dot

        if tick % 20 == 19 and alive.mean() < 0.95:
            tally[:, running] = total, count, peak_alpha, peak_theta, outcome
            if not alive.any():
                return tally, alphas, rows
            running, kt, volts = running[alive], kt[:, alive], volts[alive]
            total, count, peak_alpha, peak_theta, outcome = tally[:, running]
            measured_speeds, last = measured_speeds[:, alive], last[:, alive]
            physics = Integrator(physics.angles[:, alive], physics.speeds[:, alive],
                                 coefficients, dt)
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
    tally[:, running] = total, count, peak_alpha, peak_theta, outcome
    return tally, alphas, rows


def _end(alive: NDArray[np.bool_], outcome: Array, hit: NDArray[np.bool_],
         code: Outcome) -> None:
    """Let the episodes that are hit and still alive end with a code."""
    if hit.any():
        outcome[alive & hit] = code
        alive &= ~hit


def _clamp(x: Array, limit: float) -> Array:
    """Return x within plus and minus limit; faster than np.clip."""
    return np.minimum(np.maximum(x, -limit), limit)


class Integrator:
    """
    Mirror dynamics.rk4 for n states, operation by operation.

    It keeps its memory, its views and its constants as 0-d arrays: at a thousand states half of
    the time would else go into making them.
    """

    def __init__(self, angles: Array, speeds: Array, coefficients: Coefficients,
                 dt: float) -> None:
        """Start from angles and speeds, (2, n); a coefficient may be an array (n,)."""
        n = angles.shape[1]
        self.angles = angles.copy()  # (2, n)
        self.speeds = speeds.copy()  # (2, n)
        self._c = Coefficients(*map(np.array, coefficients))  # type: ignore
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
        self._theta = np.empty(n)  # arm angle at a stage

    def step(self, volts: Array) -> None:
        """Advance angles and speeds in place by one step."""
        rates, accs, work = self._rates, self._accs, self._sum
        multiply(self._c.drive, volts, self._drive)
        np.sin(self._alpha, self._base_s)
        np.cos(self._alpha, self._base_k)
        self._work[0][:] = self._base_s
        self._work[1][:] = self._base_k
        self._theta[:] = self.angles[0]
        self._accelerate(0)
        for stage, reach in enumerate(self._reaches):
            rate = rates[stage + 1]
            multiply(reach, accs[stage], rate)
            add(self.speeds, rate, rate)
            self._turn(reach, self._stage_views[stage][1])
            multiply(reach, self._stage_views[stage][0], self._theta)
            add(self.angles[0], self._theta, self._theta)
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
        (b0, b1, b2, b4, _, arm_damping, pendulum_damping, coulomb, omega_c_squared, cable,
         cable_rest, _) = self._c
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
        subtract(self._theta, cable_rest, theta_acc)
        multiply(cable, theta_acc, theta_acc)
        subtract(self._drive, theta_acc, theta_acc)
        subtract(theta_acc, f, f)
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
