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

"""The card of the model's belief on the live page: curve, plane, or a choice of slices."""
from __future__ import annotations

from typing import Any

from nicegui import ui
from pacsbo_ros.view import words
from pacsbo_ros.view.belief_charts import backdrop, belief
from pacsbo_ros.view.live import Snapshot


class BeliefCard:
    """Show one slice of what is guaranteed."""

    def __init__(self) -> None:
        """Build an empty card."""
        self._shown: Any = None
        with ui.card().classes('card w-full lg:col-span-5 gap-2') as self._card:
            with ui.row().classes('w-full items-center justify-between no-wrap'):
                ui.label('What is guaranteed').classes('card-title')
                with ui.row().classes('items-center no-wrap gap-3'):
                    self._pair = ui.select([]).props('dense options-dense borderless').classes(
                        'caption pair').mark('pair')
                    self._pair.visible = False
                    self._whole = ui.switch('whole box').props(
                        'dense size=sm color=teal-5').classes('caption').mark('whole')
            self._chart = ui.echart(belief(None)).classes('w-full belief').mark('belief')
            self._sentence = ui.label('').classes('caption').mark('slice')

    def refresh(self, s: Snapshot, wide: bool) -> None:
        """Draw anew if something has changed; a robot without a drawing leaves more room."""
        self._card.classes(**({'add': 'lg:col-span-6', 'remove': 'lg:col-span-5'} if wide else
                              {'add': 'lg:col-span-5', 'remove': 'lg:col-span-6'}))
        slices, candidate = s.slices, None
        if s.candidate is not None and s.optimizer is not None:
            over = s.optimizer.state in (words.FINISHED, words.FAILED)
            candidate = None if over else words.tuned_values(s.candidate)
        pairs = slices.pairs if slices is not None else ()
        self._pair.visible = len(pairs) > 1
        if list(pairs) != self._pair.options:
            self._pair.set_options(list(pairs), value=pairs[0] if pairs else None)
        index = pairs.index(self._pair.value) if self._pair.value in pairs else 0
        wanted = (id(slices), candidate, index, bool(self._whole.value))
        if wanted == self._shown:
            return
        self._shown = wanted
        self._sentence.text = slices.sentence(index) if slices is not None else ''
        # style() would take the semicolon in the picture's address for the end of it.
        self._chart.style['background'] = backdrop(slices, index, bool(self._whole.value))
        draw(self._chart, belief(slices, index, candidate, bool(self._whole.value)))


def draw(chart: ui.echart, options: dict[str, Any]) -> None:
    """Put other options in a chart's place."""
    chart.options.clear()
    chart.options.update(options)
    chart.update()
