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

"""The optimiser leads whole runs and survives what happens to them."""
import json
from pathlib import Path
import signal

from faults.graph import wait_for
from pacsbo_ros.msg import EpisodeResult, OptimizerState
from pacsbo_ros.nodes import furuta_controller, parameter_files
from pacsbo_ros.nodes.plants import make_driver
from pacsbo_ros.nodes.tuning_parameters import make_problem
from pacsbo_ros.robots.furuta.robot import Furuta
from pacsbo_ros.tuning.journal import Journal
from pacsbo_ros.tuning.trial import Measured
from pacsbo_ros.tuning.tuning import Tuning
import pytest
import yaml

ROOT = Path(__file__).parents[2]


def episodes(folder):
    """Return the episodes of a journal."""
    lines = (folder / 'episodes.jsonl').read_text().splitlines()[1:]
    return [json.loads(line) for line in lines]


def searched(folder):
    """Return the episodes of the search, without those that verify what it found."""
    return [e for e in episodes(folder)
            if e['trial']['role'] not in ('verification', 'comparison')]


def gains(folder):
    return [tuple(e['trial']['values']) for e in episodes(folder)]


def test_a_run_improves_finishes_and_leaves_a_complete_folder(ready):
    optimizer = ready.start_optimizer(iterations=14, report=True)
    assert optimizer.wait() == 0, optimizer.output
    folder = ready.folder / 'run'
    told = episodes(folder)
    assert [e['trial']['role'] for e in told[14:]] == ['verification', 'comparison']
    assert {p.name for p in folder.iterdir()} >= {
        'episodes.jsonl', 'parameters.yaml', 'best_gains.yaml', 'history.png', 'belief.png',
        'report.html'}
    best = yaml.safe_load((folder / 'best_gains.yaml').read_text())
    best = best['/**/furuta_controller']['ros__parameters']
    assert [best['k_theta'], best['k_alpha']] == told[14]['trial']['values']
    assert list(best) == ['k_theta', 'k_alpha', 'k_theta_dot', 'k_alpha_dot']
    rewards = [e['measured']['reward'] for e in told]
    assert max(rewards[3:]) > max(rewards[:3])
    assert all(min(e['measured']['margins']) >= 0 for e in told)
    states = [m.state for m in ready.client.messages['optimizer_state']]
    assert states[-1] == OptimizerState.FINISHED
    final = ready.client.last('optimizer_state')
    assert final.iteration == 16
    assert sum(final.outcome_count) == 16
    assert len(final.norm_bound) == len(final.functions) * len(final.domains)
    assert ready.client.last('gain_map').iteration == 16


def without_a_graph(folder, **changes):
    """Lead the run of the shipped parameters in this process: no node, no message."""
    given = parameter_files.read(ROOT / 'config/furuta.yaml', parameter_files.TABLES)
    p = parameter_files.values('pacsbo_optimizer', {**given['pacsbo_optimizer'], **changes})
    c = parameter_files.values('furuta_controller', {
        **given['furuta_controller'], 'plant': 'simulated'})
    settings = furuta_controller.experiment(c)
    robot = Furuta(make_driver(None, c.plant, c.preset, settings[2]), *settings, c.plant, c.backup)
    problem = make_problem(p, robot.description)
    tuning = Tuning(problem, p.iterations, Journal(folder / 'episodes.jsonl',
                                                   problem.identity('')))
    while (trial := tuning.next()) is not None:
        robot.begin(problem.complete(trial.values), trial.seed)
        while not robot.tick().over:
            pass
        r = robot.result()
        tuning.tell(Measured(r.reward, r.scaled_reward, r.margins, r.noise, r.peaks, r.outcome,
                             r.reason))
    return episodes(folder)


def test_a_seed_gives_the_episodes_and_rewards_that_it_gives_without_a_graph(ready, tmp_path):
    changes = {'iterations': 12, 'candidates': 400, 'start_repeats': 0, 'verifications': 1,
               'seed': 7}
    optimizer = ready.start_optimizer(**changes)
    expected = without_a_graph(tmp_path, **changes)
    assert optimizer.wait() == 0, optimizer.output
    told = episodes(ready.folder / 'run')
    assert len(told) == len(expected) > changes['iterations']
    for ours, theirs in zip(told, expected, strict=True):
        assert ours['trial']['values'] == theirs['trial']['values']
        for name in ('reward', 'scaled_reward', 'margins', 'noise', 'peaks', 'outcome'):
            assert ours['measured'][name] == theirs['measured'][name], name


def test_killed_and_resumed_it_proposes_what_an_undisturbed_run_proposes(ready, graph):
    whole = ready.start_optimizer(iterations=8, run_dir=str(graph.folder / 'whole'))
    assert whole.wait() == 0
    first = ready.start_optimizer(iterations=8, require_approval=True)
    for number in (3, 4):
        ready.client.wait('optimizer_state', lambda m, n=number: (
            m.run_id, m.state, m.iteration) == ('run', OptimizerState.AWAITING_APPROVAL, n))
        assert number == 4 or ready.client.call('approve').success
    first.signal(signal.SIGKILL)
    first.wait()
    assert len(episodes(graph.folder / 'run')) == 4
    second = ready.start_optimizer(iterations=8, run_dir='', resume=str(graph.folder / 'run'))
    assert second.wait() == 0, second.output
    assert gains(graph.folder / 'run') == gains(graph.folder / 'whole')


def test_pause_resume_and_finish(ready):
    optimizer = ready.start_optimizer(iterations=100)
    client = ready.client
    client.wait('optimizer_state', lambda m: m.iteration >= 4)
    assert client.call('pause').success
    paused = client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    assert client.call('resume').success
    client.wait('optimizer_state', lambda m: m.iteration > paused.iteration)
    assert client.call('finish').success
    assert optimizer.wait() == 0, optimizer.output
    assert client.last('optimizer_state').reason == 'finished by the operator'
    assert 'verification' in [e['trial']['role'] for e in episodes(ready.folder / 'run')]


def test_a_run_that_is_over_cannot_be_paused(ready):
    """Else pause would answer that it pauses, and nothing would ever come of it."""
    ready.start_optimizer(iterations=3, stay=True)
    ready.client.wait('optimizer_state', lambda m: m.state == OptimizerState.FINISHED)
    answer = ready.client.call('pause')
    assert not answer.success
    assert answer.message == 'the run is over already'


def test_a_slider_that_is_moved_while_paused_changes_no_episode_of_the_run(ready):
    optimizer = ready.start_optimizer(iterations=100)
    client = ready.client
    client.wait('optimizer_state', lambda m: m.iteration >= 3)
    assert client.call('pause').success
    client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    ready.wait_until_ready()
    assert client.set_parameter('furuta_controller', 'k_alpha_dot', 1.0).successful
    assert client.call('resume').success
    client.wait('optimizer_state', lambda m: m.iteration >= 5)
    assert client.call('finish').success
    assert optimizer.wait() == 0, optimizer.output
    told = client.messages['told_result']
    assert {dict(zip(m.names, m.values, strict=True))['k_alpha_dot'] for m in told} == {
        3.0344775662414483}
    assert all(m.margin >= 0 for m in told)


def test_every_new_gain_waits_for_approval_if_asked_for(ready):
    optimizer = ready.start_optimizer(iterations=5, require_approval=True)
    client = ready.client
    for number in (3, 4):
        state = client.wait('optimizer_state', lambda m, n=number: (
            m.state == OptimizerState.AWAITING_APPROVAL and m.iteration == n))
        assert client.last('candidate').needs_approval
        assert len(episodes(ready.folder / 'run')) == number
        assert client.call('approve').success
        client.wait('optimizer_state', lambda m, s=state: m.iteration > s.iteration)
    assert optimizer.wait() == 0, optimizer.output
    assert len(searched(ready.folder / 'run')) == 5


def test_a_controller_that_dies_costs_no_datum_and_invents_none(graph):
    graph.start_monitor()
    controller = graph.start_controller(speed=4.0)
    graph.wait_until_ready()
    optimizer = graph.start_optimizer(iterations=6)
    client = graph.client
    client.wait('optimizer_state', lambda m: m.iteration >= 2)
    client.wait('controller_state', lambda m: m.episode_time > 0.5)
    controller.signal(signal.SIGKILL)
    client.wait('optimizer_state', lambda m: m.state == OptimizerState.WAITING)
    told = len(episodes(graph.folder / 'run'))
    pending = client.last('candidate')
    graph.start_controller()
    client.wait('safety_status', lambda m: not m.cause_persists and m.heartbeat_age < 0.2)
    assert client.call('reset').success
    assert client.call('arm').success
    assert optimizer.wait() == 0, optimizer.output
    assert len(searched(graph.folder / 'run')) == 6
    assert gains(graph.folder / 'run')[told] == tuple(pending.values[:pending.tuned])


def test_an_operators_cancel_is_no_datum_and_the_candidate_is_tried_again(graph):
    graph.start_monitor()
    graph.start_controller(speed=2.0)
    graph.wait_until_ready()
    optimizer = graph.start_optimizer(iterations=3)
    client = graph.client
    client.wait('controller_state', lambda m: m.iteration == 1 and m.episode_time > 0.5)
    client.call('stop')
    client.wait('episode_result', lambda m: m.outcome == EpisodeResult.ABORTED_BY_MONITOR)
    client.wait('optimizer_state', lambda m: m.state == OptimizerState.WAITING)
    assert client.call('reset').success
    assert client.call('arm').success
    assert optimizer.wait() == 0, optimizer.output
    assert [e['trial']['iteration'] for e in episodes(graph.folder / 'run')] == [1, 2, 3, 4]
    counts = client.last('optimizer_state').outcome_count
    assert counts[EpisodeResult.COMPLETED] == 4
    assert counts[EpisodeResult.ABORTED_BY_MONITOR] == 1


def test_unsafe_episodes_in_a_row_stop_the_run_until_a_person_resumes_it(ready):
    ready.start_optimizer(iterations=4, start=[0.0, 10.0, -0.1, 10.5, -5.2, 24.0, -5.0, 24.6])
    client = ready.client
    paused = client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    assert 'the last 2 episodes were unsafe: look at the robot; call resume' in paused.reason
    assert len(episodes(ready.folder / 'run')) == 2
    assert client.call('resume').success
    client.wait('optimizer_state', lambda m: m.iteration > 2)


def test_a_candidate_that_never_gives_a_datum_ends_in_a_question(graph):
    graph.start_monitor()
    graph.start_controller(start='swing_up', voltage_limit=0.3)  # too weak to get upright
    graph.wait_until_ready()
    optimizer = graph.start_optimizer(retries=2)
    client = graph.client
    paused = client.wait('optimizer_state', lambda m: m.state == OptimizerState.PAUSED)
    assert 'episode 1 had to be repeated 2 times' in paused.reason
    assert 'not upright within' in paused.reason
    assert len(client.messages['episode_result']) == 2
    assert not episodes(graph.folder / 'run')
    assert client.call('resume').success
    wait_for(lambda: 'had to be repeated 4 times' in optimizer.output, 'the next question')


def test_a_report_that_cannot_be_written_leaves_a_finished_run_finished(ready):
    (ready.folder / 'run' / 'report.html').mkdir(parents=True)
    optimizer = ready.start_optimizer(iterations=3, report=True)
    assert optimizer.wait() == 0, optimizer.output
    assert 'not kept for the report: IsADirectoryError' in optimizer.output
    assert ready.client.last('optimizer_state').state == OptimizerState.FINISHED
    assert (ready.folder / 'run' / 'best_gains.yaml').exists()


def test_it_waits_for_a_graph_that_starts_later(graph):
    optimizer = graph.start_optimizer(iterations=3)
    wait_for(lambda: 'waiting for a robot' in optimizer.output, 'the optimiser up')
    graph.start_controller()
    graph.client.wait('optimizer_state', lambda m: m.state == OptimizerState.WAITING)
    graph.start_monitor()
    assert optimizer.wait() == 0, optimizer.output


@pytest.mark.parametrize(('parameters', 'words'), [
    ({'iterations': 0}, 'iterations'),
    ({'iterations': 2}, 'iterations is 2'),
    ({'delta': 1.5}, 'delta'),
    ({'box_lower': [0.0, 60.0]}, 'box'),
    ({'start': [-9.0, 20.0]}, 'k_theta is -9'),
    ({'start': [-2.0, 20.0, 3.0]}, 'start has 3 numbers'),
    ({'robot_timeout': 0.2}, 'no robot said what it is'),
    ({'noise_bund': 0.1}, 'did you mean noise_bound?'),
    ({'box_lower': [-6, 10]}, 'a list of decimals'),
    ({'rule': 'guess'}, 'rule'),
    ({'length_scales': [-0.1]}, 'length'),
    ({'predictor_checkpoint': '/nowhere/x.npz'}, 'predictor_checkpoint'),
    ({'resume': '/tmp', 'run_dir': ''}, 'resume is /tmp'),
    ({'run_dir': '/proc/none'}, 'run folder'),
])
def test_bad_parameters_end_the_start_with_one_line(alone, parameters, words):
    refused(alone.start_optimizer(**parameters), words)


@pytest.mark.parametrize(('parameters', 'words'), [
    ({'tuned': ['k_beta', 'k_alpha']}, 'k_beta is not a value of furuta; it has k_theta'),
    ({'box_lower': [-12.0, 10.0]}, 'box of k_theta is [-12, 0], but furuta accepts [-10, 0]'),
])
def test_what_the_robot_does_not_accept_is_refused_before_the_first_episode(shared, parameters,
                                                                            words):
    refused(shared.start_optimizer(**parameters), words)
    assert not shared.client.messages['candidate']


def refused(process, words):
    assert process.wait() == 2
    lines = [line for line in process.output.splitlines() if line.startswith('error: ')]
    assert len(lines) == 1, process.output
    assert words in lines[0]
    assert 'Traceback' not in process.output


def test_a_used_run_folder_is_not_overwritten(ready):
    assert ready.start_optimizer(iterations=3).wait() == 0
    before = (ready.folder / 'run' / 'episodes.jsonl').read_bytes()
    again = ready.start_optimizer(iterations=3)
    assert again.wait() == 2
    assert 'already has a run' in again.output
    ready.processes[1].end()
    ready.start_controller(alpha_limit=0.4, k_alpha_dot=2.5)
    ready.client.wait('robot', lambda m: m.signal_limits[0] == 0.4)
    elsewhere = ready.start_optimizer(iterations=5, run_dir='', resume=str(ready.folder / 'run'))
    assert elsewhere.wait() == 2
    assert 'robot.signals.alpha.limit was 0.5236, is 0.4' in elsewhere.output
    assert 'fixed.k_alpha_dot was 3.03' in elsewhere.output
    assert (ready.folder / 'run' / 'episodes.jsonl').read_bytes() == before


def test_a_finished_run_goes_on_with_a_larger_budget(ready):
    assert ready.start_optimizer(iterations=3).wait() == 0
    more = ready.start_optimizer(iterations=5, run_dir='', resume=str(ready.folder / 'run'))
    assert more.wait() == 0, more.output
    roles = [e['trial']['role'] for e in episodes(ready.folder / 'run')]
    assert roles[:4] == ['start', 'start', 'start', 'verification']
    assert len(searched(ready.folder / 'run')) == 5
    assert f'resume:={ready.folder / "run"} iterations:=25' in more.output


def test_two_namespaced_graphs_tune_two_pendulums_without_crosstalk(graph, another):
    for number, one in enumerate((graph, another)):
        one.start_monitor()
        one.start_controller()
        one.wait_until_ready()
        one.start_optimizer(iterations=3 + number, seed=number, stay=True,
                            run_dir=str(one.folder / f'run{number}'))
    for number, one in enumerate((graph, another)):
        client = one.client
        client.wait('optimizer_state', lambda m: m.state == OptimizerState.FINISHED, patience=60)
        journal = gains(one.folder / f'run{number}')
        assert len(searched(one.folder / f'run{number}')) == 3 + number
        wait_for(lambda c=client, j=journal: len(c.messages['told_result']) >= len(j), 'all told')
        told = client.messages['told_result']
        assert {m.run_id for m in told} == {f'run{number}'}
        assert [tuple(m.values[:2]) for m in told] == journal
