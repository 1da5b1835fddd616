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

"""The figure of the predictor report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pacsbo_ros.core.settings import DOMAINS

COLOURS = ('#0072b2', '#009e73', '#d55e00')  # told apart also by colour-blind readers


def draw(report: dict[str, Any], path: Path, n: int, ideal: str) -> None:
    """Draw coverage and over-estimate by number of samples, beside the ideal's, and by norm."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(10.0, 3.0), layout='constrained')
    FigureCanvasAgg(figure)
    coverage, over, by_norm = figure.subplots(1, 3)
    samples = range(3, 3 + len(report['every_n']))
    for d, (name, colour) in enumerate(zip(DOMAINS, COLOURS, strict=True)):
        cells = [row[d] for row in report['every_n']]
        coverage.plot(samples, [c['coverage'] for c in cells], color=colour, label=name)
        over.plot(samples, [c['over'] for c in cells], color=colour)
        ideal_over = {int(N): row[d]['over'] for N, row in report['methods'][ideal].items()}
        over.plot(list(ideal_over), list(ideal_over.values()), '--', color=colour, linewidth=1.0)
        by_norm.plot(list(report['by_norm']), [row[d]['coverage'] for row in
                                               report['by_norm'].values()], 'o-', color=colour)
    for axis in (coverage, by_norm):
        axis.axhline(0.9, color='black', linewidth=0.8, linestyle=':')
        axis.set_ylim(0.8, 1.0)
        axis.set_ylabel('share with estimate ≥ true norm')
    over.axhline(1.0, color='black', linewidth=0.8, linestyle=':')
    over.set_ylabel('median estimate / true norm')
    coverage.set_xlabel('samples N')
    over.set_xlabel('samples N')
    by_norm.set_xlabel('true norm on the box')
    coverage.legend(frameon=False, loc='lower right')
    for style, name in (('-', 'predictor'), ('--', ideal)):
        over.plot([], [], style, color='grey', label=name)
    over.legend(frameon=False)
    figure.suptitle(f'n = {n}, {report["functions"]} fresh functions')
    figure.savefig(path, dpi=90)
