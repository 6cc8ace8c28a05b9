"""Model files, read and written by hand (docs/internals/model-file.md)."""

import json
import struct
import zlib
from typing import Any

import msgpack  # type: ignore[import-untyped]

import headwater as hw


def take_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the state of a model file."""
    magic, version, length = struct.unpack_from("<8sII", data, 0)
    assert (magic, version) == (b"HEADWATR", 3)
    header = json.loads(data[16 : 16 + length])
    (state_length,) = struct.unpack_from("<Q", data, 16 + length)
    start = 24 + length
    assert len(data) == start + state_length + 4
    assert struct.unpack("<I", data[-4:]) == (zlib.crc32(data[:-4]),)
    return header, msgpack.unpackb(data[start:-4])


def put_together(
    header: object, state: object, *, magic: bytes = b"HEADWATR", version: int = 3
) -> bytes:
    """A model file with a right checksum, whatever is in it; bytes are taken as they are."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = state if isinstance(state, bytes) else msgpack.packb(state)
    data = struct.pack("<8sII", magic, version, len(text)) + text
    data += struct.pack("<Q", len(body)) + body
    return data + struct.pack("<I", zlib.crc32(data))


def state_of(model: hw.Learner) -> dict[str, Any]:
    """The state of a learner as it is saved, without its class and parameters."""
    return take_apart(model.to_bytes())[1]


def what_is_learned(model: hw.Learner) -> dict[str, Any]:
    """The state but for two things that tell an answer from a label that was given: the slope of
    the probabilities, for which an answer counts by the probability of its question
    (tests/test_calibration.py), and the questions that are open."""
    state = state_of(model)
    assert state.pop("calibration")
    state.pop("open", None)
    return state
