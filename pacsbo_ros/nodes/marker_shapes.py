# Copyright the pacsbo_ros developers. Apache-2.0.
"""
The pendulum and the gain plane as rviz markers, in metres, beside each other in one frame.

Every marker has a fixed namespace and id, so that a newer one takes the place of the older one.
The plane lies right of the pendulum: the first gain along x, the second along y, the lower bound
of the tightest constraint upwards, with the border of the safe set at height ZERO.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
import math

from geometry_msgs.msg import Point, Vector3
import numpy as np
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from pacsbo_ros.view import palette, pendulum
from pacsbo_ros.view.plane import Array, GainPlane, ticks, unit

ORIGIN = (0.2, -0.2)  # m, corner of the plane
SIDE = 0.4  # m, the whole box of gains along x and y
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

    # The pendulum.

    def pendulum(self, theta: float, alpha: float, verdict: int, words: str) -> list[Marker]:
        """Return the pendulum in its present pose, coloured by the monitor's verdict."""
        state = colour(palette.VERDICT_COLOURS[verdict])
        dark, metal = colour('#2b3440'), colour('#c3ccd6')
        joint, end = pendulum.arm_end(theta), pendulum.tip(theta, alpha)
        base, width = pendulum.BASE, 2 * pendulum.RADIUS
        hub = self._marker('pendulum', 1, Marker.CYLINDER, (0.03, 0.03, 0.03), metal,
                           (0.0, 0.0, pendulum.PIVOT - 0.01))
        return [
            self._marker('pendulum', 0, Marker.CUBE, (base, base, base), dark,
                         (0.0, 0.0, base / 2)),
            hub,
            self._lines('pendulum', 2, Marker.LINE_STRIP, width, metal,
                        [(0.0, 0.0, pendulum.PIVOT), joint]),
            self._lines('pendulum', 3, Marker.LINE_STRIP, width, state, [joint, end]),
            self._marker('pendulum', 4, Marker.SPHERE, (2 * width,) * 3, state, end),
            self._marker('pendulum', 5, Marker.SPHERE, (1.5 * width,) * 3, metal, joint),
            self._text('state', 0, words, (0.0, 0.0, 0.31), state, 1.3 * TEXT),
        ]

    # The gain plane.

    def plane(self, plane: GainPlane) -> list[Marker]:
        """Return surface, safe set, hulls, samples, best gains and axes."""
        return [
            self._surface(plane), self._border(plane),
            self._outline('hull', plane, plane.hull, palette.HULL),
            self._outline('enlarged_hull', plane, plane.enlarged, palette.ENLARGED),
            self._samples(plane), *self._best(plane), *self._axes(plane)]

    def candidate(self, plane: GainPlane, gains: Sequence[float], words: str) -> list[Marker]:
        """Return a needle at the gains that are tried now."""
        (x, y, z), = _place(plane, np.array([gains[:2]]))
        top = ZERO + 1.45 * HEIGHT
        paint = colour(palette.CANDIDATE)
        return [self._lines('candidate', 0, Marker.LINE_STRIP, 0.003, paint,
                            [(x, y, z), (x, y, top)]),
                self._marker('candidate', 1, Marker.SPHERE, (0.014,) * 3, paint, (x, y, top)),
                self._text('candidate', 2, words, (x, y, top + 0.02), paint)]

    def _surface(self, plane: GainPlane) -> Marker:
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

    def _border(self, plane: GainPlane) -> Marker:
        """Draw the border of the safe set, or delete it where there is none."""
        pairs = [(a, b) for line in plane.boundary() for a, b in pairwise(line)]
        if not pairs:
            return self.gone('safe_set')
        ends = _place(plane, np.array(pairs).reshape(-1, 2), lift=UP)
        return self._lines('safe_set', 0, Marker.LINE_LIST, 0.003, colour('#ffffff'), ends)

    def _outline(self, ns: str, plane: GainPlane, corners: Array, paint: str) -> Marker:
        """Draw a hull as it lies on the surface."""
        if len(corners) < 2:
            return self.gone(ns)
        closed = np.vstack([corners, corners[:1]])
        share = np.linspace(0.0, 1.0, 9)[:-1, None]
        path = np.vstack([a + share * (b - a) for a, b in pairwise(closed)]
                         + [closed[-1:]])
        return self._lines(ns, 0, Marker.LINE_STRIP, 0.0025, colour(paint),
                           _place(plane, path, lift=UP))

    def _samples(self, plane: GainPlane) -> Marker:
        if not len(plane.samples):
            return self.gone('samples')
        marker = self._lines('samples', 0, Marker.SPHERE_LIST, 0.009, colour(palette.SAFE),
                             _place(plane, plane.samples, lift=0.003))
        marker.scale.y = marker.scale.z = 0.009
        marker.colors = [colour('#e9fffb' if safe else palette.UNSAFE)
                         for safe in plane.sample_safe]
        return marker

    def _best(self, plane: GainPlane) -> list[Marker]:
        best = plane.best
        if best is None:
            return [self.gone('best', 0), self.gone('best', 1)]
        (x, y, z), = _place(plane, plane.samples[best:best + 1])
        gains = ', '.join(f'{g:.2f}' for g in plane.samples[best])
        return [self._marker('best', 0, Marker.SPHERE, (0.016,) * 3, colour(palette.BEST),
                             (x, y, z + 0.006)),
                self._text('best', 1, f'best ({gains})\nreward {plane.sample_reward[best]:.4f}',
                           (x, y, z + 0.035), colour(palette.BEST))]

    def _axes(self, plane: GainPlane) -> list[Marker]:
        """Draw the frame of the box with the gains' real values."""
        left, front = ORIGIN
        right, back, low = left + SIDE, front + SIDE, ZERO - HEIGHT
        grey, white = colour('#7b8794'), colour('#e6ebf0')
        corners = [(left, front), (right, front), (right, back), (left, back), (left, front)]
        segments = [(x, y, low) for a, b in pairwise(corners) for x, y in (a, b)]
        texts = []
        for i in (0, 1):
            span = plane.upper[i] - plane.lower[i]
            for value in ticks(plane.lower[i], plane.upper[i]):
                s = SIDE * (value - plane.lower[i]) / span
                x, y = (left + s, front) if i == 0 else (left, front + s)
                dx, dy = (0.0, -0.012) if i == 0 else (-0.012, 0.0)
                segments += [(x, y, low), (x + dx, y + dy, low)]
                texts.append((f'{value:g}', (x + 2.5 * dx, y + 2.5 * dy, low)))
        middle = SIDE / 2
        texts += [(_label(plane.names[0]), (left + middle, front - 0.065, low)),
                  (_label(plane.names[1]), (left - 0.1, front + 0.6 * SIDE, low)),
                  (f'guaranteed after {plane.iteration} episodes\nwhite: edge of the safe set',
                   (left + middle, back, ZERO + 1.75 * HEIGHT))]
        return [self._lines('axes', 0, Marker.LINE_LIST, 0.0015, grey, segments),
                *(self._text('axes', 1 + i, words, at, white)
                  for i, (words, at) in enumerate(texts))]


def _place(plane: GainPlane, gains: Array, lift: float = 0.0) -> Array:
    """Return where (n, 2) gains lie on the surface, as (n, 3) metres."""
    share = (gains - plane.lower) / np.subtract(plane.upper, plane.lower)
    bound = palette.MARGIN_SPAN
    margin = np.clip(plane.margin_at(gains), -bound, bound) / bound
    return np.column_stack([np.array(ORIGIN) + SIDE * np.clip(share, 0.0, 1.0),
                            ZERO + HEIGHT * margin + lift])


def _label(name: str) -> str:
    """Return a gain with its unit, in ASCII: rviz draws text byte by byte."""
    return f'{name} [{unit(name).replace("·", " ")}]'


def finite(*values: float) -> bool:
    """Tell whether all values are finite numbers, which rviz requires."""
    return all(map(math.isfinite, values))
