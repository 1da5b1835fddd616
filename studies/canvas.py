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

"""One style for all figures of the studies; matplotlib is imported only when one is drawn."""
from __future__ import annotations

from pathlib import Path
from typing import Any

BLUE, GREEN, RED, GREY, PURPLE = '#005eb8', '#2e8b57', '#d62728', '#8c8c8c', '#7b2d8b'
ORANGE = '#ed7d00'
STYLE = {'font.size': 9, 'axes.spines.top': False, 'axes.spines.right': False,
         'legend.frameon': False, 'legend.fontsize': 8, 'axes.titlesize': 9,
         'savefig.dpi': 160, 'pdf.fonttype': 42}


def axes(rows: int = 1, columns: int = 1, size: tuple[float, float] = (3.4, 2.4),
         **options: Any) -> tuple[Any, Any]:
    """Return a figure with a grid of axes, each of the size in inches."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    plt.rcParams.update(STYLE)
    return plt.subplots(rows, columns, figsize=(columns * size[0], rows * size[1]),
                        squeeze=False, layout='constrained', **options)


def write(figure: Any, out: Path, name: str) -> None:
    """Write the figure for pages and for papers."""
    import matplotlib.pyplot as plt
    for suffix in ('png', 'pdf'):
        figure.savefig(out / f'{name}.{suffix}')
    plt.close(figure)
