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
A robot and what the model believes as rviz markers, in metres, beside each other in one frame.

Every marker has a fixed namespace and id, so that a newer one takes the place of the older one.
The map lies right of the robot: the first value along x, the second along y, the lower bound of
the tightest constraint upwards, with the border of the safe set at height ZERO. One tuned value
is a curve along x, with its band upright.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
import re

from geometry_msgs.msg import Point, Vector3
import numpy as np
from numpy.typing import NDArray
from pacsbo_ros.robots.drawing import Ball, Block, METAL, Part, Rod, VERDICT
from pacsbo_ros.view import palette
from pacsbo_ros.view.curve import safe_intervals
from pacsbo_ros.view.numbers import number, RAISED, ticks, tuned_label
from pacsbo_ros.view.plane import Array, Plane
from pacsbo_ros.view.slices import LOWER, MEAN, Slices, UPPER
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

Flags = NDArray[np.bool_]
ORIGIN = (0.2, -0.2)  # m, corner of the map
SIDE = 0.4  # m, the whole box along x and y
MIDDLE = ORIGIN[1] + SIDE / 2  # m, where a curve stands
ZERO, HEIGHT = 0.12, 0.1  # m, height of margin 0, and what a margin of MARGIN_SPAN adds
SURFACE_POINTS = 41  # per side: a bounded message, whatever the size of the map
TEXT = 0.014  # m, height of letters
SPACE = 0.5  # of that height; rviz would make every space as wide as letters of 1 m need it
UP = 0.002  # m, lines lie this much above what they mark


def colour(name: str) -> ColorRGBA:
    """Return a #rrggbb colour as a message."""
    red, green, blue = palette.rgb(name)
    return ColorRGBA(r=red, g=green, b=blue, a=1.0)


def point(xyz: Sequence[float]) -> Point:
    """Return a point as a message."""
    return Point(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


class Shapes:
    """Make the markers of one frame."""

    def __init__(self, frame_id: str) -> None:
        """Use this frame for all of them; no stamp, so that no transform is waited for."""
        self._header = Header(frame_id=frame_id)

    def clear(self) -> Marker:
        """Return the marker that removes all others."""
        return Marker(header=self._header, action=Marker.DELETEALL)

    def _marker(self, ns: str, number: int, kind: int, scale: Sequence[float],
                paint: ColorRGBA, at: Sequence[float] = (0.0, 0.0, 0.0)) -> Marker:
        marker = Marker(header=self._header, ns=ns, id=number, type=kind, action=Marker.ADD,
                        scale=Vector3(x=scale[0], y=scale[1], z=scale[2]), color=paint)
        marker.pose.position = point(at)
        marker.pose.orientation.w = 1.0
        return marker

    def _text(self, ns: str, number: int, words: str, at: Sequence[float], paint: ColorRGBA,
              size: float = TEXT) -> Marker:
        marker = self._marker(ns, number, Marker.TEXT_VIEW_FACING, (SPACE * size, 0.0, size),
                              paint, at)
        marker.text = words
        return marker

    def _lines(self, ns: str, number: int, kind: int, width: float, paint: ColorRGBA,
               points: Iterable[Sequence[float]]) -> Marker:
        marker = self._marker(ns, number, kind, (width, 0.0, 0.0), paint)
        marker.points = [point(p) for p in points]
        return marker

    def gone(self, ns: str, number: int = 0) -> Marker:
        """Return the marker that removes one other."""
        return Marker(header=self._header, ns=ns, id=number, action=Marker.DELETE)

    # The robot.

    def robot(self, parts: Sequence[Part], verdict: int, words: str,
              height: float) -> list[Marker]:
        """Return the parts of a drawing and, above them, words in the colour of the verdict."""
        state = palette.verdict_colour(verdict)
        paints = {VERDICT: state, METAL: '#c3ccd6'}
        return [*(self._part(i, part, colour(paints.get(part.paint, '#2b3440')))
                  for i, part in enumerate(parts)),
                self._text('state', 0, words, (0.0, 0.0, height + 0.01), colour(state),
                           1.3 * TEXT)]

    def _part(self, number: int, part: Part, paint: ColorRGBA) -> Marker:
        match part:
            case Rod():
                return self._lines('robot', number, Marker.LINE_STRIP, 2 * part.radius, paint,
                                   [part.start, part.end])
            case Ball():
                return self._marker('robot', number, Marker.SPHERE, (2 * part.radius,) * 3,
                                    paint, part.centre)
            case Block():
                return self._marker('robot', number, Marker.CUBE, part.size, paint, part.centre)

    # What the model believes.

    def belief(self, slices: Slices, index: int = 0) -> list[Marker]:
        """Return the curve, or one slice, with all that is on it."""
        if slices.is_curve:
            return self.curve(slices)
        return [*self.plane(slices.plane(index)),
                self._text('axes', 100, plain(slices.sentence(index)).replace('. ', '.\n'),
                           (ORIGIN[0] + SIDE / 2, ORIGIN[1] - 0.14, ZERO - HEIGHT),
                           colour('#8796a5'), 0.8 * TEXT)]

    def plane(self, plane: Plane) -> list[Marker]:
        """Return surface, safe set, hulls, samples, best values and axes."""
        return [
            self._surface(plane), self._border(plane),
            self._outline('hull', plane, plane.hull, palette.HULL),
            self._outline('enlarged_hull', plane, plane.enlarged, palette.ENLARGED),
            self._samples(_place(plane, plane.samples, lift=0.003), plane.sample_safe,
                          plane.on_slice),
            *self._best(_place(plane, plane.best[None])[0], plane.best, plane.best_reward),
            *self._axes(plane.names, plane.units, plane.lower, plane.upper, plane.iteration)]

    def curve(self, slices: Slices) -> list[Marker]:
        """Return band, mean, threshold, safe set, samples, best value and axis of one value."""
        margin = slices.slices[0].margin[:, 0]
        x = slices.axis(0, margin.shape[1])
        lower, mean, upper = (_stand(slices, x, margin[i]) for i in (LOWER, MEAN, UPPER))
        band = self._marker('surface', 0, Marker.TRIANGLE_LIST, (1.0, 1.0, 1.0),
                            colour('#ffffff'))
        paints = [ColorRGBA(r=r, g=g, b=b, a=1.0)
                  for r, g, b in (palette.margin_rgb(m) for m in margin[LOWER])]
        for i, k in pairwise(range(len(x))):
            band.points += [point(p) for p in (lower[i], lower[k], upper[k], lower[i], upper[k],
                                               upper[i])]
            band.colors += [paints[n] for n in (i, k, k, i, k, i)]
        ends = [p for pair in safe_intervals(slices)
                for p in _stand(slices, np.array(pair), np.zeros(2))]
        best = slices.best_sample
        samples = _stand(slices, slices.samples[:, 0], slices.sample_margin)
        ends_of_box = np.array([slices.lower[0], slices.upper[0]])
        return [
            band,
            self._lines('mean', 0, Marker.LINE_STRIP, 0.0025, colour(palette.ENLARGED), mean),
            self._lines('threshold', 0, Marker.LINE_STRIP, 0.0015, colour(palette.UNSAFE),
                        _stand(slices, ends_of_box, np.zeros(2))),
            self._lines('safe_set', 0, Marker.LINE_LIST, 0.005, colour('#ffffff'), ends)
            if ends else self.gone('safe_set'),
            self._samples(samples, slices.sample_safe, np.ones(len(samples), bool)),
            *(self._best(samples[best], slices.best, float(slices.sample_reward[best]))
              if best is not None else (self.gone('best', 0), self.gone('best', 1))),
            *self._axes(slices.names, slices.units, slices.lower, slices.upper,
                        slices.iteration)]

    def candidate(self, slices: Slices, index: int, values: Sequence[float],
                  words: str) -> list[Marker]:
        """Return a needle at the values that are tried now."""
        if slices.is_curve:
            (x, y, z), = _stand(slices, np.array(values[:1]), np.zeros(1))
        else:
            item, plane = slices.slices[index], slices.plane(index)
            (x, y, z), = _place(plane, np.array([[values[item.x], values[item.y]]]))
        top = ZERO + 1.45 * HEIGHT
        paint = colour(palette.CANDIDATE)
        return [self._lines('candidate', 0, Marker.LINE_STRIP, 0.003, paint,
                            [(x, y, z), (x, y, top)]),
                self._marker('candidate', 1, Marker.SPHERE, (0.014,) * 3, paint, (x, y, top)),
                self._text('candidate', 2, plain(words), (x, y, top + 0.02), paint)]

    def _surface(self, plane: Plane) -> Marker:
        x, y = (plane.axis(i, SURFACE_POINTS) for i in (0, 1))
        corners = np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])
        margin = plane.margin_at(corners)
        points = [point(p) for p in _place(plane, corners)]
        paints = [ColorRGBA(r=r, g=g, b=b, a=1.0)
                  for r, g, b in (palette.margin_rgb(m) for m in margin)]
        order: list[int] = []
        for row in range(len(y) - 1):
            for column in range(len(x) - 1):
                a = row * len(x) + column
                b, c, d = a + 1, a + len(x), a + len(x) + 1
                order += [a, b, d, a, d, c]
        marker = self._marker('surface', 0, Marker.TRIANGLE_LIST, (1.0, 1.0, 1.0),
                              colour('#ffffff'))
        marker.points = [points[i] for i in order]
        marker.colors = [paints[i] for i in order]
        return marker

    def _border(self, plane: Plane) -> Marker:
        """Draw the border of the safe set, or delete it where there is none."""
        pairs = [(a, b) for line in plane.boundary() for a, b in pairwise(line)]
        if not pairs:
            return self.gone('safe_set')
        ends = _place(plane, np.array(pairs).reshape(-1, 2), lift=UP)
        return self._lines('safe_set', 0, Marker.LINE_LIST, 0.003, colour('#ffffff'), ends)

    def _outline(self, ns: str, plane: Plane, corners: Array, paint: str) -> Marker:
        """Draw a hull as it lies on the surface."""
        if len(corners) < 2:
            return self.gone(ns)
        closed = np.vstack([corners, corners[:1]])
        share = np.linspace(0.0, 1.0, 9)[:-1, None]
        path = np.vstack([a + share * (b - a) for a, b in pairwise(closed)]
                         + [closed[-1:]])
        return self._lines(ns, 0, Marker.LINE_STRIP, 0.0025, colour(paint),
                           _place(plane, path, lift=UP))

    def _samples(self, places: Array, safe: Flags, on_slice: Flags) -> Marker:
        """Draw one ball per sample; those that are not on the slice are darker."""
        if not len(places):
            return self.gone('samples')
        marker = self._lines('samples', 0, Marker.SPHERE_LIST, 0.009, colour(palette.SAFE), places)
        marker.scale.y = marker.scale.z = 0.009
        paints = {(True, True): '#e9fffb', (True, False): '#7f9a98',
                  (False, True): palette.UNSAFE, (False, False): '#8a3b3f'}
        marker.colors = [colour(paints[bool(s), bool(o)])
                         for s, o in zip(safe, on_slice, strict=True)]
        return marker

    def _best(self, place: Array, values: Array, reward: float) -> list[Marker]:
        x, y, z = place
        words = f'best ({", ".join(map(number, values))})\nreward {number(reward, 5)}'
        return [self._marker('best', 0, Marker.SPHERE, (0.016,) * 3, colour(palette.BEST),
                             (x, y, z + 0.006)),
                self._text('best', 1, plain(words), (x, y, z + 0.035), colour(palette.BEST))]

    def _axes(self, names: Sequence[str], units: Sequence[str], lower: Sequence[float],
              upper: Sequence[float], iteration: int) -> list[Marker]:
        """Draw the frame of the box with the real values; of one value only its axis."""
        left, front = ORIGIN
        right, back, low = left + SIDE, front + SIDE, ZERO - HEIGHT
        grey, white = colour('#7b8794'), colour('#e6ebf0')
        corners = [(left, front), (right, front), (right, back), (left, back), (left, front)]
        if len(names) == 1:
            front = back = MIDDLE
            corners = [(left, MIDDLE), (right, MIDDLE)]
        segments = [(x, y, low) for a, b in pairwise(corners) for x, y in (a, b)]
        texts = []
        for i in range(len(names)):
            span = upper[i] - lower[i]
            for value in ticks(lower[i], upper[i]):
                s = SIDE * (value - lower[i]) / span
                x, y = (left + s, front) if i == 0 else (left, front + s)
                dx, dy = (0.0, -0.012) if i == 0 else (-0.012, 0.0)
                segments += [(x, y, low), (x + dx, y + dy, low)]
                texts.append((f'{value:g}', (x + 2.5 * dx, y + 2.5 * dy, low)))
        middle = SIDE / 2
        places = ((left + middle, front - 0.065, low), (left - 0.1, front + 0.6 * SIDE, low))
        texts += [(plain(tuned_label(name, unit)), place)
                  for name, unit, place in zip(names, units, places, strict=False)]
        texts.append((f'guaranteed after {iteration} episodes\nwhite: '
                      f'{"the" if len(names) == 1 else "edge of the"} safe set',
                      (left + middle, back, ZERO + 1.75 * HEIGHT)))
        return [self._lines('axes', 0, Marker.LINE_LIST, 0.0015, grey, segments),
                *(self._text('axes', 1 + i, words, at, white)
                  for i, (words, at) in enumerate(texts))]


def _place(plane: Plane, values: Array, lift: float = 0.0) -> Array:
    """Return where (n, 2) values lie on the surface, as (n, 3) metres."""
    share = (values - plane.lower) / np.subtract(plane.upper, plane.lower)
    return np.column_stack([np.array(ORIGIN) + SIDE * np.clip(share, 0.0, 1.0),
                            _height(plane.margin_at(values)) + lift])


def _stand(slices: Slices, values: Array, margin: Array) -> Array:
    """Return where margins over one value stand, as (n, 3) metres."""
    share = (values - slices.lower[0]) / (slices.upper[0] - slices.lower[0])
    return np.column_stack([ORIGIN[0] + SIDE * np.clip(share, 0.0, 1.0),
                            np.full(len(values), MIDDLE), _height(margin)])


def _height(margin: Array) -> Array:
    bound = palette.MARGIN_SPAN
    return ZERO + HEIGHT * np.clip(margin, -bound, bound) / bound


def plain(words: str) -> str:
    """Return words that rviz can draw, byte by byte."""
    for sign, letters in (('·', ' '), ('\xa0', ' '), ('−', '-'), ('–', '-'), ('°', ' deg')):
        words = words.replace(sign, letters)
    lowered = {raised: sign for sign, raised in RAISED.items()}
    words = re.sub(f'[{"".join(map(chr, lowered))}]+',
                   lambda found: '^' + found[0].translate(lowered), words)
    return words.encode('ascii', 'replace').decode()
