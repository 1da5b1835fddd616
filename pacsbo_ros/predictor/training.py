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
Fit the network to trajectories: the only file that needs torch.

  symbol   meaning                                                 shape
  X, y     inputs and targets of all runs, steps and domains       (M, P), (M,)
  tau      quantile level of the pinball loss                      scalar

The loss max(tau·e, (tau - 1)·e), e = y - g, is least at the tau-quantile of y given X: the
network learns how uncertain the norm is, not only how large.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pacsbo_ros.core.kernels import Array
from pacsbo_ros.predictor.data import Trajectories
from pacsbo_ros.predictor.model import Network, REACH
from pacsbo_ros.predictor.rows import rows
import torch
from tqdm import trange

BATCH = 2048
LEARNING_RATE = 4e-3
WEIGHT_DECAY = 1e-2


def fit(
    train: Trajectories, validation: Trajectories, window: int, tau: float, seed: int,
    hidden: tuple[int, ...] = (64, 64), epochs: int = 30, progress: bool = False,
) -> tuple[Network, float]:
    """Train on some functions, keep the epoch that is best on others; give its loss there."""
    return fit_rows(rows(train, window), rows(validation, window), tau, seed, hidden, epochs,
                    progress)


def fit_rows(
    train: tuple[Array, Array], validation: tuple[Array, Array], tau: float, seed: int,
    hidden: tuple[int, ...], epochs: int, progress: bool = False,
) -> tuple[Network, float]:
    """Train on inputs and targets; the same seed gives the same network."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order: the same seed gives the same weights
    try:
        return _fit(train, validation, tau, seed, hidden, epochs, progress)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(False)


def _fit(
    train: tuple[Array, Array], validation: tuple[Array, Array], tau: float, seed: int,
    hidden: tuple[int, ...], epochs: int, progress: bool,
) -> tuple[Network, float]:
    mean = train[0].mean(axis=0, dtype=float)
    scale = np.maximum(train[0].std(axis=0, dtype=float), 1e-3)
    X, y = _tensors(train, mean, scale)
    X_val, y_val = _tensors(validation, mean, scale)
    sizes = (X.shape[1], *hidden, 1)
    layers: list[torch.nn.Module] = []
    for i, o in pairwise(sizes):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1], torch.nn.Softplus())
    optimizer = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batches = -(-len(X) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=epochs * batches)
    shuffle = torch.Generator().manual_seed(seed)
    best, kept = np.inf, {k: v.clone() for k, v in net.state_dict().items()}
    bar = trange(epochs, desc='training', unit='epoch', disable=not progress)
    for _ in bar:
        for chosen in torch.randperm(len(X), generator=shuffle).split(BATCH):
            optimizer.zero_grad()
            _pinball(y[chosen] - net(X[chosen])[:, 0], tau).backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            loss = float(_pinball(y_val - net(X_val)[:, 0], tau))
        bar.set_postfix(validation=f'{loss:.5f}')
        if loss < best:
            best, kept = loss, {k: v.clone() for k, v in net.state_dict().items()}
    values = [v.numpy().astype(float) for v in kept.values()]
    return Network(mean, scale, tuple(w.T for w in values[::2]), tuple(values[1::2])), best


def _tensors(data: tuple[Array, Array], mean: Array, scale: Array,
             ) -> tuple[torch.Tensor, torch.Tensor]:
    X = np.clip((data[0] - mean) / scale, -REACH, REACH)
    return (torch.tensor(X, dtype=torch.float32), torch.tensor(data[1], dtype=torch.float32))


def _pinball(error: torch.Tensor, tau: float) -> torch.Tensor:
    return torch.maximum(tau * error, (tau - 1.0) * error).mean()
