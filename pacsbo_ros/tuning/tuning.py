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
A tuning run as a step machine: next() names the values to try, tell() takes what they gave.

    start values, and again  ->  ask / tell until the budget is spent  ->  verify the best values
                                                                           beside the best start

Everything told is in the journal before the next step. A resumed run replays its journal through
the same steps and checks that each proposal comes out as recorded, so it goes on exactly where
it stopped; a run that was over searches on if the budget has grown.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from pacsbo_ros.core import Best, Box, NothingToPropose, Predictor, REPEAT, SafeOptimizer, Settings
from pacsbo_ros.robots.contract import Description
from pacsbo_ros.tuning.journal import Journal, JournalError
from pacsbo_ros.tuning.trial import COMPARISON, Measured, START, Told, Trial, VERIFICATION
from pacsbo_ros.tuning.verification import Gain, gain

PREDICTED = 1e-6  # by how much predictions may differ when they are made again, elsewhere
MOST_REWARD = 3.0  # scaled; beyond it the optimiser's model does not fit
CHOICES = 3  # so many of the best values may turn out unsafe before the run counts as failed


@dataclass(frozen=True)
class Problem:
    """Say what is tuned on which robot, from where, and by which method."""

    robot: Description
    box: Box
    start: tuple[tuple[float, ...], ...]  # values known to be safe, physical units
    settings: Settings
    known_norm: float | None = None  # None: PACSBO; a number: SafeOpt with this B
    seed: int = 0
    start_repeats: int = 1  # how often the starts are tried again: what differs is noise
    verifications: int = 2  # how often the best values are tried at the end, and the best start

    def __post_init__(self) -> None:
        if not self.start:
            raise ValueError('no start values; give at least one vector known to be safe')
        for values in self.start:
            self.box.validate(values)
        if self.start_repeats < 0:
            raise ValueError(f'start_repeats is {self.start_repeats}; give 0 or more')
        if self.verifications < 1:
            raise ValueError(f'verifications is {self.verifications}; give 1 or more')
        if self.settings.dimension != self.box.dimension:
            raise ValueError(f'the settings have {self.settings.dimension} dimensions, the box '
                             f'has {self.box.dimension}')
        if self.settings.constraints != len(self.robot.constraints):
            raise ValueError(f'the settings have {self.settings.constraints} constraints, '
                             f'{self.robot.name} promises {", ".join(self.robot.constraints)}')
        for name, lower, upper in zip(self.box.names, self.box.lower, self.box.upper, strict=True):
            tunable = self.robot.tunable(name)
            if not tunable.lower <= lower <= upper <= tunable.upper:
                raise ValueError(f'the box of {name} is [{lower:g}, {upper:g}], but '
                                 f'{self.robot.name} accepts [{tunable.lower:g}, '
                                 f'{tunable.upper:g}]; give a box within')

    @property
    def units(self) -> tuple[str, ...]:
        """Return the units of what is tuned."""
        return tuple(self.robot.tunable(name).unit for name in self.box.names)

    @property
    def fixed(self) -> dict[str, float]:
        """Return what the robot could tune and this run leaves as it is."""
        return {t.name: t.default for t in self.robot.tunables if t.name not in self.box.names}

    def complete(self, values: tuple[float, ...]) -> dict[str, float]:
        """Return all values of the robot by name, the tuned ones first."""
        return {**dict(zip(self.box.names, values, strict=True)), **self.fixed}

    def make_optimizer(self, predictor: Predictor | None) -> SafeOptimizer:
        """Return the optimiser of this problem, not yet told anything."""
        if self.known_norm is None:
            return SafeOptimizer(self.run_settings, self.seed, predictor)
        return SafeOptimizer(self.run_settings.with_norm(self.known_norm), self.seed)

    @property
    def run_settings(self) -> Settings:
        """Return the settings, which are told the starts and what the outputs are called."""
        return self.settings.replace(
            starts=len(self.start), output_names=('reward', *self.robot.constraints))

    def identity(self, predictor_hash: str) -> dict[str, Any]:
        """Return what a journal must have been made with to be resumed."""
        robot = asdict(self.robot)
        for tunable in robot['tunables']:
            del tunable['default']  # of what is tuned it does not matter, the rest is `fixed`
        return {**asdict(self), 'robot': robot, 'fixed': self.fixed,
                'settings': self.settings.to_dict(), 'predictor': predictor_hash}


class Tuning:
    """Lead one run from the start values to the verified best ones."""

    def __init__(self, problem: Problem, budget: int, journal: Journal,
                 predictor: Predictor | None = None) -> None:
        """Take up the journal's episodes; budget counts all of them but the verification."""
        if budget < len(problem.start):
            raise ValueError(f'iterations is {budget}, but there are {len(problem.start)} start '
                             'values to evaluate first; give more')
        self.problem = problem
        self.budget = max(budget, len(journal.told) + 1)  # what was done may be done again
        self.journal = journal
        self.optimizer = problem.make_optimizer(predictor)
        self.told: list[Told] = []
        self.reason = ''  # why the search ended, once it has
        self._searching = True
        self._pending: Trial | None = None
        for told in journal.told:
            self._replay(told)
        if budget < self.searched:
            raise ValueError(f'iterations is {budget}, but the run has {self.searched} episodes '
                             'already; give at least that many, they are all counted')
        self.budget = budget
        if self.searched < budget:
            self._search_on()

    def _replay(self, told: Told) -> None:
        if not told.trial.searches:
            self._end_search('the journal says that the search had ended')
        else:
            self._search_on()
        where = f'{self.journal.path}: line {told.trial.iteration + 1}'
        trial = self.next()
        if trial is None:
            raise JournalError(f'{where} comes after the end of the run; start a new run')
        for name, wanted in vars(trial).items():
            found = getattr(told.trial, name)
            if not _same(found, wanted, PREDICTED if name in ('mean', 'lower', 'upper') else 0.0):
                raise JournalError(f'{where} has {name} {found}, this version would have tried '
                                   f'{wanted}; restore the file or start a new run')
        self._take(told)

    def next(self) -> Trial | None:  # noqa: A003
        """Return the trial to run now (the same one until it is told); None when all is done."""
        if self._pending is None:
            self._pending = self._search() or self._verification()
        return self._pending

    def tell(self, measured: Measured) -> Told:
        """Save what the pending trial gave, then learn from it."""
        if self._pending is None:
            raise ValueError('no trial is pending; call next() first')
        told = Told(self._pending, measured)
        self.journal.append(told)
        self._take(told)
        return told

    def finish(self, reason: str) -> None:
        """End the search early; the best values are still verified."""
        self._end_search(reason)

    @property
    def searched(self) -> int:
        """Return the number of episodes that count: all but the verifications."""
        return sum(t.trial.searches for t in self.told)

    @property
    def searching(self) -> bool:
        """Tell whether new values are still looked for."""
        return self._searching

    @property
    def model(self) -> SafeOptimizer | None:
        """Return the optimiser once it knows the start values and one of them is safe."""
        return self.optimizer if self.optimizer.ready else None

    @property
    def best(self) -> Told | None:
        """Return the best episode among values that were never unsafe; None if there is none."""
        ranked = self._ranked()
        # What is being verified stays the best, unless it turns out to be unsafe.
        points = [t.trial.point for t in self._lately() if t.trial.role == VERIFICATION]
        if chosen := self.choice:
            points.append(chosen.point)
        best = next((t for point in points for t in ranked if t.trial.point == point),
                    ranked[0] if ranked else None)
        return (best and self._better_start(best)) or best

    def _better_start(self, best: Told) -> Told | None:
        """Return the start that surely gave more beside these values; None if none did."""
        start = self._best_start(best)
        beside = sum(t.trial.role == COMPARISON and t.trial.values == start
                     for t in self._lately())
        found = (gain(self.told, best.trial.values)
                 if start is not None and beside >= self.problem.verifications else None)
        return next(t for t in self._ranked() if t.trial.values == start) if (
            found is not None and found.is_loss) else None

    def _lately(self) -> list[Told]:
        """Return what was told after the search, the last first."""
        return [*takewhile(lambda t: not t.trial.searches, reversed(self.told))]

    @property
    def choice(self) -> Best | None:
        """Return the best measured point with what the model expects of it, and how surely."""
        return self.optimizer.best()

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what the user should know about starts and noise, in sentences."""
        unsafe = [', '.join(f'{name} {value:g}' for name, value in
                            zip(self.problem.box.names, values, strict=True))
                  for values in self._unsafe_starts()]
        return (*(f'the start {words} was called safe and is not: take it out, everything rests '
                  'on safe starts' for words in unsafe), *self._about_reward(),
                *self.optimizer.notices)

    def _about_reward(self) -> Iterator[str]:
        """Say that the reward does not fit its scale, or that the search has gained nothing."""
        out = next((t.measured for t in self.told if t.measured.safe
                    and not -1 < t.measured.scaled_reward < MOST_REWARD), None)
        if out is not None:
            yield (f'the reward {out.reward:.3g} is scaled to {out.scaled_reward:.3g}, out of -1 '
                   f'to {MOST_REWARD:g}: give reward an offset like that of a safe start, and a '
                   'scale like the improvement hoped for')
        best = self.best
        if best is not None and any(t.trial.role == COMPARISON
                                    and t.trial.values == best.trial.values
                                    for t in self._lately()):
            yield ('what the search called best gave less than the best start when both were '
                   'tried again, so the start is kept; look at scale and noise of the reward')

    @property
    def verified(self) -> Told | None:
        """Return the last verification of the present best values; None if one is missing."""
        best = self.best
        done = [t for t in self.told if t.trial.role == VERIFICATION
                and best and t.trial.values == best.trial.values]
        return done[-1] if len(done) >= self.problem.verifications else None

    @property
    def gain(self) -> Gain | None:
        """Return what the verification showed; None before there was one."""
        return gain(self.told, self.best.trial.values) if self.best else None

    def _ranked(self) -> list[Told]:
        unsafe = {t.trial.values for t in self.told if not t.measured.safe}
        safe = [t for t in self.told
                if t.trial.values not in unsafe and t.trial.searches]
        return sorted(safe, key=lambda t: -t.measured.reward)

    def _take(self, told: Told) -> None:
        self._pending = None
        self.told.append(told)
        self.optimizer.tell(told.trial.point, told.measured.outputs,
                            told.measured.noise or None)

    def _end_search(self, reason: str) -> None:
        if self._searching:
            self._searching, self.reason, self._pending = False, reason, None

    def _search_on(self) -> None:
        if not self._searching:
            self._searching, self.reason, self._pending = True, '', None

    def _search(self) -> Trial | None:
        """Return the next start gain or the optimiser's proposal; None ends the search."""
        if not self._searching:
            return None
        done = self.searched
        if done >= self.budget:
            self._end_search(f'all {self.budget} episodes of the budget are done')
        elif done < len(self.problem.start):
            return self._trial(self.problem.start[done], START, START)
        elif not any(t.measured.safe for t in self.told):
            self._end_search('none of the start values is safe; give others')
        elif (again := self._start_again()) is not None:
            return self._trial(again, REPEAT, START)
        else:
            answer = self.optimizer.ask()
            if not isinstance(answer, NothingToPropose):
                values = tuple(self.problem.box.to_physical(answer.point).tolist())
                return self._trial(values, answer.role, answer.domain, answer.point, answer.means,
                                   answer.lower, answer.upper)
            self._end_search(answer.reason)
        return None

    def _start_again(self) -> tuple[float, ...] | None:
        """Return the start that was tried least, round by round; None when all were repeated."""
        starts, unsafe = self.problem.start, self._unsafe_starts()
        tried = Counter(t.trial.values for t in self.told if t.trial.domain == START)
        return next((values for rounds in range(2, self.problem.start_repeats + 2)
                     for values in dict.fromkeys(starts)
                     if values not in unsafe and tried[values] < rounds * starts.count(values)),
                    None)

    def _unsafe_starts(self) -> list[tuple[float, ...]]:
        """Return the starts that turned out not to be safe."""
        return [*dict.fromkeys(t.trial.values for t in self.told
                               if t.trial.domain == START and not t.measured.safe)]

    def _verification(self) -> Trial | None:
        """Return the best values or the best start once more; None when both were tried."""
        lately = self._lately()
        failed = {t.trial.values for t in lately
                  if t.trial.role == VERIFICATION and not t.measured.safe}
        best = self.best
        if best is None or len(failed) >= CHOICES:
            return None
        start = self._best_start(best)
        done = sum(t.trial.role == VERIFICATION and t.trial.values == best.trial.values
                   for t in self.told)
        beside = sum(t.trial.role == COMPARISON for t in lately)
        if start is not None and beside < min(done, self.problem.verifications) and lately:
            return self._trial(start, COMPARISON, VERIFICATION)
        if done >= self.problem.verifications:
            return None
        return self._trial(best.trial.values, VERIFICATION, VERIFICATION, best.trial.point)

    def _best_start(self, best: Told) -> tuple[float, ...] | None:
        """Return the start with the best mean reward; None if the best values are a start."""
        starts = {t.trial.values for t in self._ranked() if t.trial.role == START}
        if best.trial.values in starts or not starts:
            return None
        return max(sorted(starts), key=lambda values: float(np.mean(
            [t.measured.reward for t in self.told
             if t.trial.values == values and t.trial.searches])))

    def _trial(self, values: tuple[float, ...], role: str, domain: str,
               point: tuple[float, ...] | None = None, mean: tuple[float, ...] = (),
               lower: tuple[float, ...] = (), upper: tuple[float, ...] = ()) -> Trial:
        iteration = len(self.told) + 1
        # Every episode has its own random start, and a repeated run has the same ones.
        seed = int(np.random.SeedSequence([self.problem.seed, iteration]).generate_state(1)[0])
        if point is None:
            point = tuple(self.problem.box.to_unit(values).tolist())
        return Trial(iteration, tuple(values), tuple(point), seed, role, domain, tuple(mean),
                     tuple(lower), tuple(upper))


def _same(found: Any, wanted: Any, tolerance: float) -> bool:
    """Tell whether a field of a journal is what it has to be, numbers within a tolerance."""
    if not tolerance or not isinstance(wanted, tuple):
        return found == wanted
    return len(found) == len(wanted) and bool(
        np.allclose(found, wanted, rtol=tolerance, atol=tolerance))
