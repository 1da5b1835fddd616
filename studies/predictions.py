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
Say how well every preset predicts recordings of a real pendulum, open loop.

Run `python -m studies.predictions --output predictions.png`. Only recordings that nothing was
fitted to are shown. From a smoothed state the recorded voltage is applied for 0.2 to 2 s; upright
an error grows by e^10 within a second, so a balanced pendulum is predicted for 0.5 s at most.
"""
from __future__ import annotations

import argparse
import math
from pathlib import Path

from pacsbo_ros.robots.furuta.plant import SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.prediction import (
    Candidate,
    cut,
    persistence,
    predict,
    rmse,
    Windows,
)
from pacsbo_ros.robots.furuta.presets import PRESETS
from pacsbo_ros.robots.furuta.recordings import packaged
from studies.canvas import axes, BLUE, GREY, ORANGE

HORIZONS = (0.2, 0.5, 1.0, 2.0)  # s
UPRIGHT = 3.5  # s after which the swing-ups balance
PARTS = {  # recordings, from, to, longest horizon
    'chirps': ('chirps', 0.0, math.inf, 2.0),
    'swing-ups': ('swing_ups', 0.0, UPRIGHT, 2.0),
    'balancing': ('swing_ups', UPRIGHT, math.inf, 0.5),
}
RECORDER = 0.002  # s that the recorder adds to the delay of a plant: half its sample of 4 ms


def candidate(name: str) -> Candidate:
    """Return a preset as a candidate."""
    plant = PRESETS[name]
    return Candidate(plant.parameters, plant.delay * SAMPLE_PERIOD + RECORDER)


def stretches(part: str, horizon: float) -> Windows:
    """Cut the held-out recordings of one part, a stretch every half second."""
    kind, begin, end, _ = PARTS[part]
    return cut(packaged(kind, held_out=True), horizon, 0.5, begin, end)


def errors() -> dict[tuple[str, float], dict[str, tuple[float, float]]]:
    """Return the errors of theta and alpha by part and horizon, then by preset."""
    table = {}
    for part, (*_, longest) in PARTS.items():
        for horizon in (h for h in HORIZONS if h <= longest):
            windows = stretches(part, horizon)
            table[part, horizon] = {**{name: rmse(windows, candidate(name)) for name in PRESETS},
                                    'nothing changes': persistence(windows)}
    return table


def draw(path: Path) -> None:
    """Draw one-second stretches one behind the other, recorded and predicted."""
    figure, grid = axes(2, 2, (5.6, 2.6), sharex='col')
    for column, part in enumerate(('chirps', 'swing-ups')):
        windows = stretches(part, 1.0)
        windows = windows.take((windows.source == 0) & ((2 * windows.begin).round() % 2 == 0))
        for name, colour in (('ideal', ORANGE), ('calibrated', BLUE)):
            predicted = predict(windows, [candidate(name)])[:, 0]
            for row, axis in enumerate(grid[:, column]):
                for i, begin in enumerate(windows.begin):
                    axis.plot(begin + windows.times, predicted[row, i], color=colour,
                              linewidth=1, label=name if i == 0 else None)
        for row, axis in enumerate(grid[:, column]):
            for i, begin in enumerate(windows.begin):
                axis.plot(begin + windows.times, windows.truth[row, i], color='black',
                          linewidth=1, linestyle=':', label='recorded' if i == 0 else None)
                axis.axvline(begin, color=GREY, linewidth=0.4)
        grid[0, column].set_title(f'{part}, held out: predicted a second at a time')
        grid[1, column].set_xlabel('t [s]')
    grid[0, 0].set_ylabel('θ [rad]')
    grid[1, 0].set_ylabel('α [rad]')
    grid[1, 0].legend(loc='upper left')
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> None:
    """Print the table and save the picture."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(prog='python -m studies.predictions',
                                     description='Predict held-out recordings open loop.')
    parser.add_argument('--output', type=Path, default=Path('predictions.png'))
    options = parser.parse_args(arguments)
    table = Table(title='RMSE of theta / alpha in rad on recordings that nothing was fitted to')
    found = errors()
    names = list(next(iter(found.values())))
    for column in ('', 's ahead', *names):
        table.add_column(column, justify='right')
    for (part, horizon), row in found.items():
        table.add_row(part, f'{horizon:g}', *(f'{row[name][0]:.3f} / {row[name][1]:.3f}'
                                              for name in names))
    Console(width=99).print(table)
    draw(options.output)
    print(f'picture: {options.output}')


if __name__ == '__main__':
    main()
