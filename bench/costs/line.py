"""A duration as a linear function of the number of updates, through two measurements."""

from typing import NamedTuple


class Line(NamedTuple):
    """A duration in seconds as a linear function of the number of updates: `start + slope * updates`."""

    start: float
    slope: float

    def at(self, updates: float) -> float:
        """Return the duration of `updates` updates, in seconds."""
        return self.start + self.slope * updates

    @classmethod
    def through(cls, few: int, seconds: float, more: int, longer: float) -> "Line":
        """Return the line through two measurements, with a slope of at least 0; 0 if both have as many updates.

        Args:
            few: number of updates of the first measurement.
            seconds: its duration.
            more: number of updates of the second measurement.
            longer: its duration, seconds.
        """
        slope = max(0.0, (longer - seconds) / (more - few)) if more > few else 0.0
        return cls(max(0.0, longer - slope * more), slope)
