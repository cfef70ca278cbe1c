"""Reports in a real browser: Debian's Chromium, driven by Selenium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkmate
from checkmate import Graph, Op, Plan, Tensor

pytest.importorskip("selenium")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from report_page import DRIVER, Page, open_browser

pytestmark = pytest.mark.skipif(DRIVER is None, reason="no chromedriver here: make setup-test installs Debian's chromium-driver")
WICKED = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with open_browser() as opened:
        yield opened


def captured() -> Plan:
    """A GPT-2 of three layers, as PyTorch runs it."""
    networks = pytest.importorskip("networks", reason="no PyTorch or no transformers here: make setup-test installs them")
    graph = checkmate.compile(*networks.gpt2(), costs="flops").graph
    return checkmate.solve(graph, "70%", method="linear-greedy", time_limit=3600)


@pytest.fixture(scope="module", params=["unet", "resnet50", "gpt2", "large"])
def plan(request: pytest.FixtureRequest) -> Plan:
    # Methods that take as long as they take, not as long as they may: the plans are always the same.
    if request.param == "gpt2":
        return captured()
    if request.param == "large":  # 2,500 layers, the loss, and a gradient each
        return checkmate.solve(checkmate.load("zoo:linear?n=2500"), "5%", method="chen-greedy", time_limit=3600)
    return checkmate.solve(checkmate.load(f"zoo:{request.param}?batch=32"), "60%", method="linear-greedy", time_limit=3600)


@pytest.fixture(scope="module")
def page(browser: webdriver.Chrome, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("report") / "report.html"
    points: list[checkmate.SweepPoint] = []
    if len(plan.graph) < 1000:
        points = checkmate.sweep(plan.graph, "100%..60%:20%", ["ap-greedy", "linear-greedy"], time_limit=3600)
    plan.report(path, points)
    assert path.stat().st_size < 3_000_000
    return Page(browser, path)


def test_opens_without_a_complaint_or_a_request(page: Page, plan: Plan) -> None:
    assert page.complaints() == []
    assert page.find("h1").text == plan.graph.name
    headline = page.texts("#headline dd")
    if plan.peak >= 2**30:
        assert f"{plan.peak / 2**30:.1f}\u00a0GiB" in headline
    assert any(f"in {sum(times for _, times, _ in plan.recomputed):,} run" in text for text in headline)


def test_begins_at_the_peak(page: Page, plan: Plan) -> None:
    page.find("#to-peak").click()
    page.wait_for_step(plan.memory.index(plan.peak))


def test_tells_what_is_in_memory_where_the_pointer_is(page: Page, plan: Plan) -> None:
    canvas = page.find("#timeline-canvas")
    page.find("#timeline-axis input[value=steps]").find_element(By.XPATH, "..").click()
    seen = set()
    for share in (0.1, 0.3, 0.5):
        page.point_at(canvas, share)
        off = f"Math.abs(+document.getElementById('moment').dataset.step / {len(plan)} - {share})"
        page.wait(f"return {off} < 0.05")
        step = page.shown_step()
        seen.add(step)
        (shown,) = page.texts("#moment .what bdi")  # the first 60 characters
        assert plan.graph.ops[plan.steps[step]].name.startswith(shown.removesuffix("…"))
    assert len(seen) == 3
    assert page.complaints() == []


def test_stays_where_one_clicked_and_moves_with_the_keys(page: Page, plan: Plan) -> None:
    canvas = page.find("#timeline-canvas")
    page.point_at(canvas, 0.4)
    page.act().click().perform()
    clicked = int(canvas.get_attribute("aria-valuenow") or -1)
    assert clicked == pytest.approx(0.4 * len(plan), abs=0.05 * len(plan) + 2)
    page.act().move_to_element(page.find("h1")).perform()
    page.wait_for_step(clicked)
    canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    page.wait_for_step(clicked + 1)
    assert f"step {clicked + 1} of {len(plan)}" in str(canvas.get_attribute("aria-valuetext"))
    canvas.send_keys(Keys.END)
    page.wait_for_step(len(plan) - 1)
    canvas.send_keys(Keys.HOME)
    page.wait_for_step(0)
    assert page.complaints() == []


def test_sorts_its_tables(page: Page, plan: Plan) -> None:
    def head(label: str) -> WebElement:
        return page.find("#recomputed-table").find_element(By.XPATH, f".//th[.//button[text()='{label}']]")

    again = plan.recomputed
    assert head("cost").get_attribute("aria-sort") == "descending"
    for label, column in (("times", 1), ("cost", 2)):
        for direction in ("descending", "ascending"):
            head(label).find_element(By.TAG_NAME, "button").click()
            assert head(label).get_attribute("aria-sort") == direction
            best = max(row[column] for row in again) if direction == "descending" else min(row[column] for row in again)
            shown = page.texts("#recomputed-table tbody tr:first-child td:first-child")[0]
            assert shown in [plan.graph.ops[row[0]].name for row in again if row[column] == best]
    name = page.texts("#recomputed-table tbody button.link")[0]
    page.find("#recomputed-table tbody button.link").click()
    page.wait("return document.querySelector('#moment .what').textContent === arguments[0] + ' recomputed'", name)


def test_zooms_and_moves_the_map(page: Page) -> None:
    canvas = page.find("#map-canvas")
    page.point_at(canvas, 0.5)
    page.find("#map-zoom button:nth-child(2)").click()
    by_button = page.zoom_of("#map-canvas")
    assert by_button > 1.5
    page.point_at(canvas, 0.5)
    page.act().click().perform()  # now the wheel is the map's
    page.script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -400, bubbles: true, cancelable: true,"
        " clientX: innerWidth / 2, clientY: innerHeight / 2}))",
        canvas,
    )
    assert page.zoom_of("#map-canvas") > by_button
    before = page.script("return d3.zoomTransform(arguments[0]).x", canvas)
    page.act().click_and_hold(canvas).move_by_offset(-80, 0).release().perform()
    assert page.script("return d3.zoomTransform(arguments[0]).x", canvas) < before
    canvas.send_keys("0")
    assert page.zoom_of("#map-canvas") == 1
    assert page.complaints() == []


def test_leads_from_the_map_to_a_step(page: Page, plan: Plan) -> None:
    canvas = page.find("#map-canvas")
    page.point_at(canvas, 0.5)  # on the diagonal: the first run of the op in the middle
    page.wait("return !document.getElementById('tip').hidden")
    assert "computed first" in page.find("#tip").text
    page.act().click().perform()
    page.wait(f"return Math.abs(+document.getElementById('moment').dataset.step - {plan.steps.index(len(plan.graph) // 2)}) < 10")
    assert page.texts("#moment .tag") == ["first run"]


def test_shows_the_network_of_small_graphs(page: Page, plan: Plan) -> None:
    small = len(plan.graph) <= 200
    assert page.find("#network").is_displayed() == small
    if small:
        assert len(page.browser.find_elements(By.CSS_SELECTOR, "circle.node")) == len(plan.graph)
        assert len(page.texts("#network text.op")) > len(plan.graph) / 2  # names, where there is room


def test_is_dark_where_the_system_is(page: Page) -> None:
    for scheme in ("dark", "light"):
        page.emulate(prefers_color_scheme=scheme)
        page.wait("return document.documentElement.dataset.theme === arguments[0]", scheme)
    page.find("#theme").click()
    page.wait("return document.documentElement.dataset.theme === 'dark'")
    page.find("#theme").click()


# What sticks out of its card, and not out of something that scrolls.
OUTSIDE = """
const scrolls = (e) => e && (getComputedStyle(e).overflowX === "auto" || scrolls(e.parentElement));
return [...document.querySelectorAll(".card *")].filter((e) => !scrolls(e) && !e.matches(".hidden, .hidden *")
  && e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right + 1).map((e) => e.outerHTML.slice(0, 80))
"""


def test_prints_whole_charts_and_short_tables(page: Page, plan: Plan) -> None:
    assert page.browser.print_page().startswith("JVBERi0")  # "%PDF-"
    page.resize(718, 1047)  # A4 without its margins
    page.emulate("print")
    page.script("dispatchEvent(new Event('beforeprint'))")
    try:
        assert page.script(OUTSIDE) == []
        again = len(plan.recomputed)
        shown = [row for row in page.browser.find_elements(By.CSS_SELECTOR, "#recomputed tbody tr") if row.is_displayed()]
        assert len(shown) == min(again, 20)
        assert page.find("#recomputed .rest").text == (f"and {again - 20:,} more" if again > 20 else "")
    finally:
        page.script("dispatchEvent(new Event('afterprint'))")
        page.emulate()
        page.resize_back()
    assert page.complaints() == []


def test_fits_a_telephone(page: Page) -> None:
    page.resize(400, 800, dots=2)
    try:
        page.wait("return document.getElementById('map-canvas').offsetWidth < 400")
        assert page.script(OUTSIDE) == []
        assert page.script("return document.documentElement.scrollWidth") == 400
    finally:
        page.resize_back()


# The contrast of every text that is shown with what is behind it, as WCAG 2 has it.
CONTRASTS = """
const parts = (text) => text.match(/[\\d.]+/g).map(Number);
const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
const behind = (e) => e === null ? [255, 255, 255] : over(parts(getComputedStyle(e).backgroundColor), behind(e.parentElement));
const opacity = (e) => e === null ? 1 : getComputedStyle(e).opacity * opacity(e.parentElement);
const linear = (c) => c <= 10.31 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const texts = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.matches("script, .hidden")
  && [...e.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
return texts.map((e) => {
  const style = getComputedStyle(e);
  const [r, g, b] = parts(e.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const ground = behind(e);
  const lights = [light(over([r, g, b, opacity(e)], ground)), light(ground)].sort((a, b) => a - b);
  return [e.outerHTML.slice(0, 80), (lights[1] + 0.05) / (lights[0] + 0.05)];
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_has_text_that_stands_out(page: Page, scheme: str) -> None:
    if page.script("return document.documentElement.dataset.theme") != scheme:
        page.find("#theme").click()
    contrasts = page.script(CONTRASTS)
    assert len(contrasts) > 50
    assert [(text, ratio) for text, ratio in contrasts if ratio < 4.5] == []


def test_names_every_control(page: Page) -> None:
    controls = {"button", "radio", "slider", "link", "image", "region", "DisclosureTriangle"}
    page.browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    page.browser.execute_cdp_cmd("Accessibility.disable", {})
    found = [node for node in nodes if not node["ignored"] and node["role"]["value"] in controls]
    assert {"button", "radio", "slider", "image"} <= {node["role"]["value"] for node in found}
    assert [node for node in found if not node.get("name", {}).get("value")] == []


# Whether the focus can be seen, and where the part of the page is that has it.
FOCUSED = """
const e = document.activeElement;
const ring = [e, e.nextElementSibling].some((near) => near && getComputedStyle(near).outlineStyle !== "none");
return [ring, e.closest(".card, header, body").getBoundingClientRect().top + scrollY];
"""


def test_leads_the_keyboard_down_the_page(page: Page) -> None:
    assert page.script("return [...document.querySelectorAll('*')].filter((e) => e.tabIndex > 0).length") == 0
    page.script("document.querySelector('.skip').focus()")
    tops = []
    for _ in range(15):
        page.act().send_keys(Keys.TAB).perform()
        ring, top = page.script(FOCUSED)
        assert ring, page.script("return document.activeElement.outerHTML.slice(0, 80)")
        tops.append(top)
    assert tops == sorted(tops)
    assert len(set(tops)) > 3


def test_moves_nothing_where_no_motion_is_wanted(page: Page) -> None:
    page.emulate(prefers_reduced_motion="reduce")
    moving = "[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
    assert page.script(f"return document.getAnimations().length + {moving}") == 0
    page.emulate()


def named(name: str) -> Graph:
    tensors = [Tensor(name, 8), Tensor(name, 8), Tensor(name, 8, output=True)]
    return Graph(name, tensors, [Op(name, 1, [], [0]), Op(name, 1, [0], [1]), Op(name, 1, [0, 1], [2])], cost_unit=name[:20])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("<b>a</b><script>alert(1)</script>", "<b>a</b><script>alert(1)</script>"),
        (WICKED, WICKED[:50]),
        ("n" * 10_000, "n" * 50),
        ("卷积 слой é 🦊", "卷积 слой é 🦊"),
        ("", "(no name)"),
    ],
)
def test_shows_any_name_as_text(browser: webdriver.Chrome, tmp_path: Path, name: str, expected: str) -> None:
    graph = named(name)
    plan = Plan.from_steps(graph, [0, 1, 0, 2])
    path = tmp_path / "report.html"
    plan.report(path)
    page = Page(browser, path)
    assert page.complaints() == []
    assert page.script("return document.images.length") == 0
    (shown,) = page.texts("#moment .what bdi")
    assert len(shown) <= 60
    assert shown[: len(expected)] == expected
    if len(name) > 60:
        assert page.find("#moment .what bdi").get_attribute("title") == name
    assert len(page.browser.find_elements(By.CSS_SELECTOR, "#recomputed-table tbody tr")) == 1


def test_shows_a_graph_of_one_op_that_costs_nothing(browser: webdriver.Chrome, tmp_path: Path) -> None:
    plan = Plan.keep_all(Graph("one", [Tensor("t", 0)], [Op("op", 0, [], [0])]))
    plan.report(tmp_path / "report.html")
    page = Page(browser, tmp_path / "report.html")
    assert page.complaints() == []
    assert "Nothing: every op runs once." in page.find("#recomputed").text
    assert not page.find("#tradeoff").is_displayed()


def test_claims_no_more_between_budgets_than_is_proven(browser: webdriver.Chrome, tmp_path: Path) -> None:
    graph = checkmate.load("zoo:linear?n=8")
    points = checkmate.sweep(graph, "4,6", time_limit=60)
    assert [point.status for point in points] == ["optimal", "optimal"]
    assert points[1].plan is not None
    points[1].plan.report(tmp_path / "report.html", points)
    page = Page(browser, tmp_path / "report.html")
    drawn: str = page.script("return document.querySelectorAll('.band path')[2].getAttribute('d')")
    places = [tuple(map(float, place.split(","))) for place in re.split("[ML]", drawn)[1:]]
    (less, high), (at_less, low), (at_more, still), (more, end) = places
    assert less == at_less < at_more == more
    assert high < low == still == end  # the bound of the larger budget, up to the smaller one


def test_shows_a_recomputation_at_the_very_end(browser: webdriver.Chrome, tmp_path: Path) -> None:
    count = 4000
    tensors = [Tensor(f"t{i}", 1) for i in range(count)]
    ops = [Op(f"f{i}", 1, [i - 1] if i else [], [i]) for i in range(count)]
    steps = [*range(count - 1), count - 2, count - 1]
    graph = Graph("late", tensors, ops)
    Plan.from_steps(graph, steps).report(tmp_path / "report.html")
    page = Page(browser, tmp_path / "report.html")
    seen = page.script("""
      const canvas = document.querySelector("#map canvas");
      const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const again = d3.color(getComputedStyle(document.documentElement).getPropertyValue("--again").trim());
      let found = 0;
      for (let i = 0; i < dots.length; i += 4)
        if (Math.abs(dots[i] - again.r) + Math.abs(dots[i + 1] - again.g) + Math.abs(dots[i + 2] - again.b) < 12) ++found;
      return found;""")
    assert seen > 0


def test_shows_itself_in_a_notebook(browser: webdriver.Chrome, tmp_path: Path) -> None:
    plan = Plan.from_steps(named(WICKED), [0, 1, 0, 2])
    frame = plan._repr_html_()
    assert frame is not None
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8><body>{frame}</body>")
    browser.get((tmp_path / "cell.html").as_uri())
    browser.switch_to.frame(0)
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script("return document.documentElement.dataset.ready"))
    assert browser.find_element(By.ID, "title").text == WICKED
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
