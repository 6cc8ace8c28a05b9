"""Streams of labelled events whose features come and go; every iteration gives the same events."""

from typing import TYPE_CHECKING

from headwater.parameters import no_such_name
from headwater.streams.base import Stream
from headwater.streams.capricious import Capricious
from headwater.streams.dying import Dying
from headwater.streams.evolvable import Evolvable
from headwater.streams.in_turn import InTurn
from headwater.streams.linear_concept import LinearConcept
from headwater.streams.network import Sensor, SensorNetwork
from headwater.streams.plant import Happening, Plant
from headwater.streams.plant_sensors import PlantSensor
from headwater.streams.redundant import Redundant
from headwater.streams.replacement import Replacement
from headwater.streams.reversed import Reversed
from headwater.streams.short_texts import ShortTexts
from headwater.streams.trapezoid import Trapezoid
from headwater.streams.vanishing import Vanishing
from headwater.streams.varying import Varying

__all__ = [
    "Capricious",
    "Dying",
    "Evolvable",
    "Happening",
    "InTurn",
    "LinearConcept",
    "Plant",
    "PlantSensor",
    "Redundant",
    "Replacement",
    "Reversed",
    "Sensor",
    "SensorNetwork",
    "ShortTexts",
    "Stream",
    "Trapezoid",
    "Vanishing",
    "Varying",
]

if not TYPE_CHECKING:
    __getattr__ = no_such_name("headwater.streams", __all__)
