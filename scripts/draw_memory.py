#!/usr/bin/env python3
"""Draws memory over time, keep-all against a plan, as an SVG. Usage: draw_memory.py GRAPH BUDGET TITLE OUT.svg"""
import html
import json
import subprocess
import sys
import tempfile

PROGRAM = "build/bin/checkmate"
WIDTH, HEIGHT, LEFT, TOP = 820, 300, 64, 56


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def simulated(graph, *solve_options):
    with tempfile.NamedTemporaryFile(suffix=".json") as plan:
        answer = json.loads(run("solve", graph, "--plan", plan.name, "--json", *solve_options))
        return answer, json.loads(run("simulate", graph, "--plan", plan.name, "--json"))


def path(memory, scale, steps):
    """A staircase: step i lasts from i to i + 1."""
    points = []
    for i, value in enumerate(memory):
        for x in (i, i + 1):
            points.append(f"{LEFT + WIDTH * x / steps:.1f},{TOP + HEIGHT * (1 - value / scale):.1f}")
    return " ".join(points)


def draw(title, keep_all, answer, plan):
    gib = 2**30
    scale = max(keep_all["memory_bytes"]) * 1.05
    steps = max(len(keep_all["memory_bytes"]), len(plan["memory_bytes"]))
    line = TOP + HEIGHT * (1 - answer["budget_bytes"] / scale)
    peak = max(keep_all["memory_bytes"]) / gib
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + 48}" font-family="sans-serif" font-size="14">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="17" font-weight="bold">{html.escape(title)}</text>',
        f'<text x="{LEFT}" y="42" fill="#777">keep everything: {peak:.1f} GiB</text>',
        f'<text x="{LEFT + 230}" y="42" fill="#1565c0">{answer["method"]}: {answer["peak_bytes"] / gib:.1f} GiB,'
        f' {100 * (answer["overhead"] - 1):.1f}% more work</text>',
        f'<polyline points="{path(keep_all["memory_bytes"], scale, steps)}" fill="none" stroke="#999" stroke-width="2"/>',
        f'<polyline points="{path(plan["memory_bytes"], scale, steps)}" fill="none" stroke="#1565c0" stroke-width="2.5"/>',
        f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{line:.1f}" y2="{line:.1f}" stroke="#c62828" stroke-dasharray="6 4"/>',
        f'<text x="{LEFT + 6}" y="{line - 6:.1f}" fill="#c62828">budget {answer["budget_bytes"] / gib:.1f} GiB</text>',
        f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{TOP + HEIGHT}" y2="{TOP + HEIGHT}" stroke="#333"/>',
        f'<text x="{LEFT + WIDTH}" y="{TOP + HEIGHT + 22}" text-anchor="end">steps ({steps})</text>',
    ]
    for tick in range(0, int(scale / gib) + 1, 5):
        y = TOP + HEIGHT * (1 - tick * gib / scale)
        svg.append(f'<text x="{LEFT - 8}" y="{y + 5:.1f}" text-anchor="end">{tick} GiB</text>')
    return "\n".join(svg + ["</svg>", ""])


if __name__ == "__main__":
    graph, budget, title, out = sys.argv[1:]
    _, kept = simulated(graph, "--budget", "100%", "--method", "keep-all")
    found, replayed = simulated(graph, "--budget", budget)
    with open(out, "w", encoding="utf-8") as file:
        file.write(draw(title, kept, found, replayed))
