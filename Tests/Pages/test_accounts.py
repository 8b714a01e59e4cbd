"""The pages of many accounts in a real browser: a caretaker's and a wearer's."""

import unittest
from pathlib import Path

import axe_core_python
from selenium.webdriver.common.by import By

from browser import NARROW, WIDE, Browser
from served import Served, until

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
JOBS = """\
version: 1
backend: {{ url: "{url}", retry_wait: 1ms }}
accounts: accounts.d
sources:
  - {{ kind: apple-health-export, path: "{folder}/{{account}}.xml", time_zone: UTC }}
fresh: {{ heart_rate: 3650d }}
jobs:
  - {{ id: refresh, kind: refresh, schedule: {{ every: 4h }} }}
  - {{ id: upload, kind: bulk-upload, schedule: {{ every: 1h }} }}
"""
# A value that no other account, and no number of a page, is likely to have.
RATES = {"anna": 187, "ben": 193}


class ServedAccounts(Served):
    """Anna and Ben have data; nobody has logged Kim in."""

    def begin(self, years):
        self.begin_with(JOBS)
        (self.folder / "accounts.d").mkdir()
        for name in ("anna", "ben", "kim"):
            self.run("accounts", "add", name, "--login", f"{name}@example.org")
        for name, rate in RATES.items():
            password = f"Invented-Passw0rd-{name}!\n"
            words = ("--email", f"{name}@example.org", "--password-stdin")
            person = ("--first-name", "In", "--last-name", "Vented", "--accept-terms")
            self.run("--account", name, "auth", "register", *words, *person, given=password)
            self.run("--account", name, "auth", "login", *words, given=password)
            self.write_export(name, rate)
            self.run("run", f"{name}/refresh", f"{name}/upload")

    def write_export(self, name, rate):
        date = "2026-10-01 08:00:00 +0000"
        (self.folder / f"{name}.xml").write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE HealthData [\n]>\n<HealthData locale="en_GB">\n'
            '<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" unit="count/min" '
            f'startDate="{date}" endDate="{date}" value="{rate}"/>\n</HealthData>\n'
        )

    def account_link(self, name):
        return self.run("serve", "link", "--account", name).strip()


def setUpModule():
    global served, browser
    served = ServedAccounts()
    try:
        served.link_of_caretaker = served.serve()
        browser = Browser()
    except BaseException:
        served.close()
        raise


def tearDownModule():
    browser.quit()
    served.close()


def links():
    return [
        one.text for one in browser.find_elements(By.CSS_SELECTOR, "#pages a") if one.is_displayed()
    ]


def open_page(page):
    browser.get(f"{served.url}/{page}")
    until(browser.settled, f"the page {page}")


class Pages(unittest.TestCase):
    def come_in(self, link):
        browser.resize(WIDE)
        browser.delete_all_cookies()
        browser.get(link)
        until(browser.settled, "the first page")

    def sound(self):
        browser.execute_script(AXE)
        found = browser.execute_async_script(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})"
            ".then((result) => arguments[0](result.violations.map((one) => one.id)))"
        )
        self.assertEqual(found, [])

    def test_the_caretaker_sees_states_of_all_and_values_of_nobody(self):
        self.come_in(served.run("serve", "link").strip())
        self.assertEqual(links(), ["Accounts", "Jobs", "Machine", "Access"])
        self.assertEqual(browser.text("#main h1"), "Accounts")
        self.assertEqual(browser.texts("[data-account]"), ["anna", "ben", "kim"])
        self.assertIn("3 accounts, 2 up to date", browser.text("#main"))
        self.assertIn("not known yet", browser.text("#main"))
        self.sound()
        for size in (WIDE, NARROW):
            browser.resize(size)
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, size[0])
        browser.resize(WIDE)
        for page in ("accounts", "jobs", "jobs?account=ben", "machine", "explore", "access"):
            open_page(page)
            for rate in RATES.values():
                self.assertNotIn(str(rate), browser.text("#main"), page)

    def test_the_caretaker_sees_every_session_and_no_audit_log(self):
        self.come_in(served.run("serve", "link", "--account", "anna").strip())
        self.come_in(served.run("serve", "link").strip())
        open_page("access")
        sessions = served.json("serve", "sessions", "list")
        shown = browser.texts("[data-session]")
        self.assertEqual(shown, [one["session"] for one in reversed(sessions)])
        self.assertIn("anna", browser.text("[aria-label='Sessions']"))
        self.assertEqual(browser.texts("[data-entry]"), [])
        self.sound()

    def test_the_caretaker_comes_from_an_account_to_its_jobs(self):
        self.come_in(served.run("serve", "link").strip())
        browser.find_element(By.CSS_SELECTOR, '[data-account="ben"]').click()
        until(lambda: browser.text("#main h1") == "Jobs of ben", "the jobs of ben")
        until(lambda: browser.texts("[data-job] h3"), "each job")
        jobs = [one.split()[0] for one in browser.texts("[data-job] h3")]
        self.assertEqual(jobs, ["ben/refresh", "ben/upload"])

    def test_only_accounts_that_are_not_up_to_date_are_shown(self):
        self.come_in(served.run("serve", "link").strip())
        open_page("accounts?show=not-fresh")
        self.assertEqual(browser.texts("[data-account]"), ["kim"])

    def test_a_wearer_sees_their_own_values_and_no_accounts(self):
        self.come_in(served.account_link("anna"))
        self.assertNotIn("Accounts", links())
        self.assertIn("Today", links())
        self.assertIn("anna", browser.text("#installation"))
        open_page("explore?type=HeartRate&from=2026-09-01T00:00:00Z&to=2026-11-01T00:00:00Z")
        until(lambda: browser.text("#shown data.max"), "the numbers")
        self.assertEqual(browser.values("#shown data.max"), [float(RATES["anna"])])
        for page in ("today", "data", "jobs", "sources", "machine", "access"):
            open_page(page)
            self.assertNotIn(str(RATES["ben"]), browser.text("#main"), page)
            self.assertNotIn("ben", browser.text("#main").split(), page)
        open_page("accounts")
        self.assertNotIn("kim", browser.text("#main"))

    def test_a_logout_ends_the_session(self):
        self.come_in(served.account_link("anna"))
        [cookie] = browser.get_cookies()
        browser.find_element(By.ID, "leave").click()
        until(lambda: browser.current_url == f"{served.url}/enter", "the way in")
        self.assertEqual(browser.get_cookies(), [])
        browser.add_cookie({"name": cookie["name"], "value": cookie["value"]})
        browser.get(f"{served.url}/today")
        self.assertEqual(browser.current_url, f"{served.url}/enter")
