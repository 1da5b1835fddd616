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
Tune a family of pendulums from several kinds of starts, and count what went wrong and why.

    python -m studies.family --out results/family --plants longer delay --starts upper --seeds 5

Box, limits, model, budget and backup are those of config/furuta.yaml: what a user runs. A cell is
a plant, a kind of start and a set of tuned gains; it is run with every seed. All runs on a plant
go on side by side, so that their episodes are simulated together; the command given again goes on
with the next plant. Counted are

  violation   an evaluation that passed a limit of the episode, caught or not
  caught      an evaluation that the backup ended
  fall        an evaluation that the backup lost, or that passed twice the angle limit
  shaking     an evaluation within all limits whose loop did not forget the push
  gap         R* - R(start), R the mean reward over REPEATS random starts
  closed      (R(best) - R(start)) / gap, best what the run itself calls its best after an episode
  left        R* - R(best) at the end
  spread      standard deviation of one episode's reward at the optimum: a start that is nearer
              cannot be told from it by an episode, and `closed` is then mostly luck
  early       runs that ended before their budget, and said why
  good        runs that closed GOOD of the gap, left less than the spread, or ended early

Plants with `mujoco` in their name move by MuJoCo (pip install 'mujoco>=3.2'), their map is that of
the equations, and starts and optimum are measured again by MuJoCo.

  start       the three gains from which a run begins, all safe in REPEATS repeats
  default     those of config/furuta.yaml, with the paper's gains where others are tuned too
  near        safe gains a tenth of the box away from the optimum
  upper       safe gains above the optimum's k_alpha with margins near EDGE
  lower       the same below
"""
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
import math
from pathlib import Path
import re
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.core import Box
from pacsbo_ros.executors import carry_out
from pacsbo_ros.robots.contract import Outcome
from pacsbo_ros.robots.furuta.backup import Backup, Experience
from pacsbo_ros.robots.furuta.batch import BatchResult, gathered, simulate_batch
from pacsbo_ros.robots.furuta.episode_settings import EpisodeSettings, Limits
from pacsbo_ros.robots.furuta.gains import Gains, PAPER_GAINS
from pacsbo_ros.robots.furuta.mujoco_driver import MujocoDriver
from pacsbo_ros.robots.furuta.plant import Plant
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.running import run_episode
from pacsbo_ros.tuning.journal import Journal
from pacsbo_ros.tuning.trial import COMPARISON, Measured, START, VERIFICATION
from pacsbo_ros.tuning.tuning import Problem, Tuning
from scipy.stats import qmc
from studies import records
from studies.pendulum import Bench, read_config
from studies.records import Record

Array = NDArray[np.float64]
REPEATS = 10  # random starts behind every R and every start that is called safe
REPEAT_SEEDS = 1_000_000
SCATTER = 1024  # gains of a quasi-random map
FINALISTS = 24  # of its best that are measured again
EDGE = 0.15  # smallest margin of gains at an edge; 1 is a loop that nobody would worry about
CLOSED, GOOD = 0.9, 0.8
BOUNDS = {'k_theta': (-6.0, 0.0), 'k_alpha': (10.0, 50.0), 'k_theta_dot': (-3.0, -0.5),
          'k_alpha_dot': (1.5, 5.0)}
SCALES = {'k_theta': 0.5, 'k_alpha': 0.2, 'k_theta_dot': 0.2, 'k_alpha_dot': 0.2}
TUNED = {2: ('k_theta', 'k_alpha'), 1: ('k_alpha',),
         3: ('k_theta', 'k_alpha', 'k_alpha_dot'), 4: tuple(BOUNDS)}
STARTS = ('default', 'near', 'upper', 'lower')


class InMujoco(Plant):
    """A plant that MuJoCo moves."""

    @classmethod
    def of(cls, plant: Plant) -> InMujoco:
        """Return the plant in the other engine."""
        return cls(**{f.name: getattr(plant, f.name) for f in fields(plant)})

    @property
    def equations(self) -> Plant:
        """Return the plant that the equations move."""
        return Plant(**{f.name: getattr(self, f.name) for f in fields(self)})


def _with(**changes: float) -> Plant:
    """Return the calibrated plant with some parameters multiplied."""
    known = CALIBRATED.parameters
    return replace(CALIBRATED, parameters=replace(
        known, **{name: factor * getattr(known, name) for name, factor in changes.items()}))


PLANTS = {
    **PRESETS,
    'heavier': _with(pendulum_mass=1.5),
    'lighter': _with(pendulum_mass=0.7),
    'longer': _with(pendulum_length=1.3),
    'a little longer': _with(pendulum_length=1.15),
    'inert arm': _with(arm_inertia=1.5),
    'friction': _with(coulomb_torque=3.0),
    'weak motor': _with(torque_constant=0.85, back_emf=0.85),
    'delay': replace(CALIBRATED, delay=2),
    'voltage': replace(CALIBRATED, voltage_limit=10.0),
    'coarse': replace(CALIBRATED, encoder_counts=1024),
    'bias': replace(CALIBRATED, alpha_bias=0.02, theta_bias=0.05),
}
BOTH = ('calibrated', 'longer', 'friction', 'delay')  # by both engines
MOVED = {f'{name}, mujoco': InMujoco.of(PLANTS[name]) for name in BOTH}


@dataclass(frozen=True)
class Ground:
    """Know a plant's gains: the map, its optimum and where runs may start."""

    box: Box
    best: tuple[float, ...]
    reward: float
    spread: float  # standard deviation of the reward of one episode there
    starts: dict[str, tuple[tuple[float, ...], ...]]  # by kind; empty where none is safe


def episodes(gains: Sequence[Sequence[float]], seeds: Sequence[int], plant: Plant,
             limits: Limits, settings: EpisodeSettings,
             backups: Sequence[Backup] | None = None) -> BatchResult:
    """Try gains on a plant of either engine."""
    if not isinstance(plant, InMujoco):
        return simulate_batch(gains, seeds, plant, limits, settings, backups)
    driver = MujocoDriver(plant)
    return gathered([run_episode(
        driver, Gains.from_sequence(k), limits,
        replace(settings, backup=backups[i] if backups else None), seed=seeds[i])
        for i, k in enumerate(gains)])


def simulate(bench: Bench, plant: Plant, names: Sequence[str], gains: Array,
             seeds: Sequence[int]) -> BatchResult:
    """Try tuned gains, each from the start of its seed, without a backup."""
    k = [PAPER_GAINS.with_tuned(g, names).as_tuple() for g in gains.tolist()]
    return episodes(k, seeds, plant, bench.limits, bench.settings)


def repeat(bench: Bench, plant: Plant, names: Sequence[str],
           gains: Array) -> tuple[Array, Array, Array]:
    """Return mean and deviation of the reward and the smallest margin over the repeats."""
    result = simulate(bench, plant, names, np.repeat(gains, REPEATS, axis=0),
                      [REPEAT_SEEDS + i for i in range(REPEATS)] * len(gains))
    reward = result.reward.reshape(-1, REPEATS)
    return (reward.mean(axis=1), reward.std(axis=1, ddof=1),
            result.values[:, 1:].min(axis=1).reshape(-1, REPEATS).min(axis=1))


@cache
def ground(plant: str, count: int) -> Ground:
    """Map a plant and find its optimum and its starts."""
    bench, names, what = read_config(), TUNED[count], {**PLANTS, **MOVED}[plant]
    if isinstance(what, InMujoco):
        return _again(bench, what, names, ground(plant.removesuffix(', mujoco'), count))
    box = Box(names, *zip(*(BOUNDS[name] for name in names), strict=True))
    lower, upper = np.array(box.lower), np.array(box.upper)
    unit = qmc.Sobol(len(names), seed=0).random(SCATTER)
    gains = lower + unit * (upper - lower)
    seen = simulate(bench, what, names, gains, range(SCATTER))
    margin = seen.values[:, 1:].min(axis=1)
    safe = np.flatnonzero((margin > 0) & (seen.outcome == Outcome.COMPLETED))
    if not len(safe):
        return Ground(box, (), math.nan, math.nan, {})
    top = safe[np.argsort(-seen.reward[safe])][:FINALISTS]
    reward, spread, least = repeat(bench, what, names, gains[top])
    if not (least > 0).any():
        return Ground(box, (), math.nan, math.nan, {})
    winner = int(np.argmax(np.where(least > 0, reward, -math.inf)))
    best = top[winner]
    side = names.index('k_alpha')
    kinds = {
        'near': (safe, np.abs(np.linalg.norm(unit[safe] - unit[best], axis=1) - 0.1)),
        'upper': _edge(safe, margin, unit[:, side] > unit[best, side]),
        'lower': _edge(safe, margin, unit[:, side] < unit[best, side])}
    starts = {kind: _starts(bench, what, names, gains, unit, *ranked)
              for kind, ranked in kinds.items()}
    full = [PAPER_GAINS.with_tuned(g, bench.problem.box.names) for g in bench.problem.start]
    given = np.array([[getattr(g, name) for name in names] for g in full])
    starts['default'] = (tuple(map(tuple, given.tolist()))
                         if (repeat(bench, what, names, given)[2] > 0).all() else ())
    return Ground(box, tuple(gains[best].tolist()), float(reward[winner]), float(spread[winner]),
                  starts)


def _again(bench: Bench, plant: InMujoco, names: Sequence[str], mapped: Ground) -> Ground:
    """Measure optimum and starts by the other engine."""
    reward, spread, _ = repeat(bench, plant, names, np.array([mapped.best]))
    return replace(mapped, reward=float(reward[0]), spread=float(spread[0]), starts={
        kind: starts if starts and (repeat(bench, plant, names, np.array(starts))[2] > 0).all()
        else () for kind, starts in mapped.starts.items()})


def _edge(safe: NDArray[np.int64], margin: Array,
          side: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Array]:
    """Rank the safe gains of one side by how near their margins are to EDGE."""
    there = safe[side[safe]]
    return there, np.abs(margin[there] - EDGE)


def _starts(bench: Bench, plant: Plant, names: Sequence[str], gains: Array, unit: Array,
            chosen: NDArray[np.int64], rank: Array) -> tuple[tuple[float, ...], ...]:
    """Return the first gains by rank that are safe in all repeats, and two beside them."""
    order = chosen[np.argsort(rank)][:FINALISTS]
    if not len(order):
        return ()
    least = repeat(bench, plant, names, gains[order])[2]
    if not (least > 0).any():
        return ()
    anchor = order[int(np.argmax(least > 0))]
    steps = np.vstack([np.zeros(len(names)), 0.02 * np.eye(len(names)), -0.02 * np.eye(len(names)),
                       0.01 * np.eye(len(names)), -0.01 * np.eye(len(names))])
    around = np.clip(unit[anchor] + steps, 0, 1)
    lower, upper = np.array([BOUNDS[name] for name in names]).T
    around = lower + around * (upper - lower)
    kept = around[repeat(bench, plant, names, around)[2] > 0][:3]
    return tuple(map(tuple, kept.tolist()))


def tune(key: Record) -> Record:
    """Run all starts and seeds on one plant to their ends, verification included."""
    bench, where = read_config(), ground(key['plant'], key['tuned'])
    names = TUNED[key['tuned']]
    settings = bench.problem.settings.replace(
        dimension=len(names), length_scales=tuple(SCALES[name] for name in names),
        candidates=bench.problem.settings.candidates if len(names) == 2 else 0)
    cells = [(kind, seed) for kind in key['starts']
             for seed in range(key['first_seed'], key['first_seed'] + key['seeds'])]
    known = [cell for cell in cells if where.starts.get(cell[0])]
    led = lead([replace(bench.problem, box=where.box, start=where.starts[kind], seed=seed,
                        settings=settings) for kind, seed in known],
               bench, {**PLANTS, **MOVED}[key['plant']], names)
    runs = [{'start': kind, 'seed': seed, 'reason': tuning.reason, 'episodes': [
        {'role': t.trial.role, 'gains': t.trial.values, 'reward': t.measured.reward,
         'margins': [round(m, 4) for m in t.measured.margins],
         'alpha': round(t.measured.peaks[0], 4), 'theta': round(t.measured.peaks[1], 4),
         'outcome': t.measured.outcome, 'best': best}
        for t, best in zip(tuning.told, bests, strict=True)]}
        for (kind, seed), (tuning, bests) in zip(known, led, strict=True)]
    return {'runs': runs + [{'start': kind, 'seed': seed, 'episodes': [],
                             'reason': 'no such start is safe on this plant'}
                            for kind, seed in cells if (kind, seed) not in known]}


def lead(problems: Sequence[Problem], bench: Bench, plant: Plant,
         names: Sequence[str]) -> list[tuple[Tuning, list[tuple[float, ...] | None]]]:
    """
    Tune many times side by side, each with the backup that it learns, as Furuta does.

    Beside each run: what it called its best gains after every episode.
    """
    with tempfile.TemporaryDirectory() as folder:
        led = [Tuning(problem, bench.episodes,
                      Journal(Path(folder) / f'{i}.jsonl', problem.identity('')))
               for i, problem in enumerate(problems)]
        learnt = [Experience() for _ in led]
        bests: list[list[tuple[float, ...] | None]] = [[] for _ in led]
        while True:
            trials = [(i, trial) for i, tuning in enumerate(led)
                      if (trial := tuning.next()) is not None]
            if not trials:
                return list(zip(led, bests, strict=True))
            gains = [PAPER_GAINS.with_tuned(trial.values, names) for _, trial in trials]
            seen = episodes([g.as_tuple() for g in gains], [t.seed for _, t in trials], plant,
                            bench.limits, bench.settings, [learnt[i].backup for i, _ in trials])
            for row, (i, _) in enumerate(trials):
                values = tuple(seen.values[row].tolist())
                outcome = Outcome(int(seen.outcome[row]))
                if outcome is Outcome.COMPLETED:
                    learnt[i].learn(gains[row], values[1:])
                led[i].tell(Measured(
                    float(seen.reward[row]), values[0], values[1:],
                    tuple(seen.noise[row].tolist()),
                    (float(seen.max_abs_alpha[row]), float(seen.max_abs_theta[row])),
                    int(outcome), outcome.sentence))
                best = led[i].best
                bests[i].append(best.trial.values if best else None)


def judge(runs: Sequence[Record]) -> list[Record]:
    """Count what went wrong in the runs on one plant, and how far they came."""
    if not runs:
        return []
    bench, where = read_config(), ground(runs[0]['plant'], runs[0]['tuned'])
    paths = [[tuple(e['best'] or ()) for e in run['episodes'] if e['role'] not in (
        VERIFICATION, COMPARISON)] for run in runs]
    starts = [[tuple(e['gains']) for e in run['episodes'] if e['role'] == START] for run in runs]
    distinct = sorted({g for path in (*paths, *starts) for g in path if g})
    reward = dict(zip(distinct, repeat(
        bench, {**PLANTS, **MOVED}[runs[0]['plant']], TUNED[runs[0]['tuned']],
        np.array(distinct))[0].tolist(), strict=True)) if distinct else {}
    judged = []
    for run, path, begun in zip(runs, paths, starts, strict=True):
        closed, gap, left = [], math.nan, math.nan
        if path:
            first = max(reward[g] for g in begun)
            gap, left = where.reward - first, where.reward - reward.get(path[-1], first)
            closed = [(reward.get(g, first) - first) / max(gap, 1e-9) for g in path]
            closed += [closed[-1]] * (bench.episodes - len(closed))
        early = 0 < len(path) < bench.episodes
        judged.append({
            **run, **_counts(run['episodes'], bench), 'closed': [round(c, 3) for c in closed],
            'gap': round(gap, 5), 'left': round(left, 5), 'spread': round(where.spread, 5),
            'early': early, 'good': bool(closed) and (
                early or closed[-1] >= GOOD or left <= where.spread),
            'episodes_to_90': next((i + 1 for i, c in enumerate(closed) if c >= CLOSED), None)})
    return judged


def _counts(episodes: Sequence[Record], bench: Bench) -> Record:
    """Count what went wrong in a run."""
    limits = bench.limits
    return {
        'violations': sum(e['alpha'] > limits.alpha or e['theta'] > limits.theta
                          for e in episodes),
        'caught': sum(e['outcome'] == Outcome.CAUGHT for e in episodes),
        'falls': sum(e['outcome'] == Outcome.TRIPPED or e['alpha'] > 2 * limits.alpha
                     for e in episodes),
        'shaking': sum(e['outcome'] == Outcome.COMPLETED and min(e['margins']) < 0
                       for e in episodes)}


def table(runs: Sequence[Record]) -> str:
    """Write one row per cell."""
    cells: dict[tuple[Any, ...], list[Record]] = {}
    for r in runs:
        cells.setdefault((r['plant'], r['start'], r['tuned']), []).append(r)
    rows = []
    for (plant, start, count), group in cells.items():
        ran = [r for r in group if r['closed']]
        if not ran:
            rows.append((plant, start, count, len(group), *['–'] * 10, group[0]['reason']))
            continue
        why, often = Counter(_plain(r['reason']) for r in ran).most_common(1)[0]
        episodes = sorted(r['episodes_to_90'] or math.inf for r in ran)[(len(ran) - 1) // 2]
        rows.append((
            plant, start, count, len(ran), sum(r['violations'] > 0 for r in ran),
            sum(r['falls'] > 0 for r in ran), sum(r['caught'] for r in ran),
            sum(r['shaking'] for r in ran),
            f'{ran[0]["gap"]:.4f} ({ran[0]["spread"]:.4f})',
            f'{np.median([r["closed"][-1] for r in ran]):.2f}',
            f'{np.median([r["left"] for r in ran]):.4f}',
            'never' if episodes == math.inf else int(episodes),
            sum(r['early'] for r in ran), sum(r['good'] for r in ran), f'{why} ({often})'))
    return records.markdown(
        ('plant', 'starts', 'gains', 'runs', 'runs with a violation', 'runs with a fall',
         'caught', 'shaking', 'gap (spread)', 'gap closed, median', 'left, median',
         'episodes to 90 %', 'ended early', 'good', 'why most ended (runs)'), rows)


def _plain(reason: str) -> str:
    """Return a reason without its numbers, so that like can be counted."""
    return re.sub(r'\d[\d.e-]*', '#', re.sub(r' \(.*?\)', '', reason))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing of the study, then judge, print and write the table."""
    parser = argparse.ArgumentParser(prog='python -m studies.family',
                                     description='Tune a family of pendulums.')
    records.add_options(parser, 'results/family')
    every = {**PLANTS, **MOVED}
    parser.add_argument('--plants', nargs='+', default=list(PLANTS), choices=every,
                        metavar='PLANT', help=f'some of {"; ".join(every)}')
    parser.add_argument('--starts', nargs='+', default=list(STARTS), choices=STARTS)
    parser.add_argument('--tuned', nargs='+', type=int, default=[2], choices=TUNED,
                        help='how many gains are tuned')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--first-seed', type=int, default=0)
    options = parser.parse_args(arguments)
    return carry_out(parser, lambda: _study(options, arguments))


def _study(options: argparse.Namespace, arguments: Sequence[str] | None) -> None:
    described = read_config().problem.settings.to_dict()
    wanted = [{'plant': plant, 'tuned': count, 'starts': options.starts, 'settings': described,
               'first_seed': options.first_seed, 'seeds': options.seeds}
              for plant in options.plants for count in options.tuned]
    with records.open_executor(options) as executor:
        done = records.collect(tune, wanted, options.out / 'runs.jsonl', executor, 'family')
    groups = [[{'plant': d['plant'], 'tuned': d['tuned'], **run} for run in d['runs']]
              for d in done]
    judged = [run for group in groups for run in judge(group)]
    origin = records.provenance('studies.family', done, arguments)
    ran = [r for r in judged if r['closed']]
    caught, lost = (sum(r[name] for r in ran) for name in ('caught', 'falls'))
    cells: dict[tuple[str, str, int], list[bool]] = {}
    for r in ran:
        cells.setdefault((r['plant'], r['start'], r['tuned']), []).append(r['good'])
    good = sum(2 * sum(each) >= len(each) for each in cells.values())
    text = '\n'.join((
        table(judged), '',
        f'{len(ran)} runs: {records.percent(sum(r["violations"] > 0 for r in ran), len(ran))} '
        f'with a violation, {records.percent(sum(r["falls"] > 0 for r in ran), len(ran))} with a '
        f'fall; the backup caught {caught} of {caught + lost}. In {good} of {len(cells)} cells at '
        'least half of the runs are good.' if ran else 'no run', '',
        records.signature(origin)))
    (options.out / 'family.md').write_text(text + '\n', encoding='utf-8')
    records.save(options.out / 'family.json', {
        'made_by': origin, 'runs': [{k: v for k, v in r.items()
                                     if k != 'episodes'} for r in judged]})
    print(text)


if __name__ == '__main__':
    raise SystemExit(main())
