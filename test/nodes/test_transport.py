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

"""Fast DDS without shared memory, and never on more of the network than the user wants."""
from pathlib import Path

from pacsbo_ros.nodes.transport import PROFILES, RANGE, use_datagrams


def test_on_this_machine_alone_a_profile_replaces_the_range():
    environment = {RANGE: 'LOCALHOST'}
    use_datagrams(environment)
    assert environment[RANGE] == 'SYSTEM_DEFAULT'
    profile = Path(next(environment[name] for name in PROFILES if name in environment))
    text = profile.read_text()
    assert '<address>127.0.0.1</address>' in text
    assert '<useBuiltinTransports>false</useBuiltinTransports>' in text
    assert 'SHM' not in text


def test_elsewhere_the_range_stays_as_it_is():
    environment = {RANGE: 'SUBNET'}
    use_datagrams(environment)
    assert environment == {RANGE: 'SUBNET', 'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}


def test_a_users_own_profile_is_left_alone():
    environment = {RANGE: 'LOCALHOST', PROFILES[0]: '/my.xml'}
    use_datagrams(environment)
    assert environment == {RANGE: 'LOCALHOST', PROFILES[0]: '/my.xml'}
