"""What a task file may say to the optimiser is what the optimiser knows."""
import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='the table of parameters needs ROS 2')
from pacsbo_ros.nodes import run
from pacsbo_ros.nodes.tuning_parameters import PARAMETERS
from pacsbo_ros.robots.parameters.task import OPTIMIZER


def test_every_key_of_the_optimizer_section_is_a_parameter_of_that_type():
    known = {p.name: p.default for p in PARAMETERS}
    for name, value in OPTIMIZER.items():
        assert name in known, name
        assert type(value) is type(known[name]), name


@pytest.mark.parametrize(('words', 'said'), [
    (['task:=/no/such/file.yaml'], 'there is no such file'), (['task:='], 'give either'),
    (['task:={}', 'robot:=a:B'], 'give either'), (['task:={}', 'speed:=2'], 'unknown argument'),
    (['task:={}'], "did you mean 'task'"), (['task:={}', 'iterations:=x'], 'whole number'),
    (['robot:=nothing:Here'], 'nothing'), (['robot:=nothing'], 'my_module:MyRobot')])
def test_a_wrong_bring_up_is_one_line_and_starts_nothing(tmp_path, monkeypatch, capsys, words,
                                                         said):
    path = tmp_path / 'task.yaml'
    path.write_text('/**: {ros__parameters: {taks: joint}}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run.subprocess, 'Popen', pytest.fail)
    assert run.main([word.format(path) for word in words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / 'runs').exists()
