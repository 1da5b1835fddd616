# Copyright the pacsbo_ros developers. Apache-2.0.
"""Imported by the process that forks the nodes of tests: it ends with them, the nodes with it."""
import os

from pacsbo_ros.nodes.lifeline import tied_to

tied_to(os.getppid())()
