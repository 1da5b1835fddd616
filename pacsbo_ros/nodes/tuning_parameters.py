# Copyright the pacsbo_ros developers. Apache-2.0.
"""The optimiser's parameters, and the problem that they describe."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from pacsbo_ros.core import Box, Predictor, Settings
from pacsbo_ros.core.settings import NORM_BOUNDS
from pacsbo_ros.furuta.gains import TUNED_BY_DEFAULT, check_names
from pacsbo_ros.nodes.parameters import Parameter
from pacsbo_ros.predictor import CheckpointError, load_predictor
from pacsbo_ros.tuning.tuning import Problem

PARAMETERS = (
    Parameter('iterations', 30, 'Episodes of the run, the start gains included.', 1, 10000),
    Parameter('seed', 0, 'Seed of everything random in the run.', 0, 2 ** 31 - 1),
    Parameter('run_dir', '', 'Folder of the run; empty makes runs/<date-time>.'),
    Parameter('resume', '', 'Folder of a run to go on with.'),
    Parameter('plant', 'simulated', 'Name of what is driven: a run is resumed on the same plant '
              'only, since what is safe on one need not be so on another.'),
    Parameter('stay', False, 'Stay alive after the run, so that it can be looked at.'),
    Parameter('report', True, 'Draw the pictures and write the report when the run ends.'),
    Parameter('require_approval', False, 'Wait for the service approve before every new gain.'),
    Parameter('tuned', list(TUNED_BY_DEFAULT), 'Names of the tuned gains.'),
    Parameter('box_lower', [-6.0, 10.0], 'Smallest tuned gains [V/rad, V s/rad].'),
    Parameter('box_upper', [0.0, 50.0], 'Largest tuned gains.'),
    Parameter('start', [-5.1, 26.0, -4.9, 25.2, -4.8, 26.3], 'Gains known to be safe, one vector '
              'after the other.'),
    Parameter('constraints', 2, 'How many constraints the controller reports.', 1, 10),
    Parameter('method', 'pacsbo', 'pacsbo estimates the norm; safeopt takes known_norm.',
              choices=('pacsbo', 'safeopt')),
    Parameter('known_norm', 2.0, 'B of every function, for safeopt only.', 1e-6, 1e6),
    Parameter('norm_bound', 'scale_free', 'Rule that bounds the norm.', choices=NORM_BOUNDS),
    Parameter('predictor_checkpoint', 'default', 'Trained norm predictor: a file, default for '
              'the shipped one, empty for none.'),
    Parameter('delta', 0.1, 'Probability that the guarantee of the whole run fails.',
              1e-6, 0.999999),
    Parameter('kernel', 'matern32', 'Kernel of the model.',
              choices=('matern32', 'matern52', 'rbf')),
    Parameter('length_scales', [0.5, 0.2], 'Length scales, as shares of the box; one for all or '
              'one per gain.'),
    Parameter('output_scale', 1.0, 'Prior variance of the scaled values.', 1e-6, 1e6),
    Parameter('noise_bound', 0.08, 'R: bound on the noise of the scaled values.', 0.0, 100.0),
    Parameter('lam', 0.02, 'λ: regularises the model and enters the confidence band.',
              1e-9, 1e3),
    Parameter('candidates', 0, 'Points of the search; 0 chooses by the number of gains.',
              0, 1000000),
)


def make_problem(p: SimpleNamespace) -> Problem:
    """Turn parameters into a problem; ValueError says which one is wrong."""
    check_names(p.tuned)
    box = Box(p.tuned, p.box_lower, p.box_upper)
    if len(p.start) % box.dimension:
        raise ValueError(f'start has {len(p.start)} numbers, not a multiple of the '
                         f'{box.dimension} tuned gains')
    start = tuple(map(tuple, np.reshape(p.start, (-1, box.dimension)).tolist()))
    settings = Settings(
        dimension=box.dimension, constraints=p.constraints, kernel=p.kernel,
        length_scales=tuple(p.length_scales), output_scale=p.output_scale,
        noise_bound=p.noise_bound, lam=p.lam, delta=p.delta, norm_bound=p.norm_bound,
        candidates=p.candidates)
    known = p.known_norm if p.method == 'safeopt' else None
    return Problem(box, start, settings, known, p.seed)


def make_predictor(p: SimpleNamespace, problem: Problem) -> tuple[Predictor | None, str]:
    """Load the norm predictor and its hash; none gives an empty hash."""
    if not p.predictor_checkpoint or p.method == 'safeopt':
        return None, ''
    try:
        predictor = load_predictor(p.predictor_checkpoint, problem.settings)
    except CheckpointError as error:
        raise ValueError(f'predictor_checkpoint: {error}') from error
    return predictor, predictor.hash
