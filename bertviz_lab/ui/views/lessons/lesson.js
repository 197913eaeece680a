// One lesson: idea, what to look at, the question, and what the measurement says once a prediction was made.

/** `acts`: choose(index), reveal(), open(step), go(number). Gives the node, and `tell(body)` for the measurement. */
function drawLesson(lesson, count, acts) {
  const heading = h('h2', { tabindex: '-1' }, lesson.title);
  const told = h('div', { class: 'told', hidden: true });
  const hint = h('p', { class: 'quiet hint' });
  const show = h('button', { type: 'button', class: 'action', onclick: () => acts.reveal() }, 'Reveal');
  const boxes = lesson.choices.map((text, at) => drawChoice(lesson, text, at, () => {
    acts.choose(at);
    refresh();
  }));
  const question = h('fieldset', { class: 'question' }, h('legend', {}, ...marked(lesson.question)),
    ...boxes.map((box) => box.node), h('div', { class: 'act' }, show, hint));

  function refresh() {
    const chosen = memory.chosen[lesson.number] !== undefined;
    show.disabled = !chosen;
    show.hidden = page.start.workshop; // there the leader reveals
    hint.textContent = !chosen ? 'Choose what you expect first.'
      : page.start.workshop ? 'Your prediction is counted, without your name. You can change it until the leader reveals.' : '';
  }

  /** The measurement has come, or a sentence why there is none. */
  function tell(body, fresh) {
    show.disabled = false;
    show.textContent = 'Reveal';
    told.hidden = false;
    if (body.message) {
      told.replaceChildren(h('p', { class: 'verdict' }, body.message));
      return;
    }
    show.parentElement.hidden = true;
    const guess = memory.chosen[lesson.number];
    boxes.forEach((box, at) => box.settle(at === body.answer, at === guess, body.why[at]));
    told.replaceChildren(verdict(lesson, body, guess), drawRoom(lesson), drawBars(lesson.measured_by, body.bars),
      ...body.paragraphs.map((text) => paragraph(text)),
      drawSteps('See for yourself', body.proof, acts), drawFormula(lesson), drawCode(body.code), drawNext(lesson, count, acts));
    if (!fresh) return;
    told.firstChild.focus({ preventScroll: true });
    told.firstChild.scrollIntoView({ block: 'center' }); // with the bars under it
  }

  refresh();
  const node = h('article', { class: 'one' },
    h('p', { class: 'quiet small' }, `Lesson ${lesson.number} of ${count} · ${lesson.minutes} minutes · model ${lesson.model}`), heading,
    lesson.missing ? paragraph(`This copy of the lab has no model ${lesson.model}: the question cannot be measured here.`, { class: 'verdict' }) : null,
    paragraph(lesson.idea, { class: 'idea' }), drawSteps('Look', lesson.look, acts),
    h('h3', {}, 'Predict'), lesson.example ? h('p', { class: 'example mono small' }, lesson.example) : null, question, told);
  return { node, heading, tell, waiting: () => { show.disabled = true; show.textContent = 'Measuring …'; } };
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
    said.replaceChildren(...marked(right ? '✓ Correct' : mine ? `Your prediction. ${why}` : why));
  };
  return { node, settle };
}

function verdict(lesson, body, guess) {
  const right = body.answer === null ? 'The measurement supports none of these.'
    : body.answer === guess ? 'Correct.' : `${guess === undefined ? 'The answer' : 'Not quite. The answer'}: ${lesson.choices[body.answer]}`;
  return h('h3', { class: 'verdict', tabindex: '-1' }, ...marked(right));
}

/** What the room of a workshop predicted, or nothing. */
function drawRoom(lesson) {
  const guesses = page.room?.revealed[lesson.number];
  if (!guesses) return '';
  const total = Object.values(guesses).reduce((sum, count) => sum + count, 0);
  return drawBars('What the room predicted', lesson.choices.map((text, at) =>
    [text.replaceAll('`', ''), (guesses[at] ?? 0) / (total || 1), `${guesses[at] ?? 0} of ${total}`]));
}

/** Things to look at, each with a button that opens its place. */
function drawSteps(title, steps, acts) {
  const rows = steps.map((step) => h('li', {}, paragraph(step.text),
    h('button', { type: 'button', class: 'set-up plain', onclick: () => acts.open(step),
      'aria-label': `Open ${step.name}: ${step.text.replaceAll('`', '')}` }, `Open ${step.name}`)));
  return h('section', {}, h('h3', {}, title), h('ol', { class: 'steps' }, ...rows));
}

function drawFormula(lesson) {
  return h('details', {}, h('summary', {}, 'In one formula'), h('pre', { class: 'formula mono small card' }, lesson.formula),
    h('p', {}, lesson.formula_says), h('p', { class: 'quiet' }, `In the paper: ${lesson.source}`));
}

const drawCode = ([place, lines]) => h('details', {}, h('summary', {}, 'In the code and in a notebook'), h('p', { class: 'quiet small' }, place),
  h('pre', { class: 'mono small card', tabindex: '0' }, lines));

function drawNext(lesson, count, acts) {
  if (lesson.number < count) {
    return h('div', { class: 'act' }, h('button', { type: 'button', class: 'action', onclick: () => acts.go(lesson.number + 1) }, 'Next lesson'));
  }
  return h('div', { class: 'act' }, h('p', { class: 'quiet' }, 'That was the last lesson. Now train a model of your own.'),
    h('button', { type: 'button', class: 'action', onclick: () => page.open({ space: 'train', show: 'pretrain' }) }, 'Open Train'));
}
