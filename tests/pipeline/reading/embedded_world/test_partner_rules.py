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


def test_a_sum_of_the_same_owner_and_things_is_no_restated_fact() -> None:
    tried = 0
    for seed in range(300):
        task = make_task(seed, "full")
        owned = next((fact.text for fact in task.facts if fact.public and " has " in fact.text), None)
        if owned is None or any(task.answer in fact.text.split() for fact in task.facts):
            continue
        who, _, rest = owned.partition(" has ")
        things = rest.split()[-1]
        assert gives_answer(f"{who} has 39 - 19 = {task.answer} {things}", task.answer, task.question, task.facts)
        tried += 1
    assert tried > 50
