"""Everything that can be pressed is pressed once, in every workspace and every view, and nothing fails."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import FilePayload, Page, expect

from bertviz_lab import BertForQuestionAnswering, BertForSequenceClassification, BertForTokenClassification
from tests.browser import PageLog, at_rest
from tests.data.formats.support import PASSAGE, question, squad
from tests.little import little_folder, little_text
from tests.ui.pages import Served, little_settings, serve
from tests.ui.snapshots import little_history

#: Each workspace and what holds all of it.
SPACES = {"explore": "#explore", "train": "#train-tabs", "runs": "#runs", "learn": "#lessons"}
#: What starts a training, and what the browser itself answers.
LEFT_OUT = re.compile(
    r"^(Train|Fine-tune|Train it|Train this|Start|Record|Stop Recording)\b|Upload|Drop File|^Save .* as HTML"
)
REMOVES = re.compile(r"^(Clear|Remove)\b")  # what was uploaded


def article(number: int) -> dict[str, Any]:
    """A passage of its own with a question about it, as SQuAD has them."""
    asked = question(f"asked{number}", "1890", PASSAGE.index("1890"))
    body: dict[str, Any] = json.loads(squad(asked, passage=f"{PASSAGE} It has {number} arches."))
    return body["data"][0]


#: A file of each kind that can be uploaded: its name, its text, where it goes, what comes of it, what is pressed then.
UPLOADS = {
    "corpus": ("text.txt", little_text(), "#text-files", ("#text-health", "Documents"), "#pretrain-form"),
    "table": (
        "reviews.csv",
        "text,label\n" + "".join(f"the cat sat on day {n},{('good', 'bad')[n % 2]}\n" for n in range(40)),
        "#examples-files",
        ("#examples-facts", "Sequence classification"),
        "#finetune-form",
    ),
    "tokens": (
        "names.conll",
        "".join(f"the O\nold O\nman B-PER\nsat O\non O\nday B-DAY\n{n} I-DAY\n\n" for n in range(40)),
        "#examples-files",
        ("#examples-facts", "Token classification"),
        "#finetune-form",
    ),
    "questions": (
        "questions.json",
        json.dumps({"data": [article(n) for n in range(30)]}),
        "#examples-files",
        ("#examples-facts", "question answering"),
        "#finetune-form",
    ),
    "batch": (
        "texts.txt",
        "the red cat sat\nthe old man\n",
        "#try-file",
        ("#try-file-message", "2 predictions"),
        "#panel-batch",
    ),
}

#: Presses what is in a part of the page, and comes back to its workspace where a press has led elsewhere. Of things
#: that are alike (the tokens of a strip, the marks of a chart's table, the choices of a list) the first few.
PRESS = """async ([leftOut, most, few, scope, space]) => {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const skip = new RegExp(leftOut);
  const seen = new Set();
  const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled
    && !node.closest('footer, dialog, #space-tabs');
  const nameOf = (node) =>
    (node.getAttribute("aria-label") || node.title || node.textContent || node.value || "").trim().slice(0, 80);
  const isLeftOut = (node) => node.getAttribute('role') !== 'tab'
    && [nameOf(node), node.textContent.trim()].some((words) => skip.test(words));
  const keyOf = (node) => {
    const owner = node.closest('[id]:not(button, input, select)')?.id.replace(/[0-9]+$/, '') ?? '';
    return [owner, node.tagName, node.type ?? '', node.value ?? '', nameOf(node)].join('|');
  };
  const quiet = async () => {
    await pause(30);
    for (let turn = 0; turn < 200 && document.querySelector('[aria-busy="true"]'); turn += 1) await pause(20);
  };
  const alike = new Map();
  const isOneOfMany = (node) => {
    const owner = node.closest('[id]:not(button, input, select)')?.id;
    const kind = [owner, node.tagName, node.className, node.role].join('|');
    alike.set(kind, (alike.get(kind) ?? 0) + 1);
    return node.tagName === 'BUTTON' && alike.get(kind) > few;
  };
  const place = document.querySelector(scope);
  const comeBack = async () => {
    if (place.checkVisibility()) return;
    window.Lab.page.open({ space });
    for (let turn = 0; turn < 200 && !place.checkVisibility(); turn += 1) await pause(20);
    await quiet();
  };
  const pressed = [];
  const isTab = (node) => node.getAttribute('role') === 'tab';
  for (let turn = 0; turn < 40 && pressed.length < most; turn += 1) {
    const found = [...place.querySelectorAll('button, summary, input[type=checkbox], input[type=radio], select')]
      .filter((node) => shown(node) && !seen.has(keyOf(node)));
    const controls = found.filter((node) => !isTab(node));
    const fresh = controls.length ? controls : found.slice(0, 1); // one tab, then all that it shows
    if (!fresh.length) break;
    for (const node of fresh) {
      const key = keyOf(node);
      if (seen.has(key) || !node.isConnected || !shown(node)) continue;
      seen.add(key);
      if (isLeftOut(node) || (!isTab(node) && isOneOfMany(node))) continue;
      pressed.push(nameOf(node));
      node.scrollIntoView({ block: 'center', behavior: 'instant' });
      await pause(20);
      const open = node.ariaExpanded === 'true' || (node.tagName === 'SUMMARY' && node.parentNode.open);
      if (open) node.click(); // folded once, and opened again below
      if (node.tagName === 'SELECT') {
        for (const option of [...node.options].slice(0, 2 * few)) {
          node.value = option.value;
          node.dispatchEvent(new Event('change', { bubbles: true }));
          await quiet();
        }
      } else node.click();
      await quiet();
      await comeBack();
      if (pressed.length >= most) break;
    }
  }
  return pressed;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("everything"))
    little_history(settings.checkpoints / "history")
    labels = {"num_labels": 2}
    for name, kind in (
        ("labels", BertForSequenceClassification),
        ("entities", BertForTokenClassification),
        ("answers", BertForQuestionAnswering),
    ):
        little_folder(settings.checkpoints / name, kind=kind, **(labels if kind != BertForQuestionAnswering else {}))
    with serve(settings) as served:
        yield served


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
def test_everything_in_a_workspace_can_be_pressed(
    page: Page,
    served: Served,
    page_log: PageLog,
    caplog: pytest.LogCaptureFixture,
    space: str,
) -> None:
    address, _ = served
    page.on("dialog", lambda dialog: dialog.dismiss())
    with caplog.at_level(logging.ERROR, logger="bertviz_lab"):
        page.goto(f"{address}?space={space}")
        tab = page.locator(f"#space-tabs [data-tab-id={space}]")  # a list on a phone
        expect(tab).to_have_attribute("aria-selected", "true")
        at_rest(page)
        pressed = page.evaluate(PRESS, [LEFT_OUT.pattern, 400, 6 if space == "learn" else 3, SPACES[space], space])
        page.wait_for_timeout(500)
    assert len(pressed) > 10, pressed
    nothing_failed(page, page_log, caplog)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",  # the browser's stories of fine-tuning upload the other two
    [pytest.param(kind, marks=pytest.mark.thorough if kind in ("tokens", "questions") else ()) for kind in UPLOADS],
)
def test_everything_about_an_uploaded_file_can_be_pressed(
    page: Page, served: Served, page_log: PageLog, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    name, text, box, (shown, words), scope = UPLOADS[kind]
    with caplog.at_level(logging.ERROR, logger="bertviz_lab"):
        space = "explore" if kind == "batch" else "train"
        page.goto(f"{served[0]}?{urlencode({'space': space, 'model': 'labels'})}")
        if scope == "#finetune-form":
            page.get_by_role("tab", name="Fine-tune", exact=True).click()
        if kind == "batch":
            page.locator("#tab-batch").click()
        at_rest(page)
        file = FilePayload(name=name, mimeType="text/plain", buffer=text.encode())
        page.locator(f"{box} input[type=file]").set_input_files(file)
        expect(page.locator(shown)).to_contain_text(words)
        pressed = page.evaluate(PRESS, [f"{LEFT_OUT.pattern}|{REMOVES.pattern}", 150, 3, scope, space])
        page.wait_for_timeout(500)
    assert len(pressed) > (0 if kind == "batch" else 10), pressed
    nothing_failed(page, page_log, caplog)


def nothing_failed(page: Page, page_log: PageLog, caplog: pytest.LogCaptureFixture) -> None:
    """No line in the server's log, no error in the browser's console, and nothing that tells a visitor of one."""
    assert [record.getMessage() for record in caplog.records] == []
    assert page_log.errors == []
    expect(page.locator(".toast-wrap .error, .toast-body.error")).to_have_count(0)
    assert "Something went wrong" not in page.locator("main").inner_text()
