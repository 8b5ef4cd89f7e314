"""What a partner's turn gives away in the embedded world."""

from pipeline.reading.embedded_world.partner_rules import gives_answer
from pipeline.tasks.word_problems import make_task


def test_a_restated_fact_gives_nothing_away_though_it_holds_the_answers_number() -> None:
    held = 0
    for seed in range(300):
        task = make_task(seed, "full")
        for fact in task.facts:
            of_fact = task.model_copy(update={"answer": next(w for w in fact.text.split() if w.isdecimal())})
            assert not gives_answer(fact.text, of_fact.answer, task.question, task.facts), fact.text
            assert not gives_answer(f"Here is a fact. {fact.text}", of_fact.answer, task.question, task.facts)
            held += 1
        assert gives_answer(f"The answer is {task.answer}.", task.answer, task.question, task.facts)
    assert held > 600
