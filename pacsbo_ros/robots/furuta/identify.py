# Copyright the pacsbo_ros developers. Apache-2.0.
"""
Find the numbers of a pendulum in a recording of it, and write them as a preset file.

Run `python -m pacsbo_ros.robots.furuta.identify FILE.csv --output mine.yaml` on a recording with
the columns t, volts, theta, alpha (docs/identify.md says how to make one). Least squares over
stretches of one second, each from a smoothed state: the errors of theta and alpha, weighted.
Intervals are 95 %, from the sandwich estimate with the stretches of one second of recording as
clusters, because errors within a stretch are anything but independent.

Symbol     Shape        Meaning
p          (n,)         free numbers over their units
r          (w, k)       weighted errors of each stretch
J          (w, k, n)    their derivatives
H          (n, n)       sum over stretches of J'J
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import sys

import numpy as np
from numpy.typing import NDArray
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
from scipy.optimize import least_squares

Array = NDArray[np.float64]

HORIZON = 1.0  # s predicted from each start
EVERY = 0.5  # s between starts
SCALE = np.array([0.05, 0.03])  # rad, errors of theta and alpha that weigh the same
THIN = 5  # every fifth sample of a stretch counts: neighbours say the same


@dataclass(frozen=True)
class Free:
    """Name a number that is fitted, its unit of change and its bounds."""

    name: str
    unit: float
    low: float
    high: float
    bounds: str  # where the bounds come from


# Masses, arm length and resistance stay: voltage and angles tell only ratios of them.
FREE = (
    Free('arm_inertia', 1e-5, 2e-5, 4e-4, 'mr Lr^2/12 to /3 in data sheets, with a margin'),
    Free('pendulum_length', 0.01, 0.10, 0.16, 'ruler: 0.129 m, less or more for the tip'),
    Free('torque_constant', 0.002, 0.030, 0.055, 'data sheets: 0.042; back-EMF is the same'),
    Free('arm_damping', 1e-4, 0.0, 2e-3, 'courseware: 2.7e-4 to 1e-3'),
    Free('pendulum_damping', 1e-5, 0.0, 3e-4, 'courseware: 5e-5'),
    Free('coulomb_torque', 1e-4, 0.0, 4e-3, 'motor data sheet: a few mN m'),
    Free('cable_stiffness', 1e-4, 0.0, 5e-3, 'a thin cable'),
    Free('cable_rest', 0.1, -1.5, 1.5, 'reach of the arm'),
    Free('alpha_offset', 0.005, -0.1, 0.1, 'how still it hung when the encoder was zeroed'),
    Free('delay', 0.002, 0.0, 0.03, 'a few samples'),
)


@dataclass(frozen=True)
class Identified:
    """Hold what was found."""

    candidate: Candidate
    free: tuple[Free, ...]
    values: Array  # (n,)
    halfwidth: Array  # (n,) of the 95 % intervals; nan where a bound holds it
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
             base: Candidate | None = None) -> Identified:
    """Fit the free numbers to sets of stretches, each with the weight of its mean square."""
    base = base or Candidate(CALIBRATED.parameters)
    unit = np.array([f.unit for f in free])
    low, high = (np.array([getattr(f, side) for f in free]) / unit for side in ('low', 'high'))
    first = np.array([getattr(base, f.name, None) if f.name in ('delay', 'alpha_offset')
                      else getattr(base.parameters, f.name) for f in free]) / unit
    # Off the bounds, where derivatives vanish for the rest angle of a cable that does not pull.
    first = np.clip(first, low + 0.05, high - 0.05)

    def errors(many: Sequence[Array]) -> Array:
        candidates = [make(free, p * unit, base) for p in many]
        parts = []
        for windows, weight in sets:
            error = predict(windows, candidates) - windows.truth[:, None]
            error = error[..., THIN - 1::THIN] / SCALE[:, None, None, None]
            error *= np.sqrt(weight / error[:, 0].size)
            parts.append(error.transpose(1, 2, 0, 3).reshape(len(many), -1))
        return np.nan_to_num(np.concatenate(parts, axis=1), nan=1e3, posinf=1e3, neginf=-1e3)

    def jacobian(p: Array) -> Array:
        step = 1e-3
        moved = p + step * np.where(p + step < high, 1, -1) * np.eye(len(p))
        all_errors = errors([p, *moved])
        return ((all_errors[1:] - all_errors[0]) / np.diag(moved - p)[:, None]).T

    fit = least_squares(lambda p: errors([p])[0], first, jac=jacobian, bounds=(low, high),
                        x_scale='jac', ftol=1e-5, xtol=1e-5, max_nfev=40)
    held = (fit.x - low < 1e-3) | (high - fit.x < 1e-3)
    halfwidth = _halfwidths(fit.jac, fit.fun, sets, held)
    return Identified(make(free, fit.x * unit, base), tuple(free), fit.x * unit,
                      halfwidth * unit, float(2 * fit.cost))


def _halfwidths(jacobian: Array, errors: Array, sets: Sequence[tuple[Windows, float]],
                held: NDArray[np.bool_]) -> Array:
    """Return 1.96 standard errors by the sandwich with stretches as clusters."""
    J = jacobian[:, ~held]
    H = J.T @ J
    meat = np.zeros_like(H)
    row = 0
    for windows, _ in sets:
        width = windows.truth.shape[1]
        size = 2 * len(range(THIN - 1, windows.truth.shape[2], THIN))
        # Stretches overlap: neighbours are taken together up to one horizon.
        together = max(1, round(HORIZON / EVERY))
        scores = np.array([J[i:i + size].T @ errors[i:i + size]
                           for i in range(row, row + width * size, size)])
        for i in range(0, width, together):
            g = scores[i:i + together].sum(axis=0)
            meat += np.outer(g, g)
        row += width * size
    inverse = np.linalg.pinv(H)
    halfwidth = np.full(len(held), np.nan)
    halfwidth[~held] = 1.96 * np.sqrt(np.diag(inverse @ meat @ inverse))
    return halfwidth


def split(recordings: Sequence[Recording]) -> tuple[Windows, Windows, str]:
    """Cut stretches to fit and to hold out: every third recording, or second of a single one."""
    if len(recordings) > 2:
        fit = [recording for i, recording in enumerate(recordings) if i % 3 != 2]
        return (cut(fit, HORIZON, EVERY), cut(recordings[2::3], HORIZON, EVERY),
                f'every third of {len(recordings)} recordings')
    # Not its end: a chirp has frequencies there that the fit would never have seen.
    everything = cut(recordings, HORIZON, EVERY)
    phase = (everything.begin - everything.begin[0]) % (3 * HORIZON) / HORIZON
    return (everything.take(phase < 1.01), everything.take(np.abs(phase - 2) < 0.01),
            'every third second')


def table(found: Identified) -> str:
    """Return what was found, number by number."""
    lines = [f'{"":18}{"value":>11}  {"95 % interval":<24}bounds']
    for f, value, half in zip(found.free, found.values, found.halfwidth, strict=True):
        interval = ('at its bound' if np.isnan(half)
                    else f'{value - half:.4g} to {value + half:.4g}')
        lines.append(f'{f.name:18}{value:11.4g}  {interval:<24}{f.low:g} to {f.high:g} '
                     f'({f.bounds})')
    return '\n'.join(lines)


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
    parser.add_argument('--output', type=Path, help='preset file; default: FILE.yaml')
    options = parser.parse_args(arguments)
    output = options.output or options.recording.with_suffix('.yaml')
    try:
        recordings = read_recordings(options.recording)
        fit, held_out, said = split(recordings)
        judged = identify([(fit, 1.0)]).candidate
        found = identify([(cut(recordings, HORIZON, EVERY), 1.0)], base=judged)
        print(table(found))
        print(judgement(judged, held_out, said))
        error, still = rmse(held_out, judged), persistence(held_out)
        flipped = rmse(replace(held_out, volts=-held_out.volts), judged)
        if not (error[0] < min(still[0], flipped[0]) and error[1] < still[1]):
            raise RecordingError(f'{options.recording}: the best pendulum predicts no better than '
                                 'that nothing changes, or with the voltage reversed; check that '
                                 'a positive voltage turns theta positively')
        write_preset(found.plant, output, f'Identified from {options.recording.name}.')
    except (ValueError, OSError) as error:
        print(f'identify: {error}', file=sys.stderr)
        return 1
    print(f'preset: {output}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
