// One lesson: idea, what to look at, the question, and what the measurement says once a prediction was made. What a
// person has done so far is kept in this browser and nowhere else; in a workshop, for the room that it belongs to.

import { emphasised, h } from 'lab/client/dom.js';
import { gettext, page } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';

const KEY = 'bertviz-lab-lessons';
const before = recall(KEY);

export const memory = {
  at: Number.isInteger(before.at) ? before.at : 1,
  chosen: before.chosen && typeof before.chosen === 'object' ? before.chosen : {},
  done: Array.isArray(before.done) ? before.done.filter(Number.isInteger) : [],
  room: String(before.room ?? ''),
  called: Number.isInteger(before.called) ? before.called : 0, // the number of the leader's last call that was followed
};
export const keep = (changes) => remember(KEY, Object.assign(memory, changes));

export const marked = (text) => emphasised(text.split('`'), 'code');
const paragraph = (text, tag = 'p') => h(tag, ...marked(text));
const plain = (text) => text.replaceAll('`', '');

/** `acts`: choose(index), reveal(), open(step), go(number). Gives the node, and `tell(body)` for the measurement. */
export function drawLesson(lesson, count, acts) {
  const heading = h('h2', { tabindex: '-1' }, lesson.title);
  const told = h('div.told', { hidden: true });
  const hint = h('p.quiet.hint', { role: 'status' });
  const show = h('button.action', { onclick: acts.reveal }, gettext('Reveal'));
  const boxes = lesson.choices.map((text, at) => drawChoice(lesson, text, at, () => refresh(acts.choose(at))));
  const question = h('fieldset.question', h('legend', ...marked(lesson.question)), ...boxes.map((box) => box.node),
    h('div.act', show, hint));

  function refresh() {
    show.disabled = memory.chosen[lesson.number] === undefined;
    show.hidden = page.start.workshop; // there the leader reveals
    const counted = page.start.workshop
      ? gettext('Your prediction is counted, without your name. You can change it until the leader reveals.') : '';
    hint.textContent = show.disabled ? gettext('First choose what you expect.') : counted;
  }

  /** The measurement has come, or a sentence why there is none. */
  function tell(body, fresh) {
    refresh();
    told.hidden = false;
    if (body.message) return told.replaceChildren(h('p.verdict', body.message));
    show.parentElement.hidden = true;
    const guess = memory.chosen[lesson.number];
    boxes.forEach((box, at) => box.settle(at === body.answer, at === guess, body.why[at]));
    const verdict = h('h3.verdict', { tabindex: '-1' }, ...marked(verdictOf(lesson, body.answer, guess)));
    told.replaceChildren(verdict, drawRoom(lesson), drawBars(lesson.measured_by, body.bars),
      ...body.paragraphs.map((text) => paragraph(text)), drawSteps(gettext('See for yourself'), body.proof, acts.open),
      drawFormula(lesson), drawCode(body.code), drawNext(lesson, count, acts));
    if (!fresh) return undefined;
    verdict.focus({ preventScroll: true });
    return verdict.scrollIntoView({ block: 'center' }); // with the bars under it
  }

  refresh();
  const about = gettext('Lesson {number} of {count} · {minutes} minutes · model {model}', { ...lesson, count });
  const missing = lesson.missing
    && gettext('This copy of the lab has no model {model}: the question cannot be measured here.', lesson);
  const node = h('article.one', h('p.quiet.small', about), heading, missing ? paragraph(missing, 'p.verdict') : null,
    paragraph(lesson.idea, 'p.idea'), drawSteps(gettext('Look'), lesson.look, acts.open), h('h3', gettext('Predict')),
    lesson.example ? h('p.example.mono.small', { lang: 'en' }, lesson.example) : null, question, told);
  return { node, heading, tell, waiting: () => {
    show.disabled = true;
    hint.textContent = gettext('Measuring …');
  } };
}

/** A choice; when it is settled it says whether it is right, and whether it was chosen. */
function drawChoice(lesson, text, at, onchange) {
  const input = h('input', { type: 'radio', name: `lab-lesson-${lesson.number}`, value: at, onchange });
  input.checked = memory.chosen[lesson.number] === at;
  const said = h('span.said.quiet.small');
  const node = h('label.choice.card', input, h('span.grow', ...marked(text), said));
  const settle = (right, mine, why) => {
    input.disabled = true;
    node.classList.add('settled');
    node.classList.toggle('right', right);
    const words = mine ? gettext('Your prediction. {why}', { why }) : why;
    said.replaceChildren(...marked(right ? gettext('✓ Correct') : words));
  };
  return { node, settle };
}

function verdictOf({ choices }, at, guess) {
  if (at === null) return gettext('The measurement supports none of these.');
  if (at === guess) return gettext('Correct.');
  const named = { answer: choices[at] };
  return guess === undefined ? gettext('The answer: {answer}', named)
    : gettext('Not quite. The answer: {answer}', named);
}

/** What was measured, as bars. Shares that are all small are drawn against the largest of them. */
function drawBars(caption, bars) {
  const most = Math.max(...bars.map(([, share]) => share));
  const top = most < 0.2 ? most : 1;
  return h('figure.bars.card', h('figcaption.quiet.small', caption),
    h('dl', ...bars.map(([name, share, words]) => h('div.bar-row', h('dt', name),
      h('dd.track', { 'aria-hidden': 'true' }, h('span.fill', { style: `width: ${(100 * share) / top}%` })),
      h('dd.share', words)))));
}

/** What the room of a workshop predicted, or nothing. */
function drawRoom({ number, choices }) {
  const guesses = page.room?.revealed[number];
  if (!guesses) return '';
  const total = Object.values(guesses).reduce((sum, count) => sum + count, 0);
  return drawBars(gettext('What the room predicted'), choices.map((text, at) => {
    const count = guesses[at] ?? 0;
    return [plain(text), count / (total || 1), gettext('{count} of {total}', { count, total })];
  }));
}

/** Things to look at, each with a button that opens its place. */
function drawSteps(title, steps, open) {
  return h('section', h('h3', title), h('ol.steps', ...steps.map((step) => {
    const words = gettext('Open {place}', { place: step.name });
    return h('li', paragraph(step.text), h('button.set-up.plain',
      { onclick: () => open(step), 'aria-label': `${words}: ${plain(step.text)}` }, words));
  })));
}

const drawFormula = (lesson) => h('details', h('summary', gettext('In one formula')),
  h('pre.formula.mono.small.card', lesson.formula), h('p', lesson.formula_says),
  h('p.quiet', gettext('In the paper: {source}', lesson)));

const drawCode = ([place, lines]) => h('details', h('summary', gettext('In the code and in a notebook')),
  h('p.quiet.small', place), h('pre.mono.small.card', { tabindex: '0', lang: 'en' }, lines));

function drawNext({ number }, count, acts) {
  const button = (onclick, words) => h('button.action', { onclick }, words);
  if (number < count) return h('div.act', button(() => acts.go(number + 1), gettext('Next lesson')));
  return h('div.act', h('p.quiet', gettext('That was the last lesson. Now train a model of your own.')),
    button(() => page.open({ space: 'train', show: 'pretrain' }), gettext('Open {place}', { place: 'Train' })));
}
