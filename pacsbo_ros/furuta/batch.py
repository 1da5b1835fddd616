# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Many simulated episodes at once, with the numbers of run_episode on a SimulatedDriver.

Each line mirrors its scalar twin in dynamics.py, driver.py or episode.py, operation by operation,
so that rounding is the same and the encoders see the same counts.

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
from numpy.typing import ArrayLike, NDArray

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
    total, count, alpha, theta, outcome = (
        np.concatenate(parts) for parts in zip(*tallies, strict=True)) if tallies else (
        np.zeros(0),) * 5
    reward = (total + (settings.samples - count) * settings.reward.worst) / settings.samples
    values = np.array([
        _values(*row, limits, settings) for row in zip(
            reward.tolist(), alpha.tolist(), theta.tolist(), outcome.tolist(), strict=True)])
    return BatchResult(reward, alpha, theta, values.reshape(-1, 3), outcome.astype(np.int64),
                       count * SAMPLE_PERIOD)


def _values(reward: float, alpha: float, theta: float, outcome: float, limits: Limits,
            settings: EpisodeSettings) -> tuple[float, float, float]:
    """Scale one episode for the optimiser, exactly as Episode.result does."""
    return settings.scaling.values(reward, (alpha, limits.alpha), (theta, limits.theta),
                                   Outcome(int(outcome)).is_trip)


def _simulate(k: Array, starts: Array, plant: Plant, limits: Limits,
              settings: EpisodeSettings) -> tuple[Array, ...]:
    """Return reward sum, samples scored, peak alpha, peak theta and outcome of each episode."""
    tally = np.zeros((5, len(k)))
    running = np.arange(len(k))  # the columns of tally to which the working arrays belong
    total, count, peak_alpha, peak_theta, outcome = tally.copy()
    alive = np.ones(len(k), bool)
    bias = np.array([[plant.theta_bias], [plant.alpha_bias]])
    pole, gain = filter_coefficients(plant.velocity_filter or 0.0)
    angles = starts.T.copy()
    speeds = np.zeros_like(angles)
    measured_speeds = np.zeros_like(angles)
    last: Array | None = None
    volts = np.zeros(len(k))
    pending = deque([volts] * plant.delay)
    kt = k.T
    integrator = _Integrator(len(k), plant)
    for tick in range(settings.samples):
        measured = angles + bias
        if plant.resolution:
            measured = plant.resolution * np.rint(measured / plant.resolution)
        if plant.velocity_filter is None:
            measured_speeds = speeds.copy()
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
            volts = np.clip(np.nan_to_num(volts), -limits.voltage, limits.voltage)
        total += alive * settings.reward.samples(q_theta, q_alpha, q_w, q_v, volts)
        count += alive
        np.maximum(peak_alpha, abs_alpha, out=peak_alpha, where=alive)
        np.maximum(peak_theta, abs_theta, out=peak_theta, where=alive)
        _end(alive, outcome, abs_alpha > limits.alpha, Outcome.TRIPPED_ANGLE)
        _end(alive, outcome, abs_theta > limits.theta, Outcome.TRIPPED_ARM)
        _end(alive, outcome, np.abs(measured_speeds).max(0) > limits.speed,
             Outcome.TRIPPED_SPEED)
        if tick == settings.push_sample and settings.push is not None:
            speeds[1] += settings.push.alpha_dot

        if tick % 50 == 49 and alive.mean() < 0.9:
            tally[:, running] = total, count, peak_alpha, peak_theta, outcome
            if not alive.any():
                return tuple(tally)
            running, kt, volts = running[alive], kt[:, alive], volts[alive]
            total, count, peak_alpha, peak_theta, outcome = tally[:, running]
            angles, speeds, measured_speeds, last = (
                x[:, alive] for x in (angles, speeds, measured_speeds, last))
            pending = deque(x[alive] for x in pending)
            alive = alive[alive]
            integrator = _Integrator(len(running), plant)
        pending.append(volts)
        applied = np.clip(pending.popleft(), -plant.voltage_limit, plant.voltage_limit)
        for _ in range(plant.substeps):
            integrator.step(angles, speeds, applied)
            if plant.arm_stop != math.inf:
                stopped = np.abs(angles[0]) > plant.arm_stop
                if stopped.any():
                    angles[0, stopped] = np.copysign(plant.arm_stop, angles[0, stopped])
                    speeds[0, stopped] = 0.0
    tally[:, running] = total, count, peak_alpha, peak_theta, outcome
    return tuple(tally)


def _end(alive: NDArray[np.bool_], outcome: Array, hit: NDArray[np.bool_],
         code: Outcome) -> None:
    """Let the episodes that are hit and still alive end with a code."""
    outcome[alive & hit] = code
    alive &= ~hit


class _Integrator:
    """Mirror dynamics.rk4 for n states; keeps its memory and 0-d constants, which halves time."""

    def __init__(self, n: int, plant: Plant) -> None:
        dt = SAMPLE_PERIOD / plant.substeps
        c = plant.parameters.coefficients
        self._c = Coefficients(*(np.array(value) for value in c))  # type: ignore[arg-type]
        self._dt, self._half, self._sixth = np.array(dt), np.array(0.5 * dt), np.array(dt / 6.0)
        self._two = np.array(2.0)
        self._acc = np.empty((4, 2, n))  # (stage, joint, n)
        self._vel = np.empty((4, 2, n))
        self._angle = np.empty((2, n))
        self._work = np.empty((5, n))
        self._drive = np.empty(n)

    def step(self, angles: Array, speeds: Array, volts: Array) -> None:
        """Advance angles and speeds, both (2, n), in place by one step."""
        acc, vel, work = self._acc, self._vel, self._angle
        np.multiply(self._c.drive, volts, self._drive)
        vel[0] = speeds
        self._accelerate(angles[1], vel[0], acc[0])
        for stage, reach in ((1, self._half), (2, self._half), (3, self._dt)):
            np.multiply(reach, acc[stage - 1], vel[stage])
            np.add(speeds, vel[stage], vel[stage])
            np.multiply(reach, vel[stage - 1, 1], work[1])
            np.add(angles[1], work[1], work[1])
            self._accelerate(work[1], vel[stage], acc[stage])
        for total, rate in ((angles, vel), (speeds, acc)):
            np.add(rate[1], rate[2], work)
            np.multiply(self._two, work, work)
            np.add(rate[0], work, work)
            np.add(work, rate[3], work)
            np.multiply(self._sixth, work, work)
            np.add(total, work, total)

    def _accelerate(self, alpha: Array, speeds: Array, out: Array) -> None:
        """Mirror dynamics.accelerations, operation by operation."""
        c = self._c
        w, v = speeds
        s, k, p, q, f = self._work
        theta_acc, f2 = out
        np.sin(alpha, s)
        np.cos(alpha, k)
        np.multiply(c.b1, s, p)
        np.multiply(p, k, q)
        np.multiply(q, w, q)
        np.multiply(c.b2, k, k)  # m12
        np.multiply(w, w, f)
        np.add(f, c.coulomb_speed_squared, f)
        np.sqrt(f, f)
        np.divide(c.coulomb, f, f)
        np.add(f, c.arm_damping, f)
        np.multiply(f, w, f)
        np.subtract(self._drive, f, f)
        np.multiply(q, w, f2)
        np.add(q, q, q)
        np.multiply(c.b2, s, theta_acc)
        np.multiply(theta_acc, v, theta_acc)
        np.add(q, theta_acc, q)
        np.multiply(q, v, q)
        np.subtract(f, q, f)  # f1
        np.multiply(c.b4, s, q)
        np.add(f2, q, f2)
        np.multiply(c.pendulum_damping, v, q)
        np.subtract(f2, q, f2)
        np.multiply(k, f2, q)
        np.add(q, f, q)
        np.multiply(p, s, p)
        np.add(p, c.b0, p)
        np.multiply(k, k, f)
        np.subtract(p, f, p)
        np.divide(q, p, theta_acc)
        np.multiply(k, theta_acc, q)
        np.add(q, f2, f2)
