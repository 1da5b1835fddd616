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

"""All that a user decides, in one frozen, validated, JSON-able object."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
import math
from numbers import Integral, Real
from typing import Any

from pacsbo_ros.core.kernels import Kernel

DOMAINS = ('hull', 'enlarged', 'box')  # nested, innermost first
AUTO = 'auto'
EXPANDERS = ('one_step', 'metric')
# Factors of the length scale that are averaged over. One that is told may be twice too long; a
# guess (length_scales = 'auto' guesses by dimension) may be four times too short as well. With
# four parameters thirty samples do not tell length scales apart: only the shorter one counts then.
FACTORS = (0.5, 1.0, 2.0, 4.0)
GUESS, LONGEST_GUESS = {1: 0.1, 2: 0.3, 3: 0.4}, 0.5


def factors(dimension: int) -> tuple[float, ...]:
    """Return the factors of a guessed length scale that are averaged over."""
    return FACTORS if dimension < 4 else FACTORS[:2]


@dataclass(frozen=True)
class Settings:
    """
    Describe a safe optimisation problem and how to solve it.

    Outputs are numbered as they are told: the reward first (unless `reward` is False), then the
    constraints. A point is safe when every constraint is >= 0 and, if `reward_threshold` is
    given, the reward is >= it (the paper's problem with h(., 1) = h(., 0) - threshold, which
    needs one Gaussian process and one norm, not two).
    """

    # The problem.
    dimension: int = 1
    constraints: int = 1  # constraint outputs besides the reward
    reward: bool = True  # False: constraint-only, the values are the constraints
    reward_threshold: float | None = None  # safe when the reward is at least this [reward units]
    output_names: tuple[str, ...] = ()  # for sentences; () counts the constraints
    starts: int = 1  # samples told before the first proposal; the bands begin with the last one

    # The model.
    kernel: str = 'matern32'  # 'matern32', 'matern52', 'rbf'
    length_scales: tuple[float, ...] = (0.1,)  # unit-cube lengths; one number for all, or 'auto'
    output_scale: float = 1.0  # k(x, x), a variance [output units squared]
    output_kernels: tuple[Kernel, ...] = ()  # own kernel per output instead of the shared one
    noise_bound: float | str = 0.01  # R, noise is R-sub-Gaussian [output units]; 'auto': repeats
    lam: float = 0.003  # λ: regularises the GP and enters β, one and the same number

    # The guarantee.
    delta: float = 0.1  # failure probability of the whole run; `ledger` keeps the books
    budget: int = 30  # experiments that are planned, starts included; delta is spread over them
    rule: str = 'student'  # a file of `rules`
    given_norm: tuple[float, ...] = ()  # B of every output, or one for all, for the rule 'given'
    domains: tuple[str, ...] = DOMAINS
    enlargement: float = 0.1  # growth of the hull's extent [share of the box]

    # The rules.
    scale_prior: float = 2.0  # expected size of the outputs for 'student'; 0: unknown
    scale_trust: float = 3.0  # values of that size that the prior counts as
    length_scale_factors: tuple[float, ...] = FACTORS[:2]  # 'student' averages over them
    library_size: int = 1000  # random functions of 'scale_free'
    centres: int = 100  # N-hat, centres of a random function
    coefficient_bound: float = 1.0  # ᾱ; 'scale_free' needs none
    draws_low: int = 200  # q_low of Algorithm 3, draws
    draws_high: int = 1000  # q_high
    safety_factor: float = 1.1  # F_safety
    reference_points: int = 32  # points on which a local norm is evaluated

    # The search.
    choice: str = AUTO  # a file of `choices`; 'auto': goal with student, safeopt with norms
    caution: float = 0.5  # 1: most uncertain point first (paper); 0: highest upper bound first
    expander: str = 'one_step'  # 'one_step' (optimistic) or 'metric' (RKHS distance)
    expander_targets: int = 256  # unsafe candidates nearest to safe that an expander may reach
    step: float = 0.0  # first step beyond measured safe ground [length scales]; 0: no limit
    candidates: int = 0  # 0: 1000 (n = 1), 10 000 (n = 2), 27 000 (n = 3), 20 000 above
    max_samples: int = 200  # for the memory limit
    memory_limit: float = 1e9  # bytes for the candidate set
    tolerance: float = 1e-3  # stop below this width of every band [output units]

    # The predictor.
    window: int = 25  # entries of the history that a predictor sees, the last ones

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == 'int':
                _require(self, item.name, isinstance(value, Integral), 'give a whole number')
            elif item.type == 'float':
                _require(self, item.name, isinstance(value, Real), 'give a number')
        scales = self.length_scales
        if scales == AUTO:
            scales = (GUESS.get(self.dimension, LONGEST_GUESS),)
            object.__setattr__(self, 'length_scale_factors', factors(self.dimension))
        scales = (scales,) if isinstance(scales, (int, float)) else tuple(scales)
        if len(scales) == 1 and self.dimension > 1:
            scales = scales * self.dimension
        object.__setattr__(self, 'length_scales', tuple(float(s) for s in scales))
        norms = self.given_norm
        norms = (norms,) if isinstance(norms, (int, float)) else tuple(norms)
        norms = norms * self.outputs if len(norms) == 1 else norms
        object.__setattr__(self, 'given_norm', tuple(float(b) for b in norms))
        object.__setattr__(self, 'length_scale_factors', tuple(
            float(f) for f in self.length_scale_factors))
        object.__setattr__(self, 'domains', tuple(self.domains))
        object.__setattr__(self, 'output_names', tuple(str(n) for n in self.output_names))
        object.__setattr__(self, 'output_kernels', tuple(
            Kernel(**k) if isinstance(k, dict) else k for k in self.output_kernels))
        self._check_problem()
        self._check_ranges()

    def _check_problem(self) -> None:
        _require(self, 'dimension', 1 <= self.dimension <= 10, 'give 1 to 10 parameters')
        _require(self, 'constraints', self.constraints >= 0, 'give 0 or more')
        if self.outputs == 0:
            raise ValueError('reward is False and constraints is 0; nothing is measured')
        if self.reward_threshold is not None and not (
                self.reward and math.isfinite(self.reward_threshold)):
            raise ValueError(
                f'reward_threshold is {self.reward_threshold}; it needs reward=True and a '
                'finite number')
        if self.reward_threshold is None and self.constraints == 0:
            raise ValueError(
                'constraints is 0 and reward_threshold is None; nothing says what is safe')
        _require(self, 'length_scales', len(self.length_scales) == self.dimension,
                 f'give one or {self.dimension} numbers')
        self.kernels()
        _require(self, 'output_kernels', len(self.output_kernels) in (0, self.outputs),
                 f'give none or one per output ({self.outputs})')
        _require(self, 'output_kernels',
                 all(k.dimension == self.dimension for k in self.output_kernels),
                 f'every kernel needs {self.dimension} length scales')
        _require(self, 'output_names', len(self.output_names) in (0, self.outputs),
                 f'give none or one per output ({self.outputs})')
        from pacsbo_ros.core.choice import CHOICES  # they import the settings
        from pacsbo_ros.core.rule import RULES
        _require(self, 'rule', self.rule in RULES, f'choose of {tuple(RULES)}')
        _require(self, 'choice', self.acquisition in CHOICES,
                 f'choose of {(AUTO, *CHOICES)}')
        _require(self, 'length_scale_factors', len(self.length_scale_factors) > 0 and all(
            0 < f < math.inf for f in self.length_scale_factors), 'give positive numbers')
        _require(self, 'given_norm', len(self.given_norm) in (0, self.outputs) and all(
            0 < b < math.inf for b in self.given_norm), 'give one positive number per output')
        if (self.rule == 'given') != bool(self.given_norm):
            raise ValueError(f'rule is {self.rule!r} and given_norm is {self.given_norm}; the '
                             "rule 'given', and no other, takes a norm")
        _require(self, 'expander', self.expander in EXPANDERS, f'choose of {EXPANDERS}')
        _require(self, 'domains',
                 'box' in self.domains and list(self.domains) == [
                     d for d in DOMAINS if d in self.domains],
                 f'choose of {DOMAINS} in this order; box is always one of them')

    def _check_ranges(self) -> None:
        _require(self, 'noise_bound', self.noise_bound == AUTO or (
            isinstance(self.noise_bound, Real) and 0 <= self.noise_bound < math.inf),
            f'give a number >= 0 or {AUTO!r}')
        for name in ('tolerance', 'enlargement', 'scale_prior', 'step'):
            value = getattr(self, name)
            _require(self, name, 0 <= value < math.inf, 'give a number >= 0')
        for name in ('lam', 'coefficient_bound', 'memory_limit', 'scale_trust'):
            value = getattr(self, name)
            _require(self, name, 0 < value < math.inf, 'give a number > 0')
        for name, least in (('library_size', 100), ('centres', 2), ('draws_low', 2),
                            ('reference_points', 1), ('expander_targets', 1),
                            ('max_samples', 1), ('budget', 1), ('window', 1), ('starts', 1)):
            _require(self, name, getattr(self, name) >= least, f'give at least {least}')
        _require(self, 'caution', 0 <= self.caution <= 1, 'give a share between 0 and 1')
        _require(self, 'delta', 0 < self.delta < 1, 'give a probability inside (0, 1)')
        _require(self, 'safety_factor', 1 < self.safety_factor < math.inf, 'give more than 1')
        _require(self, 'draws_high', self.draws_high >= self.draws_low,
                 f'give at least draws_low = {self.draws_low}')
        _require(self, 'candidates', self.candidates == 0 or self.candidates >= 2,
                 'give 0 (default) or at least 2')

    @property
    def outputs(self) -> int:
        """Count the values of one experiment."""
        return int(self.reward) + self.constraints

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return the value each output must reach to be safe; -inf for a reward that is free."""
        free = -math.inf if self.reward_threshold is None else self.reward_threshold
        return ((free,) if self.reward else ()) + (0.0,) * self.constraints

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of every output."""
        return self.output_names or (('reward',) if self.reward else ()) + tuple(
            f'constraint {i + 1}' for i in range(self.constraints))

    @property
    def averages(self) -> bool:
        """Tell whether the length scale is averaged."""
        return len(self.length_scale_factors) > 1

    @property
    def acquisition(self) -> str:
        """Return the name of the choice."""
        if self.choice != AUTO:
            return self.choice
        return 'goal' if self.rule == 'student' else 'safeopt'

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernel of every output."""
        shared = Kernel(self.kernel, self.length_scales, self.output_scale)
        return self.output_kernels or (shared,) * self.outputs

    @classmethod
    def paper(cls, **changes: Any) -> Settings:
        """Return the paper's choices: Matérn-3/2, ℓ = 0.1, Hoeffding, N-hat 100, ᾱ = 1."""
        choices: dict[str, Any] = {
            'kernel': 'matern32', 'length_scales': (0.1,), 'delta': 0.1, 'enlargement': 0.1,
            'rule': 'hoeffding', 'centres': 100, 'coefficient_bound': 1.0, 'caution': 1.0}
        return cls(**{**choices, **changes})

    def with_norm(self, B: float | tuple[float, ...]) -> Settings:
        """Return a copy for SafeOpt: B is told, one for all outputs or one each, on the box."""
        norms = (B,) if isinstance(B, (int, float)) else tuple(B)
        return self.replace(rule='given', given_norm=norms, domains=('box',))

    def replace(self, **changes: Any) -> Settings:
        """Return a copy with other choices, validated again."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """Read what `to_dict` wrote; an unknown name is an error."""
        unknown = set(data) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f'unknown settings {sorted(unknown)}; remove or rename them')
        return cls(**data)


def _require(settings: Settings, name: str, holds: bool, advice: str) -> None:
    if not holds:
        raise ValueError(f'{name} is {getattr(settings, name)!r}; {advice}')
