"""The pages in a real browser: from a price to an answer, and nothing that anybody slips in runs."""

import json
import shutil
from fractions import Fraction
from urllib.request import ProxyHandler, build_opener

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.servers import absent
from tests.unit.server.conftest import serving, write_home

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run --disable-quic --window-size=1000,1400"
)
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "' onmouseover='alert(4)",
    "{{7*7}}{% raw %}",
    "javascript:alert(5)",
    "</title></textarea><iframe srcdoc='<script>parent.alert(6)</script>'>",
    "<a href=javascript:alert(7)>x</a>",
    "\u202e\u0000-free <b>bold</b>".replace("\u0000", ""),
)


@pytest.fixture(scope="module")
def browser():
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        absent("Chromium with its driver (chromium, chromedriver)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_page_load_timeout(20)
    yield started
    started.quit()


def write_hostile(folder):
    """Write a home in which whatever is text is hostile."""
    path = write_home(folder, rows=60, options="expects = 20\npurpose = " + json.dumps(" ".join(HOSTILE)))
    values = ["north", *HOSTILE[:8]]
    columns = f'[columns.ward]\nkind = "category"\nvalues = {json.dumps(values)}\n'
    age = '[columns.age]\nkind = "integer"\nlower = 0\nupper = 100000\n'
    (folder / "visits.toml").write_text(f'name = "visits"\nneighbours = "add-remove"\n{columns}{age}')
    (folder / "visits.csv").write_text("ward,age\n" + "north,30\n" * 60)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with serving(write_hostile(tmp_path_factory.mktemp("hostile"))) as server:
        server.analyst = server.key("acme")
        ledger = server.datasets.get("visits").curator.ledger
        for place, text in enumerate(HOSTILE):
            ledger.note_use(text, loss=text)
            server.datasets.access.add_study("visits", f"study{place}", Fraction(1, 9), purpose=text)
        status, _ = server.ask(
            "SELECT COUNT(*) AS n FROM visits", key=server.analyst, fresh=True, insist=True
        )
        assert status == 200
        yield server


@pytest.fixture
def visit(browser, site):
    """Open pages; at the end nothing may have run that is not ours, and nothing may have been blocked."""
    browser.get_log("browser")

    def go(path):
        browser.get(f"http://127.0.0.1:{site.port}{path}")
        return browser

    yield go
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert
    said = [line["message"] for line in browser.get_log("browser")]
    # A refused request is noted by the browser itself; anything else would be a fault of the page.
    assert [one for one in said if "the server responded with a status of" not in one] == []
    assert browser.get_cookies() == []
    stored = "return [localStorage.length, sessionStorage.length]"
    assert browser.execute_script(stored) == [0, 0]


def find(browser, name):
    return browser.find_element(By.ID, name)


def press(browser, name):
    browser.execute_script("document.getElementById('out').replaceChildren()")
    find(browser, name).click()
    wait = WebDriverWait(browser, 20)
    wait.until(lambda _: find(browser, "out").find_elements(By.CSS_SELECTOR, ".panel"))
    wait.until(lambda _: find(browser, "buy").is_enabled())
    panel = browser.find_element(By.CSS_SELECTOR, "#out .panel")
    return panel.get_attribute("data-kind"), panel.text


def fill(browser, **fields):
    for name, text in fields.items():
        find(browser, name).clear()
        find(browser, name).send_keys(text)


@pytest.mark.parametrize("path", ["/", "/registry/visits", "/console"])
def test_what_is_hostile_is_only_text(visit, path):
    browser = visit(path)
    assert browser.find_elements(By.TAG_NAME, "h1")
    for tag in ("img", "iframe"):
        assert browser.find_elements(By.TAG_NAME, tag) == []
    assert len(browser.find_elements(By.TAG_NAME, "script")) == (path == "/console")
    hrefs = [one.get_attribute("href") for one in browser.find_elements(By.TAG_NAME, "a")]
    assert all(href.startswith("http://127.0.0.1") for href in hrefs)
    if path != "/console":
        text = browser.find_element(By.TAG_NAME, "main").text
        assert "<img src=x onerror=alert(1)>" in text
        assert "{{7*7}}" in text
        assert "49{%" not in text


def test_the_registry_page_draws_its_chart(visit):
    browser = visit("/registry/visits")
    chart = browser.find_element(By.CSS_SELECTOR, "svg.chart")
    assert "What was left" in chart.get_attribute("aria-label")
    line = chart.find_element(By.CSS_SELECTOR, "polyline.left")
    assert line.value_of_css_property("fill") == "none"  # the style sheet was loaded
    assert chart.size["width"] > 300


def test_from_a_price_to_an_answer(visit, site):
    browser = visit("/console")
    question = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    fill(browser, key=site.analyst, sql=question)
    ledger = site.datasets.get("visits").curator.ledger
    before = ledger.spent()
    kind, text = press(browser, "price")
    assert kind == "price"
    assert "charges nothing" in text
    assert "±" in text
    assert ledger.spent() == before
    kind, text = press(browser, "buy")
    assert kind == "answer"
    assert "north" in text
    assert "<img src=x onerror=alert(1)>" in text  # a value of the column, as text
    assert "Left for you: epsilon" in text
    assert len(browser.find_elements(By.CSS_SELECTOR, "#out svg.bar")) == 9
    assert ledger.spent() == before


def test_a_question_that_costs_is_priced_and_charged_once(visit, site):
    browser = visit("/console")
    fill(browser, key=site.analyst, sql="SELECT AVG(age) AS n FROM visits")
    ledger = site.datasets.get("visits").curator.ledger
    spent, entries = ledger.spent(), len(ledger.entries())
    kind, text = press(browser, "price")
    assert kind == "price"
    assert "charges epsilon 0." in text and "refused" not in text
    note = browser.find_element(By.CSS_SELECTOR, "#out p.note").text  # it would say nothing: not buried below
    assert "of what is possible" in note and "would make it useful." in note
    assert ledger.spent() == spent
    fill(browser, key=site.datasets.access.make_key("poor"))
    site.datasets.access.grant("poor", "visits", Fraction(1, 1000))
    assert "It would be refused now. the share of poor: asked" in press(browser, "price")[1]
    fill(browser, key=site.analyst)
    kind, text = press(browser, "buy")
    assert kind == "wrong" and "nothing was charged" in text and "or tick insist." in text
    find(browser, "insist").click()
    kind, text = press(browser, "buy")
    assert kind == "answer"
    assert "charged epsilon 0." in text
    assert "Receipt, to keep" in text
    kind, text = press(browser, "buy")
    assert "charged nothing now" in text
    assert len(ledger.entries()) == entries + 1


def test_what_may_be_asked_about_is_listed_before_a_question_is_written(visit, site):
    browser = visit("/console")
    fill(browser, key=site.analyst)
    kind, text = press(browser, "columns")
    assert kind == "columns"
    assert "age integer 0 to 100000" in text and "<img src=x onerror=alert(1)>" in text
    assert "Counts over ward" in text and "Left for you: epsilon" in text
    fill(browser, key="dk_wrong")
    assert press(browser, "columns")[0] == "wrong"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sql": "SELECT * FROM visits"}, "single rows are never shown"),
        ({"sql": 'SELECT "<img src=x onerror=alert(8)>" FROM visits'}, ""),
        ({"sql": "<script>alert(9)</script>"}, ""),
        ({"key": "dk_wrong"}, "Send a key that is valid"),
        ({"key": "<img src=x onerror=alert(1)>"}, "Send a key that is valid"),
        ({"study": "<b>none</b>"}, ""),
    ],
)
@pytest.mark.parametrize("button", ["price", "buy"])
def test_what_is_refused_is_said_in_words(visit, site, fields, words, button):
    browser = visit("/console")
    fill(browser, **{"key": site.analyst, "sql": "SELECT COUNT(*) AS n FROM visits"} | fields)
    kind, text = press(browser, button)
    assert kind == "wrong"
    assert words in text
    assert browser.find_elements(By.CSS_SELECTOR, "#out b, #out img, #out script") == []


def test_an_empty_form_sends_nothing_and_the_key_never_leaves_by_the_address(visit, site):
    browser = visit("/console")
    find(browser, "buy").click()
    assert browser.find_elements(By.CSS_SELECTOR, "#out .panel") == []
    fill(browser, key=site.analyst, sql="SELECT 1")
    assert find(browser, "key").get_attribute("type") == "password"
    assert find(browser, "key").get_attribute("name") == ""  # no form could send it
    press(browser, "price")
    assert browser.current_url == f"http://127.0.0.1:{site.port}/console"


def test_a_server_that_is_gone_is_said_so(browser, tmp_path):
    with serving(write_home(tmp_path, rows=30)) as server:
        key = server.key()
        browser.get(f"http://127.0.0.1:{server.port}/console")
        fill(browser, key=key, sql="SELECT COUNT(*) AS n FROM visits")
    kind, text = press(browser, "buy")
    assert kind == "wrong"
    assert "cannot be reached" in text
    browser.get_log("browser")


def test_pages_fit_on_a_phone(visit):
    browser = visit("/registry/visits")
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for path in ("/", "/registry/visits", "/console"):
            visit(path)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_policy_lets_nothing_else_in(site):
    reply = build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{site.port}/console")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    text = reply.read().decode()
    assert "style=" not in text
    assert "onclick" not in text
