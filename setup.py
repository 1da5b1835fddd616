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
Package the ROS-free library: PACSBO, robots, tuning runs.

The ROS package (messages, nodes, launch files) is built by CMakeLists.txt: see README.md.
"""
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
package = ElementTree.parse(ROOT / 'package.xml').getroot()

setup(
    name=package.findtext('name'),
    version=package.findtext('version'),
    description='Safe Bayesian optimisation of robot controllers that estimates the RKHS norm',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    author='the pacsbo_ros developers',
    license='Apache-2.0',
    license_files=['LICENSE'],
    packages=find_packages(include=['pacsbo_ros', 'pacsbo_ros.*'],
                           exclude=['pacsbo_ros.nodes', 'pacsbo_ros.nodes.*']),
    # Data files stand beside the code that reads them, in folders that are no packages.
    package_data={'': ['py.typed', '*.csv', '*/*.csv', '*/*.json', '*/*.md']},
    python_requires='>=3.10',
    install_requires=['numpy>=1.26', 'scipy>=1.11', 'pyyaml>=6', 'tqdm', 'rich', 'matplotlib',
                      'contourpy'],
    extras_require={
        'train': ['torch==2.13.0', 'scikit-learn', 'distributed'],
        'dashboard': ['nicegui>=3,<4'],
        'optuna': ['optuna'],
        'xopt': ['xopt>=3'],
        'mujoco': ['mujoco>=3.2'],
        'record': ['mcap'],
        'bench': ['torch==2.13.0', 'botorch', 'scikit-learn', 'optuna', 'cmaes', 'safeopt', 'GPy'],
        'test': ['pytest', 'hypothesis', 'scikit-learn', 'threadpoolctl', 'nicegui>=3,<4',
                 'selenium', 'websockets'],
    },
)
