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
Make a moving picture of a run of two values, an image for every episode.

    .venv/bin/with-ros python -m tools.run_movie RUN_FOLDER [docs/images/run.gif]

On the left what the model believes of the box, on the right the reward of every episode.
"""
from __future__ import annotations

import argparse
import io
import math
from pathlib import Path

from pacsbo_ros.tuning.belief_plots import draw_plane
from pacsbo_ros.tuning.plots import make_grid, STYLE
from pacsbo_ros.tuning.report_files import ReportFiles
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.view import palette
from pacsbo_ros.view.kinds import kind_of
from pacsbo_ros.view.numbers import label, tuned_label
from pacsbo_ros.view.slices import Slices
from PIL import Image

FRAME, LAST = 350, 4000  # ms that an image is shown
DOTS = 72  # per inch: the picture is loaded with the front page


def frame(run: RunData, item: Slices, last: Slices) -> Image.Image:
    """Draw the run as it was after an episode."""
    figure, ((box, reward),) = make_grid(4.2, 1, 2, gap=0.75, bottom=0.85, right=0.2)
    draw_plane(box, item.plane(), 0.9)
    (left, low), (right, high) = last.plane().close_up()
    box.set(xlim=(left, right), ylim=(low, high),
            title='Known to be safe: green',
            xlabel=tuned_label(item.names[0], item.units[0]),
            ylabel=tuned_label(item.names[1], item.units[1]))
    told = [t for t in run.told if t.trial.searches]
    values = [t.measured.reward for t in told]
    for t in told:
        if t.trial.iteration <= item.iteration:
            kind = kind_of(t.measured.safe, t.trial.role)
            reward.plot(t.trial.iteration, t.measured.reward, kind.marker, ms=6,
                        color=kind.colour, mec='white', mew=0.7)
    best = [(p.iteration, p.best_reward) for p in run.progress
            if p.iteration <= item.iteration and math.isfinite(p.best_reward)]
    if best:
        reward.step(*zip(*best, strict=True), where='post', color=palette.BEST, lw=2)
    room = 0.05 * (max(values) - min(values))
    unsafe = sum(not t.measured.safe for t in told if t.trial.iteration <= item.iteration)
    reward.set(title=label('Reward', run.robot.reward.unit), xlabel='episode',
               xlim=(0, told[-1].trial.iteration + 1),
               ylim=(min(values) - room, max(values) + room))
    figure.text(0.99, 0.02, f'episode {item.iteration} of {last.iteration}, {unsafe} unsafe',
                ha='right', weight='bold')
    known = dict(zip(*reversed(box.get_legend_handles_labels()), strict=True))
    figure.legend(known.values(), known.keys(), loc='lower left', ncols=6, handletextpad=0.4,
                  columnspacing=1.4)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=DOTS)
    return Image.open(picture).convert('RGB').quantize(64, dither=Image.Dither.NONE)


def main() -> int:
    """Read the run, draw it, write the file."""
    import matplotlib
    parser = argparse.ArgumentParser(prog='python -m tools.run_movie', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, help='folder of a run of two values')
    parser.add_argument('movie', type=Path, nargs='?', default=Path('docs/images/run.gif'))
    options = parser.parse_args()
    try:
        run = RunData.load(options.run)
    except ValueError as error:
        parser.error(str(error))
    searched = {t.trial.iteration for t in run.told if t.trial.searches}
    stages = [s for s in ReportFiles(options.run).slices() if s.iteration in searched]
    if not stages or len(stages[-1].names) != 2:
        parser.error(f'{options.run} is not a run of two values')
    with matplotlib.rc_context(STYLE):
        first, *more = (frame(run, item, stages[-1]) for item in stages)
    first.save(options.movie, save_all=True, append_images=more, loop=0,
               duration=[FRAME] * len(more) + [LAST], optimize=True)
    print(f'{options.movie}: {len(stages)} images, {options.movie.stat().st_size // 1024} KiB')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
