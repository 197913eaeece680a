// One lesson: idea, what to look at, the question, and what the measurement says once a prediction was made.

import { h } from 'lab/client/dom.js';
import { gettext } from 'lab/client/language.js';
import { page } from 'lab/client/page.js';
import { drawBars, marked, memory, paragraph } from 'lab/views/lessons/course.js';

/** `acts`: choose(index), reveal(), open(step), go(number). Gives the node, and `tell(body)` for the measurement. */
export function drawLesson(lesson, count, acts) {
  const heading = h('h2', { tabindex: '-1' }, lesson.title);
  const told = h('div', { class: 'told', hidden: true });
  const hint = h('p', { class: 'quiet hint', role: 'status' });
  const show = h('button', { type: 'button', class: 'action', onclick: () => acts.reveal() }, gettext('Reveal'));
  const boxes = lesson.choices.map((text, at) => drawChoice(lesson, text, at, () => refresh(acts.choose(at))));
  const question = h('fieldset', { class: 'question' }, h('legend', {}, ...marked(lesson.question)),
    ...boxes.map((box) => box.node), h('div', { class: 'act' }, show, hint));

  function refresh() {
    const chosen = memory.chosen[lesson.number] !== undefined;
    show.disabled = !chosen;
    show.hidden = page.start.workshop; // there the leader reveals
    hint.textContent = !chosen ? gettext('First choose what you expect.')
      : page.start.workshop
        ? gettext('Your prediction is counted, without your name. You can change it until the leader reveals.') : '';
  }

  /** The measurement has come, or a sentence why there is none. */
  function tell(body, fresh) {
    refresh();
    told.hidden = false;
    if (body.message) return told.replaceChildren(h('p', { class: 'verdict' }, body.message));
    show.parentElement.hidden = true;
    const guess = memory.chosen[lesson.number];
    boxes.forEach((box, at) => box.settle(at === body.answer, at === guess, body.why[at]));
    told.replaceChildren(verdict(lesson, body, guess), drawRoom(lesson), drawBars(lesson.measured_by, body.bars),
      ...body.paragraphs.map((text) => paragraph(text)),
      drawSteps(gettext('See for yourself'), body.proof, acts), drawFormula(lesson), drawCode(body.code),
        drawNext(lesson, count, acts));
    if (!fresh) return undefined;
    told.firstChild.focus({ preventScroll: true });
    return told.firstChild.scrollIntoView({ block: 'center' }); // with the bars under it
  }

  refresh();
  const node = h('article', { class: 'one' },
    h('p', { class: 'quiet small' }, gettext('Lesson {number} of {count} · {minutes} minutes · model {model}',
      { ...lesson, count })), heading,
    lesson.missing
      ? paragraph(gettext('This copy of the lab has no model {model}: the question cannot be measured here.', lesson),
      { class: 'verdict' }) : null,
    paragraph(lesson.idea, { class: 'idea' }), drawSteps(gettext('Look'), lesson.look, acts),
    h('h3', {}, gettext('Predict')), lesson.example ? h('p', { class: 'example mono small', lang: 'en' },
      lesson.example) : null, question, told);
  return { node, heading, tell, waiting: () => { show.disabled = true; hint.textContent = gettext('Measuring …'); } };
}

/** A choice; when it is settled it says whether it is right, and whether it was chosen. */
function drawChoice(lesson, text, at, onChange) {
  const input = h('input', { type: 'radio', name: `lab-lesson-${lesson.number}`, value: at, onchange: onChange });
  input.checked = memory.chosen[lesson.number] === at;
  const said = h('span', { class: 'said quiet small' });
  const node = h('label', { class: 'choice card' }, input, h('span', { class: 'grow' }, ...marked(text), said));
  const settle = (right, mine, why) => {
    input.disabled = true;
    node.classList.add('settled');
    node.classList.toggle('right', right);
    said.replaceChildren(...marked(right ? gettext('✓ Correct') : mine ? gettext('Your prediction. {why}', { why })
      : why));
  };
  return { node, settle };
}

function verdict(lesson, body, guess) {
  const named = { answer: lesson.choices[body.answer] };
  const right = body.answer === null ? gettext('The measurement supports none of these.') : body.answer === guess
    ? gettext('Correct.')
    : guess === undefined ? gettext('The answer: {answer}', named) : gettext('Not quite. The answer: {answer}', named);
  return h('h3', { class: 'verdict', tabindex: '-1' }, ...marked(right));
}

/** What the room of a workshop predicted, or nothing. */
function drawRoom(lesson) {
  const guesses = page.room?.revealed[lesson.number];
  if (!guesses) return '';
  const total = Object.values(guesses).reduce((sum, count) => sum + count, 0);
  return drawBars(gettext('What the room predicted'), lesson.choices.map((text, at) =>
    [text.replaceAll('`', ''), (guesses[at] ?? 0) / (total || 1), gettext('{count} of {total}',
      { count: guesses[at] ?? 0, total })]));
}

/** Things to look at, each with a button that opens its place. */
function drawSteps(title, steps, acts) {
  const open = (step) => gettext('Open {place}', { place: step.name });
  const rows = steps.map((step) => h('li', {}, paragraph(step.text),
    h('button', { type: 'button', class: 'set-up plain', onclick: () => acts.open(step),
    'aria-label': `${open(step)}: ${step.text.replaceAll('`', '')}` }, open(step))));
  return h('section', {}, h('h3', {}, title), h('ol', { class: 'steps' }, ...rows));
}

function drawFormula(lesson) {
  return h('details', {}, h('summary', {}, gettext('In one formula')), h('pre', { class: 'formula mono small card' },
    lesson.formula),
    h('p', {}, lesson.formula_says), h('p', { class: 'quiet' }, gettext('In the paper: {source}', lesson)));
}

const drawCode = ([place, lines]) => h('details', {}, h('summary', {}, gettext('In the code and in a notebook')),
  h('p', { class: 'quiet small' }, place),
  h('pre', { class: 'mono small card', tabindex: '0', lang: 'en' }, lines));

function drawNext(lesson, count, acts) {
  const next = () => acts.go(lesson.number + 1);
  if (lesson.number < count) return h('div', { class: 'act' },
    h('button', { type: 'button', class: 'action', onclick: next }, gettext('Next lesson')));
  return h('div', { class: 'act' },
    h('p', { class: 'quiet' }, gettext('That was the last lesson. Now train a model of your own.')),
    h('button', { type: 'button', class: 'action', onclick: () => page.open({ space: 'train', show: 'pretrain' }) },
      gettext('Open {place}', { place: 'Train' })));
}
