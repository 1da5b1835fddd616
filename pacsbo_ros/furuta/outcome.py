# Copyright the pacsbo_ros developers. Apache-2.0.
"""How an episode can end."""
from enum import IntEnum


class Outcome(IntEnum):
    """Say how an episode ended; the numbers are those of the ROS message."""

    COMPLETED = 0
    TRIPPED_ANGLE = 1
    TRIPPED_ARM = 2
    TRIPPED_SPEED = 3
    TRIPPED_VOLTAGE = 4
    INVALID_STATE = 5
    ABORTED_BY_MONITOR = 6
    CANCELLED = 7
    INFRASTRUCTURE = 8
    START_FAILED = 9

    @property
    def sentence(self) -> str:
        """Return the one sentence that explains this outcome to a person."""
        return _SENTENCES[self]

    @property
    def is_trip(self) -> bool:
        """Tell whether a measured limit of the controller ended the episode."""
        return self in (Outcome.TRIPPED_ANGLE, Outcome.TRIPPED_ARM, Outcome.TRIPPED_SPEED)


_SENTENCES = {
    Outcome.COMPLETED: 'The episode ran to its end within all limits.',
    Outcome.TRIPPED_ANGLE: 'The pendulum left its angle limit; the motor got zero volts.',
    Outcome.TRIPPED_ARM: 'The arm left its angle limit; the motor got zero volts.',
    Outcome.TRIPPED_SPEED: 'A joint exceeded the speed limit; the motor got zero volts.',
    Outcome.TRIPPED_VOLTAGE: 'The commanded voltage was not finite; the motor got zero volts.',
    Outcome.INVALID_STATE: 'The measured state was missing, stale or not finite.',
    Outcome.ABORTED_BY_MONITOR: 'The safety monitor ended the episode.',
    Outcome.CANCELLED: 'The episode was cancelled on request.',
    Outcome.INFRASTRUCTURE: 'Controller or driver failed; this says nothing about the gains.',
    Outcome.START_FAILED: 'The pendulum was never handed over upright, so no gain was tried.',
}
