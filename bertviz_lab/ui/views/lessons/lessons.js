// The lessons: a list, and the one that is open: idea, what to look at, the question, and what the measurement says
// once a prediction was made. What a person has done so far is kept in this browser and nowhere else; in a workshop,
// for the room that it belongs to. What was revealed stays revealed after a reload.

import { poll, posted } from 'lab/client/ask.js';
import { barRow, elements, emphasised, h, publishHeight } from 'lab/client/dom.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';
import { LANGUAGES } from 'lab/site.js';

const KEY = 'bertviz-lab-lessons';
const before = recall(KEY);
const NOTHING = { at: 1, chosen: {}, done: [], room: '', called: 0 }; // `called`: the leader's last call, by its number
const memory = Object.fromEntries(Object.entries(NOTHING).map(([name, value]) =>
  [name, before[name]?.constructor === value.constructor ? before[name] : value]));
const keep = (changes) => remember(KEY, Object.assign(memory, changes));

const marked = (text) => emphasised(text.split('`'), 'code');
const paragraph = (text, tag = 'p') => h(tag, ...marked(text));
const plain = (text) => text.replaceAll('`', '');
const button = (words, onclick) => h('button.action', { onclick }, words);
const fold = (title, ...nodes) => h('details', h('summary', title), ...nodes);

/** Bring something into sight and let a screen reader begin there. */
function settle(node, block = 'nearest') {
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block });
}

export function mountLessons(root) {
  root.setAttribute('aria-label', gettext('Lessons'));
  root.setAttribute('lang', LANGUAGE);
  const [list, place] = elements('ol.list', 'div.place');
  const progress = h('p.quiet.small', { role: 'status' });
  const leaders = h('a.plain', { href: `leader?lang=${LANGUAGE}`, target: '_blank' }, gettext('For leaders'));
  const again = h('button.plain', { onclick() {
    keep({ at: 1, chosen: {}, done: [] });
    open(1);
  } }, gettext('Start again'));
  const languages = Object.entries(LANGUAGES).filter(([code]) => code !== LANGUAGE)
    .map(([lang, name]) => h('a.plain', { lang, href: '' }, name));
  root.append(h('div.course', h('nav.side', { 'aria-label': gettext('Lessons') }, list, progress,
    h('div.act', leaders, again, ...languages)), place));
  let lessons = [];
  let opened = {}; // the lesson in sight: the room of a workshop that it belongs to, and what reveals its answer
  const answers = {}; // number -> a measurement that is under way or there

  async function begin() {
    place.replaceChildren(h('p.quiet', gettext('The lessons are loading.')));
    const failed = ({ message }) => place.replaceChildren(h('p', gettext(message)));
    lessons = await page.ask('lessons', 'lessons', { language: LANGUAGE }).catch(failed) ?? [];
    if (lessons.length) open([Number(page.lesson), memory.at].find(find) ?? 1, false);
  }

  const find = (number) => lessons.find((lesson) => lesson.number === number);
  /** In a workshop the leader reveals. */
  const isRevealed = () => page.room?.room === memory.room && memory.at in page.room.revealed;

  /** What the server measures for a lesson; asked for once. */
  function measured(number) {
    answers[number] ??= page.ask('lessons', 'measured', { number, language: LANGUAGE }, `lesson ${number}`)
      .catch(({ message }) => {
        delete answers[number];
        return { message: gettext(message) };
      });
    return answers[number];
  }

  function open(number, focus = true) {
    keep({ at: number });
    const search = Object.fromEntries(new URLSearchParams(location.search));
    for (const link of languages) link.search = new URLSearchParams({ ...search, lang: link.lang, lesson: number });
    const { node, heading, reveal } = drawLesson(find(number));
    opened = { room: memory.room, reveal };
    place.replaceChildren(node);
    drawList();
    if (focus) settle(heading);
    if (memory.done.includes(number) || isRevealed()) reveal(false);
  }

  page.on('space', (name) => { if (name === 'learn') root.querySelector('.course').append(place); });
  page.on('room', () => {
    if (!lessons.length) return;
    if (opened.room !== memory.room) open(memory.at, false); // the leader has started again
    else if (isRevealed() && !memory.done.includes(memory.at)) opened.reveal(true);
  });

  /** The line above the place that a lesson has opened leads back here, to the step that was left. A leader who calls
   * everybody here names no step. */
  page.on('open', ({ space, lesson }) => {
    if (space !== 'learn' || !find(lesson?.number)) return;
    if (memory.at !== lesson.number) open(lesson.number, false);
    settle([...place.querySelectorAll('.set-up')].find((step) => step.dataset.text === lesson.text)
      ?? place.querySelector('h2'));
  });

  function drawList() {
    list.replaceChildren(...lessons.flatMap(({ number, title, minutes, hour }) => {
      const done = memory.done.includes(number);
      const heading = hour === find(number - 1)?.hour ? []
        : [h('li.quiet.small', hour === 1 ? gettext('First hour') : gettext('Second hour'))];
      const mark = h(`span.mark.small${done ? '.done' : ''}`, { 'aria-hidden': 'true' }, done ? '✓' : number);
      return [...heading, h('li', h('button', { 'data-number': number, title,
        'aria-current': number === memory.at ? 'step' : null, onclick: () => open(number) }, mark,
      h('span.hush', `${number}. `), h('span.name.grow', title), h('span.quiet.small.time', `${minutes} min`),
      h('span.hush', done ? gettext(', done') : '')))];
    }));
    const count = lessons.filter(({ number }) => memory.done.includes(number)).length;
    progress.textContent = count ? gettext('{count} of {total} done', { count, total: lessons.length }) : '';
    leaders.hidden = page.start.workshop;
    again.hidden = !count || page.start.workshop;
  }

  // ---- one lesson

  function drawLesson(lesson) {
    const { number, title, choices, missing } = lesson;
    const heading = h('h2', { tabindex: '-1' }, title);
    const [boxes, told] = [h('div'), h('div.told', { hidden: true })];
    const hint = h('p.quiet.hint', { role: 'status' });
    const show = button(gettext('Reveal'), () => reveal(true));
    const act = h('div.act', show, hint);

    /** The choices; after the measurement each says whether it is right, and whether it was chosen. */
    const drawChoices = (body = null) => boxes.replaceChildren(...choices.map((text, at) => {
      const mine = memory.chosen[number] === at;
      const input = h('input', { type: 'radio', name: `lab-lesson-${number}`, value: at, checked: mine,
        disabled: Boolean(body), onchange() {
          keep({ chosen: { ...memory.chosen, [number]: at } });
          refresh();
        } });
      if (!body) return h('label.choice.card', input, h('span.grow', ...marked(text)));
      const right = at === body.answer;
      const why = mine ? gettext('Your prediction. {why}', { why: body.why[at] }) : body.why[at];
      return h(`label.choice.card.settled${right ? '.right' : ''}`, input, h('span.grow', ...marked(text),
        h('span.said.quiet.small', ...marked(right ? gettext('✓ Correct') : why))));
    }));

    function refresh() {
      show.disabled = memory.chosen[number] === undefined;
      show.hidden = page.start.workshop; // there the leader reveals
      const counted = page.start.workshop
        ? gettext('Your prediction is counted, without your name. You can change it until the leader reveals.') : '';
      hint.textContent = show.disabled ? gettext('First choose what you expect.') : counted;
    }

    /** Show the measurement, or a sentence why there is none. */
    async function reveal(fresh) {
      show.disabled = true;
      hint.textContent = gettext('Measuring …');
      const body = await measured(number);
      refresh();
      told.hidden = false;
      told.replaceChildren(h('p.verdict', body.message));
      if (body.message) return;
      if (!memory.done.includes(number)) keep({ done: [...memory.done, number] });
      drawList();
      drawChoices(body);
      act.hidden = true;
      const verdict = h('h3.verdict', { tabindex: '-1' }, ...marked(verdictOf(lesson, body.answer)));
      const [file, code] = body.code;
      const train = button(gettext('Open {place}', { place: 'Train' }),
        () => page.open({ space: 'train', show: 'pretrain' }));
      told.replaceChildren(verdict, drawRoom(lesson), drawBars(lesson.measured_by, body.bars),
        ...body.paragraphs.map((text) => paragraph(text)), drawSteps(gettext('See for yourself'), body.proof, lesson),
        fold(gettext('In one formula'), h('pre.formula.mono.small.card', lesson.formula), h('p', lesson.formula_says),
          h('p.quiet', gettext('In the paper: {source}', lesson))),
        fold(gettext('In the code and in a notebook'), h('p.quiet.small', file),
          h('pre.mono.small.card', { tabindex: '0', lang: 'en' }, code)),
        h('div.act', ...number < lessons.length ? [button(gettext('Next lesson'), () => open(number + 1))]
          : [h('p.quiet', gettext('That was the last lesson. Now train a model of your own.')), train]));
      if (fresh) settle(verdict, 'center'); // with the bars under it
    }

    refresh();
    drawChoices();
    const about = gettext('Lesson {number} of {count} · {minutes} minutes · model {model}',
      { ...lesson, count: lessons.length });
    const node = h('article.one', h('p.quiet.small', about), heading, missing ? h('p.verdict',
      gettext('This copy of the lab has no model {model}: the question cannot be measured here.', lesson)) : null,
    paragraph(lesson.idea, 'p.idea'), drawSteps(gettext('Look'), lesson.look, lesson), h('h3', gettext('Predict')),
    lesson.example && h('p.example.mono.small', { lang: 'en' }, lesson.example),
    h('fieldset.question', h('legend', ...marked(lesson.question)), boxes, act), told);
    return { node, heading, reveal };
  }

  begin();
}

function verdictOf({ number, choices }, at) {
  const [guess, named] = [memory.chosen[number], { answer: choices[at] }];
  if (at === null) return gettext('The measurement supports none of these.');
  if (at === guess) return gettext('Correct.');
  return guess === undefined ? gettext('The answer: {answer}', named)
    : gettext('Not quite. The answer: {answer}', named);
}

/** What was measured, as bars. Shares that are all small are drawn against the largest of them. */
function drawBars(caption, bars) {
  const most = Math.max(...bars.map(([, share]) => share));
  const top = most < 0.2 ? most : 1;
  return h('figure.bars.card', h('figcaption.quiet.small', caption),
    ...bars.map(([name, share, words]) => barRow(name, share / top, words)));
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

/** Things to look at, each with a button that opens its place. A model that this copy of the lab does not have leaves
 * the chosen one. */
function drawSteps(heading, steps, { number, title, missing }) {
  return h('section', h('h3', heading), h('ol.steps', ...steps.map(({ text, name, place: { input, ...there } }) => {
    const words = gettext('Open {place}', { place: name });
    const { model, ...texts } = input ?? {};
    const onclick = () =>
      page.open({ ...there, ...(input && { input: missing ? texts : input }), lesson: { number, title, text } });
    return h('li', paragraph(text), h('button.set-up.plain',
      { onclick, 'data-text': text, 'aria-label': `${words}: ${plain(text)}` }, words));
  })));
}

/** What a lesson has opened, in one line that stays in sight, and the way back. */
export function mountLessonBar(root) {
  root.classList.add('callout');
  Object.assign(root, { role: 'region', lang: LANGUAGE, tabIndex: -1, hidden: true }); // the focus comes here
  let place = {};
  const [title, text] = elements('b.title', 'span.words');
  const skip = h('button.plain', { onclick: goToPlace }, gettext('To the panel'));
  const back = h('button.action', { onclick: () =>
    page.open({ space: 'learn', show: 'lessons', lesson: place.lesson }) }, gettext('Back to the lesson'));
  // The lesson itself, where there is room beside what it opens.
  const here = h('div.here.lab-island-lessons', h('div.lab.lab-lessons'));
  const close = h('button.close', { 'aria-label': gettext('Hide this line'),
    title: gettext('Hide this line'), onclick: () => { root.hidden = true; } }, '×');
  root.append(h('div.bar-line', h('p.told.grow', title, ' ', text), skip, back, close), here);
  const isBeside = () => getComputedStyle(here).display !== 'none'; // else other bars stick below it
  publishHeight(root, '--lab-lesson-bar', () => (isBeside() || !root.offsetHeight ? 0 : root.offsetHeight + 16));

  /** The panel, or the part of it, that the lesson has opened comes back into sight, and gets the focus. */
  function goToPlace() {
    const part = document.getElementById(`${place.show}-${place.part}`);
    const head = part?.querySelector(':scope > summary') ?? document.getElementById(`tab-${place.show}`);
    head.focus({ preventScroll: true });
    (part ?? head).scrollIntoView();
  }

  page.on('open', (opened) => {
    if (!opened.lesson || opened.space === 'learn') return;
    here.firstChild.append(document.querySelector('.lab-lessons .place') ?? '');
    place = opened;
    title.textContent = gettext('Lesson {number}: {title}', place.lesson);
    text.replaceChildren(...marked(place.lesson.text));
    root.setAttribute('aria-label', `${title.textContent} ${text.textContent}`); // is read out where the focus comes
    skip.hidden = place.space === 'train';
    if (skip.hidden) window.scrollTo(0, 0); // where its forms begin
    root.hidden = false;
    root.focus({ preventScroll: true });
  });

  if (page.start.workshop) poll(report, take, () => root.isConnected);
}

// ---- the room of a workshop: every few seconds this browser reports where it is and what it predicts, without a name

async function report() {
  const { room, at, chosen, done } = memory;
  const answer = await fetch('room', posted(room && room === page.room?.room ? { room, at, chosen, done } : {}));
  return answer.ok ? answer.json() : undefined;
}

function take(told) {
  // What was done before belongs to another room. A link may have led to a lesson; a new start begins with the first.
  if (told.room !== memory.room) {
    keep({ room: told.room, at: page.room ? 1 : memory.at, chosen: {}, done: [], called: 0 });
  }
  page.room = told;
  page.emit('room');
  if (told.call.lesson && told.call.number > memory.called) {
    keep({ called: told.call.number });
    page.lesson = told.call.lesson; // Learn may not be there yet, and then begins with it
    page.open({ space: 'learn', show: 'lessons', lesson: { number: page.lesson } });
  }
  return 2500; // milliseconds
}
