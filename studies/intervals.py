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
Count how often the intervals of identify hold the truth.

Run `python -m studies.intervals --devices 10`. Each device is simulated, with encoders, delay and
amplifier, and differs from the calibrated plant by random numbers with the spreads that identify
takes for known; what is out of bounds is drawn again. It is recorded with record_chirp's chirp,
and noise of 1.5 mrad is put on both angles. An error is in half widths: beyond one the interval
misses, and a mean far from zero is a bias. 95 % of the intervals should hold the truth.

`--packaged` fits each packaged chirp of a real device by itself instead, and prints the errors one
second ahead on the other four chirps and on the swing-ups before they balance, at which nothing
was fitted, and how often intervals of two chirps overlap as they should for one device.

Seeds from 100 on are for choosing a method; the default, 0 and up, is for the report.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
import time

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.chirp import Chirp
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.identify import EVERY, FREE, HORIZON, Identified, identify
from pacsbo_ros.robots.furuta.plant import Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.prediction import cut, rmse
from pacsbo_ros.robots.furuta.presets import CALIBRATED
from pacsbo_ros.robots.furuta.recordings import packaged, Recording
from studies.predictions import UPRIGHT

Array = NDArray[np.float64]

NOISE = 0.0015  # rad on both angles, besides the encoders' half count of the same size


def device(rng: np.random.Generator) -> tuple[Plant, Array]:
    """Draw a device; return it and its true numbers in the order of FREE."""
    true = []
    for f in FREE:
        middle = (SAMPLE_PERIOD * CALIBRATED.delay if f.name == 'delay'
                  else getattr(CALIBRATED.parameters, f.name, 0.0))
        while not f.low < (number := rng.normal(middle, f.spread)) < f.high:
            pass
        true.append(number)
    numbers = dict(zip((f.name for f in FREE), true, strict=True))
    samples = round(numbers.pop('delay') / SAMPLE_PERIOD)
    true[-1] = samples * SAMPLE_PERIOD
    plant = replace(CALIBRATED, delay=samples, alpha_bias=numbers.pop('alpha_offset'),
                    parameters=replace(CALIBRATED.parameters, **numbers,
                                       back_emf=numbers['torque_constant']))
    return plant, np.array(true)


def record(plant: Plant, chirp: Chirp, rng: np.random.Generator, name: str) -> Recording:
    """Record a chirp from a simulated device."""
    driver = SimulatedDriver(plant, hanging=True)
    rows = []
    for t in SAMPLE_PERIOD * np.arange(round(chirp.duration / SAMPLE_PERIOD)):
        now = driver.read()
        theta, alpha = rng.normal((now.theta, now.alpha), NOISE)
        volts = chirp.volts(t, theta)
        rows.append((t, volts, theta, alpha))
        driver.write(volts)
    return Recording(name, *np.array(rows).T)


def one(seed: int, chirp: Chirp) -> tuple[Array, Identified, float]:
    """Return a device's true numbers, what identify says of it, and its seconds of CPU."""
    rng = np.random.default_rng(seed)
    plant, true = device(rng)
    recording = record(plant, chirp, rng, f'device {seed}')
    begin = time.process_time()
    found = identify(cut([recording], HORIZON, EVERY))
    return true, found, time.process_time() - begin


def packaged_chirps() -> int:
    """Fit each packaged chirp by itself; print the errors on the others."""
    chirps, swings = ((*packaged(kind, held_out=False), *packaged(kind, held_out=True))
                      for kind in ('chirps', 'swing_ups'))
    founds = []
    print(f'{"RMSE theta / alpha [rad]":26}{"other chirps":>16}{"swing-ups":>16}'
          f'{"delay [ms]":>12}')
    for chirp in chirps:
        found = identify(cut([chirp], HORIZON, EVERY))
        founds.append(found)
        others = cut([other for other in chirps if other is not chirp], HORIZON, EVERY)
        errors = [rmse(windows, found.candidate)
                  for windows in (others, cut(swings, HORIZON, EVERY, end=UPRIGHT))]
        print(f'{chirp.name:26}' + ''.join(f'{f"{theta:.3f} / {alpha:.3f}":>16}'
                                           for theta, alpha in errors)
              + f'{1e3 * found.candidate.delay:12.2f}')
    apart = np.array([abs(a.values - b.values) / np.hypot(a.halfwidth, b.halfwidth)
                      for a, b in combinations(founds, 2)])
    known = np.isfinite(apart)
    print(f'of two chirps {(apart[known] < 1).sum()} of {known.sum()} numbers agree; mean share '
          f'told: {np.mean([found.told for found in founds]):.0%}')
    for i, f in enumerate(FREE):
        told = [found.told[i] for found in founds]
        print(f'  {f.name:18} {min(told):.0%} to {max(told):.0%} told')
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Identify all devices; print the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.intervals',
                                     description='Count how often intervals hold the truth.')
    parser.add_argument('--devices', type=int, default=10)
    parser.add_argument('--first', type=int, default=0, help='seed of the first device')
    parser.add_argument('--seconds', type=float, default=Chirp.duration, help='of the chirp')
    parser.add_argument('--packaged', action='store_true', help='real chirps instead')
    options = parser.parse_args(arguments)
    if options.packaged:
        return packaged_chirps()
    seeds = range(options.first, options.first + options.devices)
    truths, founds, took = zip(*(one(seed, Chirp(duration=options.seconds)) for seed in seeds),
                               strict=True)
    half = np.array([found.halfwidth for found in founds])  # nan where a bound holds it
    error = (np.array([found.values for found in founds]) - truths) / half
    known = np.isfinite(half)
    print(f'{"":18}{"holds":>9}{"mean error":>12}{"rms error":>11}{"half width over prior":>23}')
    for i, f in enumerate(FREE):
        mine, width = error[known[:, i], i], half[known[:, i], i]
        print(f'{f.name:18}{f"{(abs(mine) < 1).sum()} of {len(mine)}":>9}{mine.mean():12.2f}'
              f'{np.sqrt((mine ** 2).mean()):11.2f}{np.median(width) / (1.96 * f.spread):23.2f}')
    right = sum(found.plant.delay == round(true[-1] / SAMPLE_PERIOD)
                for true, found in zip(truths, founds, strict=True))
    print(f'all: {(abs(error[known]) < 1).sum()} of {known.sum()}, should be '
          f'{0.95 * known.sum():.0f}; delay in samples right: {right} of {len(founds)}; '
          f'{np.median(took):.1f} s of CPU each')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
