# Copyright the pacsbo_ros developers. Apache-2.0.
"""The movement of one episode, kept as a CSV file that any program opens."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pacsbo_ros.furuta.episode import TRACE_COLUMNS


@dataclass(frozen=True)
class Trace:
    """Hold the samples of an episode and the limits that it had to keep."""

    samples: NDArray[np.float64]  # (n, 6), columns TRACE_COLUMNS
    alpha_limit: float  # rad
    theta_limit: float  # rad

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one quantity over time."""
        return self.samples[:, TRACE_COLUMNS.index(name)]

    def save(self, path: Path) -> None:
        """Write the file."""
        head = (f'alpha_limit {self.alpha_limit:.6g} rad, theta_limit {self.theta_limit:.6g} rad\n'
                + ','.join(TRACE_COLUMNS))
        np.savetxt(path, self.samples, fmt='%.5g', delimiter=',', header=head)

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read a file that save() wrote; ValueError if it is something else."""
        with path.open(encoding='utf-8') as file:
            words = file.readline().replace(',', '').split()
        if words[1:2] != ['alpha_limit'] or words[4:5] != ['theta_limit']:
            raise ValueError(f'{path} is not a trace: its first line names no limits')
        samples = np.loadtxt(path, delimiter=',', ndmin=2).reshape(-1, len(TRACE_COLUMNS))
        return cls(samples, float(words[2]), float(words[5]))
