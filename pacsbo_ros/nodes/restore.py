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

"""Put back the values that nodes had before a run: `ros2 run pacsbo_ros restore FOLDER`."""
from __future__ import annotations

import argparse
from pathlib import Path
import sys

from pacsbo_ros.nodes.guardian import put_back
from pacsbo_ros.nodes.parameter_calls import ParameterCalls
from pacsbo_ros.nodes.transport import use_datagrams
from pacsbo_ros.robots.parameters.custody import Custody, CustodyError, Locks, read_originals
import rclpy


def main(arguments: list[str] | None = None) -> int:
    """Restore, and say what the nodes have now."""
    parser = argparse.ArgumentParser(prog='ros2 run pacsbo_ros restore', description=__doc__)
    parser.add_argument('folder', type=Path, help='folder of the run')
    parser.add_argument('--patience', type=float, default=10.0, metavar='S',
                        help='time that the nodes get to answer [s]')
    p = parser.parse_args(arguments)
    use_datagrams()
    rclpy.init(args=[])
    node = rclpy.create_node('restore', start_parameter_services=False, enable_rosout=False)
    locks = None
    try:
        folder = p.folder.expanduser().resolve()
        originals = read_originals(folder)
        locks = Locks(originals, folder)
        locks.acquire(0.5)
        calls = ParameterCalls(node, list(originals))
        failure = put_back(node, calls, originals, p.patience)
        if failure:
            raise CustodyError(f'the original values are not back: {failure}')
        Custody(folder).end()
    except CustodyError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    finally:
        if locks is not None:
            locks.release()
        rclpy.try_shutdown()
    for target, values in originals.items():
        print(f'{target}: ' + ', '.join(f'{name} = {value:g}' for name, value in values.items()))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
