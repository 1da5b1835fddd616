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

"""The card of the robot on the live page: its drawing if it brings one, signals, constraints."""
from __future__ import annotations

import math
from typing import Any

from nicegui import ui
import numpy as np
from pacsbo_ros.robots.drawing import Ball, Block, Drawing, drawing_of, METAL, Part, Rod, VERDICT
from pacsbo_ros.view import palette, rows, tables
from pacsbo_ros.view.live import Snapshot

SIZE = 3.0  # scene units that a drawing is high: three.js clips what is nearer than 0.1
STILL = 0.002  # rad, m ...: smaller moves are not sent
PAINTS = {METAL: '#c3ccd6'}
DARK = '#39475a'
HEIGHT, ROW = 440, 24  # pixels of the card's inside, and of a row of its tables
LEAST = 200  # pixels that a drawing has at least


class RobotCard:
    """Show one robot; another one's drawing takes its place."""

    def __init__(self, fps: int) -> None:
        """Build an empty card."""
        self._fps = fps
        self._drawing: Drawing | None = None
        self._shown = ('', 0)  # robot and height of the drawing
        self._parts: list[tuple[Any, Part]] = []
        self._signals: dict[str, float] = {}
        self._colour = palette.MUTED
        with ui.card().classes('card w-full lg:col-span-4 gap-2') as self._card:
            self._title = ui.label('The robot').classes('card-title')
            self._stage = ui.element('div').classes('w-full')
            self._table = ui.html('', sanitize=False).classes('w-full').mark('robot')
            ui.space()
            self._ends = ui.label('').classes('caption').mark('outcomes')

    def refresh(self, s: Snapshot) -> None:
        """Bring tables and drawing up to date."""
        name = (s.robot.name if s.robot is not None
                else s.optimizer.robot if s.optimizer is not None else '')
        signals, constraints = rows.signals(s), rows.constraints(s)
        self._table.content = tables.measured(signals, constraints)
        self._ends.text = 'Episodes: ' + (' · '.join(
            f'{count} {name}' for name, count in rows.outcomes(s)) or 'none yet')
        lines = len(signals) + len(constraints) + bool(signals) + bool(constraints)
        self._show(name, max(LEAST, HEIGHT - ROW * lines))

    def _show(self, name: str, height: int) -> None:
        if (name, height) == self._shown:
            return
        self._shown = (name, height)
        self._title.text = name.replace('_', ' ') or 'The robot'
        self._stage.clear()
        self._parts = []
        self._drawing = drawing_of(name)
        if self._drawing is not None:
            with self._stage:
                self._build(self._drawing, height)
        self._card.classes(**({'add': 'lg:col-span-3', 'remove': 'lg:col-span-4'}
                              if self._drawing is None else
                              {'add': 'lg:col-span-4', 'remove': 'lg:col-span-3'}))

    @property
    def is_drawn(self) -> bool:
        """Tell whether the robot brings a drawing."""
        return self._drawing is not None

    def _build(self, drawing: Drawing, height: int) -> None:
        zoom = SIZE / drawing.height
        with ui.scene(width=400, height=height, grid=False, background_color='#151d27',
                      fps=self._fps, camera=ui.scene.perspective_camera(fov=32)
                      ).classes('w-full') as scene:
            scene.cylinder(1.5, 1.5, 0.02, 64).rotate(math.pi / 2, 0, 0).move(z=-0.01).material(
                '#1d2733')
            for part in drawing.parts(self._signals):
                shape = _shape(scene, part, zoom)
                self._place(shape, part, zoom)
                shape.material(self._paint(part))
                self._parts.append((shape, part))
        scene.move_camera(x=2.8, y=-5.5, z=2.9, look_at_x=0, look_at_y=0, look_at_z=1.1,
                          duration=0)

    def _paint(self, part: Part) -> str:
        return self._colour if part.paint == VERDICT else PAINTS.get(part.paint, DARK)

    @staticmethod
    def _place(shape: Any, part: Part, zoom: float) -> None:
        centre = (np.add(part.start, part.end) / 2 if isinstance(part, Rod)
                  else np.array(part.centre))
        shape.move(*(float(v) for v in zoom * centre))
        if isinstance(part, Rod):
            shape.rotate_R(_along(np.subtract(part.end, part.start)))

    def move(self, s: Snapshot, verdict: int) -> None:
        """Move the drawing, and colour it by the verdict; only what has changed is sent."""
        if self._drawing is None:
            return
        if any(abs(value - self._signals.get(name, math.inf)) > STILL
               for name, value in s.newest.items()):
            self._signals = dict(s.newest)
            zoom = SIZE / self._drawing.height
            for i, part in enumerate(self._drawing.parts(self._signals)):
                shape, old = self._parts[i]
                if part != old:
                    self._place(shape, part, zoom)
                    self._parts[i] = (shape, part)
        colour = palette.verdict_colour(verdict)
        if colour != self._colour:
            self._colour = colour
            for shape, part in self._parts:
                shape.material(self._paint(part))


def _shape(scene: Any, part: Part, zoom: float) -> Any:
    match part:
        case Rod():
            length = zoom * math.dist(part.start, part.end)
            return scene.cylinder(zoom * part.radius, zoom * part.radius, length, 24)
        case Ball():
            return scene.sphere(zoom * part.radius)
        case Block():
            return scene.box(*(zoom * edge for edge in part.size))


def _along(direction: Any) -> list[list[float]]:
    """Return a rotation that turns y, the axis of a cylinder, into a direction."""
    y = direction / np.linalg.norm(direction)
    x = np.cross(y, (0.0, 0.0, 1.0) if abs(y[2]) < 0.9 else (1.0, 0.0, 0.0))
    x /= np.linalg.norm(x)
    return np.column_stack([x, y, np.cross(x, y)]).tolist()
