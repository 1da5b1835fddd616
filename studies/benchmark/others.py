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

"""Methods of others as their packages have them; one that is not installed says so in its cell."""
from __future__ import annotations

import collections
import collections.abc
from importlib import import_module
from types import ModuleType

import numpy as np
from pacsbo_ros.core.kernels import Array
from studies.benchmark.method import grid, method, NotInstalled, Told, Unable


def _need(name: str, package: str = '') -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # some packages break while they are imported
        raise NotInstalled(f'{package or name} does not run here '
                           f'({type(error).__name__}: {str(error)[:60]})') from error


@method('random search')
class RandomSearch:
    """Draw uniformly from the box, safe or not."""

    def __init__(self, told: Told, seed: int) -> None:
        self._n, self._rng = told.dimension, np.random.default_rng(seed)

    def ask(self) -> Array:
        """Draw a point."""
        return self._rng.random(self._n)

    def tell(self, x: Array, y: Array) -> None:
        """Learn nothing."""


class _Optuna:
    """Ask and tell a study of Optuna; the constraint is the distance to the threshold."""

    def __init__(self, told: Told, sampler: object) -> None:
        optuna = _need('optuna')
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna, self._told = optuna, told
        self._study = optuna.create_study(direction='maximize', sampler=sampler)
        space = optuna.distributions.FloatDistribution(0.0, 1.0)
        self._space = {f'x{i}': space for i in range(told.dimension)}
        self._trial = None

    def ask(self) -> Array:
        """Let the sampler choose."""
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def tell(self, x: Array, y: Array) -> None:
        """Tell the trial, or add one that came from elsewhere."""
        missing = tuple((self._told.threshold - y[self._told.safety]).tolist())
        if self._trial is not None:
            self._trial.set_user_attr('missing', missing)
            self._study.tell(self._trial, float(y[0]))
            self._trial = None
            return
        self._study.add_trial(self._optuna.trial.create_trial(
            params={f'x{i}': float(v) for i, v in enumerate(x)}, distributions=self._space,
            value=float(y[0]), user_attrs={'missing': missing},
            system_attrs={'constraints': missing}))


def _missing(trial) -> tuple[float, ...]:
    return trial.user_attrs['missing']


@method('Optuna TPE')
class OptunaTpe(_Optuna):
    """Use the tree-structured Parzen estimator with constraints."""

    def __init__(self, told: Told, seed: int) -> None:
        optuna = _need('optuna')
        super().__init__(told, optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=5, constraints_func=_missing))


@method('Optuna GP')
class OptunaGp(_Optuna):
    """Use the Gaussian process sampler with constraints."""

    def __init__(self, told: Told, seed: int) -> None:
        optuna = _need('optuna')
        _need('torch', 'Optuna GP needs torch, which')
        super().__init__(told, optuna.samplers.GPSampler(
            seed=seed, n_startup_trials=1, constraints_func=_missing))


@method('BoTorch qLogNEI')
class BoTorch:
    """Maximise the constrained noisy expected improvement over the grid."""

    def __init__(self, told: Told, seed: int) -> None:
        _need('botorch')
        self._torch = _need('torch')
        self._told, self._seed = told, seed
        self._X: list[Array] = []
        self._y: list[Array] = []

    def ask(self) -> Array:
        """Make a model with the told kernel and choose of 512 points."""
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.models import SingleTaskGP
        from gpytorch.kernels import MaternKernel, RBFKernel
        torch, told = self._torch, self._told
        torch.set_num_threads(1)
        X, Y = torch.tensor(np.array(self._X)), torch.tensor(np.array(self._y))
        batch = torch.Size([Y.shape[1]] if Y.shape[1] > 1 else [])
        n = told.dimension
        kernel = (RBFKernel(ard_num_dims=n, batch_shape=batch) if told.kernel.name == 'rbf'
                  else MaternKernel(nu=1.5, ard_num_dims=n, batch_shape=batch)).double()
        kernel.lengthscale = torch.tensor(told.kernel.length_scales).double()
        model = SingleTaskGP(X, Y, torch.full_like(Y, told.noise_bound ** 2),
                             covar_module=kernel)
        safety = range(Y.shape[1])[told.safety]
        acquisition = qLogNoisyExpectedImprovement(
            model, X, objective=GenericMCObjective(lambda z, X=None: z[..., 0]),
            constraints=[lambda z, j=j: told.threshold - z[..., j] for j in safety])
        rng = np.random.default_rng([self._seed, len(self._y)])
        points = grid(n)
        chosen = torch.tensor(points[rng.choice(len(points), min(512, len(points)), False)])
        with torch.no_grad():
            best = int(torch.argmax(acquisition(chosen[:, None])))
        return chosen[best].numpy()

    def tell(self, x: Array, y: Array) -> None:
        """Take measured values."""
        self._X.append(np.asarray(x, dtype=float))
        self._y.append(y)


@method('Safe CMA-ES')
class SafeCmaEs:
    """Sample a population about the safe starts, as the package cmaes does it."""

    def __init__(self, told: Told, seed: int) -> None:
        self._package = _need('cmaes.safe_cma', 'cmaes (Safe CMA-ES needs gpytorch)')
        if told.dimension < 2:
            raise Unable('it needs two parameters or more')
        self._told, self._seed = told, seed
        self._starts: list[tuple[Array, Array]] = []
        self._cma = None
        self._told_now: list[tuple[Array, float, Array]] = []

    def _make(self) -> None:
        told = self._told
        X = np.array([x for x, _ in self._starts])
        y = np.array([v for _, v in self._starts])
        safe = -y[:, told.safety]
        self._cma = self._package.SafeCMA(
            sigma=0.1, safety_threshold=np.full(safe.shape[1], -told.threshold), safe_seeds=X,
            seeds_evals=-y[:, 0], seeds_safe_evals=safe,
            bounds=np.array([[0.0, 1.0]] * told.dimension), seed=self._seed)

    def ask(self) -> Array:
        """Draw the next member of the population."""
        if self._cma is None:
            self._make()
        return np.clip(self._cma.ask(), 0.0, 1.0)

    def tell(self, x: Array, y: Array) -> None:
        """Keep starts; tell a population when it is complete."""
        x = np.asarray(x, dtype=float)
        if self._cma is None:
            self._starts.append((x, y))
            return
        self._told_now.append((x, -float(y[0]), -y[self._told.safety]))
        if len(self._told_now) == self._cma.population_size:
            self._cma.tell(self._told_now)
            self._told_now = []


@method('SafeOpt package, β = 2')
class SafeOptPackage:
    """Use the package safeopt as it is."""

    def __init__(self, told: Told, seed: int) -> None:
        if told.dimension > 2:
            raise Unable('it tries expanders one by one on a grid: one run of four parameters '
                         'took 68 s')
        # Two names that safeopt 0.15 needs and that Python and NumPy no longer have.
        for module, name, value in ((collections, 'Sequence', collections.abc.Sequence),
                                    (np, 'float', float)):
            if name not in vars(module):
                setattr(module, name, value)
        self._safeopt, self._gpy = _need('safeopt'), _need('GPy', 'safeopt (needs GPy)')
        self._told, self._optimizer = told, None
        self._X: list[Array] = []
        self._y: list[Array] = []

    def ask(self) -> Array | None:
        """Let the package choose of the grid."""
        told, kern = self._told, self._gpy.kern
        if self._optimizer is None:
            kind = kern.RBF if told.kernel.name == 'rbf' else kern.Matern32
            gps = [self._gpy.models.GPRegression(
                np.array(self._X), y[:, None],
                kind(told.dimension, lengthscale=np.array(told.kernel.length_scales), ARD=True),
                noise_var=told.noise_bound ** 2) for y in np.array(self._y).T]
            least = [-np.inf] * len(gps)
            least[told.safety] = [told.threshold] * len(least[told.safety])
            # It tries expanders one by one; on all points of one axis a run takes 20 s.
            points = grid(told.dimension)[::4 if told.dimension == 1 else 1]
            self._optimizer = self._safeopt.SafeOpt(gps, points, least, beta=2.0)
        try:
            return np.asarray(self._optimizer.optimize())
        except (OSError, ValueError) as error:  # its word for an empty safe set
            if 'safe' not in str(error):
                raise
            return None

    def tell(self, x: Array, y: Array) -> None:
        """Take measured values."""
        if self._optimizer is None:
            self._X.append(np.asarray(x, dtype=float))
            self._y.append(y)
        else:
            self._optimizer.add_new_data_point(np.atleast_2d(x), y[None])
