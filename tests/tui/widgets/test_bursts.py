"""When an Enter sends and when it is part of pasted text."""

from __future__ import annotations

from tui.widgets.bursts import BURST_S, Bursts, Enter

NEAR = BURST_S / 10


def test_an_enter_that_was_pressed_sends():
    bursts = Bursts()
    bursts.key(1.0)
    assert bursts.enter(1.0 + BURST_S * 3) is Enter.SENDS


def test_F08_a_line_that_comes_with_its_enter_waits_for_what_follows():
    bursts = Bursts()
    bursts.key(1.0)
    assert bursts.enter(1.0 + NEAR) is Enter.WAITS


def test_F01_every_further_enter_of_a_burst_breaks_the_line():
    bursts = Bursts()
    bursts.key(1.0)
    bursts.enter(1.0 + NEAR)
    bursts.broke_line()
    bursts.key(1.0 + 2 * NEAR)
    assert bursts.enter(1.0 + 3 * NEAR) is Enter.BREAKS_LINE


def test_F02_an_enter_right_behind_a_paste_breaks_the_line():
    bursts = Bursts()
    bursts.paste(1.0)
    assert bursts.enter(1.0 + NEAR) is Enter.BREAKS_LINE


def test_F02_keys_and_an_enter_in_the_burst_of_a_paste_are_text():
    bursts = Bursts()
    bursts.paste(1.0)
    bursts.key(1.0 + NEAR)
    assert bursts.enter(1.0 + 2 * NEAR) is Enter.BREAKS_LINE


def test_an_enter_some_time_after_a_paste_sends():
    bursts = Bursts()
    bursts.paste(1.0)
    assert bursts.enter(1.0 + BURST_S * 20) is Enter.SENDS
