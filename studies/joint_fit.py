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
Explain open-loop recordings of one device and closed-loop trials on another by one plant.

Run `python -m studies.joint_fit --output joint_fit.png`. Each candidate is judged twice: by
J_open, the mean square of its one-second errors on recordings over (0.05, 0.03) rad, and by
J_closed, the share of repeats of the twenty trials that are not quiet or cycling as the real ones.
The joint criterion is J_open / J_open(calibrated) + J_closed / J_closed(calibrated).

Coulomb torque and the velocity filter are what both kinds of evidence pull at: the trials want
dry friction, open loop hardly sees it, and of the filter the recordings know nothing. So they are
laid out as a grid; all other numbers stay those of `calibrated`. The best one is chosen on chirps
1 to 3 and trials from one set of starts (FIT); what is drawn and printed comes from held-out
chirps and fresh starts.
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pacsbo_ros.robots.furuta.plant import Plant
from pacsbo_ros.robots.furuta.prediction import Candidate, cut, predict, Windows
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.recordings import packaged
from studies.canvas import axes, BLUE, GREY, ORANGE
from studies.trials import compare, CYCLING

TORQUES = (0.0, 3e-4, 5e-4, 6.5e-4, 9e-4, 1.3e-3)  # N m
FILTERS = (50.0, 82.0, 110.0)  # rad/s
SCALE = np.array([0.05, 0.03])  # rad, as in identify
DELAY = 0.007  # s, the plant's 5 ms and half a sample of the recorder
FIT, FRESH = 0, 500_000  # seeds of the trials' starts
REPEATS = 10


@dataclass(frozen=True)
class Judged:
    """Hold a plant and what both kinds of evidence say of it."""

    name: str
    plant: Plant
    theta: float  # rad, RMSE one second ahead
    alpha: float  # rad
    disagreeing: float  # share of the repeats of all trials
    agreeing: int  # trials of twenty, by majority

    @property
    def open_loop(self) -> float:
        """Return J_open."""
        return float(((np.array([self.theta, self.alpha]) / SCALE) ** 2).mean())


def candidates() -> dict[str, Plant]:
    """Return the grid and the presets."""
    plants = {f'{torque:g} N m, {cutoff:g} rad/s': replace(
        CALIBRATED, velocity_filter=cutoff,
        parameters=replace(CALIBRATED.parameters, coulomb_torque=torque))
        for torque in TORQUES for cutoff in FILTERS}
    return {**plants, 'ideal': PRESETS['ideal'], 'calibrated': CALIBRATED}


def judge(plants: dict[str, Plant], windows: Windows, seed: int) -> list[Judged]:
    """Judge plants by stretches of recordings and by the trials."""
    predicted = predict(windows, [Candidate(p.parameters, DELAY) for p in plants.values()])
    errors = np.sqrt(((predicted - windows.truth[:, None]) ** 2).mean(axis=(2, 3)))
    result = []
    for (name, plant), (theta, alpha) in zip(plants.items(), errors.T.tolist(), strict=True):
        trials = compare(plant, REPEATS, seed)
        cycling = np.array([trial.max_abs_alpha > CYCLING for trial in trials.trials])
        share = np.where(cycling, 1 - trials.cycling_share, trials.cycling_share)
        result.append(Judged(name, plant, theta, alpha, float(share.mean()),
                             int(trials.agrees.sum())))
    return result


def joint(judged: Sequence[Judged]) -> list[float]:
    """Return the joint criterion of each, relative to the calibrated plant's two."""
    own = next(one for one in judged if one.name == 'calibrated')
    return [one.open_loop / own.open_loop + one.disagreeing / own.disagreeing for one in judged]


def draw(judged: Sequence[Judged], chosen: str, path: Path) -> None:
    """Draw the two criteria against each other, one line for each filter."""
    figure, ((axis,),) = axes(1, 1, (6.4, 4.2))
    for cutoff, colour in zip(FILTERS, ('#9ecae1', BLUE, '#08306b'), strict=True):
        line = [one for one in judged if one.name.endswith(f', {cutoff:g} rad/s')]
        axis.plot([one.open_loop for one in line], [one.disagreeing for one in line], 'o-',
                  color=colour, linewidth=1, markersize=3, label=f'filter {cutoff:g} rad/s')
        if cutoff == CALIBRATED.velocity_filter:
            for one in line:
                axis.annotate(f'{1e3 * one.plant.parameters.coulomb_torque:g}',
                              (one.open_loop, one.disagreeing), fontsize=7, color=GREY,
                              textcoords='offset points', xytext=(4, 4))
    for name, marker, colour in (('calibrated', '*', ORANGE), (chosen, 's', 'black')):
        one = next(one for one in judged if one.name == name)
        words = 'calibrated' if name == 'calibrated' else f'best of the fit: {name}'
        axis.plot(one.open_loop, one.disagreeing, marker, color=colour, label=words,
                  markersize=11 if marker == '*' else 6, markerfacecolor='none'
                  if marker == 's' else colour)
    axis.set_xlabel('open loop: mean square error over (0.05, 0.03) rad, held-out chirps')
    axis.set_ylabel('closed loop: share of repeats that differ from the trials')
    axis.set_title('One plant for both? Numbers: Coulomb torque in mN m')
    axis.legend()
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> None:
    """Choose on one half of the evidence, print and draw the other."""
    parser = argparse.ArgumentParser(prog='python -m studies.joint_fit',
                                     description='Open and closed loop by one plant.')
    parser.add_argument('--output', type=Path, default=Path('joint_fit.png'))
    options = parser.parse_args(arguments)
    plants = candidates()
    fit = judge(plants, cut(packaged('chirps', held_out=False), 1.0, 0.5), FIT)
    chosen = fit[int(np.argmin(joint(fit)))].name
    held_out = judge(plants, cut(packaged('chirps', held_out=True), 1.0, 0.5), FRESH)
    print('held-out chirps and fresh starts; the best of the fit first')
    order = np.argsort(joint(fit))
    for i in order:
        one = held_out[i]
        print(f'{one.name:26}{one.theta:.3f} / {one.alpha:.3f} rad   {one.agreeing} of 20 trials '
              f'agree, {one.disagreeing:.0%} of the repeats differ   joint '
              f'{joint(held_out)[i]:.2f} (fit {joint(fit)[i]:.2f})')
    draw([one for one in held_out if one.name != 'ideal'], chosen, options.output)
    print(f'picture: {options.output}')


if __name__ == '__main__':
    main()
