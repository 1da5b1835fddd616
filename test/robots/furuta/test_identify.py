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

"""A recording in, a preset out; and plants as files."""
from dataclasses import replace
import math

import numpy as np
from pacsbo_ros.robots.furuta.driver import SimulatedDriver
from pacsbo_ros.robots.furuta.identify import (
    EVERY,
    FREE,
    HORIZON,
    identify,
    main,
    split,
    table,
)
from pacsbo_ros.robots.furuta.prediction import Candidate, cut, persistence, rmse
from pacsbo_ros.robots.furuta.preset_file import read_preset, write_preset
from pacsbo_ros.robots.furuta.presets import CALIBRATED, PRESETS
from pacsbo_ros.robots.furuta.recordings import packaged, Recording
import pytest

TRUE = replace(
    CALIBRATED, delay=2, parameters=replace(
        CALIBRATED.parameters, arm_inertia=1.3e-4, pendulum_length=0.135, torque_constant=0.042,
        back_emf=0.042, cable_stiffness=1.2e-3, cable_rest=0.3))


def record(plant, path, seconds=8.0):
    """Record a chirp on a simulated device, encoders and all."""
    driver = SimulatedDriver(plant, hanging=True)
    lines = ['t,volts,theta,alpha']
    for i in range(round(seconds / 0.005)):
        t = 0.005 * i
        volts = 1.5 * math.cos(2 * math.pi * (0.3 + 0.5 * t) * t)
        state = driver.read()
        lines.append(f'{t:.3f},{volts:.5f},{state.theta:.6f},{state.alpha:.6f}')
        driver.write(volts)
    path.write_text('\n'.join(lines))
    return path


@pytest.fixture(scope='module')
def device(tmp_path_factory):
    return record(TRUE, tmp_path_factory.mktemp('device') / 'mine.csv')


def test_a_known_pendulum_is_found_in_its_recording(device, capsys):
    assert main([str(device)]) == 0
    printed = capsys.readouterr().out
    assert 'every third second' in printed
    found = read_preset(device.with_suffix('.yaml'))
    p, true = found.parameters, TRUE.parameters
    assert p.arm_inertia == pytest.approx(true.arm_inertia, rel=0.1)
    assert p.pendulum_length == pytest.approx(true.pendulum_length, rel=0.02)
    assert p.torque_constant == pytest.approx(true.torque_constant, rel=0.1)
    assert p.cable_rest == pytest.approx(true.cable_rest, abs=0.1)
    assert found.delay == 2
    assert found.encoder_counts == 2048


@pytest.mark.parametrize(('column', 'said'), [
    (1, 'the sign of volts'), (2, 'the sign of theta'), (3, 'the sign of alpha')])
def test_a_flipped_column_is_refused_in_one_line(column, said, device, tmp_path, capsys):
    table = np.genfromtxt(device, delimiter=',', skip_header=1)
    table[:, column] = (2 * math.pi if column == 3 else 0) - table[:, column]
    path = tmp_path / 'flipped.csv'
    np.savetxt(path, table, delimiter=',', header='t,volts,theta,alpha', comments='')
    assert main([str(path)]) == 1
    error = capsys.readouterr().err.strip()
    assert said in error
    assert 'a positive voltage turns theta positively' in error
    assert '\n' not in error
    assert not path.with_suffix('.yaml').exists()


def test_swapped_volts_and_theta_are_not_called_a_wrong_sign(device, tmp_path, capsys):
    table = np.genfromtxt(device, delimiter=',', skip_header=1)[:, [0, 2, 1, 3]]
    table[:, 2] -= table[0, 2]
    path = tmp_path / 'swapped.csv'
    np.savetxt(path, table, delimiter=',', header='t,volts,theta,alpha', comments='')
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert 'hold what their names say' in error
    assert 'the sign of' not in error
    assert error.count('\n') == 1


def test_a_pendulum_out_of_bounds_is_told_which_bound(tmp_path, capsys):
    long = replace(CALIBRATED, parameters=replace(CALIBRATED.parameters, pendulum_length=0.26))
    assert main([str(record(long, tmp_path / 'long.csv'))]) == 1
    error = capsys.readouterr().err
    assert 'pendulum_length came out at its bound, 0.16' in error
    assert not (tmp_path / 'long.yaml').exists()
    assert error.count('\n') == 1


def test_a_missing_recording_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / 'no.csv')]) == 1
    assert capsys.readouterr().err.count('\n') == 1


def test_intervals_shrink_with_more_data_and_bounds_are_said():
    windows = cut(packaged('chirps', held_out=True), 0.5, 1.0)
    free = [f for f in FREE if f.name in ('arm_inertia', 'torque_constant', 'pendulum_damping')]
    few = identify(windows.take(windows.source == 0), free)
    many = identify(windows, free)
    open_ends = np.isfinite(few.halfwidth) & np.isfinite(many.halfwidth)
    assert open_ends[:2].all()
    assert (many.halfwidth[:2] < few.halfwidth[:2]).all()


def test_what_a_chirp_cannot_tell_stays_near_the_calibrated_plant():
    # With starts taken for exact this chirp says 8 ms of delay, give or take 4: two samples, with
    # which most gains of the box are unsafe.
    windows = cut(packaged('chirps', held_out=False)[:1], HORIZON, EVERY)
    found = identify(windows)
    told = dict(zip((f.name for f in found.free), found.told, strict=True))
    assert found.plant.delay == 1
    assert told['delay'] < 0.9
    assert told['pendulum_length'] > 0.9
    theta, alpha = rmse(cut(packaged('chirps', held_out=True), 1.0, 0.5), found.candidate)
    assert theta < 0.07
    assert alpha < 0.05


def test_the_calibrated_plant_predicts_recordings_it_was_not_fitted_to():
    for kind, end, bound in (('chirps', math.inf, (0.07, 0.05)), ('swing_ups', 3.5, (0.1, 0.06))):
        windows = cut(packaged(kind, held_out=True), 1.0, 0.5, end=end)
        theta, alpha = rmse(windows, Candidate(CALIBRATED.parameters, 0.007))
        assert theta < bound[0]
        assert alpha < bound[1]
        assert theta < 0.3 * persistence(windows)[0]


@pytest.mark.parametrize('name', PRESETS)
def test_a_plant_survives_its_file(name, tmp_path):
    path = tmp_path / 'plant.yaml'
    write_preset(PRESETS[name], path, 'A remark.')
    assert read_preset(path) == PRESETS[name]


@pytest.mark.parametrize(('content', 'said'), [
    ('mass: 1', "'mass' is no field of Plant"),
    ('parameters: {arm_mas: 1}', "'arm_mas' is no field of Parameters"),
    ('delay: soon', "delay is 'soon'; give a number"),
    ('delay: -1', 'delay is -1 samples'),
    ('parameters: {resistance: 0}', 'resistance is 0'),
    ('parameters: 3', 'parameters is 3'),
    ('- 1', 'holds no fields'),
    ('a: [', 'is not YAML'),
])
def test_a_faulty_preset_file_is_refused_in_one_line(content, said, tmp_path):
    path = tmp_path / 'plant.yaml'
    path.write_text(content)
    with pytest.raises(ValueError, match=said) as caught:
        read_preset(path)
    assert '\n' not in str(caught.value)


def test_a_preset_replaces_no_file_and_ends_as_presets_do(device, tmp_path, capsys):
    recording = tmp_path / 'mine.csv'
    recording.write_bytes(device.read_bytes())
    there = tmp_path / 'there.yaml'
    there.write_text('# by hand\n')
    locked = tmp_path / 'locked'
    for output, said in ((recording, 'ends in .yaml'), (tmp_path / 'a.txt', 'ends in .yaml'),
                         (there, 'nothing is overwritten'),
                         (locked / 'a.yaml', 'there is no folder')):
        assert main([str(recording), '--output', str(output)]) == 1
        error = capsys.readouterr().err
        assert said in error
        assert error.count('\n') == 1
    assert recording.read_bytes() == device.read_bytes()
    assert there.read_text() == '# by hand\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ['mine.csv', 'there.yaml']


@pytest.mark.parametrize('period', [0.02, 0.0477, 0.003, 0.001])
def test_every_rate_leaves_stretches_to_fit_and_to_hold_out(period):
    chirp = packaged('chirps', held_out=False)[0]
    t = np.arange(0, chirp.t[-1] - chirp.t[0], period)
    held = np.searchsorted(chirp.t - chirp.t[0], t + 1e-9, side='right') - 1
    recording = Recording('mine', t, chirp.volts[held], chirp.theta[held], chirp.alpha[held])
    fit, held_out, _ = split([recording])
    assert len(fit.begin) > 2 * len(held_out.begin) > 0
    assert not set(fit.begin) & set(held_out.begin)


def test_speeds_are_right_at_every_rate():
    for period in (0.02, 0.005, 0.001):
        t = period * np.arange(round(4 / period))
        alpha = math.pi + 0.3 * np.sin(2 * math.pi * 3 * t)
        recording = Recording('mine', t, np.sin(t), 0.3 * np.sin(9 * t), alpha)
        true = 0.3 * 2 * math.pi * 3 * np.cos(2 * math.pi * 3 * t)
        error = recording.states()[3] - true
        assert np.abs(error[10:-10]).max() < (0.5 if period == 0.02 else 0.05)


def test_what_is_mostly_the_calibrated_plant_is_named_as_no_measurement():
    windows = cut(packaged('chirps', held_out=False)[:1], HORIZON, EVERY)
    free = [f for f in FREE if f.name in ('arm_inertia', 'pendulum_length')]
    found = identify(windows, free)
    assert 'no measurements' not in table(found)
    last = table(replace(found, told=np.array([0.9, 0.6]))).splitlines()[-1]
    assert 'no measurements' in last
    assert 'pendulum_length' in last
    assert 'arm_inertia' not in last
