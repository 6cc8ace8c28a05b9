"""Nobody gets in who does not belong."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import headwater as hw
from headwater.service.access import INVITATION_SECONDS, Access
from headwater.service.settings import Settings
from service.running import Running, code, running


def logged_in(one: Running, *roles: str, name: str = "ada") -> tuple[TestClient, str]:
    """A browser with a session of somebody with these roles, and its CSRF token."""
    person = one.service.access.add_person(name, roles)
    invitation, _ = one.service.access.invite(person)
    browser = one.client()
    reply = browser.post("/session", json={"code": invitation})
    assert reply.status_code == 200
    return browser, reply.json()["csrf"]


def test_the_first_start_makes_an_admin_token_and_the_second_does_not(database: str) -> None:
    with running(database) as first:
        token = first.service.new_token
        assert token is not None
    with running(database) as second:
        assert second.service.new_token is None
        again = second.client()
        header = {"Authorization": f"Bearer {token}"}
        assert again.get("/session", headers=header).json()["roles"] == ["admin"]


def test_no_secret_stands_in_the_database(tmp_path: Path) -> None:
    with running(tmp_path / "plant.db") as one:
        secrets = [one.service.new_token]
        person = one.service.access.add_person("ada", ["label"])
        secrets.append(one.service.access.invite(person)[0])
        secrets.append(one.service.access.log_in(token=secrets[0]).cookie)
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
        assert b"ada" in kept
        assert not [secret for secret in secrets if str(secret).encode() in kept]


def test_a_session_comes_by_an_invitation_that_is_good_once(one: Running) -> None:
    person = one.service.access.add_person("ada", ["label"])
    invitation, _ = one.service.access.invite(person)
    browser = one.client()
    reply = browser.post("/session", json={"code": invitation})
    assert (reply.status_code, reply.json()["name"]) == (200, "ada")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert re.search("samesite=strict", cookie, re.IGNORECASE)
    assert browser.get("/session").json()["roles"] == ["label"]
    assert code(one.client().post("/session", json={"code": invitation})) == (401, "bad_token")


def test_an_invitation_ends_after_ten_minutes(one: Running) -> None:
    now = [1000.0]
    access = Access(one.service.records, Settings(), lambda: now[0])
    invitation, expires = access.invite(access.add_person("bob", ["label"]))
    assert expires == 1000 + INVITATION_SECONDS == 1600
    now[0] = 1600.1
    with pytest.raises(Exception, match="expired"):
        access.log_in(code=invitation)


def test_a_session_that_changes_something_must_send_its_csrf_token(one: Running) -> None:
    browser, csrf = logged_in(one, "label")
    assert code(browser.delete("/session")) == (403, "bad_csrf")
    other = {"X-CSRF-Token": "0" * 64}
    assert code(browser.delete("/session", headers=other)) == (403, "bad_csrf")
    assert browser.delete("/session", headers={"X-CSRF-Token": csrf}).status_code == 204


def test_a_cookie_that_is_used_again_after_logging_out_is_worth_nothing(one: Running) -> None:
    browser, csrf = logged_in(one, "label")
    kept = browser.cookies[one.service.access.cookie_name]
    assert browser.delete("/session", headers={"X-CSRF-Token": csrf}).status_code == 204
    thief = one.client()
    thief.cookies.set(one.service.access.cookie_name, kept)
    assert code(thief.get("/session")) == (401, "no_token")


def test_who_is_removed_is_logged_out(one: Running) -> None:
    browser, _ = logged_in(one, "label")
    assert browser.get("/session").status_code == 200
    one.service.access.remove(one.service.access.person("ada").id, "person")
    assert code(browser.get("/session")) == (401, "no_token")


def test_a_session_survives_a_restart_of_the_service(database: str) -> None:
    with running(database) as one:
        browser, _ = logged_in(one, "label")
        kept = browser.cookies[one.service.access.cookie_name]
    with running(database) as again:
        browser = again.client()
        browser.cookies.set(again.service.access.cookie_name, kept)
        assert browser.get("/session").json()["name"] == "ada"


def test_a_backup_contains_tokens_and_people(tmp_path: Path) -> None:
    with running(tmp_path / "plant.db") as one:
        token = one.service.new_token
        one.service.access.add_person("ada", ["label"])
        hw.live.backup(tmp_path / "plant.db", tmp_path / "monday.hwdb")
    hw.live.restore(tmp_path / "monday.hwdb", tmp_path / "restored.db")
    with running(tmp_path / "restored.db") as restored:
        assert restored.service.new_token is None
        header = {"Authorization": f"Bearer {token}"}
        people = restored.client().get("/v1/people", headers=header).json()
        assert [person["name"] for person in people] == ["ada"]
