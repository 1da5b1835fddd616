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
Predict stretches of a recording open loop: start in a smoothed state, apply the recorded voltage.

The equations are those of dynamics.py, integrated by the Integrator for all stretches and
all candidate pendulums at once. The delay from voltage to motor is a real number of seconds here:
each integration step takes the mean of the held voltage over the time it stands for.

Symbol     Shape        Meaning
w, c       -            stretches (windows), candidate pendulums
m, h       -            samples per stretch, samples of voltage before its start
start      (4, w)       state at the start
volts      (w, h + m)   recorded voltage
truth      (2, w, m)    theta and alpha at the m samples after the start
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.integrator import Integrator
from pacsbo_ros.robots.furuta.parameters import Coefficients, Parameters
from pacsbo_ros.robots.furuta.recordings import Recording, smoother_length

Array = NDArray[np.float64]

STEP = 0.002  # s, longest integration step: half as long changes a prediction by 1e-5 rad
LONGEST_DELAY = 0.04  # s


@dataclass(frozen=True)
class Candidate:
    """Describe a pendulum and how its recording was made."""

    parameters: Parameters
    delay: float = 0.005  # s from voltage to motor
    alpha_offset: float = 0.0  # rad, recorded alpha minus the true one


@dataclass(frozen=True)
class Windows:
    """Hold stretches of recordings with one sampling period."""

    period: float  # s
    history: int  # samples of voltage before the start
    start: Array
    volts: Array
    truth: Array
    begin: Array  # (w,) s since the recording began
    source: NDArray[np.int64]  # (w,) which recording

    @property
    def times(self) -> Array:
        """Return the time since the start of each predicted sample, in s."""
        return self.period * np.arange(1, self.truth.shape[2] + 1)

    def take(self, which: NDArray[np.bool_]) -> Windows:
        """Return some of the stretches."""
        if not which.any():
            raise ValueError('the recording is too short to hold a part of it out; record 10 '
                             's')
        return replace(self, start=self.start[:, which], volts=self.volts[which],
                       truth=self.truth[:, which], begin=self.begin[which],
                       source=self.source[which])


def cut(recordings: Sequence[Recording], horizon: float, every: float, begin: float = 0.0,
        end: float = np.inf) -> Windows:
    """Cut stretches of horizon s, one every so many s, within [begin, end] of each recording."""
    period = recordings[0].period
    if any(abs(recording.period - period) > 1e-3 * period for recording in recordings):
        raise ValueError('the recordings have different sampling periods; give them one by one')
    samples, stride = round(horizon / period), max(1, round(every / period))
    history = int(np.ceil(LONGEST_DELAY / period)) + 1
    margin = smoother_length(period) // 2  # the smoother is one-sided at the ends
    start, volts, truth, begins, source = [], [], [], [], []
    for number, recording in enumerate(recordings):
        states = recording.states()
        before = np.concatenate([np.zeros(history), recording.volts])
        first = max(margin, round(begin / period))
        last = min(len(recording.t) - margin, round(min(end, 1e6) / period)) - samples
        for i in range(first, last, stride):
            start.append(states[:, i])
            volts.append(before[i:i + history + samples])
            truth.append((recording.theta[i + 1:i + samples + 1],
                          recording.alpha[i + 1:i + samples + 1]))
            begins.append(recording.t[i] - recording.t[0])
            source.append(number)
    if not start:
        raise ValueError(f'no stretch of {horizon:g} s fits into the recordings; record longer')
    return Windows(period, history, np.array(start).T, np.array(volts),
                   np.array(truth).transpose(1, 0, 2), np.array(begins), np.array(source))


def predict(windows: Windows, candidates: Sequence[Candidate],
            moved: Array | None = None) -> Array:
    """Return theta and alpha by candidate, (2, c, w, m), from starts moved by (4, c, w)."""
    count, width = len(candidates), windows.start.shape[1]
    every = [candidate.parameters.coefficients for candidate in candidates]
    coefficients = Coefficients(*(np.repeat(column, width)  # type: ignore[arg-type]
                                  for column in np.array(every).T))
    offset = np.repeat([candidate.alpha_offset for candidate in candidates], width)
    delay = np.repeat([candidate.delay for candidate in candidates], width) / windows.period
    substeps = int(np.ceil(windows.period / STEP - 1e-9))
    share = 1 / substeps
    start = np.tile(windows.start[:, None], (1, count, 1)) + (0.0 if moved is None else moved)
    angles, speeds = start.reshape(2, 2, count * width)
    angles[1] -= offset
    physics = Integrator(angles, speeds, coefficients, windows.period * share)
    rows = np.tile(np.arange(width), count)
    samples = windows.truth.shape[2]
    predicted = np.empty((samples, 2, count * width))
    with np.errstate(over='ignore', invalid='ignore'):  # a candidate may fly off: a bad one
        for k in range(samples):
            for j in range(substeps):
                begin = k + j * share - delay + windows.history
                sample = np.floor(begin).astype(int)
                part = np.minimum(1.0, (sample + 1 - begin) * substeps)
                later = np.minimum(sample + 1, windows.volts.shape[1] - 1)
                physics.step(part * windows.volts[rows, sample]
                             + (1 - part) * windows.volts[rows, later])
            predicted[k] = physics.angles
    predicted[:, 1] += offset
    return predicted.transpose(1, 2, 0).reshape(2, count, width, samples)


def rmse(windows: Windows, candidate: Candidate) -> tuple[float, float]:
    """Return the root mean square error of theta and alpha over all stretches, in rad."""
    error = predict(windows, [candidate])[:, 0] - windows.truth
    theta, alpha = np.sqrt((error ** 2).mean(axis=(1, 2)))
    return float(theta), float(alpha)


def persistence(windows: Windows) -> tuple[float, float]:
    """Return what the same error is if one says that nothing changes."""
    error = windows.start[:2, :, None] - windows.truth
    theta, alpha = np.sqrt((error ** 2).mean(axis=(1, 2)))
    return float(theta), float(alpha)
