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
Make Fast DDS speak by datagrams alone.

By default it also uses shared memory, whose locks a process that is killed or frozen at the wrong
moment takes with it: its neighbours then hang in publish(), for seconds, and a controller that
hangs sends no zero volts. Nobody can hold up who sends a datagram.
"""
from __future__ import annotations

from collections.abc import MutableMapping
import os
from pathlib import Path
from xml.etree import ElementTree

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError

RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def use_datagrams(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set the variables that Fast DDS reads when the first node is made; leave a user's alone."""
    if any(name in environment for name in PROFILES):
        return
    environment.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    if environment.get(RANGE) != 'LOCALHOST':
        return
    # In this range rmw_fastrtps adds shared memory by itself: a profile says the same without it.
    try:
        share = Path(get_package_share_directory('rmw_fastrtps_cpp'))
        profile = Path(get_package_share_directory('pacsbo_ros')) / 'config' / 'localhost.xml'
    except PackageNotFoundError:
        return
    version = ElementTree.parse(share / 'package.xml').getroot().findtext('version', '0')
    environment[PROFILES[int(version.split('.')[0]) < 9]] = str(profile)  # the name since Kilted
    environment[RANGE] = 'SYSTEM_DEFAULT'
