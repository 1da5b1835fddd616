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
Hold the two engines against each other: the equations of motion, and the same pendulum in MuJoCo.

Run `python -m studies.engines --output engines.png` (needs MuJoCo: pip install 'mujoco>=3.2').
Without friction they must agree; where they do not, energy, linearisation, the period of small
swings and the step size say who is right. With friction each has its own law, and held-out
recordings of a real device say what that is worth.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.dynamics import energy, rk4, State
from pacsbo_ros.robots.furuta.gains import Gains
from pacsbo_ros.robots.furuta.mujoco_driver import Engine, MujocoDriver
from pacsbo_ros.robots.furuta.parameters import Parameters
from pacsbo_ros.robots.furuta.plant import Plant, SAMPLE_PERIOD
from pacsbo_ros.robots.furuta.prediction import Candidate, cut, rmse
from pacsbo_ros.robots.furuta.presets import CALIBRATED, STARTS
from pacsbo_ros.robots.furuta.recordings import packaged
from pacsbo_ros.robots.furuta.running import run_episode
from studies.canvas import axes
from studies.gain_map import DEFAULT_BOX, gain_map, GainMap

Array = NDArray[np.float64]
Advance = Callable[[State, float, int], State]  # state, volts, steps

HANGING = (0.0, math.pi, 0.0, 0.0)
LARGE = (0.0, 1.0, 4.0, -3.0)  # a state in which everything turns
ENGINES = ('equations', 'mujoco', 'mujoco, slim rod')


def slippery(p: Parameters) -> Parameters:
    """Return the pendulum without friction; back-EMF and cable stay."""
    return replace(p, arm_damping=0.0, pendulum_damping=0.0, coulomb_torque=0.0)


def free(p: Parameters) -> Parameters:
    """Return the pendulum with nothing that takes energy away."""
    return replace(slippery(p), back_emf=0.0)


def advance(name: str, p: Parameters, dt: float = 1e-3) -> Advance:
    """Return the step function of an engine."""
    if name == 'equations':
        return lambda state, volts, steps: rk4(state, volts, dt, steps, p.coefficients)
    return Engine(p, dt, rod=name.endswith('rod')).advance


def chirp(step: Advance, amplitude: float = 1.5, seconds: float = 1.0) -> Array:
    """Return both angles under a chirp from 5 Hz down, from hanging, (samples, 2)."""
    state, angles = HANGING, []
    for t in SAMPLE_PERIOD * np.arange(round(seconds / SAMPLE_PERIOD)):
        state = step(state, amplitude * math.cos(2 * math.pi * (5 - 2.5 * t / seconds) * t), 5)
        angles.append(state[:2])
    return np.array(angles)


def apart(one: Array, other: Array) -> Array:
    """Return the RMSE of both angles as a share of their spread."""
    return np.sqrt(((one - other) ** 2).mean(axis=0)) / one.std(axis=0)


def linearised(step: Advance, dt: float = 1e-5) -> Array:
    """Return accelerations per rad of alpha and per volt upright: A and B of the workbook."""
    e = 1e-4

    def acceleration(alpha: float, volts: float) -> Array:
        return np.array(step((0.0, alpha, 0.0, 0.0), volts, 1)[2:]) / dt

    return np.concatenate([(acceleration(e, 0) - acceleration(-e, 0)) / (2 * e),
                           (acceleration(0, e) - acceleration(0, -e)) / (2 * e)])


def period(step: Advance, dt: float) -> float:
    """Return the period of small swings of the pendulum with its arm free, in s."""
    state: State = (0.0, math.pi + 1e-3, 0.0, 0.0)
    crossings, t = [], 0.0
    while len(crossings) < 3:
        after = step(state, 0.0, 1)
        t += dt
        if (state[1] - math.pi) * (after[1] - math.pi) < 0:
            crossings.append(t - dt * (after[1] - math.pi) / (after[1] - state[1]))
        state = after
    return crossings[2] - crossings[0]


def expected_period(p: Parameters) -> float:
    """Return the same by paper and pencil: 2 pi sqrt((a3 - a2^2/a0)/a4)."""
    c = p.coefficients
    return 2 * math.pi * math.sqrt((1 - c.b2 ** 2 / c.b0) / c.b4)


def drift(name: str, p: Parameters, dt: float, seconds: float = 5.0) -> float:
    """Return how much energy a free pendulum gains or loses, as a share of its kinetic one."""
    step = advance(name, p, dt)
    if name == 'equations':
        def total(state: State) -> float:
            return energy(state, p.coefficients)
    else:
        total = Engine(p, dt, rod=name.endswith('rod')).energy
    end = step(LARGE, 0.0, round(seconds / dt))
    kinetic = total(LARGE) - total((*LARGE[:2], 0.0, 0.0))
    return abs(total(end) - total(LARGE)) / kinetic


def mujoco_map(grid: int, repeats: int, plant: Plant = CALIBRATED) -> GainMap:
    """Simulate a map of the box by MuJoCo, with the starts of gain_map."""
    k_theta, k_alpha = (np.linspace(*edges, grid) for edges in DEFAULT_BOX)
    driver = MujocoDriver(plant, log_length=1)
    results = [run_episode(driver, Gains(float(a), float(b)),
                           seed=(i * grid + j) * repeats + k)
               for i, a in enumerate(k_theta) for j, b in enumerate(k_alpha)
               for k in range(repeats)]
    shape = grid, grid, repeats
    return GainMap(k_theta, k_alpha, np.array([r.reward for r in results]).reshape(shape),
                   np.array([r.max_abs_alpha for r in results]).reshape(shape),
                   np.array([r.values for r in results]).reshape(*shape, -1),
                   np.array([r.outcome == 0 for r in results]).reshape(shape))


def predicted(name: str, kind: str, end: float) -> tuple[float, float]:
    """Return the held-out error of the calibrated plant, one second ahead, by an engine."""
    windows = cut(packaged(kind, held_out=True), 1.0, 0.5, end=end)
    delay = 0.007
    if name == 'equations':
        return rmse(windows, Candidate(CALIBRATED.parameters, delay))
    step = advance(name, CALIBRATED.parameters)
    per_sample = round(windows.period / 1e-3)
    late = round(delay / 1e-3)
    errors = []
    for w, start in enumerate(windows.start.T):
        state: State = tuple(start.tolist())  # type: ignore[assignment]
        volts = np.repeat(windows.volts[w], per_sample)
        first = windows.history * per_sample - late
        for k, truth in enumerate(windows.truth[:, w].T):
            for v in volts[first + k * per_sample:first + (k + 1) * per_sample].tolist():
                state = step(state, v, 1)
            errors.append(np.array(state[:2]) - truth)
    theta, alpha = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    return float(theta), float(alpha)


def starts(repeats: int = 20) -> None:
    """Repeat the default starts on both engines from fresh random angles; print the worst."""
    for name, driver in (('equations', SimulatedDriver(log_length=1)),
                         ('mujoco', MujocoDriver(log_length=1))):
        for start in STARTS['calibrated']:
            results = [run_episode(driver, Gains(*start), seed=1000 + i) for i in range(repeats)]
            safe = sum(r.outcome == 0 and min(r.values[1:]) >= 0 for r in results)
            worst = math.degrees(max(r.max_abs_alpha for r in results))
            print(f'  {name:18}{start}: safe in {safe} of {repeats}, at most {worst:.1f} deg, '
                  f'least margin {min(min(r.values[1:]) for r in results):.2f}')


def draw(maps: dict[str, GainMap], path: Path) -> None:
    """Draw reward and safe share of both engines beside each other, and where they differ."""
    figure, grid = axes(2, 3, (3.8, 3.0), sharex=True, sharey=True)
    ours, theirs = maps.values()
    for row, (label, low, high, colours, pick) in enumerate((
            ('reward', 0.9, 1.0, 'viridis', lambda m: m.reward.mean(axis=2)),
            ('share of safe repeats', 0.0, 1.0, 'RdYlGn', lambda m: m.safe.mean(axis=2)))):
        for column, (name, one) in enumerate(maps.items()):
            mesh = grid[row, column].pcolormesh(one.k_theta, one.k_alpha, pick(one).T,
                                                cmap=colours, vmin=low, vmax=high)
            grid[row, column].set_title(f'{name}: {label}')
        figure.colorbar(mesh, ax=grid[row, 1])
        span = 0.02 if row == 0 else 1.0
        mesh = grid[row, 2].pcolormesh(ours.k_theta, ours.k_alpha, (pick(theirs) - pick(ours)).T,
                                       cmap='RdBu', vmin=-span, vmax=span)
        grid[row, 2].set_title(f'mujoco minus equations: {label}')
        figure.colorbar(mesh, ax=grid[row, 2])
    for axis in grid[-1]:
        axis.set_xlabel('k_θ [V/rad]')
    for axis in grid[:, 0]:
        axis.set_ylabel('k_α [V/rad]')
    figure.savefig(path)


def compare() -> None:
    """Print where the engines agree and who is right where they do not."""
    p = CALIBRATED.parameters
    reference = chirp(advance('equations', slippery(p)))
    print('apart from the equations, RMSE over a share of the spread, theta / alpha')
    for name in ENGINES[1:]:
        for volts in (1.5, 6.0):
            reference = chirp(advance('equations', slippery(p)), volts)
            share = apart(reference, chirp(advance(name, slippery(p)), volts))
            print(f'  {name:18}{volts:4.1f} V chirp of 1 s, no friction '
                  f'{share[0]:.1e} / {share[1]:.1e}')
        reference = chirp(advance('equations', p))
        share = apart(reference, chirp(advance(name, p)))
        print(f'  {name:18} 1.5 V chirp of 1 s, friction on {share[0]:.1e} / {share[1]:.1e}')
    print('energy that a free pendulum gains or loses in 5 s, as a share of its kinetic one')
    for dt in (1e-3, 5e-4):
        words = '   '.join(f'{name} {drift(name, free(p), dt):.1e}' for name in ENGINES)
        print(f'  steps of {1e3 * dt:g} ms: {words}')
    courseware = free(Parameters())
    print("linearised upright, Quanser's workbook 149.275, 261.609; 49.728, 49.149")
    for name in ENGINES:
        print(f'  {name:18}' + ', '.join(
            f'{x:.3f}' for x in linearised(advance(name, courseware, 1e-5))))
    print(f'period of small swings, by hand {expected_period(free(no_cable(p))):.6f} s')
    for name in ENGINES:
        print(f'  {name:18}{period(advance(name, free(no_cable(p)), 1e-3), 1e-3):.6f} s')
    print('step size: RMSE of a friction-free 1.5 V chirp of 1 s, 1 ms against 0.1 ms [rad]')
    for name in ENGINES[:2]:
        fine = advance(name, slippery(p), 1e-4)
        error = chirp(advance(name, slippery(p))) - chirp(
            lambda state, volts, steps, fine=fine: fine(state, volts, 10 * steps))
        print(f'  {name:18}{np.sqrt((error ** 2).mean()):.1e}')


def no_cable(p: Parameters) -> Parameters:
    """Return the pendulum without its cable."""
    return replace(p, cable_stiffness=0.0)


def main(arguments: list[str] | None = None) -> None:
    """Compare, predict, draw the maps."""
    parser = argparse.ArgumentParser(prog='python -m studies.engines',
                                     description='Equations against MuJoCo.')
    parser.add_argument('--output', type=Path, default=Path('engines.png'))
    parser.add_argument('--grid', type=int, default=21, help='gains per axis of the maps')
    parser.add_argument('--repeats', type=int, default=2, help='random starts per gain')
    options = parser.parse_args(arguments)
    compare()
    print('held-out recordings, friction on, 1 s ahead: RMSE theta / alpha [rad]')
    for name in ENGINES:
        for kind, end in (('chirps', math.inf), ('swing_ups', 3.5)):
            theta, alpha = predicted(name, kind, end)
            print(f'  {name:18}{kind:10}{theta:.3f} / {alpha:.3f}')
    print('the default starts')
    starts()
    maps = {'equations': gain_map(options.grid, options.repeats),
            'mujoco': mujoco_map(options.grid, options.repeats)}
    for name, one in maps.items():
        k_theta, k_alpha, reward = one.best
        print(f'{name}: {one.safe.all(axis=2).mean():.0%} of the box is safe, best safe reward '
              f'{reward:.4f} at ({k_theta:.2f}, {k_alpha:.1f})')
    ours, theirs = (one.safe.mean(axis=2) > 0.5 for one in maps.values())
    print(f'safe or not alike at {(ours == theirs).mean():.1%} of the gains')
    draw(maps, options.output)
    print(f'picture: {options.output}')


if __name__ == '__main__':
    main()
