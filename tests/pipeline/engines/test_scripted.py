from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from pipeline.engines.model import Sampling
from pipeline.engines.open_model import open_model
from pipeline.engines.scripted import LINES
from pipeline.engines.settings import Engine


@given(st.text(), st.integers(0), st.integers(1, 20))
def test_text_is_a_pure_function_of_messages_and_seed(text: str, seed: int, limit: int) -> None:
    def ask() -> object:
        model = open_model(Engine(kind="scripted"), "any")
        return asyncio.run(
            model.complete([{"role": "user", "content": text}], Sampling(limit, temperature=0.3, seed=seed))
        )

    assert ask() == ask()


def test_every_line_is_said_and_max_tokens_cuts() -> None:
    async def everything() -> list[str]:
        model = open_model(Engine(kind="scripted"), "any")
        asks = (model.complete([{"role": "user", "content": "?"}], Sampling(50, seed=seed)) for seed in range(200))
        return [completion.text for completion in await asyncio.gather(*asks)]

    assert set(asyncio.run(everything())) == set(LINES)
    cut = asyncio.run(open_model(Engine(kind="scripted"), "any").complete([], Sampling(2)))
    assert cut.tokens == 2 and not cut.finished and any(line.startswith(cut.text) for line in LINES)
