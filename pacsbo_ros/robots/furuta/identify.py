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
Find the numbers of a pendulum in a recording of it, and write them as a preset file.

Run `python -m pacsbo_ros.robots.furuta.identify FILE.csv --output mine.yaml` on a recording with
the columns t, volts, theta, alpha (docs/identify.md says how to make one). Least squares over
stretches of one second: the errors of theta and alpha, weighted. A stretch starts in a smoothed
state, which may move: velocities are known to 0.1 rad/s only, and taken for exact they bend the
numbers, those of the cable most.
A chirp does not tell everything: of a real one the delay is known to 2.5 ms, and two samples of
delay where there is one make most gains unsafe. So what data sheets say counts too, as a Gaussian
of the given spread about the calibrated plant, against the errors that the best fit leaves:

    minimise  1/s2 sum_w |r_w(p, x_w)|^2 + sum_w |x_w|^2 + sum ((p - p0)/spread)^2

over p and all x_w, the latter by linear least squares within each stretch. s2 is the variance of
an error as the gradients of whole seconds show it without the third term, E g' (J'J)^-1 g / n:
neighbouring errors are alike, so that they say less than their number. Intervals are 95 %, by
leaving out each second in turn (one Newton step, Student's t) and the spread of the prior, and are
not narrower than the curvature says, s2 H^-1:

    V = (k - 1)/k sum_k d_k d_k' + s2 H^-1 (s2/spread^2) H^-1,   d_k = (H - J_k'J_k)^-1 g_k

Symbol     Shape        Meaning
p          (n,)         free numbers over their units
p0         (n,)         the same of the calibrated plant
x_w        (4,)         how far the start of a stretch moves, over the smoother's accuracy
r_w        (m,)         weighted errors of a stretch
J          (., n)       their derivatives, the starts at their best; J_k those of one second
g_k        (n,)         J_k' r_k
H          (n, n)       J'J + s2/spread^2
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import sys

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.files import refuse_output
from pacsbo_ros.robots.furuta.plant import Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.prediction import (
    Candidate,
    cut,
    persistence,
    predict,
    rmse,
    Windows,
)
from pacsbo_ros.robots.furuta.preset_file import write_preset
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.recordings import read_recordings, Recording, RecordingError
from scipy.optimize import least_squares, OptimizeResult
from scipy.stats import t as student

Array = NDArray[np.float64]

HORIZON = 1.0  # s predicted from each start
EVERY = 0.5  # s between starts
SCALE = np.array([0.05, 0.03])  # rad, errors of theta and alpha that weigh the same
START = np.array([0.001, 0.001, 0.1, 0.1])  # rad, rad/s: accuracy of the smoothed states
FIRST_NOISE = 1e-3  # variance of an error over SCALE before it is known: starts are almost free
STEP = 1e-3  # of numbers over their units and starts over START, for derivatives
THIN = 5, 0.025  # every fifth sample of a stretch counts, or one in 25 ms: neighbours say the same


@dataclass(frozen=True)
class Free:
    """Name a number that is fitted, its unit of change and its bounds."""

    name: str
    unit: float
    low: float
    high: float
    spread: float  # standard deviation among devices, before anything was recorded
    bounds: str  # where bounds and spread come from


# Masses, arm length and resistance stay: voltage and angles tell only ratios of them.
FREE = (
    Free('arm_inertia', 1e-5, 2e-5, 4e-4, 5e-5, 'mr Lr^2/12 to /3 in data sheets, with a margin'),
    Free('pendulum_length', 0.01, 0.10, 0.16, 0.007, 'ruler: 0.129 m, less or more for the tip'),
    Free('torque_constant', 0.002, 0.030, 0.055, 0.005, 'data sheets: 0.042; back-EMF the same'),
    Free('arm_damping', 1e-4, 0.0, 2e-3, 2e-4, 'courseware: 2.7e-4 to 1e-3'),
    Free('pendulum_damping', 1e-5, 0.0, 3e-4, 4e-5, 'courseware: 5e-5'),
    Free('coulomb_torque', 1e-4, 0.0, 4e-3, 4e-4, 'motor data sheet: a few mN m'),
    Free('cable_stiffness', 1e-4, 0.0, 5e-3, 8e-4, 'a thin cable'),
    Free('cable_rest', 0.1, -1.5, 1.5, 0.5, 'reach of the arm'),
    Free('alpha_offset', 0.005, -0.1, 0.1, 0.01, 'how still it hung when it was zeroed'),
    Free('delay', 0.002, 0.0, 0.03, 0.002, 'a few samples'),
)


@dataclass(frozen=True)
class Identified:
    """Hold what was found."""

    candidate: Candidate
    free: tuple[Free, ...]
    values: Array  # (n,)
    halfwidth: Array  # (n,) of the 95 % intervals; nan where a bound holds it
    told: Array  # (n,) share of its prior variance that the recording took away

    @property
    def plant(self) -> Plant:
        """Return the plant; what a recording cannot tell is as on the calibrated one."""
        return replace(CALIBRATED, parameters=self.candidate.parameters,
                       delay=round(self.candidate.delay / SAMPLE_PERIOD))


def make(free: Sequence[Free], values: Sequence[float], base: Candidate) -> Candidate:
    """Return a candidate with the free numbers replaced."""
    numbers = dict(zip((f.name for f in free), map(float, values), strict=True))
    outside = {name: numbers.pop(name) for name in ('delay', 'alpha_offset') if name in numbers}
    if 'torque_constant' in numbers:  # the same constant in SI units
        numbers['back_emf'] = numbers['torque_constant']
    return replace(base, parameters=replace(base.parameters, **numbers), **outside)


class _Problem:
    """Give the errors of stretches, each from its best start, and their slopes by number."""

    def __init__(self, windows: Windows, free: Sequence[Free]) -> None:
        self.windows, self.free, self.base = windows, free, Candidate(CALIBRATED.parameters)
        self.unit = np.array([f.unit for f in free])
        self.low, self.high = (np.array([getattr(f, side) for f in free]) / self.unit
                               for side in ('low', 'high'))
        self.prior = _numbers(self.base, free) / self.unit
        self.moved = np.zeros((4, windows.truth.shape[1]))  # of the starts, over START
        self.noise = FIRST_NOISE  # variance of an error over SCALE

    def fit(self, begin: Array, pull: Array) -> OptimizeResult:
        """Minimise the errors and the pull towards the prior, of which zero is none."""
        def fun(p: Array) -> Array:
            error, by_start, _ = self._rows(p, np.empty((0, len(p))))
            return np.append(_rest(error[..., None], by_start), pull * (p - self.prior))

        def jac(p: Array) -> Array:
            change = STEP * np.where(p + STEP < self.high, 1, -1)
            _, by_start, difference = self._rows(p, p + np.diag(change))
            return np.vstack([_rest(difference / change, by_start).reshape(-1, len(p)),
                              np.diag(pull)])

        return least_squares(fun, begin, bounds=(self.low, self.high), jac=jac, x_scale='jac',
                             ftol=1e-5, xtol=1e-5, max_nfev=40)

    def restart(self, p: Array) -> None:
        """Move the starts to where the errors are least."""
        error, by_start, _ = self._rows(p, np.empty((0, len(p))))
        self.moved = self.moved - np.einsum('wij,wj->iw', np.linalg.pinv(by_start), error)

    def seconds(self, fit: OptimizeResult) -> tuple[Array, Array]:
        """Return gradient (k, n) and curvature (k, n, n) of every second of recording."""
        shape = self.windows.truth.shape[1], -1
        n = len(self.free)
        rows = fit.jac[:-n].reshape(*shape, n).transpose(0, 2, 1)
        gradient = (rows @ fit.fun[:-n].reshape(*shape, 1))[..., 0]
        second = self.windows.source * 10_000 + self.windows.begin // 1.0
        same = (np.unique(second)[:, None] == second).astype(float)
        return same @ gradient, np.tensordot(same, rows @ rows.transpose(0, 2, 1), 1)

    def _rows(self, p: Array, nearby: Array) -> tuple[Array, Array, Array]:
        """Return errors (w, m), slopes by start (w, m, 4), changes by nearby numbers (w, m, n)."""
        candidates = [make(self.free, q * self.unit, self.base)
                      for q in (p, *nearby, *[p] * len(START))]
        moved = np.repeat(self.moved[:, None], len(candidates), axis=1)
        moved[:, -len(START):] += STEP * np.eye(len(START))[..., None]
        windows = self.windows
        thin = max(1, min(THIN[0], round(THIN[1] / windows.period)))
        error = predict(windows, candidates, START[:, None, None] * moved) - windows.truth[:, None]
        error = error[..., thin - 1::thin] / SCALE[:, None, None, None]
        error = error.transpose(1, 2, 0, 3).reshape(*moved.shape[1:], -1)
        rows = np.concatenate([error, np.sqrt(self.noise) * moved.transpose(1, 2, 0)], axis=2)
        rows = np.nan_to_num(rows, nan=1e3, posinf=1e3, neginf=-1e3)
        change = (rows[1:] - rows[0]).transpose(1, 2, 0)
        return rows[0], change[..., len(nearby):] / STEP, change[..., :len(nearby)]


def _rest(error: Array, by_start: Array) -> Array:
    """Return what is left of errors (w, m, k) when each start is at its best."""
    basis = np.linalg.qr(by_start)[0]
    return np.asarray(error - basis @ (basis.transpose(0, 2, 1) @ error))


def identify(windows: Windows, free: Sequence[Free] = FREE,
             start: Candidate | None = None) -> Identified:
    """Fit the free numbers to stretches."""
    problem = _Problem(windows, free)
    unit, low, high = problem.unit, problem.low, problem.high
    spread = np.array([f.spread for f in free]) / unit
    # Off the bounds, where derivatives vanish for the rest angle of a cable that does not pull.
    first = np.clip(_numbers(start or problem.base, free) / unit, low + 0.05, high - 0.05)
    alone = problem.fit(first, np.zeros(len(free)))
    problem.restart(alone.x)
    gradients, curvatures = problem.seconds(alone)
    count = len(gradients)
    problem.noise = noise = float(np.einsum(
        'ki,ij,kj', gradients, np.linalg.pinv(curvatures.sum(axis=0)), gradients)
        / len(free) * count / max(1, count - 1))
    pull = np.sqrt(noise) / spread
    fit = problem.fit(np.clip(alone.x, low + 1e-6, high - 1e-6), pull)
    gradients, curvatures = problem.seconds(fit)
    whole = fit.jac.T @ fit.jac
    without = np.linalg.solve(whole - curvatures, gradients[..., None])[..., 0]
    variance = ((without ** 2).sum(axis=0) * (count - 1) / count
                + ((np.linalg.inv(whole) * pull) ** 2).sum(axis=1) * noise)
    # Seconds that agree by chance do not tell more than the curvature, nor less than the prior.
    variance = np.minimum(np.maximum(variance, noise * np.diag(np.linalg.inv(whole))), spread ** 2)
    held = (fit.x - low < 1e-3) | (high - fit.x < 1e-3)
    half = np.where(held, np.nan, student.ppf(0.975, max(1, count - 1)) * np.sqrt(variance))
    return Identified(make(free, fit.x * unit, problem.base), tuple(free), fit.x * unit,
                      half * unit, 1 - variance / spread ** 2)


def _numbers(candidate: Candidate, free: Sequence[Free]) -> Array:
    """Return the free numbers of a candidate."""
    return np.array([getattr(candidate if f.name in ('delay', 'alpha_offset')
                             else candidate.parameters, f.name) for f in free])


def split(recordings: Sequence[Recording]) -> tuple[Windows, Windows, str]:
    """Cut stretches to fit and to hold out: every third recording, or second of a single one."""
    if len(recordings) > 2:
        fit = [recording for i, recording in enumerate(recordings) if i % 3 != 2]
        return (cut(fit, HORIZON, EVERY), cut(recordings[2::3], HORIZON, EVERY),
                f'every third of {len(recordings)} recordings')
    # Not its end: a chirp has frequencies there that the fit would never have seen.
    everything = cut(recordings, HORIZON, EVERY)
    # Counted, not timed: half a second need not be a whole number of samples.
    number = np.arange(len(everything.source))
    phase = (number - np.searchsorted(everything.source, everything.source)) % 6
    return (everything.take(phase <= 2), everything.take(phase == 4),
            'every third second')


def wrong_way(windows: Windows) -> str:
    """Say if a column has the wrong sign or the wrong name; else nothing."""
    def mirrored(volts: int, alpha: int) -> Windows:
        start, truth = windows.start.copy(), windows.truth.copy()
        if alpha < 0:  # about hanging
            start[1], start[3], truth[1] = 2 * np.pi - start[1], -start[3], 2 * np.pi - truth[1]
        return replace(windows, start=start, truth=truth, volts=volts * windows.volts)

    signs = {(1, 1): '', (-1, 1): 'the sign of volts', (1, -1): 'the sign of alpha about hanging',
             (-1, -1): 'the sign of theta'}  # both others are the same as theta's
    errors = {words: sum(np.array(rmse(mirrored(*sign), Candidate(CALIBRATED.parameters))) / SCALE)
              for sign, words in signs.items()}
    words = min(errors, key=lambda word: errors[word])
    if words and errors[words] > sum(np.array(persistence(windows)) / SCALE):
        return ('whatever the signs, it is not a pendulum; look whether the columns volts, theta '
                'and alpha hold what their names say')
    return words and (f'it fits a pendulum better with {words} changed; a positive voltage turns '
                      'theta positively, and the pendulum lags behind: change it')


def table(found: Identified) -> str:
    """Return what was found, number by number."""
    doubtful = [f.name for f, told in zip(found.free, found.told, strict=True)
                if told < 0.75]  # the standard deviation is more than half of the spread
    lines = [f'{"":18}{"value":>11}  {"95 % interval":<24}{"told":<6}bounds']
    for f, value, half, told in zip(found.free, found.values, found.halfwidth, found.told,
                                    strict=True):
        interval = ('at its bound' if np.isnan(half)
                    else f'{value - half:.4g} to {value + half:.4g}')
        lines.append(f'{f.name:18}{value:11.4g}  {interval:<24}{f"{told:.0%}":<6}{f.low:g} to '
                     f'{f.high:g} ({f.bounds})')
    return '\n'.join([*lines, 'told: how much of what was unknown the recording told; the rest '
                      'is the calibrated plant',
                      *([f'no measurements, known less than twice as well as without the '
                         f'recording: {", ".join(doubtful)}'] if doubtful else [])])


def judgement(candidate: Candidate, held_out: Windows, said: str) -> str:
    """Return how well a candidate predicts what it was not fitted to."""
    rows = (('fitted to the rest', rmse(held_out, candidate)),
            ('calibrated', rmse(held_out, Candidate(CALIBRATED.parameters))),
            ('nothing changes', persistence(held_out)))
    return '\n'.join([f'held out: {said}; {HORIZON:g} s ahead, RMSE theta / alpha [rad]',
                      *(f'  {name:20}{theta:.3f} / {alpha:.3f}' for name, (theta, alpha) in rows),
                      'the preset is fitted to everything'])


def main(arguments: list[str] | None = None) -> int:
    """Identify, print, write; a fault is one line."""
    parser = argparse.ArgumentParser(prog='python -m pacsbo_ros.robots.furuta.identify',
                                     description='Make a preset file from a recording.')
    parser.add_argument('recording', type=Path, help='CSV with the columns t,volts,theta,alpha')
    parser.add_argument('--output', type=Path, help='preset file, .yaml, which must not exist; '
                        'default: FILE.yaml')
    options = parser.parse_args(arguments)
    output = options.output or options.recording.with_suffix('.yaml')
    try:
        if output.suffix != '.yaml':
            raise ValueError(f'{output}: a preset file ends in .yaml; give another with --output')
        refuse_output(output)
        recordings = read_recordings(options.recording)
        fit, held_out, said = split(recordings)
        flipped = wrong_way(fit)
        if flipped:
            raise RecordingError(f'{options.recording}: {flipped}')
        judged = identify(fit).candidate
        found = identify(cut(recordings, HORIZON, EVERY), start=judged)
        print(table(found))
        print(judgement(judged, held_out, said))
        stuck = [f'{f.name} came out at its bound, {value:g}' for f, value, half in zip(
            found.free, found.values, found.halfwidth, strict=True)
            if np.isnan(half) and f.low > 0]  # good pendulums reach the other bounds too
        if stuck:
            raise RecordingError(f'{options.recording}: {", ".join(stuck)}: this pendulum is not '
                                 'built like the calibrated one; write a preset by hand, with its '
                                 'own masses and lengths')
        error, still = rmse(held_out, judged), persistence(held_out)
        if not (error[0] < still[0] and error[1] < still[1]):
            raise RecordingError(f'{options.recording}: the best pendulum predicts no better than '
                                 'that nothing changes; look whether the columns hold what their '
                                 'names say, and are of one recording in which nobody touched it')
        write_preset(found.plant, output, f'Identified from {options.recording.name}.')
    except (ValueError, OSError) as error:
        print(f'identify: {error}', file=sys.stderr)
        return 1
    print(f'preset: {output}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
