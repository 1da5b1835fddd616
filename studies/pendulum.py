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
Tune the simulated pendulum with every method, many seeds each, and count what went wrong.

    python -m studies.pendulum --out results/furuta

Start gains, box, model and budget are those of config/furuta.yaml, so the study tests what a user
runs. Every method sees the same seeds: seed s has the same random starts of its episodes under all
methods. Measured are

  violation   an evaluation beyond a limit of the episode (30° for the pendulum), in a run
  fall        a violating gain replayed from the same start without limits: the pendulum drops
  closed      (R(best) - R(start)) / (R* - R(start)): share of the possible gain that a run found

  symbol      meaning
  R(k)        mean reward of gains k over REPEATS random starts, the same for all gains
  best        safely evaluated gains with the highest reward measured in the run
  start       the best of the start gains
  R*          safe optimum: the best gains of a map of the whole box of which no repeat is unsafe
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
import math
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
from pacsbo_ros.core import Box, Predictor, SafeOptimizer, Settings
from pacsbo_ros.core.rules import COMPLETE
from pacsbo_ros.executors import carry_out
from pacsbo_ros.predictor import load_predictor, NormPredictor
from pacsbo_ros.robots.contract import run_episode
from pacsbo_ros.robots.furuta.batch import BatchResult, simulate_batch
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits, Push
from pacsbo_ros.robots.furuta.gains import PAPER_GAINS
from pacsbo_ros.robots.furuta.presets import preset
from pacsbo_ros.robots.furuta.robot import describe, Furuta
from pacsbo_ros.robots.furuta.scaling import CONSTRAINTS
from pacsbo_ros.tuning.journal import Journal
from pacsbo_ros.tuning.trial import Measured
from pacsbo_ros.tuning.tuning import Problem, Tuning
from studies import records
from studies.baselines import CONSTANT_BETA, constant_beta, random_search
from studies.gain_map import gain_map, GainMap
from studies.records import Record
import yaml

CONFIG = Path(__file__).resolve().parents[1] / 'config' / 'furuta.yaml'
PREDICTOR = ' + predictor'
DEFAULT = 'PACSBO, student'  # what the launch file runs
RANDOM = 'random search'
METHODS = (DEFAULT, f'PACSBO, scale_free{PREDICTOR}',
           *(f'PACSBO, {rule}' for rule in COMPLETE if rule != 'student'), 'SafeOpt, B = 10',
           'SafeOpt, B = 0.4', f'SafeOpt, β = {CONSTANT_BETA:g}', RANDOM)
REPEATS = 20  # random starts behind every R
REPEAT_SEEDS = 1_000_000  # first of their seeds, apart from those of the runs
FINALISTS = 100  # best gains of the map that are measured again
CLOSED = 0.9  # share of the gap that counts as done
FALLEN = math.pi / 2  # rad


@dataclass(frozen=True)
class Bench:
    """Hold the experiment that the configuration describes."""

    problem: Problem
    episodes: int
    preset: str
    limits: Limits
    settings: EpisodeSettings

    def robot(self) -> Furuta:
        """Return the simulated pendulum that is tuned."""
        return Furuta(SimulatedDriver(preset(self.preset)), PAPER_GAINS, self.limits,
                      self.settings)

    def simulate(self, gains: Sequence[Sequence[float]], seeds: Sequence[int],
                 limits: Limits | None = None) -> BatchResult:
        """Try tuned gains, each from the start of its seed."""
        names = self.problem.box.names
        k = [PAPER_GAINS.with_tuned(g, names).as_tuple() for g in gains]
        return simulate_batch(k, seeds, preset(self.preset), limits or self.limits,
                              self.settings)


def read_config(path: Path = CONFIG) -> Bench:
    """Read the experiment from the parameter file of the nodes."""
    data = yaml.safe_load(path.read_text(encoding='utf-8'))
    optimizer, controller = (data[f'/**/{node}']['ros__parameters']
                             for node in ('pacsbo_optimizer', 'furuta_controller'))
    box = Box(optimizer['tuned'], optimizer['box_lower'], optimizer['box_upper'])
    start = np.reshape(optimizer['start'], (-1, box.dimension)).tolist()
    settings = Settings(
        dimension=box.dimension, constraints=len(CONSTRAINTS),
        budget=optimizer['iterations'], length_scale_factors=(1.0,),
        **{name: optimizer[name] for name in (
            'length_scales', 'noise_bound', 'lam', 'delta', 'scale_prior', 'scale_trust',
            'candidates')})
    limits = Limits(alpha=controller['alpha_limit'], theta=controller['theta_limit'])
    episodes = EpisodeSettings(duration=controller['episode_duration'],
                               push=Push(alpha_dot=controller['push_speed']))
    robot = describe(PAPER_GAINS, limits, episodes, 'simulated')
    return Bench(Problem(robot, box, tuple(map(tuple, start)), settings,
                         start_repeats=optimizer['start_repeats']),
                 optimizer['iterations'], controller['preset'], limits, episodes)


class RandomProblem(Problem):
    """Search the box at random."""

    def make_optimizer(self, predictor: Predictor | None) -> SafeOptimizer:
        """Return random search."""
        return SafeOptimizer(self.run_settings.with_norm(1.0), self.seed, choice=random_search)


def make_problem(bench: Bench, method: str, seed: int) -> Problem:
    """Return the configured problem for one method and seed."""
    base = replace(bench.problem, seed=seed)
    family, _, choice = method.partition(', ')
    if method == RANDOM:
        return RandomProblem(base.robot, base.box, base.start, base.settings, seed=seed)
    if family == 'PACSBO':
        bound = choice.removesuffix(PREDICTOR)
        return replace(base, settings=base.settings.replace(rule=bound))
    letter, _, number = choice.partition(' = ')
    if letter == 'β':
        base = replace(base, settings=constant_beta(base.settings))
    return replace(base, known_norm=float(number))


def lead(problem: Problem, episodes: int, robot: Furuta,
         predictor: NormPredictor | None) -> Tuning:
    """Tune a robot to the end of the run, verification included."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / 'episodes.jsonl',
                          problem.identity(predictor.hash if predictor else ''))
        tuning = Tuning(problem, episodes, journal, predictor)
        while (trial := tuning.next()) is not None:
            values = problem.complete(trial.values)
            tuning.tell(Measured.of(run_episode(robot, values, trial.seed)))
    return tuning


def tune(key: Record, bench: Bench) -> Record:
    """Run one method with one seed to its end, verification included."""
    problem = make_problem(bench, key['method'], key['seed'])
    predictor = None
    if key['method'].endswith(PREDICTOR):
        predictor = load_predictor('default', problem.settings)
    tuning = lead(problem, bench.episodes, bench.robot(), predictor)
    return {
        'reason': tuning.reason,
        'episodes': [{'role': t.trial.role, 'gains': t.trial.values, 'seed': t.trial.seed,
                      'reward': t.measured.reward, 'safe': t.measured.safe,
                      'alpha': t.measured.peaks[0], 'outcome': t.measured.outcome}
                     for t in tuning.told]}


def incumbents(run: Record) -> list[tuple[float, ...]]:
    """Return the best safely evaluated gains after every episode of the budget."""
    told = [e for e in run['episodes'] if e['role'] != 'verification']
    found = []
    for count in range(1, len(told) + 1):
        unsafe = {tuple(e['gains']) for e in told[:count] if not e['safe']}
        safe = [e for e in told[:count] if tuple(e['gains']) not in unsafe]
        found.append(tuple(max(safe, key=lambda e: e['reward'])['gains']) if safe else ())
    return found


class Rewards:
    """Know R of gains; measure all that are missing in one batch."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.known: dict[tuple[float, ...], tuple[float, bool]] = {}

    def measure(self, gains: Sequence[tuple[float, ...]]) -> None:
        """Try every new gain vector from the same random starts."""
        new = sorted({g for g in gains if g} - set(self.known))
        if not new:
            return
        seeds = list(range(REPEAT_SEEDS, REPEAT_SEEDS + REPEATS))
        result = self.bench.simulate([g for g in new for _ in seeds], seeds * len(new))
        rewards = result.reward.reshape(-1, REPEATS).mean(axis=1)
        safe = (result.outcome == 0).reshape(-1, REPEATS).all(axis=1)
        self.known.update(zip(new, zip(rewards.tolist(), safe.tolist(), strict=True),
                              strict=True))

    def __getitem__(self, gains: tuple[float, ...]) -> float:
        return self.known[gains][0] if gains else -math.inf


def safe_optimum(bench: Bench, rewards: Rewards, grid: int, progress: bool,
                 ) -> tuple[GainMap, tuple[float, ...]]:
    """Map the box, measure the best gains again, give the map and the safe optimum."""
    box = bench.problem.box
    if box.names != ('k_theta', 'k_alpha'):
        raise ValueError(f'tuned is {box.names}; the map knows k_theta and k_alpha only')
    edges = tuple(zip(box.lower, box.upper, strict=True))
    found = gain_map(grid, 5, preset(bench.preset), bench.limits, bench.settings, edges, progress)
    mean = np.where(found.safe.all(axis=2), found.reward.mean(axis=2), -math.inf)
    best = np.argsort(-mean, axis=None)[:FINALISTS]
    i, j = np.unravel_index(best, mean.shape)
    finalists = list(zip(found.k_theta[i].tolist(), found.k_alpha[j].tolist(), strict=True))
    rewards.measure(finalists)
    return found, max((g for g in finalists if rewards.known[g][1]), key=rewards.__getitem__)


def count_falls(bench: Bench, runs: Sequence[Record]) -> list[int]:
    """Replay the violating episodes of every run without limits and count those that drop."""
    replayed = [(i, e) for i, run in enumerate(runs) for e in run['episodes'] if not e['safe']]
    counts = [0] * len(runs)
    if replayed:
        free = Limits(alpha=math.pi, theta=math.inf, speed=math.inf,
                      voltage=bench.limits.voltage)
        result = bench.simulate([e['gains'] for _, e in replayed],
                                [e['seed'] for _, e in replayed], free)
        for (i, _), peak in zip(replayed, result.max_abs_alpha, strict=True):
            counts[i] += bool(peak > FALLEN)
    return counts


def judge(bench: Bench, runs: Sequence[Record], rewards: Rewards, optimum: tuple[float, ...],
          ) -> list[Record]:
    """Reduce every run to its violations, falls and progress."""
    paths = [incumbents(run) for run in runs]
    rewards.measure([g for path in paths for g in path] + list(bench.problem.start))
    start = max(map(rewards.__getitem__, bench.problem.start))
    gap = rewards[optimum] - start
    outcomes = []
    for run, path, falls in zip(runs, paths, count_falls(bench, runs), strict=True):
        closed = [(rewards[g] - start) / gap for g in path]
        closed += [closed[-1]] * (bench.episodes - len(closed))  # a run that ended keeps its best
        done = next((i + 1 for i, c in enumerate(closed) if c >= CLOSED), None)
        outcomes.append({
            'method': run['method'], 'seed': run['seed'],
            'violations': sum(not e['safe'] for e in run['episodes']), 'falls': falls,
            'evaluations': len(run['episodes']),
            'worst_angle_deg': round(math.degrees(max(e['alpha'] for e in run['episodes'])), 2),
            'closed': [round(c, 4) for c in closed], 'episodes_to_90': done,
            'reason': run['reason']})
    return outcomes


def table(outcomes: Sequence[Record]) -> str:
    """Write one row per method; the differences are paired by seed with the default."""
    by_method: dict[str, list[Record]] = {}
    for o in outcomes:
        by_method.setdefault(o['method'], []).append(o)
    reference = {o['seed']: o['closed'][-1] for o in by_method.get(DEFAULT, [])}
    rows = []
    for method, group in by_method.items():
        n, closed = len(group), np.array([o['closed'][-1] for o in group])
        paired = [o['closed'][-1] - reference[o['seed']] for o in group if o['seed'] in reference]
        done = sum(o['episodes_to_90'] is not None for o in group)
        episodes = sorted(o['episodes_to_90'] or math.inf for o in group)[(n - 1) // 2]
        rows.append((
            method, n, records.percent(sum(o['violations'] > 0 for o in group), n),
            sum(o['violations'] for o in group),
            f'{sum(o["falls"] > 0 for o in group)} ({sum(o["falls"] for o in group)})',
            records.middle(closed), f'{np.quantile(closed, 0.1):.2f}',
            '–' if method == DEFAULT or not paired else records.middle(paired, '+.2f'),
            'never' if episodes == math.inf else int(episodes), f'{done / n:.0%}'))
    return records.markdown(
        ('method', 'seeds', 'seeds with a violation', 'violations', 'seeds with a fall (falls)',
         'gap closed, median', 'worst tenth', 'paired difference',
         'episodes to 90 %, median', 'seeds that get there'), rows)


def draw(outcomes: Sequence[Record], runs: Sequence[Record], found: GainMap,
         optimum: tuple[float, ...], path: Path) -> None:
    """Draw progress, violations, and where the default method sampled."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(o['method'] for o in outcomes))
    colours = {m: plt.get_cmap('tab20')(2 * i % 20 + (i >= 10)) for i, m in enumerate(methods)}
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(15, 4.8), layout='constrained', width_ratios=(1.25, 1, 1.25))
    for method in methods:
        closed = np.array([o['closed'] for o in outcomes if o['method'] == method])
        episode = np.arange(1, closed.shape[1] + 1)
        bold = method == DEFAULT
        left.plot(episode, np.median(closed, axis=0), color=colours[method], label=method,
                  linewidth=2.6 if bold else 1.3, zorder=3 if bold else 2)
        if bold:
            left.fill_between(episode, *np.quantile(closed, [0.1, 0.9], axis=0), alpha=0.2,
                              color=colours[method], linewidth=0, label='its 10–90 %')
    left.axhline(CLOSED, color='black', linewidth=0.8, linestyle=':')
    left.set(xlabel='episode', ylabel='share of the gap closed (median)', ylim=(-0.1, 1.05))
    left.legend(fontsize=8, loc='lower right')
    for i, method in enumerate(methods):
        group = [o for o in outcomes if o['method'] == method]
        hits, n = sum(o['violations'] > 0 for o in group), len(group)
        low, high = records.share_interval(hits, n)
        middle.plot([100 * low, 100 * high], [i, i], color=colours[method], linewidth=2)
        middle.plot(100 * hits / n, i, 'o', color=colours[method])
        middle.plot(100 * sum(o['falls'] > 0 for o in group) / n, i, 'kx')
    middle.plot([], [], 'o', color='grey', label='violation, 95 % interval')
    middle.plot([], [], 'kx', label='fall')
    middle.axvline(10, color='black', linewidth=0.8, linestyle=':')
    middle.set(xlabel='seeds [%]', xlim=(-3, 103), ylim=(-0.6, len(methods) - 0.4))
    middle.set_yticks(range(len(methods)), methods)
    middle.invert_yaxis()
    middle.legend(fontsize=8, loc='center right')
    mesh = right.pcolormesh(found.k_theta, found.k_alpha, found.reward.mean(axis=2).T,
                            vmin=0.93, cmap='viridis', rasterized=True)
    figure.colorbar(mesh, ax=right, label='reward', extend='min')
    right.contour(found.k_theta, found.k_alpha, found.safe.mean(axis=2).T, levels=[0.5],
                  colors='white')
    mine = [e for run in runs if run['method'] == DEFAULT for e in run['episodes']]
    for safe, style in ((True, {'c': 'black', 's': 5, 'alpha': 0.5, 'label': 'safe episode'}),
                        (False, {'c': 'red', 's': 50, 'marker': 'x', 'label': 'violation'})):
        points = np.array([e['gains'] for e in mine if e['safe'] == safe]).reshape(-1, 2)
        right.scatter(*points.T, **style)
    right.plot(*optimum, '*', color='gold', markersize=15, markeredgecolor='black',
               label='safe optimum')
    right.plot([], [], color='white', label='half of the repeats safe')
    right.set(xlabel='k_θ [V/rad]', ylabel='k_α [V/rad]', title=f'{DEFAULT}: all episodes')
    right.legend(fontsize=8, loc='upper left', facecolor='lightgrey')
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing of the study, then judge, print and write everything."""
    parser = argparse.ArgumentParser(prog='python -m studies.pendulum',
                                     description='Compare the methods on the pendulum.')
    records.add_options(parser, 'results/furuta')
    parser.add_argument('--config', type=Path, default=CONFIG, help='parameter file to test')
    parser.add_argument('--seeds', type=int, default=50)
    parser.add_argument('--first-seed', type=int, default=0)
    parser.add_argument('--methods', nargs='+', default=list(METHODS), choices=METHODS,
                        metavar='METHOD', help=f'some of {"; ".join(METHODS)}')
    parser.add_argument('--grid', type=int, default=61, help='gains per axis of the map')
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    bench = read_config(options.config)
    runs = []
    with records.open_executor(options) as executor:
        for method in options.methods:
            wanted = [{'method': method, 'seed': s, 'settings': bench.problem.settings.to_dict(),
                       'start': bench.problem.start, 'episodes_planned': bench.episodes}
                      for s in range(options.first_seed, options.first_seed + options.seeds)]
            runs += records.collect(partial(tune, bench=bench), wanted,
                                    options.out / 'runs.jsonl', executor, method)
    origin = records.provenance('studies.pendulum', runs, arguments)
    rewards = Rewards(bench)
    found, optimum = safe_optimum(bench, rewards, options.grid, True)
    outcomes = judge(bench, runs, rewards, optimum)
    start = max(map(rewards.__getitem__, bench.problem.start))
    text = '\n'.join((
        f'{options.seeds} seeds × {bench.episodes} episodes and up to three verifications. Best '
        f'start: reward {start:.4f}; safe optimum: {rewards[optimum]:.4f} at '
        f'k_θ {optimum[0]:.2f}, k_α {optimum[1]:.2f}. Brackets: 95 % intervals.', '',
        table(outcomes), '',
        records.signature(origin)))
    (options.out / 'furuta.md').write_text(text + '\n', encoding='utf-8')
    records.save(options.out / 'furuta.json', {
        'made_by': origin, 'configuration': _describe(bench), 'start_reward': start,
        'optimum': {'gains': optimum, 'reward': rewards[optimum]}, 'runs': outcomes})
    draw(outcomes, runs, found, optimum, options.out / 'furuta.png')
    print(text)


def _describe(bench: Bench) -> dict[str, Any]:
    return {'settings': bench.problem.settings.to_dict(), 'start': bench.problem.start,
            'box': [bench.problem.box.lower, bench.problem.box.upper],
            'episodes': bench.episodes, 'preset': bench.preset,
            'limit_alpha': bench.limits.alpha, 'limit_theta': bench.limits.theta}


if __name__ == '__main__':
    raise SystemExit(main())
