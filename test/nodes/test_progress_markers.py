# Copyright the pacsbo_ros developers. Apache-2.0.
"""The markers are what rviz can draw, and show what the graph said."""
import math

import numpy as np
import pytest
from visualization_msgs.msg import Marker, MarkerArray

from faults.graph import wait_for
from pacsbo_ros.msg import Candidate, GainMap, OptimizerState, SafetyStatus
from pacsbo_ros.nodes.marker_shapes import ORIGIN, SIDE, Shapes
from pacsbo_ros.nodes.spinning import HEARTBEAT, LATCHED
from pacsbo_ros.view import palette
from pacsbo_ros.view.plane import GainPlane

TOPICS = ('markers/pendulum', 'markers/gain_plane', 'markers/candidate')
LARGEST = 400_000  # bytes of points and colours in one message


def gain_map(run_id='run', iteration=3, n=20, level=0.3):
    """Return a map whose safe set is a disc."""
    x, y = np.meshgrid(np.linspace(-6, 0, n), np.linspace(10, 50, n))
    margin = level - np.hypot((x + 4) / 2, (y - 30) / 15)
    return GainMap(
        run_id=run_id, iteration=iteration, names=['k_theta', 'k_alpha'], lower=[-6.0, 10.0],
        upper=[0.0, 50.0], columns=n, rows=n, constraint_lower=margin.ravel().tolist(),
        reward_mean=[0.9] * n * n, safe=(margin >= 0).ravel().tolist(),
        hull=[-4.5, 28.0, -3.5, 30.0, -4.0, 33.0], enlarged=[-5.0, 25.0, -3.0, 28.0, -4.0, 38.0],
        samples=[-4.5, 28.0, -3.5, 30.0, -4.0, 33.0], sample_reward=[0.9, 0.95, 0.97],
        sample_outcome=[0, 0, 1], sample_safe=[True, True, False])


class Painter:
    """A small renderer: looks at markers along y, from above, far parts first."""

    def __init__(self, size=420, span=0.95):
        self.size, self.span = size, span

    def pixels(self, points):
        """Project (n, 3) points; return (n, 2) pixels and how far away they are."""
        turn, tilt = np.radians(-15), np.radians(30)
        x = points[:, 0] * np.cos(turn) - points[:, 1] * np.sin(turn)
        y = points[:, 0] * np.sin(turn) + points[:, 1] * np.cos(turn)
        up = points[:, 2] * np.cos(tilt) + y * np.sin(tilt)
        away = y * np.cos(tilt) - points[:, 2] * np.sin(tilt)
        scale = self.size / self.span
        return np.column_stack([(x + 0.2) * scale, self.size - (up + 0.25) * scale]), away

    def draw(self, markers):
        """Return the picture as (size, size, 3) numbers in [0, 1]."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure
        figure = Figure(figsize=(self.size / 100,) * 2, dpi=100, facecolor='black')
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, self.size), ylim=(self.size, 0))
        axes.axis('off')
        for number, marker in enumerate(markers):
            points = np.array([[p.x, p.y, p.z] for p in marker.points]).reshape(-1, 3)
            colours = [(c.r, c.g, c.b, c.a) for c in marker.colors] or [
                (marker.color.r, marker.color.g, marker.color.b, marker.color.a)]
            p = marker.pose.position
            at, _ = self.pixels(np.array([[p.x, p.y, p.z]]))
            flat, away = self.pixels(points) if len(points) else (points, None)
            if marker.type == Marker.TRIANGLE_LIST:
                order = np.argsort(-away.reshape(-1, 3).mean(axis=1))
                faces = np.array(colours).reshape(-1, 3, 4).mean(axis=1)[order]
                axes.add_collection(PolyCollection(
                    flat.reshape(-1, 3, 2)[order], facecolors=faces, edgecolors=faces,
                    linewidths=0.3, zorder=number))
            elif marker.type in (Marker.LINE_LIST, Marker.LINE_STRIP):
                lines = flat.reshape(-1, 2, 2) if marker.type == Marker.LINE_LIST else [flat]
                axes.add_collection(LineCollection(lines, colors=colours, linewidths=2,
                                                   zorder=number))
            elif marker.type == Marker.SPHERE_LIST:
                axes.scatter(*flat.T, c=colours, s=30, zorder=number)
            elif marker.type in (Marker.SPHERE, Marker.CUBE, Marker.CYLINDER):
                axes.scatter(*at.T, c=colours, s=80, zorder=number)
            elif marker.type == Marker.TEXT_VIEW_FACING:
                axes.text(*at[0], marker.text, color=colours[0], fontsize=5, ha='center')
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3] / 255


def close_to(picture, name, tolerance=0.12):
    """Return which pixels have about the colour."""
    return np.abs(picture - np.array(palette.rgb(name))).max(axis=-1) < tolerance


def assert_drawable(markers, frame='pacsbo'):
    """Check what rviz checks, and more."""
    shown = [m for m in markers if m.action == Marker.ADD]
    assert len({(m.ns, m.id) for m in shown}) == len(shown), 'two markers share an id'
    size = 0
    for m in markers:
        assert m.header.frame_id == frame
        assert (m.header.stamp.sec, m.header.stamp.nanosec) == (0, 0)
        assert (m.lifetime.sec, m.lifetime.nanosec) == (0, 0)
    for m in shown:
        numbers = [m.pose.position.x, m.pose.position.y, m.pose.position.z, m.scale.x, m.scale.y,
                   m.scale.z, *(v for p in m.points for v in (p.x, p.y, p.z)),
                   *(v for c in [m.color, *m.colors] for v in (c.r, c.g, c.b, c.a))]
        assert all(map(math.isfinite, numbers))
        assert all(0 <= v <= 1 for c in [m.color, *m.colors] for v in (c.r, c.g, c.b, c.a))
        assert m.color.a > 0
        q = m.pose.orientation
        assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1)
        text = m.type == Marker.TEXT_VIEW_FACING
        assert m.scale.x > 0
        assert bool(m.text) == text
        if text:  # rviz draws byte by byte, and takes the width of a space from x
            assert m.text.isascii()
            assert 0.2 * m.scale.z < m.scale.x < m.scale.z
        if m.type in (Marker.LINE_STRIP, Marker.LINE_LIST):
            assert len(m.points) >= 2
        if m.type == Marker.LINE_LIST:
            assert len(m.points) % 2 == 0
        if m.type == Marker.TRIANGLE_LIST:
            assert len(m.points) % 3 == 0
        if m.colors:
            assert len(m.colors) == len(m.points)
        size += 24 * len(m.points) + 16 * len(m.colors)
    assert size < LARGEST


@pytest.mark.parametrize('n', [2, 20, 200])
def test_a_plane_of_any_size_is_drawable(n):
    shapes = Shapes('pacsbo')
    plane = GainPlane.from_message(gain_map(n=n, level=3.0 if n == 2 else 0.3))
    assert_drawable(shapes.plane(plane) + shapes.candidate(plane, [-9.0, 99.0], 'far outside'))
    for marker in shapes.plane(plane):
        if marker.ns == 'surface':
            xs = [p.x for p in marker.points]
            assert (min(xs), max(xs)) == pytest.approx((ORIGIN[0], ORIGIN[0] + SIDE))


def test_without_a_safe_set_its_border_is_removed():
    shapes = Shapes('pacsbo')
    markers = shapes.plane(GainPlane.from_message(gain_map(level=-5.0)))
    border = next(m for m in markers if m.ns == 'safe_set')
    assert border.action == Marker.DELETE
    assert_drawable(markers)


@pytest.mark.parametrize('verdict', range(4))
def test_the_picture_shows_pendulum_surface_and_samples_in_their_colours(verdict):
    shapes = Shapes('pacsbo')
    plane = GainPlane.from_message(gain_map())
    pendulum = shapes.pendulum(0.2, -0.1, verdict, 'words')
    assert_drawable(pendulum)
    painter = Painter()
    picture = painter.draw([*pendulum, *shapes.plane(plane),
                            *shapes.candidate(plane, [-2.0, 20.0], 'now')])
    end, _ = painter.pixels(np.array([[p.x, p.y, p.z] for p in pendulum[3].points]))
    x, y = end[-1].round().astype(int)
    around = picture[y - 4:y + 5, x - 4:x + 5]
    assert close_to(around, palette.VERDICT_COLOURS[verdict]).any(), 'the tip has another colour'
    for colour in (palette.MARGIN_STOPS[0], palette.BEST, palette.CANDIDATE, palette.HULL,
                   palette.UNSAFE):
        assert close_to(picture, colour).sum() > 5, f'{colour} is not in the picture'
    # Nothing is drawn where nothing is: the upper left corner.
    assert not picture[:20, :20].any()


class Stage:
    """Publish what the graph would, and keep the markers."""

    def __init__(self, graph):
        self.graph, node = graph, graph.client.node
        self.maps = node.create_publisher(GainMap, 'gain_map', LATCHED)
        self.states = node.create_publisher(OptimizerState, 'optimizer_state', LATCHED)
        self.candidates = node.create_publisher(Candidate, 'candidate', LATCHED)
        self.statuses = node.create_publisher(SafetyStatus, 'safety_status', HEARTBEAT)
        self.seen = self.watch()

    def watch(self):
        """Return lists that fill with the markers of each topic from now on."""
        seen = {topic: [] for topic in TOPICS}
        for topic in TOPICS:
            self.graph.client.node.create_subscription(
                MarkerArray, topic, lambda m, t=topic: seen[t].append(m.markers), LATCHED)
        return seen


@pytest.fixture
def stage(graph):
    graph.start('progress_markers')
    return Stage(graph)


def names(markers):
    return {(m.ns, m.id) for m in markers if m.action == Marker.ADD}


def test_markers_under_a_namespace_for_late_joiners_and_over_two_runs(stage):
    stage.states.publish(OptimizerState(run_id='one'))
    stage.candidates.publish(Candidate(run_id='one', iteration=4, names=['k_theta', 'k_alpha'],
                                       gains=[-4.0, 30.0], role='expander'))
    stage.maps.publish(gain_map('one'))
    wait_for(lambda: any(names(m) for m in stage.seen['markers/gain_plane']), 'a plane')
    wait_for(lambda: any(names(m) for m in stage.seen['markers/candidate']), 'a candidate')
    first = next(m for m in stage.seen['markers/gain_plane'] if names(m))
    assert first[0].action == Marker.DELETEALL
    assert_drawable(first)

    stage.maps.publish(gain_map('one', 4))
    wait_for(lambda: stage.seen['markers/gain_plane'][-1] is not first, 'a second plane')
    assert names(stage.seen['markers/gain_plane'][-1]) == names(first), 'ids are not stable'

    late = stage.watch()
    for topic in ('markers/gain_plane', 'markers/candidate'):
        wait_for(lambda t=topic: any(names(m) for m in late[t]), f'{topic} for a late joiner')

    stage.states.publish(OptimizerState(run_id='two'))
    wait_for(lambda: [m.action for m in stage.seen['markers/gain_plane'][-1]]
               == [Marker.DELETEALL], 'the old plane to go')


def test_the_pendulum_moves_and_takes_the_colour_of_the_verdict(stage):
    def shown(colour, alpha):
        markers = stage.seen['markers/pendulum'][-1:]
        if not markers:
            return False
        assert_drawable(markers[0])
        tip = next(m for m in markers[0] if (m.ns, m.id) == ('pendulum', 4))
        text = next(m for m in markers[0] if m.ns == 'state').text
        same = all(math.isclose(a, b, abs_tol=1e-3) for a, b in zip(
            (tip.color.r, tip.color.g, tip.color.b), palette.rgb(colour), strict=True))
        return same and f'{math.degrees(alpha):+.1f}' in text

    def publish_until(colour, alpha, sent, state):
        def step():
            stage.statuses.publish(SafetyStatus(state=state, theta=0.0, alpha=sent, cause='angle'))
            return shown(colour, alpha)
        wait_for(step, f'{colour} at {alpha}')

    publish_until(palette.SAFE, 0.3, 0.3, SafetyStatus.ARMED)
    publish_until(palette.UNSAFE, -0.2, -0.2, SafetyStatus.STOPPED)
    publish_until(palette.IDLE, -0.2, math.nan, SafetyStatus.DISARMED)
    wait_for(lambda: shown(palette.MUTED, -0.2), 'grey after silence')


def test_a_broken_map_is_not_drawn(stage):
    broken = gain_map('run')
    broken.constraint_lower = [math.nan] * len(broken.constraint_lower)
    stage.maps.publish(broken)
    short = gain_map('run')
    short.rows = 7
    stage.maps.publish(short)
    process = stage.graph.processes[0]
    wait_for(lambda: process.output.count('not drawn') >= 1, 'a warning')
    assert process.popen.poll() is None
    stage.maps.publish(gain_map('run'))
    wait_for(lambda: any(names(m) for m in stage.seen['markers/gain_plane']), 'a good plane')
