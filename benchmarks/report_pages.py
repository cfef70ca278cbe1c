"""The report's pages in headless Chromium: how large they are, how soon everything answers, how long the map takes to be drawn
again (both the slowest of three runs). Fails where a page says anything on the console, or asks for anything.

    python benchmarks/report_pages.py [--screenshots docs/images]
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from PIL import Image

import checkmate
from checkmate import Plan
from models.large_models import gpt2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))
from report_page import Page, open_browser

METHODS = ["chen-sqrt", "chen-greedy", "ap-sqrt", "ap-greedy", "linear-sqrt", "linear-greedy", "auto"]
ROUNDS = 3

# A key press asks for a frame in which the map is drawn. What is read back makes the browser finish what it was told to draw.
REDRAW = """
const done = arguments[arguments.length - 1];
const canvas = document.getElementById("map-canvas");
let begin = 0;
requestAnimationFrame(() => (begin = performance.now()));
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
requestAnimationFrame(() => {
  canvas.getContext("2d").getImageData(0, 0, 1, 1);
  done(performance.now() - begin);
});
"""


def zoo(name: str, budget: str, time_limit: float) -> Plan:
    return checkmate.solve(checkmate.load(name), budget, time_limit=time_limit)


def captured() -> Plan:
    torch.manual_seed(0)
    case = gpt2(layers=6)
    plan: Plan = checkmate.compile(case.model, case.loss_fn, case.batch, "60%", costs="flops", time_limit=2).plan
    return plan


class Subject(NamedTuple):
    title: str
    plan: Callable[[], Plan]
    points: bool = True


SUBJECTS = {
    "unet": Subject("`zoo:unet?batch=32`, 60%", lambda: zoo("zoo:unet?batch=32", "60%", 2)),
    "resnet50": Subject("`zoo:resnet50?batch=256`, 50%", lambda: zoo("zoo:resnet50?batch=256", "50%", 5)),
    "gpt2": Subject("a GPT-2 of 6 layers, captured from PyTorch, 60%", captured),
    "large": Subject(
        "`zoo:resnet?depth=152&repeat=5&batch=64`, 40%",
        lambda: zoo("zoo:resnet?depth=152&repeat=5&batch=64", "40%", 10),
        points=False,
    ),
}


def write(subject: Subject, path: Path) -> Plan:
    plan = subject.plan()
    points = checkmate.sweep(plan.graph, "100%..40%:20%", METHODS, time_limit=0.3) if subject.points else []
    plan.report(path, points)
    return plan


class Measured(NamedTuple):
    ready: float  # ms
    redraw: float  # ms
    complaints: list[str]


def measure(path: Path) -> Measured:
    with open_browser() as browser:
        page = Page(browser, path)
        redraw = float(browser.execute_async_script(REDRAW))
        return Measured(page.ready, redraw, page.complaints())


class Shot(NamedTuple):
    subject: str
    file: str
    section: str
    from_top: bool = False  # with all that is above it
    scheme: str = "light"
    zoom: tuple[float, float, float] | None = None  # of the map: how far, and to which shares of its width and height


SHOTS = [
    Shot("unet", "report_unet.png", "#memory", from_top=True),
    Shot("unet", "report_unet_network.png", "#network"),
    Shot("resnet50", "report_resnet50_dark.png", "#map", scheme="dark"),
    Shot("gpt2", "report_gpt2.png", "#memory", from_top=True),
    Shot("large", "report_large_zoomed.png", "#map", zoom=(5, 0.2, 0.75)),
]


def save(shot: Shot, page: Page, path: Path) -> None:
    """In few colours: it goes into the repository."""
    page.emulate(prefers_color_scheme=shot.scheme)
    page.wait("return document.documentElement.dataset.theme === arguments[0]", shot.scheme)
    if shot.zoom:
        zoom_map(page, *shot.zoom)
    box = page.script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return {top: box.top + scrollY, bottom: box.bottom + scrollY, width: document.documentElement.clientWidth}",
        shot.section,
    )
    edge = 10
    top = 0 if shot.from_top else box["top"] - edge
    clip = {"x": 0, "y": top, "width": box["width"], "height": box["bottom"] + edge - top, "scale": 1}
    seen = page.browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    image = Image.open(io.BytesIO(base64.b64decode(seen["data"]))).convert("RGB")
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def zoom_map(page: Page, times: float, across: float, down: float) -> None:
    """With the wheel, over a place of the map."""
    canvas = page.find("#map-canvas")
    page.script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    page.script(
        "const {left, top, width, height} = arguments[0].getBoundingClientRect();"
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {ctrlKey: true, bubbles: true, cancelable: true,"
        " deltaY: -500 * Math.log2(arguments[1]), clientX: left + width * arguments[2], clientY: top + height * arguments[3]}))",
        canvas,
        times,
        across,
        down,
    )
    page.wait("return new Promise((resolve) => requestAnimationFrame(() => resolve(true)))")


def take(shots: list[Shot], pages: dict[str, Path], folder: Path) -> None:
    with open_browser(1280, 1000) as browser:
        for shot in shots:
            page = Page(browser, pages[shot.subject])
            page.resize(1280, 1000)
            save(shot, page, folder / shot.file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SUBJECTS), help="which pages, separated by commas")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="where to write the pictures of docs/report.md")
    options = parser.parse_args()
    good = True
    print("| page | ops | steps | size | interactive after | map drawn in |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: Path(folder) / f"{name}.html" for name in options.only.split(",")}
        for name, path in pages.items():
            plan = write(SUBJECTS[name], path)
            seen = [measure(path) for _ in range(ROUNDS)]
            ready, redraw = max(each.ready for each in seen), max(each.redraw for each in seen)
            size = path.stat().st_size / 1000
            print(
                f"| {SUBJECTS[name].title} | {len(plan.graph):,} | {len(plan):,} | {size:,.0f} kB | {ready / 1000:.1f} s "
                f"| {redraw:.0f} ms |",
                flush=True,
            )
            for complaint in (line for each in seen for line in each.complaints):
                print(f"{name}: {complaint}", file=sys.stderr)
                good = False
        if options.screenshots:
            take([shot for shot in SHOTS if shot.subject in pages], pages, options.screenshots)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
