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

"""The markers are what rviz can draw, and show what the graph said."""
import math

from faults.graph import wait_for
import numpy as np
from pacsbo_ros.msg import Candidate, GainMap, GainSlice, OptimizerState, Robot, SafetyStatus
from pacsbo_ros.nodes.marker_shapes import ORIGIN, plain, Shapes, SIDE
from pacsbo_ros.nodes.spinning import HEARTBEAT, LATCHED
from pacsbo_ros.robots.drawing import drawing_of
from pacsbo_ros.view import palette
from pacsbo_ros.view.slices import Slices
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from tools.made_up import MadeUp
from visualization_msgs.msg import Marker, MarkerArray

TOPICS = ('markers/robot', 'markers/gain_map', 'markers/candidate')
LARGEST = 400_000  # bytes of points and colours in one message


def as_message(kind, made):
    """Return a made-up message as a real one."""
    message = kind()
    for name in message.get_fields_and_field_types():
        value = getattr(made, name, None)
        if name == 'slices':
            value = [as_message(GainSlice, item) for item in value]
        if value is not None:
            setattr(message, name, value.tolist() if isinstance(value, np.ndarray) else value)
    return message


def gain_map(run_id='run', count=2, told=20):
    """Return a map over some values."""
    message = as_message(GainMap, MadeUp(count).gain_map(told))
    message.run_id = run_id
    return message


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


@pytest.mark.parametrize('count', [1, 2, 3, 6])
def test_the_belief_over_any_number_of_values_is_drawable(count):
    shapes, slices = Shapes('pacsbo'), Slices.from_message(gain_map(count=count))
    far = [99.0] * count
    for index in range(len(slices.pairs)):
        markers = shapes.belief(slices, index)
        assert_drawable(markers + shapes.candidate(slices, index, far, 'far outside'))
        (surface,) = (m for m in markers if m.ns == 'surface')
        xs = [p.x for p in surface.points]
        assert (min(xs), max(xs)) == pytest.approx((ORIGIN[0], ORIGIN[0] + SIDE))
        text = ' '.join(m.text for m in markers)
        item = slices.slices[index]
        assert all(f'{slices.names[i]} [' in text or not slices.units[i] for i in (item.x, item.y))
        assert ('projections' in text) == (count > 2)
        spheres = next(m for m in markers if m.ns == 'samples')
        assert len(spheres.points) == len(slices.samples)


@pytest.mark.parametrize('count', [1, 2])
def test_without_a_safe_set_its_border_is_removed(count):
    message = gain_map(count=count)
    for item in message.slices:
        item.margin_lower = [-2.0] * len(item.margin_lower)
        item.safe = [False] * len(item.safe)
    markers = Shapes('pacsbo').belief(Slices.from_message(message))
    border = next(m for m in markers if m.ns == 'safe_set')
    assert border.action == Marker.DELETE
    assert_drawable(markers)


@pytest.mark.parametrize('verdict', [0, 1, 2, 3, 77])
def test_the_picture_shows_robot_surface_and_samples_in_their_colours(verdict):
    shapes, slices = Shapes('pacsbo'), Slices.from_message(gain_map())
    drawing = drawing_of('furuta')
    robot = shapes.robot(drawing.parts({'theta': 0.2, 'alpha': -0.1}), verdict, 'words',
                         drawing.height)
    assert_drawable(robot)
    painter = Painter()
    picture = painter.draw([*robot, *shapes.belief(slices),
                            *shapes.candidate(slices, 0, slices.samples[0], 'now')])
    end, _ = painter.pixels(np.array([[p.x, p.y, p.z] for p in robot[4].points]))
    x, y = end[-1].round().astype(int)
    around = picture[y - 4:y + 5, x - 4:x + 5]
    assert close_to(around, palette.verdict_colour(verdict)).any(), 'the tip has another colour'
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
        self.robots = node.create_publisher(Robot, 'robot', LATCHED)
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
    stage.candidates.publish(Candidate(
        run_id='one', iteration=4, names=['p', 'd', 'fixed'], values=[14.0, 2.0, 1.0], tuned=2,
        role='expander'))
    stage.maps.publish(gain_map('one'))
    wait_for(lambda: any(names(m) for m in stage.seen['markers/gain_map']), 'a map')
    wait_for(lambda: any(names(m) for m in stage.seen['markers/candidate']), 'a candidate')
    first = next(m for m in stage.seen['markers/gain_map'] if names(m))
    assert first[0].action == Marker.DELETEALL
    assert_drawable(first)

    stage.maps.publish(gain_map('one', told=21))
    wait_for(lambda: stage.seen['markers/gain_map'][-1] is not first, 'a second map')
    assert names(stage.seen['markers/gain_map'][-1]) == names(first), 'ids are not stable'

    late = stage.watch()
    for topic in ('markers/gain_map', 'markers/candidate'):
        wait_for(lambda t=topic: any(names(m) for m in late[t]), f'{topic} for a late joiner')

    stage.states.publish(OptimizerState(run_id='two'))
    wait_for(lambda: [m.action for m in stage.seen['markers/gain_map'][-1]]
             == [Marker.DELETEALL], 'the old map to go')


def test_units_and_signs_are_words_that_rviz_can_draw():
    assert plain('−3.4 N\xa0m/rad·s, 1/s², 10⁻¹², 5°') == '-3.4 N m/rad s, 1/s^2, 10^-12, 5 deg'


def test_another_pair_can_be_chosen_while_it_runs(stage):
    def words():
        return ' '.join(m.text for m in (stage.seen['markers/gain_map'] or [[]])[-1])

    stage.maps.publish(gain_map(count=3))
    wait_for(lambda: 'p [N m/rad]' in words() and 'd [N m s/rad]' in words(), 'the first pair')
    client = stage.graph.client.node.create_client(
        SetParameters, 'progress_markers/set_parameters')
    wait_for(client.service_is_ready, 'the parameters')
    for pair, answer in (('p, q', False), ('d, i', True)):
        future = client.call_async(SetParameters.Request(parameters=[
            Parameter('pair', value=pair).to_parameter_msg()]))
        wait_for(future.done, 'an answer')
        (result,) = future.result().results
        assert result.successful is answer, result.reason
    wait_for(lambda: 'p [N m/rad]' not in words() and 'i [N m/(rad s)]' in words(),
             'the other pair')


def test_the_robot_moves_and_takes_the_colour_of_the_verdict(stage):
    def shown(colour, alpha):
        markers = stage.seen['markers/robot'][-1:]
        tips = [m for m in (markers[0] if markers else ()) if (m.ns, m.id) == ('robot', 5)]
        if not tips:
            return False
        assert_drawable(markers[0])
        (tip,) = tips
        text = next(m for m in markers[0] if m.ns == 'state').text
        same = all(math.isclose(a, b, abs_tol=1e-3) for a, b in zip(
            (tip.color.r, tip.color.g, tip.color.b), palette.rgb(colour), strict=True))
        return same and f'alpha {math.degrees(alpha):.1f} deg' in text

    def publish_until(colour, alpha, sent, state):
        def step():
            stage.statuses.publish(SafetyStatus(state=state, signals=['alpha', 'theta'],
                                                newest=[sent, 0.0], cause='angle'))
            return shown(colour, alpha)
        wait_for(step, f'{colour} at {alpha}')

    stage.robots.publish(as_message(Robot, MadeUp(2, 'furuta').description()))
    publish_until(palette.SAFE, 0.3, 0.3, SafetyStatus.ARMED)
    publish_until(palette.UNSAFE, -0.2, -0.2, SafetyStatus.STOPPED)
    publish_until(palette.MUTED, -0.2, -0.2, 77)
    publish_until(palette.IDLE, -0.2, math.nan, SafetyStatus.DISARMED)
    wait_for(lambda: shown(palette.MUTED, -0.2), 'grey after silence')


def test_a_robot_without_a_drawing_has_its_signals_in_words(stage):
    stage.robots.publish(as_message(Robot, MadeUp(2).description()))

    def shown():
        stage.statuses.publish(as_message(SafetyStatus, MadeUp(2).safety()))
        markers = stage.seen['markers/robot'][-1:]
        return bool(markers) and 'effort' in ' '.join(m.text for m in markers[0])

    wait_for(shown, 'the effort')
    assert {m.ns for m in stage.seen['markers/robot'][-1]} == {'state'}


def test_a_broken_map_is_not_drawn(stage):
    broken = gain_map('run')
    broken.slices[0].margin_lower = [math.nan] * len(broken.slices[0].margin_lower)
    stage.maps.publish(broken)
    short = gain_map('run')
    short.slices[0].rows = 7
    stage.maps.publish(short)
    process = stage.graph.processes[0]
    wait_for(lambda: process.output.count('not drawn') >= 1, 'a warning')
    assert process.popen.poll() is None
    stage.maps.publish(gain_map('run'))
    wait_for(lambda: any(names(m) for m in stage.seen['markers/gain_map']), 'a good map')
