"""SEL-2nd with a whole matrix, straight from the formulas.

Round: u = Mx, r = x·u, p = v·u/(1 + r); ask with ρ/(ρ + |p|), originally ρ/(ρ + |p| + ½p²(1 + r)).
A mistake learned (y p ≤ 0): v += y x, M −= uuᵀ/(1 + r). A new feature: a zero row and column, 1/a
on the diagonal. Cesa-Bianchi et al., JMLR 7 (2006); Lu, Zhao, Hoi (PAA), MLJ (2016).
"""

from dataclasses import dataclass

Matrix = list[list[float]]


@dataclass
class State:
    """v and M, in slot order."""

    v: list[float]
    M: Matrix


def read(saved: dict[str, list[float]]) -> State:
    """The state in a model file, where M stands row by row up to its diagonal."""
    v, packed = saved["mistakes"], iter(saved["matrix"])
    rows = [[next(packed) for _ in range(row + 1)] for row in range(len(v))]
    size = range(len(v))
    return State(v, [[rows[max(i, j)][min(i, j)] for j in size] for i in size])


def grown(state: State, names: int, a: float) -> State:
    """The state with zero rows and columns for new names."""
    known = len(state.v)
    more = [0.0] * (names - known)
    matrix = [[*row, *more] for row in state.M]
    for new in range(known, names):
        matrix.append([1 / a if column == new else 0.0 for column in range(names)])
    return State([*state.v, *more], matrix)


def margin(state: State, x: list[float]) -> tuple[float, float, list[float]]:
    """p, r and u."""
    u = [sum(m * value for m, value in zip(row, x, strict=True)) for row in state.M]
    r = sum(value * image for value, image in zip(x, u, strict=True))
    return sum(v * image for v, image in zip(state.v, u, strict=True)) / (1 + r), r, u


def query_probability(width: float, p: float, r: float, form: str) -> float:
    """ρ/(ρ + |p|), or the original paper's."""
    certainty = abs(p) + (0.5 * p * p * (1 + r) if form == "original" else 0.0)
    return width / (width + certainty)


def learned(state: State, x: list[float], y: int) -> State:
    """The state after a label; `x` has an entry a name, new ones included."""
    p, r, u = margin(state, x)
    if y * p > 0:
        return state
    v = [old + y * value for old, value in zip(state.v, x, strict=True)]
    size = range(len(u))
    return State(v, [[state.M[i][j] - u[i] * u[j] / (1 + r) for j in size] for i in size])
