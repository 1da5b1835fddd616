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
How a robot is drawn: as rods, balls and blocks that follow its signals, in metres, z upwards.

A robot need not have a drawing; what it measures is shown anyway. A new one is a module with a
`DRAWING` and a line in the table below.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

Point = tuple[float, float, float]

DARK, METAL, VERDICT = 'dark', 'metal', 'verdict'  # paints; the last shows what the monitor says
DRAWINGS = {'furuta': 'pacsbo_ros.robots.furuta.drawing'}  # by the name of the robot


@dataclass(frozen=True)
class Rod:
    """A cylinder from one point to another; it keeps its length."""

    start: Point
    end: Point
    radius: float
    paint: str = METAL


@dataclass(frozen=True)
class Ball:
    """A sphere."""

    centre: Point
    radius: float
    paint: str = METAL


@dataclass(frozen=True)
class Block:
    """A box along the axes."""

    centre: Point
    size: Point
    paint: str = DARK


Part = Rod | Ball | Block


class Drawing(Protocol):
    """Say where the parts of a robot are."""

    @property
    def height(self) -> float:
        """Return what has to be in the picture, from the floor up [m]."""

    def parts(self, signals: Mapping[str, float]) -> tuple[Part, ...]:
        """Return all parts, always in the same order; a signal may be missing."""


def drawing_of(robot: str) -> Drawing | None:
    """Return the drawing of a robot by its name; None if it brings none."""
    return import_module(DRAWINGS[robot]).DRAWING if robot in DRAWINGS else None
