"""The plans of a workshop add up, and its runs fit into them."""

import re
from pathlib import Path

import pytest

from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.jobs.scheduler import plan_starts
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.workshop.pages import title_of
from bertviz_lab.ui.workshop.plans import IN_EACH_LESSON, PLANS, Plan, shared_runs

each_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.minutes} minutes")


def test_there_is_a_plan_for_each_length() -> None:
    assert [plan.minutes for plan in PLANS] == [45, 90, 180]


@each_plan
def test_every_lesson_has_at_least_the_minutes_that_it_takes(plan: Plan) -> None:
    taken = [part.lesson for part in plan.parts if part.lesson]
    assert len(taken) == len(set(taken))
    assert all(part.minutes >= LESSONS[part.lesson - 1].minutes for part in plan.parts if part.lesson)
    assert all(part.lesson or part.title for part in plan.parts)
    assert len(plan.goals) >= 3


def test_the_longest_plan_has_all_lessons_and_ends_no_hour_without_a_break() -> None:
    plan = PLANS[-1]
    assert {part.lesson for part in plan.parts} - {0} == {lesson.number for lesson in LESSONS}
    breaks = [start for start, part in plan.timed() if part.title == "Break"]
    assert max(b - a for a, b in zip([0, *breaks], [*breaks, plan.minutes], strict=True)) <= 75


@each_plan
@pytest.mark.parametrize("people", [1, 10, 30, 100])
@pytest.mark.parametrize("places", [1, 4])
def test_the_queue_starts_the_runs_of_all_groups_when_the_plan_says(plan: Plan, people: int, places: int) -> None:
    for start, end in plan.training():
        largest, starts = shared_runs(people, start, end, places, 180.0)
        assert len(starts) * largest >= people > (len(starts) - 1) * largest
        queue = plan_starts([180.0 + PREPARING_SECONDS] * len(starts), [], places)
        for at, minute in enumerate(starts):
            assert 60 * (minute - start) == pytest.approx(queue[at].seconds)
        assert starts[-1] + (180.0 + PREPARING_SECONDS) / 60 <= end


def test_a_run_is_planned_even_where_it_will_not_be_done_in_time() -> None:
    assert shared_runs(30, 0, 5, 1, 3600.0) == (30, (0.0,))


def test_the_document_has_the_plans_as_they_are() -> None:
    text = (Path(__file__).parents[3] / "docs" / "workshop.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)–(\d+) \| (.+?) \| (.+) \|$", text, flags=re.M)
    planned = [
        (str(start), str(start + part.minutes), title_of(part), part.text or LESSONS[part.lesson - 1].question)
        for plan in PLANS
        for start, part in plan.timed()
    ]
    assert rows == planned
    assert IN_EACH_LESSON in " ".join(text.split())
    assert all(goal in text for plan in PLANS for goal in plan.goals)
