"""What people do with the pages, in a real browser."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="no Selenium: it belongs to the group test")

from selenium.webdriver.common.keys import Keys

import headwater as hw
from headwater.types import Label
from pages.browsers import DESK, PHONE, Browser, axe, chromium
from pages.serving import Serving, serving

PAGES = ("label", "", "features", "people", "events/event%200")
HOSTILE = "<script>window.hacked=1</script><img src=x onerror=hacked=1>\u202e\x07"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path) as site:
        yield site


@pytest.fixture
def logged_in(browser: Browser, site: Serving) -> Browser:
    """A browser whose person sees the labelling page of ten open questions."""
    site.send(10)
    browser.screen(DESK)
    browser.log_in(site.url, site.token)
    browser.open(f"{site.url}/s/main/label")
    browser.complaints()
    return browser


def given_labels(site: Serving) -> dict[int, Label | None]:
    """The answer that counts of every question that has one."""
    rows = site.plant.desk.questions(None, limit=1_000)
    return {row.question: row.label for row in rows if row.state in ("answered", "applied")}


def test_fifty_cards_by_keyboard_three_undone_and_the_network_dropped_in_between(
    browser: Browser, site: Serving
) -> None:
    """Every key counts once, for the card on which it was pressed."""
    site.send(80)
    browser.log_in(site.url, site.token)
    browser.open(f"{site.url}/s/main/label")
    keys, said = random.Random(0), dict[int, Label | None]()
    for step in range(50):
        if step == 20:
            browser.is_sent()
            browser.connection(there=False)
        if step == 22:
            browser.wait("document.getElementById('waiting').textContent.includes('kept here')")
            assert len(given_labels(site)) == 20
            browser.connection(there=True)
        if step == 30:
            browser.is_sent()  # what is not sent yet would be taken back in the page alone
            for _ in range(3):
                browser.press(Keys.BACKSPACE)
                browser.is_sent()
                del said[browser.card()]
        question, key = browser.card(), keys.choice("12")
        assert question not in said, "a card came twice"
        browser.press(key)
        browser.wait(
            "document.querySelector('.card')?.dataset.question !== arguments[0]", str(question)
        )
        said[question] = key == "1"
    browser.is_sent()
    assert given_labels(site) == said
    assert len(said) == 47
    assert len(site.facts("answer")) == 50
    assert len(site.facts("retraction")) == 3


def test_an_act_whose_reply_was_lost_counts_once(logged_in: Browser, site: Serving) -> None:
    lose_reply = """
        const real = window.fetch; let lost = 0;
        window.fetch = async (...all) => {
            const reply = await real(...all);
            if (lost++ < arguments[0]) throw new TypeError("lost");
            return reply;
        };"""
    first = logged_in.card()
    logged_in.run(lose_reply, 1)
    logged_in.press("1")
    logged_in.is_sent()
    second = logged_in.card()
    logged_in.press("2")
    logged_in.is_sent()
    logged_in.run(lose_reply, 1)
    logged_in.press(Keys.BACKSPACE)
    logged_in.is_sent()
    assert given_labels(site) == {first: True}
    assert logged_in.card() == second
    assert len(site.facts("answer")) == 2


def test_answers_wait_in_the_browser_when_the_page_is_closed_without_a_connection(
    logged_in: Browser, site: Serving
) -> None:
    question = logged_in.card()
    logged_in.connection(there=False)
    logged_in.press("1")
    logged_in.wait("document.getElementById('waiting').textContent.includes('kept here')")
    logged_in.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    logged_in.connection(there=True)
    assert given_labels(site) == {}
    logged_in.open(f"{site.url}/s/main/label")
    logged_in.card()
    logged_in.is_sent()
    assert given_labels(site) == {question: True}


def test_two_tabs_keep_their_answers_beside_each_other(logged_in: Browser, site: Serving) -> None:
    """What one tab could not send is not lost when the other has sent all that it had."""
    driver = logged_in.driver
    one = driver.current_window_handle
    first = logged_in.card()
    driver.switch_to.new_window("tab")
    other = driver.current_window_handle
    logged_in.open(f"{site.url}/s/main/label")
    assert logged_in.card() == first, "the cards are the person's, not the tab's"
    driver.switch_to.window(one)
    logged_in.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    logged_in.press("1")
    second = logged_in.card()
    logged_in.press("2")
    logged_in.wait("document.getElementById('waiting').textContent.includes('2 answers')")
    driver.close()
    driver.switch_to.window(other)
    logged_in.press("1")
    logged_in.is_sent()
    assert given_labels(site) == {first: True}
    logged_in.open(f"{site.url}/s/main/label")
    logged_in.card()
    logged_in.is_sent()
    assert given_labels(site) == {first: True, second: False}


def test_undo_reaches_back_to_the_first_card_of_the_day_after_the_page_was_opened_anew(
    browser: Browser, site: Serving
) -> None:
    site.send(20)
    browser.log_in(site.url, site.token)
    browser.open(f"{site.url}/s/main/label")
    asked = []
    for _ in range(12):
        asked.append(browser.card())
        browser.press("1")
        browser.is_sent()
    browser.open(f"{site.url}/s/main/label")
    browser.card()
    for question in reversed(asked):
        browser.press(Keys.BACKSPACE)
        browser.is_sent()
        assert browser.card() == question
    assert given_labels(site) == {}
    browser.press(Keys.BACKSPACE)
    browser.is_sent()
    assert "nothing" in browser.text("#said")


def test_a_number_is_typed_and_corrected_on_its_page(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, hw.PARegressor()) as site:
        for i in range(6):
            site.plant.receive({"size": float(i)}, id=f"room {i}")
        browser.screen(DESK)
        browser.log_in(site.url, site.token)
        browser.open(f"{site.url}/s/main/label")
        first = browser.card()
        browser.press(*"2,5", Keys.ENTER)
        browser.is_sent()
        second = browser.card()
        browser.press("-", "-", Keys.ENTER)
        assert "not a number" in browser.text("#said")
        assert browser.card() == second
        browser.press(Keys.BACKSPACE, Keys.BACKSPACE, "7", Keys.ENTER)
        browser.is_sent()
        third = browser.card()
        browser.press(" ")
        browser.is_sent()
        assert len(site.facts("skip")) == 1
        browser.card()
        browser.press("4", Keys.ENTER)
        browser.is_sent()
        browser.press(Keys.BACKSPACE)
        browser.is_sent()
        assert given_labels(site) == {first: 2.5, second: 7.0}
        assert third not in given_labels(site)
        browser.press("g")
        assert browser.text(".guess").startswith("The model")
        event = next(r.event for r in site.plant.desk.questions(None) if r.question == first)
        browser.open(f"{site.url}/s/main/events/{str(event).replace(' ', '%20')}")
        browser.type("#right", "3")
        browser.press(Keys.ENTER)
        browser.wait("document.querySelector('#p-people + .figure bdi')?.textContent === '3'")
        assert given_labels(site)[first] == 3.0


def test_times_are_shown_in_the_zone_of_the_viewer(logged_in: Browser, site: Serving) -> None:
    logged_in.driver.execute_cdp_cmd(
        "Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"}
    )
    try:
        logged_in.open(f"{site.url}/s/main/label")
        logged_in.card()
        at = logged_in.run("return Number(document.querySelector('.card time').dataset.at)")
        there = datetime.fromtimestamp(at, timezone(timedelta(hours=5, minutes=45)))
        assert logged_in.text(".card time").endswith(there.strftime("%H:%M:%S"))
        logged_in.open(f"{site.url}/s/main/events/event%200")
        assert logged_in.run("return document.querySelector('time').title").startswith("Asia/")
    finally:
        logged_in.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_two_people_at_once_never_have_the_same_card(browser: Browser, site: Serving) -> None:
    site.send(16)
    with chromium() as other:
        people = {"ada": browser, "bob": other}
        for name, one in people.items():
            one.open(site.invite(name))
            one.wait("location.pathname.endsWith('/label')")
        held: dict[str, list[int]] = {"ada": [], "bob": []}
        for _ in range(5):
            for name, one in people.items():
                held[name].append(one.card())
                one.press("1")
                one.is_sent()
        assert not set(held["ada"]) & set(held["bob"])
        rows = site.plant.desk.people()
        assert {one.name: one.answers for one in rows} == {"ada": 5, "bob": 5}


def test_skip_unsure_and_bad_event_do_what_their_buttons_say(
    logged_in: Browser, site: Serving
) -> None:
    done = []
    for key in (" ", "u", "b"):
        done.append(logged_in.card())
        logged_in.press(key)
        logged_in.is_sent()
    kinds = {
        one["kind"]: one["target"]
        for kind in ("skip", "unsure", "removal")
        for one in site.facts(kind)
    }
    assert kinds == dict(zip(("skip", "unsure", "removal"), done, strict=True))


def test_a_guess_is_hidden_and_that_it_was_seen_is_kept(logged_in: Browser, site: Serving) -> None:
    assert not logged_in.run("return document.querySelector('.guess').checkVisibility()")
    logged_in.press("1")
    logged_in.is_sent()
    logged_in.card()
    logged_in.press("g")
    assert logged_in.text(".guess").startswith("The model")
    logged_in.press("1")
    logged_in.is_sent()
    assert [one["key"].endswith("+guess") for one in site.facts("answer")] == [False, True]


def test_a_key_that_is_held_down_answers_one_card(logged_in: Browser, site: Serving) -> None:
    logged_in.card()
    logged_in.run(
        """for (const repeat of [false, true, true, true]) {
             const event = new KeyboardEvent("keydown", {key: "1", repeat, bubbles: true});
             document.body.dispatchEvent(event);
           }"""
    )
    logged_in.is_sent()
    assert len(given_labels(site)) == 1


def test_with_many_classes_one_types_and_a_new_class_is_confirmed(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path, hw.MPAA()) as site:
        topics = [f"topic-{letter}" for letter in "abcdefghijk"]
        for i, topic in enumerate(topics):
            site.plant.receive({f"word {i}": 1.0}, label=topic)
        for i in range(40):
            site.plant.receive({f"word {i % 11}": 0.1, "x": float(i)}, id=f"text {i}")
        browser.log_in(site.url, site.token)
        browser.open(f"{site.url}/s/main/label")
        first = browser.card()
        browser.press("c-h", Keys.BACKSPACE, Keys.ENTER)  # "c-" fits all of them, topic-a is first
        browser.is_sent()
        second = browser.card()
        browser.press(*"k", Keys.ENTER)
        browser.is_sent()
        third = browser.card()
        browser.press(*"sport", Keys.ENTER)
        assert "Enter again" in browser.text("#said")
        browser.press(Keys.ENTER)
        browser.is_sent()
        assert given_labels(site) == {first: "topic-a", second: "topic-k", third: "sport"}


def test_the_first_run_page_moves_on_with_the_first_event(browser: Browser, site: Serving) -> None:
    browser.log_in(site.url, site.token)
    browser.wait("location.pathname === '/s/main/start'")
    assert f"{site.url}/v1/streams/main/events" in browser.text("pre")
    site.send(1)
    browser.wait("location.pathname === '/s/main/label'")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_card_and_answers_are_on_the_screen_without_scrolling(
    logged_in: Browser, site: Serving, size: tuple[int, int], dark: bool
) -> None:
    logged_in.screen(size, dark)
    logged_in.open(f"{site.url}/s/main/label")
    logged_in.card()
    outside = """
        const shown = ".card header, #answers button, .others button, #why, #said";
        return [...document.querySelectorAll(shown)].filter((one) => {
            const box = one.getBoundingClientRect();
            const inside = box.top >= 0 && box.bottom <= innerHeight;
            return one.checkVisibility() && !(inside && box.left >= 0 && box.right <= innerWidth);
        }).length"""
    assert logged_in.run(outside) == 0
    light = logged_in.run("return getComputedStyle(document.body).backgroundColor") > "rgb(2"
    assert light != dark
    for page in PAGES:
        logged_in.open(f"{site.url}/s/main/{page}")
        assert logged_in.run("return document.documentElement.scrollWidth <= innerWidth"), page


@pytest.mark.parametrize(
    ("size", "dark"), [(DESK, False), (DESK, True), (PHONE, False)], ids=["light", "dark", "phone"]
)
def test_axe_finds_nothing_serious_on_any_page(
    logged_in: Browser, site: Serving, size: tuple[int, int], dark: bool
) -> None:
    source = axe()
    logged_in.screen(size, dark)
    logged_in.card()
    logged_in.press("1")
    logged_in.is_sent()
    others = ("start", "events/no%20such%20event")
    addresses = [f"/s/main/{page}" for page in (*PAGES, *others)] + ["/", "/login"]
    for address in addresses:
        logged_in.open(site.url + address)
        if address.endswith("/label"):
            logged_in.card()
        logged_in.run(source)
        found = logged_in.driver.execute_async_script(
            """const done = arguments[0];  // colours are judged when nothing fades any more
               Promise.all(document.getAnimations().map((one) => one.finished))
                 .then(() => axe.run())
                 .then(({violations}) => done(
                   violations.map((one) => [one.impact, one.id, one.nodes[0].html])));"""
        )
        serious = [one for one in found if one[0] in ("serious", "critical")]
        assert not serious, f"{address}: {serious}"
        assert logged_in.driver.title, address


def test_hostile_names_are_shown_harmlessly_on_every_page(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as site:
        long = HOSTILE * 15
        site.plant.receive({HOSTILE: 1.0, long[:1_000]: 2.0, "text": HOSTILE * 2}, id=HOSTILE)
        site.plant.receive({HOSTILE: 0.0}, id="plain", group=HOSTILE)
        site.plant.receive({HOSTILE: 3.0}, id="answered")
        site.plant.desk.answer(3, True, by=HOSTILE)
        browser.screen(DESK)
        browser.log_in(site.url, site.token)
        browser.complaints()
        shown = 0
        for page in ("label", "", "features", "people"):
            browser.open(f"{site.url}/s/main/{page}")
            if page == "label":
                browser.card()
                browser.press("1")
                browser.is_sent()
                browser.wait("document.querySelector('.card .open')")
                link = browser.run("return document.querySelector('.card .open').href")
            assert browser.run("return window.hacked") is None
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), page
            text = browser.run("return document.body.innerText")
            assert "\u202e" not in text
            assert "\x07" not in text
            shown += "<script>" in text and "\\u202e" in text
        browser.open(link)
        assert browser.run("return window.hacked") is None
        assert shown >= 3, "the names stand there as text"
        assert not [one for one in browser.complaints() if "favicon" not in one]


def test_everything_can_be_done_without_a_mouse(logged_in: Browser, site: Serving) -> None:
    question = logged_in.card()
    reached = []
    for _ in range(20):
        logged_in.press(Keys.TAB)
        reached.append(logged_in.run("return document.activeElement.textContent.trim()"))
        if reached[-1].endswith("no"):
            break
    assert {"Label", "Dashboard", "Features", "People"} <= set(reached)
    outline = logged_in.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where the focus is can be seen"
    logged_in.press(Keys.ENTER)
    logged_in.is_sent()
    assert given_labels(site) == {question: False}


def test_the_choice_of_light_or_dark_is_kept(logged_in: Browser, site: Serving) -> None:
    logged_in.click("#theme")
    assert logged_in.run("return document.documentElement.dataset.theme") == "dark"
    logged_in.open(f"{site.url}/s/main/features")
    assert logged_in.run("return document.documentElement.dataset.theme") == "dark"
    logged_in.run("localStorage.clear()")


def test_somebody_is_invited_on_the_page_and_the_link_is_good_once(
    logged_in: Browser, site: Serving
) -> None:
    logged_in.open(f"{site.url}/s/main/people")
    logged_in.type("#invite-name", "carol")
    logged_in.press(Keys.ENTER)
    link = logged_in.wait("document.querySelector('#invited code')?.textContent")
    with chromium() as other:
        other.open(link)
        other.wait("location.pathname.endsWith('/label')")
        assert other.text(".person") == "carol"
        other.driver.delete_all_cookies()
        other.open("about:blank")
        other.open(link)
        assert "invitation" in other.wait("document.getElementById('wrong')?.textContent")


def test_features_are_found_and_sorted(logged_in: Browser, site: Serving) -> None:
    logged_in.open(f"{site.url}/s/main/features?sort=name")
    names = """return [...document.querySelectorAll("#features tbody tr")]
        .filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"""
    assert logged_in.run(names) == ["rain", "wind"]
    logged_in.type("#search", "win")
    assert logged_in.run(names) == ["wind"]
    logged_in.press(Keys.ENTER)
    logged_in.wait("location.search.includes('q=win')")
    assert logged_in.run(names) == ["wind"]
