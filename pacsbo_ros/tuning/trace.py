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

"""The movement of one episode, kept as a CSV file that any program opens."""
# flake8: noqa: A005
from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
import re

import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.files import read_bytes

LIMITS = 'limits '  # how the first line begins
LARGEST_FILE = 2_000_000  # bytes; a trace of 2000 samples has a tenth of it


@dataclass(frozen=True)
class Trace:
    """Hold the samples of an episode and the limits that its signals had to keep."""

    columns: tuple[str, ...]  # time first, then signals and commands
    units: tuple[str, ...]
    samples: NDArray[np.float64]  # (n, columns)
    limits: tuple[float, ...]  # one per column, NaN where there is none

    def __post_init__(self) -> None:
        width = len(self.columns)
        if not (self.columns[:1] == ('time',) and len(self.units) == len(self.limits) == width
                and self.samples.ndim == 2 and self.samples.shape[1] == width):
            raise ValueError(f'a trace of the columns {self.columns} does not fit its '
                             f'{len(self.units)} units, {len(self.limits)} limits or samples of '
                             f'shape {self.samples.shape}')

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one quantity over time."""
        return self.samples[:, self.columns.index(name)]

    def save(self, path: Path) -> None:
        """Write the file."""
        names = (f'{name} [{unit}]' for name, unit in zip(self.columns, self.units, strict=True))
        head = LIMITS + ','.join(f'{v:.6g}' for v in self.limits) + '\n' + ','.join(names)
        np.savetxt(path, self.samples, fmt='%.5g', delimiter=',', header=head)

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read a file that save() wrote; ValueError if it is something else."""
        content = read_bytes(path, LARGEST_FILE).decode('utf-8')
        first, second = (line.removeprefix('# ') for line in (content + '\n\n').split('\n')[:2])
        heads = [re.fullmatch(r'(.*) \[(.*)\]', head) for head in second.split(',')]
        if not first.startswith(LIMITS) or not all(heads):
            raise ValueError(f'{path} is not a trace: its first lines name no limits and columns')
        columns, units = zip(*(match.groups() for match in heads if match), strict=True)
        samples = np.loadtxt(StringIO(content), delimiter=',', ndmin=2).reshape(-1, len(columns))
        return cls(columns, units, samples,
                   tuple(map(float, first.removeprefix(LIMITS).split(','))))
