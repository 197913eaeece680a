// The final exam: ten tasks that the server makes from a seed and marks. This browser keeps the seed, what was handed
// in and how many hints were asked for; a key comes with the marks and not before.

import { h } from 'lab/client/dom.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';

const KEY = 'bertviz-lab-exam';
const fresh = (sitting = '') =>
  ({ sitting, seed: 1 + Math.floor(999998 * Math.random()), answers: {}, hints: {}, drafts: {} });

/** A sitting of a workshop's room has an exam of its own. */
export function beginSitting(sitting) {
  if (recall(KEY).sitting !== sitting) remember(KEY, fresh(sitting));
}

/** Draw the exam into `place`; `onReset` is called when another exam is to be drawn. */
export async function drawExam(place, onReset) {
  const memory = { ...fresh(), ...recall(KEY) };
  const keep = (changes) => remember(KEY, Object.assign(memory, changes));
  keep({});
  const tasks = h('div.tasks');
  const score = h('p', { role: 'status' });
  const name = h('input', { type: 'text', maxlength: 80, autocomplete: 'name' });
  place.replaceChildren(h('article.one', h('h2', { tabindex: -1 }, gettext('Final exam')),
    h('p.idea', gettext('Ten tasks over the whole course, with other sentences and numbers in each exam.'), ' ',
      gettext('You need paper, a calculator, and about 40 minutes.')),
    h('p', gettext('Each task is handed in once, and then shows its answers.'), ' ',
      gettext('It has 10 points if all is right, and 5 with one mistake among three or more answers.'), ' ',
      gettext('A hint costs 2 points; 70 of 100 pass.')),
    score, tasks,
    h('h3', gettext('Certificate')),
    h('div.act', h('label.answer', h('span.name', gettext('Your name, which is kept nowhere')), name),
      h('button.action', { onclick: certify }, gettext('Open the certificate')),
      h('button.plain', { onclick: startAgain }, gettext('Start another exam')))));
  const fieldsOf = (task) => [...task.querySelectorAll('.answer :is(input, select)')];
  const valuesOf = (task) => fieldsOf(task).map(({ value }) => value.trim().slice(0, 400));

  const numbers = () => ({ seed: memory.seed, answers: memory.answers, hints: memory.hints, language: LANGUAGE });
  try {
    score.textContent = gettext('The exam is loading.');
    tasks.innerHTML = (await page.ask('lessons', 'exam', numbers())).join(''); // the server's own words: task.html
  } catch ({ message }) {
    score.textContent = gettext(message);
    return;
  }
  for (const task of tasks.children) restore(task);
  tell();
  tasks.addEventListener('input', ({ target }) => {
    const task = target.closest('.exam-task');
    keep({ drafts: { ...memory.drafts, [task.dataset.task]: valuesOf(task) } });
  });
  tasks.addEventListener('submit', (event) => {
    event.preventDefault();
    const task = event.target.closest('.exam-task');
    const status = task.querySelector('.status');
    if (!status) return; // it was handed in, and Enter pressed in one of its fields
    const values = valuesOf(task);
    if (values.includes('') && !status.textContent) {
      status.textContent = gettext('Some answers are empty. Press again to hand in as it is.');
      return;
    }
    ask(task, values);
  });
  tasks.addEventListener('click', ({ target }) => {
    const task = target.closest('.ask-hint')?.closest('.exam-task');
    if (task) ask(task);
  });

  function restore(task) {
    const draft = memory.drafts[task.dataset.task] ?? [];
    if (!task.dataset.points) fieldsOf(task).forEach((field, at) => { field.value = draft[at] ?? ''; });
  }

  /** Hand in the answers to a task, or without any ask for its next hint. */
  async function ask(task, answers = null) {
    const number = Number(task.dataset.task);
    const hints = Number(task.dataset.hints) + (answers ? 0 : 1);
    const status = task.querySelector('.status');
    for (const button of task.querySelectorAll('.act button')) button.disabled = true;
    try {
      const question = { seed: memory.seed, number, hints, answers, language: LANGUAGE };
      const html = await page.ask('lessons', 'exam_task', question, `exam ${number}`);
      keep({ hints: { ...memory.hints, [number]: hints },
        ...(answers && { answers: { ...memory.answers, [number]: answers } }) });
      task.insertAdjacentHTML('afterend', html); // as above
      const next = task.nextElementSibling;
      task.remove();
      restore(next);
      next.querySelector(answers ? 'h3' : '.hint-text:last-of-type').focus();
      tell();
    } catch ({ message }) {
      for (const button of task.querySelectorAll('.act button')) button.disabled = false;
      status.textContent = gettext(message);
    }
  }

  function tell() {
    const done = [...tasks.querySelectorAll('[data-points]')];
    const points = done.reduce((sum, { dataset }) => sum + Number(dataset.points), 0);
    score.textContent = gettext('{done} of {count} tasks handed in, {points} points.',
      { done: done.length, count: tasks.children.length, points });
  }

  async function certify() {
    const tab = window.open('', '_blank'); // at once: later a browser may take it for an advertisement
    try {
      tab.document.write(await page.ask('lessons', 'certificate', { ...numbers(), name: name.value }));
      tab.document.close();
    } catch ({ message }) {
      tab.close();
      score.textContent = gettext(message);
    }
  }

  function startAgain() {
    if (!window.confirm(gettext('Leave this exam, and start another one?'))) return;
    remember(KEY, fresh(memory.sitting));
    onReset();
  }
}
