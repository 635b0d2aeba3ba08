# SPDX-License-Identifier: MIT
"""Writes the figures as report.md, ratios.svg and growth.svg."""

import html
import math
import statistics

from goals import curves, exponent, verdicts

INK, PALE, GOOD, BAD = "#333", "#bbb", "#1f77b4", "#d62728"
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")


def number(value):
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spread(values):
    return f"{number(statistics.median(values))} ({number(min(values))}-{number(max(values))})" if len(values) > 1 else number(values[0])


def table(head, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)])


def goal_table(figures):
    rows = []
    for verdict in verdicts(figures):
        goal = verdict.goal
        limit = f"{'>=' if goal.least else '<='} {number(goal.limit)}"
        word = f"**{verdict.word}**" if verdict.word == "falls short" else verdict.word
        rows.append([goal.text, verdict.at, goal.measure, limit, number(verdict.value), word])
    return table(["goal", "at", "measure", "limit", "figure", ""], rows)


def case_table(figures):
    rows = []
    for figure in figures:
        rival = f"{spread(figure.rival)} {figure.rival_name}" if figure.rival else ""
        ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
        rows.append([figure.at, figure.what, spread(figure.ours), figure.unit, rival, ratio, f"{figure.busy:.0%}"])
    return table(["at", "what", "ours", "unit", "rival", "ratio", "others had"], rows)


def write(folder, figures, titles, notes):
    """`titles` maps cases to titles; `notes` are lines about the run."""
    parts = ["# Benchmark", "", *notes, "", "## Goals", "", goal_table(figures), ""]
    parts += ["![ratios](ratios.svg)", "", "![how cost grows](growth.svg)", ""]
    for name, title in titles.items():
        mine = [figure for figure in figures if figure.case == name]
        if mine:
            parts += [f"## {name}", "", f"{title}.", "", case_table(mine), ""]
    (folder / "report.md").write_text("\n".join(parts))
    (folder / "ratios.svg").write_text(ratios(figures))
    (folder / "growth.svg").write_text(growth(figures))


def text(x, y, words, colour=INK, anchor="start", size=12):
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour=PALE):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def svg(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def ratios(figures):
    """Draws a bar for each ratio to a rival, on a logarithmic scale of base 2. 1 is equal; blue is better."""
    shown = [figure for figure in figures if figure.ratio]
    left, middle, step, top = 420, 700, 18, 40
    parts = [text(20, 22, "ours / rival: rates to the right of 1 are better, all else to the left", size=14)]
    bottom = top + step * len(shown)
    for power in range(-4, 5):
        x = middle + 60 * power
        parts += [line(x, top, x, bottom, INK if power == 0 else PALE), text(x, top - 4, number(2.0**power), anchor="middle", size=10)]
    for row, figure in enumerate(shown):
        # The difference of two similar costs may be negative.
        y, length = top + step * row, 60 * math.log2(max(min(figure.ratio, 16), 1 / 16))
        better = (figure.ratio >= 1) == (figure.what in ("rate", "speed"))
        parts.append(text(left, y + 13, f"{figure.case}: {figure.at}, {figure.what}", anchor="end", size=11))
        parts.append(f'<rect x="{middle + min(length, 0):.1f}" y="{y + 3}" width="{abs(length):.1f}" height="{step - 6}" fill="{GOOD if better else BAD}"/>')
        parts.append(text(middle + 270, y + 13, f"{figure.ratio:.2f} {figure.rival_name}", size=11))
    return svg(1080, bottom + 20, parts)


def growth(figures):
    """Draws a panel for each case: cost over size, on logarithmic scales, so that linear growth has slope 1."""
    panels = {}
    for (case, what), points in curves(figures).items():
        panels.setdefault(case, {})[what] = points
    width, height, gap, parts = 380, 220, 70, []
    for index, (case, series) in enumerate(panels.items()):
        left, top = 60 + (width + gap) * (index % 2), 40 + (height + gap) * (index // 2)
        sizes = [size for points in series.values() for size, _ in points]
        costs = [max(figure.middle, 1e-9) for points in series.values() for _, figure in points]
        decades_x, decades_y = (span(values) for values in (sizes, costs))
        scale_x = scale(decades_x, left, width)
        scale_y = scale(decades_y, top + height, -height)
        unit = next(iter(series.values()))[0][1].unit
        parts += [text(left, top - 8, f"{case}, {unit}", size=13), f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="{PALE}"/>']
        for power in range(decades_x[0], decades_x[1] + 1):
            parts += [line(scale_x(10.0**power), top, scale_x(10.0**power), top + height), text(scale_x(10.0**power), top + height + 14, f"{10**power:,}", anchor="middle", size=10)]
        for power in range(decades_y[0], decades_y[1] + 1):
            parts += [line(left, scale_y(10.0**power), left + width, scale_y(10.0**power)), text(left - 4, scale_y(10.0**power) + 4, number(10.0**power), anchor="end", size=10)]
        for at, (what, points) in enumerate(series.items()):
            colour = COLOURS[at % len(COLOURS)]
            path = " ".join(f"{scale_x(size):.1f},{scale_y(max(figure.middle, 1e-9)):.1f}" for size, figure in points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts.append(text(left + 8, top + 18 + 15 * at, f"{what}: exponent {exponent(points):.2f} at most", colour, size=11))
    rows = (len(panels) + 1) // 2
    return svg(2 * (width + gap) + 60, max(rows, 1) * (height + gap) + 60, parts)


def span(values):
    """Returns the enclosing powers of ten."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def scale(decades, begin, length):
    low, high = decades
    return lambda value: begin + length * (math.log10(value) - low) / (high - low)
