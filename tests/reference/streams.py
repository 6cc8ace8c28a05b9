"""Small streams in which names appear, vanish and return, and zeros and empty events occur."""

from random import Random

NAMES = ("a", "b", "ab", "B", "ä", "1", 1, -3, 10, 9, 0)


def rounds(seed: int, length: int) -> list[tuple[dict[str | int, float], float]]:
    """Events of continuous values, each with a number whose sign may serve as its label."""
    random = Random(seed)
    weights = {name: random.gauss(0, 1) for name in NAMES}
    stream = []
    for number in range(length):
        reach = 2 + number * len(NAMES) // length  # more names as time goes on
        here = [name for name in NAMES[:reach] if random.random() < 0.6]
        random.shuffle(here)
        event = {name: 0.0 if random.random() < 0.1 else random.gauss(0, 2) for name in here}
        truth = sum(weights[name] * value for name, value in event.items())
        stream.append((event, truth + random.gauss(0, 0.5)))
    return stream


def slots_with(names: list[str | int], event: dict[str | int, float]) -> list[str | int]:
    """The names in slot order once the event is learned: new ones in order, numbers first."""
    new = [name for name in event if name not in names]
    return names + sorted(new, key=lambda name: (isinstance(name, str), name))
