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

"""The optimiser's parameters, and the problem that they describe."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from pacsbo_ros.core import Box, Predictor, Settings
from pacsbo_ros.core.rules import COMPLETE
from pacsbo_ros.core.settings import AUTO, factors
from pacsbo_ros.nodes.parameters import DECIMALS, Parameter, TEXTS
from pacsbo_ros.predictor import CheckpointError, DEFAULT, load_multiplier, load_predictor
from pacsbo_ros.robots.contract import Description
from pacsbo_ros.tuning.tuning import Problem

PARAMETERS = (
    Parameter('iterations', 30, 'Episodes of the run, the start values included.', 1, 10000),
    Parameter('seed', 0, 'Seed of everything random in the run.', 0, 2 ** 31 - 1),
    Parameter('run_dir', '', 'Folder of the run; empty makes runs/<date-time>.'),
    Parameter('resume', '', 'Folder of a run to go on with.'),
    Parameter('robot_timeout', 60.0, 'How long to wait for the robot to say what it is [s].',
              0.1, 3600.0),
    Parameter('stay', False, 'Stay alive after the run, so that it can be looked at.'),
    Parameter('report', True, 'Draw the pictures and write the report when the run ends.'),
    Parameter('require_approval', False, 'Wait for the service approve before every new trial.'),
    Parameter('unsafe_in_a_row', 2, 'After so many unsafe episodes in a row the run pauses and '
              'asks for a person.', 1, 1000),
    Parameter('retries', 10, 'After so many episodes of one candidate that were no data the run '
              'pauses and asks for a person.', 1, 1000),
    Parameter('tuned', TEXTS, "Names of what is tuned, among the robot's values."),
    Parameter('box_lower', DECIMALS, 'Smallest tuned values, in their units.'),
    Parameter('box_upper', DECIMALS, 'Largest tuned values.'),
    Parameter('start', DECIMALS, 'Values known to be safe, one vector after the other.'),
    Parameter('start_repeats', 1, 'How often the starts are tried again: what differs is noise.',
              0, 100),
    Parameter('verifications', 2, 'How often the best values are tried at the end, and beside '
              'them the best start.', 1, 100),
    Parameter('method', 'pacsbo', 'pacsbo: as set below; paper: the choices of the paper; '
              'safeopt: the norm is known_norm.', choices=('pacsbo', 'paper', 'safeopt')),
    Parameter('known_norm', 2.0, 'B of every function, for safeopt only.', 1e-6, 1e6),
    Parameter('rule', 'student', 'Rule that says what is safe.', choices=COMPLETE),
    Parameter('scale_prior', 0.5, 'Expected size of the scaled values, for the rule student; 0: '
              'nothing is known of it.', 0.0, 1e6),
    Parameter('scale_trust', 3.0, 'As many measured values scale_prior counts.', 0.1, 1e6),
    Parameter('step', 0.0, 'First step beyond measured safe ground, in length scales; it grows '
              'with every value that was foreseen and shrinks with a surprise; 0: no limit.',
              0.0, 1e6),
    Parameter('predictor_checkpoint', 'default', 'Trained predictor, of multipliers for student '
              'and of norms for the other rules: a file, default for the shipped one (student '
              'needs none, and none is shipped for it), empty for none.'),
    Parameter('delta', 0.1, 'Probability that the guarantee of the whole run fails.',
              1e-6, 0.999999),
    Parameter('kernel', 'matern32', 'Kernel of the model.',
              choices=('matern32', 'matern52', 'rbf')),
    Parameter('length_scales', [0.3], 'Length scales, as shares of the box; one for all or '
              'one per value.'),
    Parameter('length_scales_from_data', False, 'Take length_scales as a first guess and average '
              'over shorter and longer ones as the data weigh them, for the rule student.'),
    Parameter('output_scale', 1.0, 'Prior variance of the scaled values.', 1e-6, 1e6),
    Parameter('noise_bound', 0.08, 'R: bound on the noise of the scaled values.', 0.0, 100.0),
    Parameter('noise_from_repeats', False, 'Estimate R from repeats instead of noise_bound.'),
    Parameter('lam', 0.02, 'λ: regularises the model and enters the confidence band.',
              1e-9, 1e3),
    Parameter('candidates', 0, 'Points of the search; 0 chooses by the number of values.',
              0, 1000000),
)


def make_problem(p: SimpleNamespace, robot: Description) -> Problem:
    """Turn parameters into a problem on a robot; ValueError says which one is wrong."""
    box, start = _box_and_start(p)
    known = p.known_norm if p.method == 'safeopt' else None
    return Problem(robot, box, start, _settings(p, len(robot.constraints)), known, p.seed,
                   p.start_repeats, p.verifications)


def check(p: SimpleNamespace) -> None:
    """Refuse what is wrong on any robot, before there is one; ValueError says what."""
    box, start = _box_and_start(p)
    for values in start:
        box.validate(values)
    if p.iterations < len(start):
        raise ValueError(f'iterations is {p.iterations}, but there are {len(start)} start values '
                         'to evaluate first; give more')
    make_predictor(p, _settings(p, 1))


def _box_and_start(p: SimpleNamespace) -> tuple[Box, tuple[tuple[float, ...], ...]]:
    box = Box(p.tuned, p.box_lower, p.box_upper)
    if not p.start or len(p.start) % box.dimension:
        raise ValueError(f'start has {len(p.start)} numbers, not a multiple of the '
                         f'{box.dimension} tuned values')
    return box, tuple(map(tuple, np.reshape(p.start, (-1, box.dimension)).tolist()))


def _settings(p: SimpleNamespace, constraints: int) -> Settings:
    common = {
        'dimension': len(p.tuned), 'constraints': constraints, 'kernel': p.kernel,
        'length_scales': tuple(p.length_scales), 'output_scale': p.output_scale,
        'noise_bound': AUTO if p.noise_from_repeats else p.noise_bound, 'lam': p.lam,
        'delta': p.delta, 'candidates': p.candidates, 'budget': p.iterations}
    if p.method == 'paper':
        return Settings.paper(**common)
    common['length_scale_factors'] = (1.0,)  # what is told holds
    if p.length_scales_from_data:
        if p.rule != 'student':
            raise ValueError(f'length_scales_from_data is true, but the rule is {p.rule}: only '
                             'student averages; set rule to student')
        common['length_scale_factors'] = factors(len(p.tuned))
    return Settings(rule=p.rule, scale_prior=p.scale_prior, scale_trust=p.scale_trust,
                    step=p.step, **common)


def make_predictor(p: SimpleNamespace, settings: Settings) -> tuple[Predictor | None, str]:
    """Load the predictor; give it and its hash."""
    asked = p.predictor_checkpoint
    if not asked or p.method == 'safeopt':
        return None, ''
    student = settings.rule == 'student'
    try:
        predictor = load_multiplier(asked, settings) if student else (
            load_predictor(asked, settings))
    except CheckpointError as error:
        if student and asked == DEFAULT:  # none is shipped, and the rule is complete without
            return None, ''
        raise ValueError(f'predictor_checkpoint: {error}') from error
    return predictor, predictor.hash
