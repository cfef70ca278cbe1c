"""A report that is open in headless Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

DRIVER = shutil.which("chromedriver")


@contextmanager
def open_browser(width: int = 1360, height: int = 1000) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    def __init__(self, browser: webdriver.Chrome, path: Path) -> None:
        self.browser = browser
        browser.get(path.as_uri())
        self.ready = int(self.wait("return document.documentElement.dataset.ready"))
        """Milliseconds from the beginning until everything answers."""

    def script(self, text: str, *arguments: object) -> Any:
        return self.browser.execute_script(text, *arguments)

    def wait(self, text: str, *arguments: object) -> Any:
        return WebDriverWait(self.browser, 20, 0.05).until(lambda _: self.script(text, *arguments))

    def emulate(self, media: str = "", **features: str) -> None:
        """A medium, and features such as `prefers_color_scheme="dark"`; what is not named is as the system has it."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": named})

    def resize(self, width: int, height: int, dots: float = 1) -> None:
        """What there is to see, and how fine it is; until `resize_back()`."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": dots, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def resize_back(self) -> None:
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """Of all that match, hidden ones too."""
        found: list[str] = self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)
        return found

    def act(self) -> ActionChains:
        """What pointer and keys do, without the usual quarter of a second for each move."""
        return ActionChains(self.browser, duration=10)

    def point_at(self, canvas: WebElement, share: float) -> None:
        """Puts the pointer at so much of the width."""
        self.script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        width = canvas.size["width"]
        self.act().move_to_element_with_offset(canvas, int(width * (share - 0.5)), 0).perform()

    def zoom_of(self, canvas: str) -> float:
        return float(self.script("return d3.zoomTransform(document.querySelector(arguments[0])).k", canvas))

    def wait_for_step(self, step: int) -> None:
        """Until what is in memory then is shown."""
        self.wait("return +document.getElementById('moment').dataset.step === arguments[0]", step)

    def shown_step(self) -> int:
        return int(self.script("return +document.getElementById('moment').dataset.step"))

    def complaints(self) -> list[str]:
        """What the console has to say; requests that were made; whether the page gave up."""
        lines = [str(entry["message"]) for entry in self.browser.get_log("browser")]  # type: ignore[no-untyped-call]
        requests: list[str] = self.script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        return lines + requests + ([] if self.script("return document.getElementById('problem').hidden") else ["gave up"])
