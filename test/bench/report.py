# SPDX-License-Identifier: MIT
"""Writes the figures as report.md."""

import math
import statistics

from goals import verdicts


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
        rows.append([goal.text, verdict.at, goal.measure, limit, number(verdict.value), verdict.beside, word])
    return table(["goal", "at", "measure", "limit", "figure", "ours and the rival's", ""], rows)


def case_table(figures):
    rows = []
    for figure in figures:
        rival = f"{spread(figure.rival)} {figure.rival_name}" if figure.rival else ""
        ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
        rows.append([figure.at, figure.what, spread(figure.ours), figure.unit, rival, ratio, f"{figure.busy:.0%}"])
    return table(["at", "what", "ours", "unit", "rival", "ratio", "others had"], rows)


def write(folder, figures, titles, notes):
    """Returns the text of report.md. `titles` maps cases to titles, and `notes` are lines about the run."""
    parts = ["# Benchmark", "", *notes, "", "## Goals", "", goal_table(figures), ""]
    for name, title in titles.items():
        mine = [figure for figure in figures if figure.case == name]
        if mine:
            parts += [f"## {name}", "", f"{title}.", "", case_table(mine), ""]
    (folder / "report.md").write_text("\n".join(parts))
