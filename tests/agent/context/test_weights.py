"""What readings teach of a model: how near the estimates come, what is refused, and where it is kept."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.features import NONE, Features, of_text
from agent.context.weights import KEY, MOST_MODELS, ROUGH, LearnedWeights, Weights
from session.db import SessionDB
from session.models import ApiMode, Route
from tests.honesty import texts
from tests.honesty.tokenizer import tokens

ROUTE = Route("p", "m", "http://127.0.0.1/v1", ApiMode.CHAT)
KINDS = (
    *(texts.prose, texts.mixed, texts.code) * 3,
    *(texts.log, texts.records, texts.hexadecimal, texts.base_64, texts.cjk, texts.other),
)
SYSTEM, TOOLS = 3_000, 5_000  # characters
FRAME = 7  # tokens around a message

Reading = tuple[Features, int]
Count = Callable[[str], int]


def single_digits(text: str) -> int:
    """As tokenizers count that make a token of each digit; ours takes up to three at once."""
    return tokens(text) + sum(len(run) - -(-len(run) // 3) for run in re.findall(r"\d+", text))


def small_vocabulary(text: str) -> int:
    """As one that knows fewer long words."""
    return tokens(text) * 4 // 3


def said(dice: Random, messages: int, tokens: Count = tokens) -> Reading:
    """Some messages of any kind, and what a server counts for them."""
    found = [dice.choice(KINDS)(dice, dice.randint(200, 4_000)) for _ in range(messages)]
    features = sum(map(of_text, found), Features(messages=messages))
    return features, sum(map(tokens, found)) + FRAME * messages


def request(dice: Random, messages: int, tokens: Count = tokens) -> Reading:
    """A whole one, with what stands before its messages."""
    features, counted = said(dice, messages, tokens)
    prompt = texts.prose(dice, SYSTEM)
    fixed = Features(messages=1, tools=TOOLS) + of_text(prompt)
    return features + fixed, counted + tokens(prompt) + TOOLS * 2 // 9 + 60


def off_by(weights: Weights, reading: Reading) -> float:
    features, counted = reading
    return abs(weights.tokens(features) - counted) / counted


def nearly_worst(errors: list[float]) -> float:
    """The 95th of a hundred."""
    return sorted(errors)[len(errors) * 95 // 100]


def conversations(dice: Random, count: Count) -> Iterator[Reading]:
    yield from (request(dice, messages, count) for messages in (3, 8, 20))


of_each_tokenizer = pytest.mark.parametrize("count", [tokens, single_digits, small_vocabulary])


@of_each_tokenizer
def test_estimates_are_rough_before_any_reading(count: Count):
    errors = [off_by(ROUGH, one) for seed in range(10) for one in conversations(Random(seed), count)]
    assert nearly_worst(errors) <= 0.5


@of_each_tokenizer
def test_after_three_readings_of_any_content_estimates_of_other_content_are_near(count: Count):
    errors: list[float] = []
    for seed in range(20):
        dice, weights = Random(seed), ROUGH
        for reading in (request(dice, 2, count), said(dice, 3, count), said(dice, 3, count)):
            weights = weights.learned(*reading)
        errors += [off_by(weights, one) for one in conversations(dice, count)]
    assert nearly_worst(errors) <= 0.15


@pytest.mark.parametrize("kind", [texts.hexadecimal, texts.base_64, texts.cjk, texts.other, texts.records])
def test_what_chars_by_four_misjudge_is_learned_from_a_few_readings(kind: texts.Make):
    dice, weights = Random(1), ROUGH
    for _ in range(4):
        text = kind(dice, 3_000)
        weights = weights.learned(Features(messages=1) + of_text(text), tokens(text) + FRAME)
    text = kind(dice, 20_000)
    assert off_by(weights, (of_text(text), tokens(text))) < 0.1


def test_many_readings_of_one_kind_spoil_no_other():
    dice, weights = Random(2), ROUGH
    for _ in range(60):
        text = texts.prose(dice, 2_000)
        weights = weights.learned(Features(messages=1) + of_text(text), tokens(text) + FRAME)
    assert off_by(weights, said(dice, 20)) < 0.2


@pytest.mark.parametrize("each", [85, 765, 4_000])
def test_the_price_of_an_image_is_learned(each: int):
    dice, weights = Random(3), ROUGH
    for count in (1, 2, 1):
        features, counted = said(dice, 2)
        weights = weights.learned(features + Features(images=count), counted + each * count)
    assert weights.tokens(Features(images=10)) == pytest.approx(each * 10, rel=0.2, abs=600)


@pytest.mark.parametrize("each", [1, 500_000])
def test_no_image_costs_what_none_can(each: int):
    weights = ROUGH
    for _ in range(30):
        weights = weights.learned(Features(messages=1, images=1), each)
    assert 64 <= weights.tokens(Features(images=1)) <= 32_768


def test_one_wrong_reading_among_right_ones_does_little():
    dice, weights = Random(4), ROUGH
    for _ in range(6):
        weights = weights.learned(*said(dice, 2))
    features, counted = said(dice, 2)
    misled, probe = weights.learned(features, counted * 2), said(dice, 10)
    assert misled.tokens(probe[0]) == pytest.approx(weights.tokens(probe[0]), rel=0.1)


@pytest.mark.parametrize("counted", [0, -5, 3, 60_000], ids=["none", "negative", "too few", "too many"])
def test_a_reading_that_no_tokenizer_gives_teaches_nothing(counted: int):
    assert ROUGH.learned(of_text("Some words that are read. " * 100), counted) is ROUGH


def test_no_content_teaches_nothing():
    assert ROUGH.learned(NONE, 12) is ROUGH
    assert ROUGH.learned(Features(words=100) - Features(words=200), 12) is ROUGH


amounts = st.builds(
    lambda text, messages, images: of_text(text) + Features(messages=messages, images=images),
    st.text(max_size=300),
    st.integers(0, 9),
    st.integers(0, 2),
)


@given(st.lists(st.tuples(amounts, st.integers(-10, 100_000)), max_size=12), amounts)
def test_whatever_is_read_more_content_never_costs_less(readings: list[Reading], more: Features):
    weights = ROUGH
    for reading in readings:
        weights = weights.learned(*reading)
    assert weights.tokens(NONE) == 0
    assert weights.tokens(more + Features(words=100)) >= weights.tokens(more) + 40


# --- kept in the store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SessionDB]:
    opened = SessionDB.open(tmp_path / "state.db")
    yield opened
    opened.close()


def taught(learned: LearnedWeights, model: str, seed: int = 0) -> Weights:
    route = Route("p", model, ROUTE.base_url, ApiMode.CHAT)
    learned.learn(route, *said(Random(seed), 4))
    return learned.on(route)


async def reloaded(store: SessionDB) -> LearnedWeights:
    """As the next process finds it: what was asked to be written before is written by then."""
    await asyncio.wrap_future(store.write(lambda tables: None))
    return await LearnedWeights.load(store)


async def test_what_was_learned_holds_at_once_and_after_a_restart(store):
    learned = await LearnedWeights.load(store)
    weights = taught(learned, "m")
    kept = (await reloaded(store)).on(ROUTE)
    assert weights.readings == kept.readings == 1
    assert kept.tokens(Features(words=10_000)) == pytest.approx(weights.tokens(Features(words=10_000)), abs=2)
    assert weights.each != ROUGH.each


async def test_each_model_has_its_own(store):
    learned = await LearnedWeights.load(store)
    taught(learned, "other")
    assert learned.on(ROUTE) is ROUGH


async def test_two_processes_keep_what_either_learned(store):
    one, other = await LearnedWeights.load(store), await LearnedWeights.load(store)
    taught(one, "m")
    taught(other, "n")
    found = await reloaded(store)
    assert [found.on(Route("p", model, "", ApiMode.CHAT)).readings for model in ("m", "n")] == [1, 1]


async def test_models_that_were_not_used_for_long_are_forgotten(store):
    learned = await LearnedWeights.load(store)
    for model in ("m", *map(str, range(MOST_MODELS - 1)), "m", "last"):
        taught(learned, model)
    found = await reloaded(store)
    kept = [found.on(Route("p", model, "", ApiMode.CHAT)).readings for model in ("m", "0", "1", "last")]
    assert kept == [2, 0, 1, 1]


@pytest.mark.parametrize(
    "stored",
    ["{", "[1]", '{"p:m": 3}', json.dumps({"p:m": {"readings": 2, "each": [1.0], "doubt": [[1.0]]}})],
    ids=["cut", "no object", "no weights", "of other amounts"],
)
async def test_what_cannot_be_read_is_learned_anew(store, stored: str):
    await asyncio.wrap_future(store.write(lambda tables: tables.state.put(KEY, stored)))
    learned = await LearnedWeights.load(store)
    assert learned.on(ROUTE) == ROUGH
    taught(learned, "m")
    assert (await reloaded(store)).on(ROUTE).readings == 1


async def test_what_could_not_be_stored_holds_in_this_process(store, caplog):
    learned = await LearnedWeights.load(store)
    store.close()
    assert taught(learned, "m").readings == 1
    assert "not stored" in caplog.text
