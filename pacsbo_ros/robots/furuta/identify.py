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
stretches of one second, each from a smoothed state: the errors of theta and alpha, weighted.
A chirp does not tell everything: its delay is known to 4 ms only, and two samples of delay where
there is one make most gains unsafe. So what data sheets say counts too, as a Gaussian of the
given spread about the calibrated plant, against the errors that the best fit leaves:

    minimise  N/s2 |r(p)|^2 + sum ((p - p0)/spread)^2

where s2 = |r|^2 of the fit without the second term and N is the number of independent errors, two
angles for each second of recording. Intervals are 95 %, from the curvature of that sum.

Symbol     Shape        Meaning
p          (n,)         free numbers over their units
p0         (n,)         the same of the calibrated plant
r          (m,)         weighted errors of all stretches; |r|^2 is their mean square
J          (m, n)       their derivatives
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

Array = NDArray[np.float64]

HORIZON = 1.0  # s predicted from each start
EVERY = 0.5  # s between starts
SCALE = np.array([0.05, 0.03])  # rad, errors of theta and alpha that weigh the same
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
    cost: float  # mean square of the weighted errors

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


def identify(sets: Sequence[tuple[Windows, float]], free: Sequence[Free] = FREE,
             start: Candidate | None = None) -> Identified:
    """Fit the free numbers to sets of stretches, each with the weight of its mean square."""
    base = Candidate(CALIBRATED.parameters)
    unit = np.array([f.unit for f in free])
    low, high = (np.array([getattr(f, side) for f in free]) / unit for side in ('low', 'high'))
    prior = _numbers(base, free) / unit
    # Off the bounds, where derivatives vanish for the rest angle of a cable that does not pull.
    first = np.clip(_numbers(start or base, free) / unit, low + 0.05, high - 0.05)

    def errors(many: Sequence[Array]) -> Array:
        candidates = [make(free, p * unit, base) for p in many]
        parts = []
        for windows, weight in sets:
            error = predict(windows, candidates) - windows.truth[:, None]
            thin = max(1, min(THIN[0], round(THIN[1] / windows.period)))
            error = error[..., thin - 1::thin] / SCALE[:, None, None, None]
            error *= np.sqrt(weight / error[:, 0].size)
            parts.append(error.transpose(1, 2, 0, 3).reshape(len(many), -1))
        return np.nan_to_num(np.concatenate(parts, axis=1), nan=1e3, posinf=1e3, neginf=-1e3)

    def jacobian(p: Array) -> Array:
        step = 1e-3
        moved = p + step * np.where(p + step < high, 1, -1) * np.eye(len(p))
        all_errors = errors([p, *moved])
        return ((all_errors[1:] - all_errors[0]) / np.diag(moved - p)[:, None]).T

    def fitted(begin: Array, pull: Array) -> OptimizeResult:
        """Minimise the errors and the pull towards the prior, of which zero is none."""
        return least_squares(
            lambda p: np.append(errors([p])[0], pull * (p - prior)), begin, bounds=(low, high),
            jac=lambda p: np.vstack([jacobian(p), np.diag(pull)]), x_scale='jac', ftol=1e-5,
            xtol=1e-5, max_nfev=40)

    alone = fitted(first, np.zeros(len(free)))
    independent = 2 * sum(windows.truth.shape[1] for windows, _ in sets) * EVERY / HORIZON
    noise = 2 * alone.cost / independent  # of one row
    spread = np.array([f.spread for f in free]) / unit
    fit = fitted(np.clip(alone.x, low + 1e-6, high - 1e-6), np.sqrt(noise) / spread)
    variance = noise * np.diag(np.linalg.inv(fit.jac.T @ fit.jac))
    held = (fit.x - low < 1e-3) | (high - fit.x < 1e-3)
    rows = len(fit.fun) - len(free)
    return Identified(make(free, fit.x * unit, base), tuple(free), fit.x * unit,
                      np.where(held, np.nan, 1.96 * np.sqrt(variance)) * unit,
                      1 - variance / spread ** 2, float((fit.fun[:rows] ** 2).sum()))


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
    """Say which column has the wrong sign if some pendulum fits better so; else nothing."""
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
    return words and (f'it fits a pendulum better with {words} changed; a positive voltage turns '
                      'theta positively, and the pendulum lags behind: change it')


def table(found: Identified) -> str:
    """Return what was found, number by number."""
    lines = [f'{"":18}{"value":>11}  {"95 % interval":<24}{"told":<6}bounds']
    for f, value, half, told in zip(found.free, found.values, found.halfwidth, found.told,
                                    strict=True):
        interval = ('at its bound' if np.isnan(half)
                    else f'{value - half:.4g} to {value + half:.4g}')
        lines.append(f'{f.name:18}{value:11.4g}  {interval:<24}{f"{told:.0%}":<6}{f.low:g} to '
                     f'{f.high:g} ({f.bounds})')
    return '\n'.join([*lines, 'told: how much of what was unknown the recording told; the rest '
                      'is the calibrated plant'])


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
        judged = identify([(fit, 1.0)]).candidate
        found = identify([(cut(recordings, HORIZON, EVERY), 1.0)], start=judged)
        print(table(found))
        print(judgement(judged, held_out, said))
        error, still = rmse(held_out, judged), persistence(held_out)
        if not (error[0] < still[0] and error[1] < still[1]):
            raise RecordingError(f'{options.recording}: the best pendulum predicts no better than '
                                 'that nothing changes; are t, volts and angles of one recording, '
                                 'and was the pendulum left alone?')
        write_preset(found.plant, output, f'Identified from {options.recording.name}.')
    except (ValueError, OSError) as error:
        print(f'identify: {error}', file=sys.stderr)
        return 1
    print(f'preset: {output}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
