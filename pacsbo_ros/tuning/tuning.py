# Copyright the pacsbo_ros developers. Apache-2.0.
"""
A tuning run as a step machine: next() names the gains to try, tell() takes what they gave.

    safe start gains  ->  ask / tell until the budget is spent  ->  verify the best gains

Everything told is in the journal before the next step. A resumed run replays its journal through
the same steps and checks that each proposal comes out as recorded, so it goes on exactly where
it stopped; a run that was over searches on if the budget has grown.
"""
from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from pacsbo_ros.core import Box, NothingToPropose, Pacsbo, Predictor, SafeOpt, Settings
from pacsbo_ros.core.optimizer import SafeOptimizer
from pacsbo_ros.tuning.journal import Journal, JournalError
from pacsbo_ros.tuning.trial import START, VERIFICATION, Measured, Told, Trial

VERIFICATIONS = 3  # so many of the best gains are tried before a run counts as failed


@dataclass(frozen=True)
class Problem:
    """Say what is tuned, from where, and by which method."""

    box: Box
    start: tuple[tuple[float, ...], ...]  # gains known to be safe, physical units
    settings: Settings
    known_norm: float | None = None  # None: PACSBO; a number: SafeOpt with this B
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.start:
            raise ValueError('no start gains; give at least one gain vector known to be safe')
        for gains in self.start:
            self.box.validate(gains)
        if self.settings.dimension != self.box.dimension:
            raise ValueError(f'the settings have {self.settings.dimension} dimensions, the box '
                             f'has {self.box.dimension}')

    def make_optimizer(self, predictor: Predictor | None) -> SafeOptimizer:
        """Return the optimiser of this problem, not yet told anything."""
        if self.known_norm is None:
            return Pacsbo(self.settings, self.seed, predictor)
        return SafeOpt(self.settings, self.known_norm, self.seed)

    def identity(self, predictor_hash: str) -> dict[str, Any]:
        """Return what a journal must have been made with to be resumed."""
        return {**asdict(self), 'settings': self.settings.to_dict(), 'predictor': predictor_hash}


class Tuning:
    """Lead one run from the start gains to the verified best ones."""

    def __init__(self, problem: Problem, budget: int, journal: Journal,
                 predictor: Predictor | None = None) -> None:
        """Take up the journal's episodes; budget counts all of them but the verification."""
        if budget < len(problem.start):
            raise ValueError(f'iterations is {budget}, but there are {len(problem.start)} start '
                             'gains to evaluate first; give more')
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
        self.budget = budget
        if self.searched < budget:
            self._search_on()

    def _replay(self, told: Told) -> None:
        if told.trial.role == VERIFICATION:
            self._end_search('the journal says that the search had ended')
        else:
            self._search_on()
        trial = self.next()
        if trial is None or trial.gains != told.trial.gains or trial.role != told.trial.role:
            raise JournalError(
                f'{self.journal.path}: line {told.trial.iteration + 1} has gains '
                f'{told.trial.gains}, this version would have tried '
                f'{trial.gains if trial else None}; start a new run')
        self._take(told)

    def next(self) -> Trial | None:
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
        """End the search early; the best gains are still verified."""
        self._end_search(reason)

    @property
    def searched(self) -> int:
        """Return the number of episodes that count: all but the verifications."""
        return sum(t.trial.role != VERIFICATION for t in self.told)

    @property
    def searching(self) -> bool:
        """Tell whether new gains are still looked for."""
        return self._searching

    @property
    def model(self) -> SafeOptimizer | None:
        """Return the optimiser once it knows the start gains and one of them is safe."""
        started = self.searched >= len(self.problem.start) or not self._searching
        return self.optimizer if started and any(t.measured.safe for t in self.told) else None

    @property
    def best(self) -> Told | None:
        """Return the best episode among gains that were never unsafe; None if there is none."""
        ranked = self._ranked()
        return ranked[0] if ranked else None

    @property
    def verified(self) -> Told | None:
        """Return the verification of the present best gains; None if not done or unsafe."""
        best = self.best
        return next((t for t in reversed(self.told) if t.trial.role == VERIFICATION
                     and best and t.trial.gains == best.trial.gains), None)

    def _ranked(self) -> list[Told]:
        unsafe = {t.trial.gains for t in self.told if not t.measured.safe}
        safe = [t for t in self.told
                if t.trial.gains not in unsafe and t.trial.role != VERIFICATION]
        return sorted(safe, key=lambda t: -t.measured.reward)

    def _take(self, told: Told) -> None:
        self._pending = None
        self.told.append(told)
        self.optimizer.tell(told.trial.point, told.measured.values)
        if self.model is not None:
            self.model.state()  # the model moves with every sample, whoever looks at it or not

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
            self._end_search('none of the start gains is safe; give others')
        else:
            answer = self.optimizer.ask()
            if not isinstance(answer, NothingToPropose):
                gains = tuple(self.problem.box.to_physical(answer.point).tolist())
                return self._trial(gains, answer.role, answer.domain, answer.point, answer.means,
                                   answer.lower, answer.upper)
            self._end_search(answer.reason)
        return None

    def _verification(self) -> Trial | None:
        """Return the best gains once more unless they were verified or too many failed."""
        lately = takewhile(lambda t: t.trial.role == VERIFICATION, reversed(self.told))
        best = self.best
        if best is None or self.verified is not None or len(list(lately)) >= VERIFICATIONS:
            return None
        return self._trial(best.trial.gains, VERIFICATION, VERIFICATION, best.trial.point)

    def _trial(self, gains: tuple[float, ...], role: str, domain: str,
               point: tuple[float, ...] | None = None, mean: tuple[float, ...] = (),
               lower: tuple[float, ...] = (), upper: tuple[float, ...] = ()) -> Trial:
        iteration = len(self.told) + 1
        # Every episode has its own random start, and a repeated run has the same ones.
        seed = int(np.random.SeedSequence([self.problem.seed, iteration]).generate_state(1)[0])
        if point is None:
            point = tuple(self.problem.box.to_unit(gains).tolist())
        return Trial(iteration, tuple(gains), tuple(point), seed, role, domain, tuple(mean),
                     tuple(lower), tuple(upper))
