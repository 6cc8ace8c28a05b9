"""The lives of a plant's sensors as bars, with what the register found: docs/concepts/register.svg.

python studies/register_picture.py docs/concepts/register.svg
"""

import sys
from html import escape
from itertools import pairwise
from pathlib import Path

import numpy as np

import headwater as hw

SEED = 3
DAYS = 60
SENSORS = 26
ROW, LEFT, WIDTH, TOP = 20, 130, 720, 60
BAR = "#3f7d6b"
MARKS = {
    "born": ("●", "#2f6f4f"),
    "silent": ("✕", "#b03a2e"),
    "gone": ("■", "#5d1f18"),
    "back": ("▲", "#2f6f4f"),
    "changed scale": ("◆", "#5a6fb0"),
    "stuck": ("━", "#b8860b"),
    "replaced": ("➔", "#7a4a9e"),
}


def picture() -> str:
    """The picture as SVG."""
    plant = hw.streams.Plant(DAYS, seed=SEED)
    register = hw.Register()
    seen: dict[str, list[float]] = {sensor.name: [] for sensor in plant.sensors}
    start = float(plant.times[0])
    for (event, _), time in zip(plant, plant.times, strict=True):
        register.observe_one(event, time)
        for name in event:
            seen[str(name)].append((time - start) / 86_400)
    findings = register.findings()
    found = {one.feature for one in findings}
    chosen = [sensor for sensor in plant.sensors if sensor.name in found][: SENSORS - 4]
    chosen += [sensor for sensor in plant.sensors if sensor.name not in found][:4]
    chosen.sort(key=lambda sensor: (sensor.installed, sensor.name))
    place = {sensor.name: row for row, sensor in enumerate(chosen)}
    height = TOP + ROW * len(chosen) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 50} {height}"'
        ' font-family="system-ui, sans-serif" font-size="11" role="img">',
        f"<title>{len(chosen)} sensors of a simulated plant over {DAYS} days</title>",
        f'<rect width="100%" height="{height}" fill="#fbfaf7"/>',
    ]
    legend = LEFT
    for word, (sign, colour) in MARKS.items():
        parts.append(f'<text x="{legend}" y="22" fill="{colour}">{sign} {word}</text>')
        legend += 30 + 7 * len(word)
    for day in range(0, DAYS + 1, 10):
        x = LEFT + WIDTH * day / DAYS
        parts.append(
            f'<line x1="{x:.0f}" y1="{TOP - 14}" x2="{x:.0f}" y2="{height - 40}" stroke="#ddd8cc"/>'
        )
        parts.append(f'<text x="{x:.0f}" y="{height - 24}" fill="#666">day {day}</text>')
    for name, row in place.items():
        y = TOP + ROW * row
        parts.append(f'<text x="8" y="{y + 4}" fill="#333">{escape(name)}</text>')
        days = np.array(seen[name])
        breaks = np.flatnonzero(np.diff(days) > max(1.2, 3 * float(np.median(np.diff(days)))))
        edges = [0, *(breaks + 1).tolist(), len(days)]
        for first, last in pairwise(edges):
            x, end = (LEFT + WIDTH * days[i] / DAYS for i in (first, last - 1))
            parts.append(
                f'<rect x="{x:.1f}" y="{y - 4}" width="{max(end - x, 1.5):.1f}" height="8" rx="2"'
                f' fill="{BAR}" opacity="0.45"/>'
            )
    for one in findings:
        if one.feature not in place or one.time is None:
            continue
        sign, colour = MARKS[one.kind]
        x = LEFT + WIDTH * (one.time - start) / 86_400 / DAYS
        y = TOP + ROW * place[str(one.feature)] + 4
        other = f" {one.other}" if one.other is not None else ""
        parts.append(
            f'<text x="{x:.1f}" y="{y}" fill="{colour}" text-anchor="middle" font-size="13">'
            f"<title>{escape(f'{one.feature}: {one.kind}{other}')}</title>{sign}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
