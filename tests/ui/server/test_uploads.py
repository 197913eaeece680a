"""No question of a running shared page answers what is in a file of the server."""

from pathlib import Path

from bertviz_lab.ui.views import VIEWS
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve


def test_questions_of_the_views_answer_no_path_of_the_server(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    lines = [f"the {word} is number {n},{word}" for n in range(40) for word in ("swordfish", "other")]
    secret.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    values = (str(secret), [str(secret)], {"path": str(secret), "meta": {"_type": "gradio.FileData"}})
    with serve(little_settings(tmp_path, shared=True)) as (address, _):
        server = Server(address)
        for view in VIEWS:
            for name, question in view.questions.items():
                for changed, value in ((changed, value) for changed in question.arguments for value in values):
                    arguments = dict.fromkeys(question.arguments, "") | {changed: value}
                    sent = {"view": view.id, "question": name, "arguments": arguments}
                    status, answer, _ = server.send("/lab/ask", sent)
                    assert status == 200
                    assert "swordfish" not in answer
