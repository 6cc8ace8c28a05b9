"""Streams of labelled events whose features come and go: re-iterable, the same every time."""

from headwater.streams.base import Stream
from headwater.streams.evolvable import Evolvable
from headwater.streams.network import Sensor, SensorNetwork
from headwater.streams.trapezoid import Trapezoid
from headwater.streams.varying import Varying

__all__ = ["Evolvable", "Sensor", "SensorNetwork", "Stream", "Trapezoid", "Varying"]
