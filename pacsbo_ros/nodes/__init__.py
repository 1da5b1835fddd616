"""Thin rclpy nodes: they declare parameters, wire topics, and call core and furuta."""
import signal
import sys

if sys.argv[:1] == ['-m']:  # a program starts: before it listens, Ctrl-C ends it without a word
    signal.signal(signal.SIGINT, signal.SIG_DFL)
