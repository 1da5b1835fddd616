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
Many simulated episodes at once, with the numbers of run_episode on a SimulatedDriver.

Each line mirrors its scalar twin in dynamics.py, driver.py or episode.py, operation by operation,
so that rounding is the same and the encoders see the same counts. NumPy takes sine and cosine of
doubles from the C library, as Python does; all other operations are exactly rounded anyway.

With backups, one per episode, those episodes in which the backup takes over are run again, one at
a time: they are few, and what the backup does then is written down once.

Symbol     Shape     Meaning
n          -         episodes still running; those that ended are taken out now and then
theta ..   (n,)      true state
q_..       (n,)      measured state
pending    list      voltages (n,) on their way to the motor, oldest first
"""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup, FAR
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Start
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.integrator import Integrator
from pacsbo_ros.robots.furuta.judging import EpisodeResult, saturated, see
from pacsbo_ros.robots.furuta.plant import filter_coefficients, Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.running import check_delay, run_episode
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
                   limits: Limits | None = None, settings: EpisodeSettings | None = None,
                   backups: Sequence[Backup] | None = None) -> BatchResult:
    """
    Run episode i with gains[i], shape (n, 4), from the start that seeds[i] draws.

    backups: one per episode, all of one model of the pendulum; None: none takes over.
    """
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
        raise ValueError('a batch starts upright, keeps no trace and takes its backups apart; '
                         'use run_episode instead')
    if backups is not None and (len(backups) != len(k)
                                or len({b.parameters for b in backups}) > 1):
        raise ValueError(f'{len(backups)} backups for {len(k)} gains; give one for each, with '
                         'the same parameters')
    check_delay(plant, settings)
    spread = plant.start_spread
    starts = np.array([np.random.default_rng(seed).uniform(-spread, spread, 2)
                       for seed in start_seeds]).reshape(-1, 2)
    parts = []
    for i in range(0, len(k), CHUNK):
        part = slice(i, i + CHUNK)
        some = None if backups is None else backups[part]
        columns, taken = _chunk(k[part], starts[part], plant, limits, settings, some)
        for j in taken:
            columns[:, j] = _column(run_episode(
                SimulatedDriver(plant), Gains.from_sequence(k[i + j]), limits,
                replace(settings, backup=some[j] if some else None), seed=start_seeds[i + j]))
        parts.append(columns)
    return _result(np.hstack([np.zeros((8 + 2 * OUTPUTS, 0)), *parts]))


def gathered(results: Sequence[EpisodeResult]) -> BatchResult:
    """Return episodes that were run one by one as a batch."""
    return _result(np.array([_column(result) for result in results], float).T)


def _result(table: Array) -> BatchResult:
    reward, alpha, theta, decay, swing, share, outcome, count = table[:8]
    return BatchResult(reward, alpha, theta, decay, swing, share, table[8:8 + OUTPUTS].T,
                       table[8 + OUTPUTS:].T, outcome.astype(np.int64), count * SAMPLE_PERIOD)


def _column(result: EpisodeResult) -> tuple[float, ...]:
    """Return what one episode adds to the table of a batch."""
    return (result.reward, result.max_abs_alpha, result.max_abs_theta, result.decay_rate,
            result.swing, result.saturated, result.outcome,
            round(result.duration / SAMPLE_PERIOD), *result.values, *result.noise)


def _chunk(k: Array, starts: Array, plant: Plant, limits: Limits, settings: EpisodeSettings,
           backups: Sequence[Backup] | None) -> tuple[Array, list[int]]:
    """Return the columns of some episodes, and in which of them the backup took over."""
    tally, alphas, rows = _simulate(k, starts, plant, limits, settings, backups)
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
    return np.array(columns).T, np.flatnonzero(tally[4] == Outcome.CAUGHT).tolist()


def _simulate(k: Array, starts: Array, plant: Plant, limits: Limits, settings: EpisodeSettings,
              backups: Sequence[Backup] | None) -> tuple[Array, Array, Array]:
    """
    Return what the scalar episode collects, up to where a backup takes over.

    Reward sum, samples scored, peak alpha and theta, outcome; alpha (samples, n) at every sample;
    state and voltage (updates, 5, n) at every control update.
    """
    tally = np.zeros((5, len(k)))
    alphas = np.zeros((settings.samples, len(k)))
    rows = np.zeros((math.ceil(settings.samples / settings.control_every), 5, len(k)))
    running = np.arange(len(k))  # the columns of tally to which the working arrays belong
    total, count, peak_alpha, peak_theta, outcome = tally.copy()
    w = backups[0].weights if backups else (0.0, 0.0, 0.0, 0.0)
    reach = np.array([b.reach for b in backups]) if backups else np.empty(0)
    enough = backups[0].enough if backups else 0.0
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
        if backups:
            heading = w[0] * q_theta + w[1] * q_alpha + w[2] * q_w + w[3] * q_v
            answer = -(kt[0] * q_theta + kt[1] * q_alpha + kt[2] * q_w + kt[3] * q_v)
            answer = _clamp(answer, limits.voltage)
            share = np.abs(heading) / limits.alpha
            weak = answer * heading > -enough * (heading * heading)
            _end(alive, outcome, (share > FAR * reach) | ((share > reach) & weak)
                 | (abs_alpha > limits.alpha) | (abs_theta > limits.theta), Outcome.CAUGHT)
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
            reach = reach[alive] if backups else reach
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
