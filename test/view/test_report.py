# Copyright the pacsbo_ros developers. Apache-2.0.
"""A run folder becomes one page that needs nothing else."""
from dataclasses import asdict
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from pacsbo_ros.furuta.episode import TRACE_COLUMNS
from pacsbo_ros.tuning.keepsakes import Keepsakes, Progress
from pacsbo_ros.tuning.report import write_report
from pacsbo_ros.tuning.run_data import RunData
from pacsbo_ros.tuning.trace import Trace
from pacsbo_ros.tuning.trial import Measured, Told, Trial
from pacsbo_ros.view.plane import GainPlane

ROLES = ('start', 'maximiser', 'expander', 'maximiser', 'verification')


def told(i, role, reward=0.9, margin=0.5):
    """Return one episode."""
    gains = (-4.0 - 0.1 * i, 28.0 + i) if role != 'verification' else (-4.2, 30.0)
    bounds = () if role in ('start', 'verification') else (0.0, 0.1, 0.2)
    return Told(Trial(i, gains, (0.5, 0.5), i, role, 'hull', bounds, bounds, bounds),
                Measured(reward, 0.25, 0.4, (0.0, margin, 1.0), 0 if margin >= 0 else 1,
                         'ended <so>'))


def plane(iteration):
    x, y = np.meshgrid(np.linspace(-6, 0, 15), np.linspace(10, 50, 12))
    samples = np.array([(-4.0 - 0.1 * i, 28.0 + i) for i in range(1, iteration + 1)])
    return GainPlane('run', iteration, ('k_theta', 'k_alpha'), (-6.0, 10.0), (0.0, 50.0),
                     0.2 * iteration - np.hypot((x + 4) / 2, (y - 30) / 10), 0 * x, samples,
                     samples, samples, np.linspace(0.9, 0.95, iteration),
                     np.zeros(iteration, int), np.ones(iteration, bool))


@pytest.fixture
def folder(tmp_path):
    """Make a run folder as the optimiser leaves it."""
    path = tmp_path / 'my <run>'
    path.mkdir()
    lines = [json.dumps({'format': 1, 'problem': {'box': {'names': ['k_theta', 'k_alpha']}}})]
    keepsakes = Keepsakes(path)
    for i, role in enumerate(ROLES, start=1):
        item = told(i, role, 0.9 + 0.01 * i * (role != 'verification'), -0.3 if i == 4 else 0.5)
        lines.append(json.dumps({'trial': asdict(item.trial), 'measured': asdict(item.measured)}))
        time = np.linspace(0, 5, 50)
        samples = np.column_stack([time] + [np.sin(time + i + c)
                                            for c in range(len(TRACE_COLUMNS) - 1)])
        keepsakes.keep_trace(i, Trace(samples, 0.5236, 1.5708))
        keepsakes.keep_plane(plane(i))
        keepsakes.keep_progress(Progress(i, ('hull', 'box'), ('reward', 'alpha_margin'),
                                         (1.0, 2.0, 3.0, 4.0 * i), (0.1, 0.2)))
    (path / 'episodes.jsonl').write_text('\n'.join(lines) + '\n')
    (path / 'parameters.yaml').write_text(
        '/**/pacsbo_optimizer:\n  ros__parameters: {iterations: 5, delta: 0.1}\n')
    (path / 'best_gains.yaml').write_text('{}')
    return path


def test_kept_items_come_back(folder):
    keepsakes = Keepsakes(folder)
    trace = keepsakes.trace(2)
    assert trace.samples.shape == (50, len(TRACE_COLUMNS))
    assert (trace.alpha_limit, trace.theta_limit) == (0.5236, 1.5708)
    np.testing.assert_allclose(trace.column('volts'), np.sin(trace.column('time') + 6), atol=1e-4)
    assert [p.iteration for p in keepsakes.planes()] == [1, 2, 3, 4, 5]
    assert [p.iteration for p in keepsakes.planes(stages=3)] == [1, 3, 5]
    assert keepsakes.progress()[-1].norm_bound == (1.0, 2.0, 3.0, 20.0)
    assert keepsakes.trace(99) is None


def test_a_run_is_read_and_its_telling_episodes_are_chosen(folder):
    run = RunData.load(folder)
    assert len(run.told) == 5
    assert run.best.trial.iteration == 3, 'episode 4 has more reward but was unsafe'
    chosen = {why: t.trial.iteration for why, (t, _) in run.traces.items()}
    assert chosen == {'start': 1, 'best': 3, 'worst': 4, 'verification': 5}
    assert run.alpha_limit == 0.5236
    assert run.parameters['pacsbo_optimizer delta'] == 0.1


def test_the_page_is_self_contained_and_complete(folder):
    page = write_report(folder).read_text(encoding='utf-8')
    assert (folder / 'history.png').stat().st_size > 10_000
    assert (folder / 'gain_plane.png').stat().st_size > 10_000
    assert page.count('<svg') == 5
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(link.startswith(('#', 'data:')) for link in links)
    assert '<script' not in page
    assert 'my &lt;run&gt;' in page, 'names are escaped'
    assert 'ended &lt;so&gt;' in page
    for words in ('verified', 'Outcomes', 'tripped angle', '1 of 5', 'pacsbo_optimizer delta',
                  '(−4.30, 31.00)'):
        assert words in page
    assert not [p for p in folder.iterdir() if p.name.endswith('.tmp')]


def test_a_torn_journal_and_damaged_files_give_a_report_that_says_so(folder):
    journal = folder / 'episodes.jsonl'
    journal.write_text(journal.read_text()[:-40])
    (folder / 'planes' / '0005.npz').write_bytes(b'PK\x03\x04 no archive')
    page = write_report(folder).read_text(encoding='utf-8')
    assert 'Line 6 of episodes.jsonl could not be read;' in page
    assert 'planes/0005.npz could not be read and is left out.' in page
    assert '1 of 4' in page
    assert page.count('<svg') == 5


@pytest.mark.parametrize('damage', [b'', b'PK\x03\x04 no archive', b'\xff\xfe\x00', b'a: [b'])
def test_damaged_files_are_left_out_and_named(folder, damage):
    names = {'planes/0005.npz', 'traces/0003.csv', 'parameters.yaml'}
    for name in names:
        (folder / name).write_bytes(damage)
    run = RunData.load(folder)
    unreadable = names if damage else names - {'parameters.yaml'}  # no parameters are none
    assert set(run.notes) == {f'{n} could not be read and is left out.' for n in unreadable}
    assert [p.iteration for p in run.planes] == [1, 2, 4]
    assert 'best' not in run.traces
    assert len(run.told) == 5


@pytest.mark.parametrize('line', ['{}', '[]', 'null', '{"trial": {}, "measured": {}}'])
def test_a_line_that_is_no_episode_is_named(folder, line):
    journal = folder / 'episodes.jsonl'
    head, *rest = journal.read_text().splitlines()
    journal.write_text('\n'.join([head, rest[0], line, *rest[1:]]))
    run = RunData.load(folder)
    assert len(run.told) == 1
    assert run.notes[0].startswith('Line 3 of episodes.jsonl could not be read')


def test_a_run_that_has_only_begun_has_a_report(tmp_path):
    (tmp_path / 'episodes.jsonl').write_text('{"format": 1, "problem": {}}\n')
    page = write_report(tmp_path).read_text(encoding='utf-8')
    assert 'not verified' in page
    assert 'No episode has been told yet.' in page


def test_the_command_names_what_is_wrong(tmp_path):
    result = subprocess.run([sys.executable, '-m', 'pacsbo_ros.tuning.report', str(tmp_path)],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert 'is not a run folder: it has no episodes.jsonl' in result.stderr
    assert 'Traceback' not in result.stderr


def test_a_browser_shows_it_without_network(folder, browser):
    page = write_report(folder).as_uri()
    for width, height in ((1440, 900), (390, 844)):
        browser.open(page, width, height)
        assert 'The gain plane' in browser.driver.find_element('tag name', 'body').text
        assert browser.requests() == []
        assert browser.errors() == []
        assert browser.overflow() <= 0
        drawn = browser.driver.execute_script(
            'return [...document.querySelectorAll("svg")].map(s => s.clientWidth)')
        assert len(drawn) == 5
        assert min(drawn) > 0.8 * min(width, 1000) - 80
