"""How far a label moves the weights.

With margin q = w·x and label y = ±1, the signed margin is y q and loss = max(0, m − y q); with
several classes the signed margin is the score of y minus that of its best rival. The squared norm
is ‖x‖² times the number of weight vectors that move. Rules that return one number return τ, the
length of the step w += τ y x. Sources: Crammer et al., JMLR 7 (2006); Zhang et al. (OLSF), TKDE
(2016); Lu, Zhao, Hoi (PAA), MLJ (2016); Wang et al. (OFS), TKDE (2014).
"""

from decimal import Decimal, localcontext
from math import sqrt
from statistics import NormalDist


def perceptron(mistaken: bool) -> float:
    """τ = 1 after a mistake, else 0."""
    return 1.0 if mistaken else 0.0


def margin_perceptron(signed_margin: float, required: float) -> float:
    """τ = 1 if y q ≤ m, else 0."""
    return 1.0 if signed_margin <= required else 0.0


def pa(loss: float, squared_norm: float) -> float:
    """τ = loss/‖x‖²."""
    return loss / squared_norm


def pa1(loss: float, squared_norm: float, C: float) -> float:
    """τ = min(C, loss/‖x‖²)."""
    return min(C, loss / squared_norm)


def pa2(loss: float, squared_norm: float, C: float) -> float:
    """τ = loss/(‖x‖² + 1/(2C))."""
    return loss / (squared_norm + 1 / (2 * C))


def cpa(signed_margin: float, squared_norm: float, C: float, cost: float) -> float:
    """τ = min(C, (√c − y q)/‖x‖²) if y q ≤ 0, else 0."""
    if signed_margin > 0:
        return 0.0
    return min(C, (sqrt(cost) - signed_margin) / squared_norm)


def gradient(signed_margin: float, step: float) -> float:
    """τ = η if y q ≤ 1, else 0. (Before it, w shrinks by 1 − ηλ whatever the margin.)"""
    return step if signed_margin <= 1 else 0.0


def legacy_pa(signed_margin: float, norm: float) -> float:
    """τ = loss/‖x‖ if y q ≤ 1, else 0."""
    return (1 - signed_margin) / norm if signed_margin <= 1 else 0.0


def legacy_pa1(signed_margin: float, norm: float, C: float) -> float:
    """τ = min(C, loss/‖x‖) if y q ≤ 1, else 0."""
    return min(C, legacy_pa(signed_margin, norm))


def legacy_pa2(signed_margin: float, norm: float, C: float) -> float:
    """τ = 1 − y q/(‖x‖ + 1/(2C)) if y q ≤ 1, else 0: the bracket stands where it was printed."""
    return 1 - signed_margin / (norm + 1 / (2 * C)) if signed_margin <= 1 else 0.0


def arow(loss: float, variance: float, C: float) -> tuple[float, float]:
    """Step α = loss·β and shrinkage β = 1/(v + 1/C), with v = Σσ_i x_i².

    w_i += α y σ_i x_i, σ_i −= β(σ_i x_i)².
    """
    shrinkage = 1 / (variance + 1 / C)
    return loss * shrinkage, shrinkage


def forget(variance: float, forgetting: float) -> float:
    """1/σ = λ/σ + 1 − λ; 0 stays 0."""
    return 0.0 if variance == 0 else 1 / (forgetting / variance + 1 - forgetting)


def cw_variance(signed_margin: float, variance: float, confidence: float) -> tuple[float, float]:
    """Step γ and shrinkage 2γφ of the form that asks for m ≥ φv (Dredze et al. 2008).

    γ = max(0, (−(1+2φm) + √((1+2φm)² − 8φ(m−φv)))/(4φv)).
    w_i += γ y σ_i x_i, σ_i = 1/(1/σ_i + 2γφ x_i²).
    """
    phi, m, v = Decimal(quantile(confidence)), Decimal(signed_margin), Decimal(variance)
    with localcontext() as context:
        context.prec = 80  # the root nearly cancels when v is small
        root = ((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v)).sqrt()
        step = max(Decimal(0), (-(1 + 2 * phi * m) + root) / (4 * phi * v))
        return float(step), float(2 * step * phi)


def cw_stdev(signed_margin: float, variance: float, confidence: float) -> tuple[float, float]:
    """Step α and shrinkage β of the form that asks for m ≥ φ√v (Crammer et al. 2008).

    ψ = 1 + φ²/2, ζ = 1 + φ², α = (−mψ + √(m²φ⁴/4 + vφ²ζ))/(vζ),
    √u = ½(−αvφ + √(α²v²φ² + 4v)), β = αφ/(√u + vαφ); α = β = 0 if m ≥ φ√v.
    w_i += α y σ_i x_i, σ_i −= β(σ_i x_i)².
    """
    phi, m, v = Decimal(quantile(confidence)), Decimal(signed_margin), Decimal(variance)
    with localcontext() as context:
        context.prec = 80
        if m >= phi * v.sqrt():
            return 0.0, 0.0
        psi, zeta = 1 + phi**2 / 2, 1 + phi**2
        step = (-m * psi + (m**2 * phi**4 / 4 + v * phi**2 * zeta).sqrt()) / (v * zeta)
        root = (-step * v * phi + (step**2 * v**2 * phi**2 + 4 * v).sqrt()) / 2
        return float(step), float(step * phi / (root + v * step * phi))


def quantile(confidence: float) -> float:
    """φ = Φ⁻¹(confidence)."""
    return NormalDist().inv_cdf(confidence)


def shrink_by_difference(variance: float, value: float, shrinkage: float) -> float:
    """σ − β(σx)², never below 0."""
    return max(0.0, variance - shrinkage * (variance * value) * (variance * value))


def shrink_by_precision(variance: float, value: float, shrinkage: float) -> float:
    """1/(1/σ + 2γφ x²); 0 stays 0."""
    return 0.0 if variance == 0 else 1 / (1 / variance + shrinkage * value * value)


def balanced_margin(sensitivity_weight: float, positives: int, negatives: int) -> float:
    """ϱ = s/(1−s) · (N_n + 1)/(N_p + 1), the label being learned counted."""
    odds = sensitivity_weight / (1 - sensitivity_weight)
    return odds * (negatives + 1) / (positives + 1)
