"""A headless Chromium, and what it heard and said."""

import json
import os

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

WIDE, NARROW = (1280, 900), (390, 844)


class Browser(webdriver.Chrome):
    def __init__(self, size=WIDE, dark=False):
        options = Options()
        options.binary_location = os.environ.get("PAGES_CHROMIUM", "/usr/bin/chromium")
        for word in (
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--lang=en-GB",
            "--accept-lang=en-GB",
            f"--window-size={size[0]},{size[1]}",
        ):
            options.add_argument(word)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        super().__init__(
            options=options,
            service=Service(os.environ.get("PAGES_CHROMEDRIVER", "/usr/bin/chromedriver")),
        )
        self.asked = []
        self.said = []
        self.resize(size)
        self.theme(dark)

    def resize(self, size):
        self.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600},
        )

    def theme(self, dark):
        self.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )

    def listen(self):
        """Collects the addresses that were asked for, and the lines of the console."""
        for entry in self.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.asked.append(message["params"]["request"]["url"])
        self.said += [entry["message"] for entry in self.get_log("browser")]
        return self

    def settled(self):
        """Whether the page shows its data."""
        return self.execute_script(
            "return document.readyState === 'complete' && !!document.querySelector('#main h1')"
            " && !document.querySelector('#main .loading')"
            " && !document.querySelector('[aria-busy=true]')"
        )

    def text(self, selector):
        return self.execute_script(
            "return document.querySelector(arguments[0])?.textContent ?? null", selector
        )

    def texts(self, selector):
        return self.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
            selector,
        )

    def values(self, selector):
        """The exact numbers of `data` elements."""
        return [
            float(value)
            for value in self.execute_script(
                "return [...document.querySelectorAll(arguments[0])].map((one) => one.value)",
                selector,
            )
        ]
