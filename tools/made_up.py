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
A made-up run of a made-up robot with 1 to 6 tuned values, for pictures and tests of the views.

The messages are plain objects with the fields of the ROS messages, so that nothing here needs
ROS. Nothing in it is measured: it only has the shape of a run.
"""
from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.tuning.report_files import Progress, ReportFiles
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import Measured, Told, Trial
from pacsbo_ros.view.live import Live
from pacsbo_ros.view.slices import Slices

Array = NDArray[np.float64]

VALUES = (('p', 'N m/rad', 1.0, 40.0), ('d', 'N m s/rad', 0.0, 4.0),
          ('i', 'N m/(rad s)', 0.0, 9.0),
          ('feed_forward', '', 0.0, 1.5), ('notch_frequency', 'Hz', 10.0, 80.0),
          ('velocity_limit', 'rad/s', 0.5, 6.0))
FURUTA = (('k_theta', 'V/rad', -6.0, 0.0), ('k_alpha', 'V/rad', 10.0, 50.0),
          ('k_theta_dot', 'V s/rad', -4.0, 0.0), ('k_alpha_dot', 'V s/rad', 0.0, 8.0))
SIGNALS = {'joint_pid': (('error', 'rad', 0.8), ('effort', 'N m', 12.0),
                         ('temperature', 'K', math.nan)),
           'furuta': (('alpha', 'rad', 0.5236), ('theta', 'rad', 1.5708))}
CONSTRAINTS = {'joint_pid': ('overshoot', 'effort', 'settling'), 'furuta': ('alpha', 'theta')}
COMMANDS = {'joint_pid': ('effort', 'N m', 12.0), 'furuta': ('voltage', 'V', 10.0)}
POINTS = 40  # per side of a slice


class MadeUp:
    """Say what a run of a robot with some tuned values would publish."""

    def __init__(self, count: int, robot: str = 'joint_pid', episodes: int = 24,
                 seed: int = 3) -> None:
        """Try `episodes` points around a good one."""
        self.robot, self.episodes = robot, episodes
        table = (FURUTA if robot == 'furuta' else VALUES)[:count]
        self.names, self.units, self.lower, self.upper = (
            list(column) for column in zip(*table, strict=True))
        rng = np.random.default_rng(seed)
        self.centre = rng.uniform(0.42, 0.62, count)
        self.turn = rng.normal(size=(count, count))
        steps = rng.normal(0, 0.16 / math.sqrt(count), (episodes, count))
        growth = np.linspace(0.25, 1.0, episodes)[:, None]
        self.points = np.clip(self.centre - 0.1 + steps * growth * 1.6, 0.02, 0.98)
        self.points[-3] = np.clip(self.centre + 0.43, 0, 1)  # one that was unsafe
        self.margins = self.margin(self.points) + rng.normal(
            0, 0.02, (episodes, len(CONSTRAINTS[robot])))
        self.rewards = self.reward(self.points) + rng.normal(0, 0.004, episodes)
        self.limits = np.array([s[2] for s in SIGNALS[robot]])
        bound = np.where(np.isfinite(self.limits), self.limits, 320.0)
        self.peaks = np.abs(bound * (0.85 - 0.4 * np.resize(
            self.margins, (episodes, len(bound)))))

    def reward(self, points: Array) -> Array:
        """Return the reward at points of the unit cube."""
        return 0.95 - 0.8 * ((points - self.centre) ** 2).sum(axis=1)

    def margin(self, points: Array) -> Array:
        """Return the (n, constraints) margins at points of the unit cube."""
        away = points - self.centre
        return np.column_stack([
            0.9 - (2.6 + 0.5 * c) * np.abs(away + 0.03 * c).max(axis=1) - 0.4 * away[:, 0] * c
            for c in range(len(CONSTRAINTS[self.robot]))])

    def values(self, points: Array) -> Array:
        """Return points of the unit cube in their own units."""
        return np.array(self.lower) + points * np.subtract(self.upper, self.lower)

    def slice(self, x: int, y: int, told: int, best: Array) -> SimpleNamespace:  # noqa: A003
        """Return a GainSlice."""
        axis = np.linspace(0, 1, POINTS)
        one = x == y
        points = np.tile(best, (POINTS if one else POINTS ** 2, 1))
        points[:, x] = axis if one else np.tile(axis, POINTS)
        if not one:
            points[:, y] = np.repeat(axis, POINTS)
        near = np.abs(points[:, None] - self.points[None, :told]).max(axis=2).min(axis=1)
        width = 0.03 + 2.2 * near
        margin, reward = self.margin(points).min(axis=1), self.reward(points)
        shown = self.points[:told][:, [x, x] if one else [x, y]]

        def pairs(corners: Array) -> list[float]:
            low, high = (np.array([v[x], 0.0 if one else v[y]]) for v in (self.lower, self.upper))
            return (low + np.clip(corners, 0, 1) * (high - low)).ravel().tolist()

        middle = shown.mean(axis=0)
        return SimpleNamespace(
            x=x, y=y, columns=POINTS, rows=1 if one else POINTS, reward_mean=reward,
            reward_lower=reward - 0.15 * width, reward_upper=reward + 0.15 * width,
            margin_mean=margin, margin_lower=margin - width, margin_upper=margin + width,
            safe=margin - width >= 0, hull=pairs(shown),
            enlarged=pairs(middle + 1.3 * (shown - middle)))

    def best(self, told: int) -> int:
        """Return the index of the best safe episode."""
        safe = self.margins[:told].min(axis=1) >= 0
        return int(np.argmax(np.where(safe, self.rewards[:told], -np.inf)))

    def gain_map(self, told: int) -> SimpleNamespace:
        """Return the GainMap after some episodes."""
        best = self.points[self.best(told)]
        d = len(self.names)
        pairs = [(0, 0)] if d == 1 else list(combinations(range(d), 2))
        return SimpleNamespace(
            run_id='made-up', iteration=told, names=self.names, units=self.units,
            lower=self.lower, upper=self.upper, best=self.values(best),
            slices=[self.slice(x, y, told, best) for x, y in pairs],
            samples=self.values(self.points[:told]).ravel(), sample_reward=self.rewards[:told],
            sample_margin=self.margins[:told].min(axis=1), sample_outcome=np.zeros(told, int),
            sample_safe=self.margins[:told].min(axis=1) >= 0,
            sample_margins=self.margins[:told].ravel(), sample_peaks=self.peaks[:told].ravel())

    def state(self, told: int, **changes: Any) -> SimpleNamespace:
        """Return the OptimizerState after some episodes."""
        last, best = told - 1, self.best(told)
        names = CONSTRAINTS[self.robot]
        functions = ['reward', *names]
        rng = np.random.default_rng(1)
        return SimpleNamespace(**{
            'run_id': 'made-up', 'robot': self.robot, 'state': 3, 'reason': 'an episode runs',
            'iteration': told, 'budget': self.episodes + 6, 'names': self.names,
            'units': self.units, 'values': self.values(self.points[last]),
            'reward': self.rewards[last], 'reward_unit': '', 'margin': self.margins[last].min(),
            'constraints': names, 'margins': self.margins[last],
            'signals': [s[0] for s in SIGNALS[self.robot]],
            'signal_units': [s[1] for s in SIGNALS[self.robot]], 'peaks': self.peaks[last],
            'limits': self.limits, 'best_values': self.values(self.points[best]),
            'best_reward': self.rewards[best], 'delta': 0.1, 'delta_spent': 0.03,
            'ledger': ['0.01 for noise of reward',
                       f'0.02 for calling the next values safe, spread over {told} episodes'],
            'warnings': ['noise of overshoot is 0.021, above its bound 0.020; raise noise_bound'],
            'length_scales': [0.1, 0.2, 0.4, 0.8], 'length_scale_weights': rng.dirichlet(
                [2.0, 8.0, 4.0, 1.0], len(functions)).ravel().tolist(),
            'domains': ['hull', 'enlarged', 'box'], 'safe_share': [0.02, 0.05, 0.11],
            'functions': functions, 'norm_bound': rng.uniform(1, 4, 3 * len(functions)),
            'outcome_count': [told - 2, 1, 1, 0, 0, 0, 0, 0, 0], **changes})

    def candidate(self, number: int) -> SimpleNamespace:
        """Return the Candidate of an episode."""
        point = self.points[number - 1:number]
        lower = [0.8, *(self.margin(point)[0] - 0.1)]
        return SimpleNamespace(
            run_id='made-up', iteration=number, names=self.names, units=self.units,
            values=self.values(point)[0], tuned=len(self.names), domain='enlarged',
            role=self.role(number)[0], lower=lower, needs_approval=False)

    def description(self) -> SimpleNamespace:
        """Return the message Robot."""
        name, unit, limit = COMMANDS[self.robot]
        return SimpleNamespace(
            name=self.robot, signals=[s[0] for s in SIGNALS[self.robot]],
            signal_units=[s[1] for s in SIGNALS[self.robot]], signal_limits=self.limits,
            constraints=CONSTRAINTS[self.robot], commands=[name], command_units=[unit],
            command_limits=[limit])

    def safety(self, time: float = 0.0, **changes: Any) -> SimpleNamespace:
        """Return the SafetyStatus of a robot that swings a little."""
        return SimpleNamespace(**{
            'state': 1, 'ok': True, 'cause': '', 'reason': 'all checks pass',
            'cause_persists': False, 'signals': [s[0] for s in SIGNALS[self.robot]],
            'newest': [0.3 * s[2] * math.sin(3 * time + i) if math.isfinite(s[2]) else 311.0
                       for i, s in enumerate(SIGNALS[self.robot])], **changes})

    def controller(self) -> SimpleNamespace:
        """Return the ControllerState in the middle of an episode."""
        name, _, limit = COMMANDS[self.robot]
        return SimpleNamespace(
            state=2, iteration=self.episodes, commands=[name], command=[-0.21 * limit],
            signals=[s[0] for s in SIGNALS[self.robot]], peaks=self.peaks[-1] * 0.7)

    def slices(self, told: int) -> Slices:
        """Return what a view makes of the GainMap."""
        return Slices.from_message(self.gain_map(told))

    def tell(self, live: Live, told: int) -> None:
        """Let a page's Live see everything up to some episodes."""
        live.see_robot(self.description())
        live.see_safety(self.safety(0.4))
        live.see_controller(self.controller())
        for number in range(1, told + 1):
            live.see_candidate(self.candidate(number))
            live.see_optimizer(self.state(number))
        live.see_slices(self.slices(told))
        live.see_candidate(self.candidate(told + 1))

    @staticmethod
    def role(number: int) -> tuple[str, str]:
        """Return role and domain of an episode."""
        return (('start', 'start') if number < 4
                else (('expander', 'enlarged'), ('maximiser', 'hull'))[number % 2])

    def told(self, number: int) -> Told:
        """Return an episode as a journal has it."""
        i, count = number - 1, len(self.margins[0])
        role, domain = self.role(number)
        bounds = () if number < 4 else (0.8, *(self.margin(self.points[i:number])[0] - 0.1))
        safe = bool(self.margins[i].min() >= 0)
        return Told(
            Trial(number, tuple(self.values(self.points[i]).tolist()),
                  tuple(self.points[i].tolist()), number, role, domain, bounds, bounds, bounds),
            Measured(float(self.rewards[i]), float(self.rewards[i]),
                     tuple(self.margins[i].tolist()), (0.01,) * (count + 1),
                     tuple(self.peaks[i].tolist()), 2 if number == 9 else 0 if safe else 1,
                     'known-safe values took over' if number == 9 else 'kept every limit' if safe
                     else f'{SIGNALS[self.robot][0][0]} passed its limit'))

    def header(self) -> dict[str, Any]:
        """Return the first line of the journal."""
        name, unit, limit = COMMANDS[self.robot]
        return {'format': 1, 'problem': {
            'box': {'names': self.names, 'lower': self.lower, 'upper': self.upper},
            'fixed': {'sample_time': 0.005},
            'robot': {
                'name': self.robot, 'plant': 'made up',
                'tunables': [{'name': n, 'unit': u, 'lower': a, 'upper': b} for n, u, a, b in zip(
                    self.names, self.units, self.lower, self.upper, strict=True)],
                'signals': [{'name': n, 'unit': u, 'limit': b if math.isfinite(b) else None}
                            for n, u, b in SIGNALS[self.robot]],
                'commands': [{'name': name, 'unit': unit, 'limit': limit}],
                'constraints': list(CONSTRAINTS[self.robot]),
                'reward': {'offset': 0.0, 'scale': 1.0, 'unit': ''}}}}

    def trace(self, number: int) -> Trace:
        """Return the movement of an episode."""
        columns = [*SIGNALS[self.robot], COMMANDS[self.robot]]
        time = np.linspace(0, 5, 120)
        size = [*self.peaks[number - 1], 0.6 * COMMANDS[self.robot][2]]
        swing = [peak * np.exp(-0.5 * time) * np.cos(5 * time + c) for c, peak in enumerate(size)]
        return Trace(('time', *(c[0] for c in columns)), ('s', *(c[1] for c in columns)),
                     np.column_stack([time, *swing]), (math.nan, *(c[2] for c in columns)))

    def write(self, folder: Path) -> Path:
        """Write the run as the optimiser would leave it."""
        folder.mkdir(parents=True, exist_ok=True)
        report_files = ReportFiles(folder)
        lines = [json.dumps(self.header())]
        for number in range(1, self.episodes + 1):
            lines.append(json.dumps(asdict(self.told(number))))
            report_files.keep_trace(number, self.trace(number))
            state = self.state(number)
            report_files.keep_progress(Progress(
                number, tuple(state.domains), tuple(state.functions),
                tuple(state.norm_bound * (1 + 1 / number)),
                tuple(share * number / self.episodes for share in state.safe_share), state.delta,
                state.delta_spent * number / self.episodes, tuple(state.ledger),
                tuple(state.warnings), tuple(state.length_scales),
                tuple(state.length_scale_weights), tuple(state.best_values.tolist()),
                float(state.best_reward)))
            if number > 2 and number % 4 == 0:
                report_files.keep_slices(self.slices(number))
        (folder / 'episodes.jsonl').write_text('\n'.join(lines) + '\n', encoding='utf-8')
        (folder / 'parameters.yaml').write_text(
            f'/**/pacsbo_optimizer:\n  ros__parameters: {{iterations: {self.episodes}, '
            'delta: 0.1}\n', encoding='utf-8')
        (folder / 'best_gains.yaml').write_text('{}\n', encoding='utf-8')
        return folder
