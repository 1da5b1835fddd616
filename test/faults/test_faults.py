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

"""A short campaign: some faults of each kind, once; `make faults` measures the times."""
import dataclasses

import pytest

# flake8: noqa: E402, I100
pytest.importorskip('rclpy', reason='faults need ROS 2: run them by make test')
from faults import campaign
from faults.cases import GROUPS
from faults.graph import own_domain
from faults.others import limit_in_the_loop
from faults.rig import Rig

pytestmark = pytest.mark.graph
SOME = {
    'processes': ['monitor: SIGKILL', 'monitor: hung callback', 'operator: SIGSTOP',
                  'controller: SIGKILL', 'controller: SIGTERM', 'plant: SIGSTOP',
                  'optimiser: SIGKILL', 'second controller', 'run folder full'],
    'data': ['joint states: NaN', 'joint states: stale', 'verdicts: clock steps back',
             'verdicts: duplicate'],
}


@pytest.mark.parametrize('group', SOME)
def test_motor_journal_and_run_survive(group, tmp_path):
    options = GROUPS[group][1]
    chosen = [fault for faults, _ in GROUPS.values() for fault in faults()
              if fault.name in SOME[group]]
    assert len(chosen) == len(SOME[group])
    with own_domain():
        # A busy machine holds everybody up: the voltage has to be gone and stay away, no more.
        # An episode lasts longer than that patience, so that it ends before it is over.
        rig = Rig(tmp_path, **options, patience=0.3, duration=1.5)
        try:
            rows = [campaign.run(rig, dataclasses.replace(
                fault, phases=('middle',), limit=None, hold=max(fault.hold, 0.7)), 1)
                for fault in chosen]
        finally:
            rig.close()
    assert [row.complaints for row in rows if not row.good] == []


def test_a_limit_passed_in_the_loop_means_zero_volts_within_a_sample(tmp_path):
    row = limit_in_the_loop(20, tmp_path)
    assert row.good, row.complaints
