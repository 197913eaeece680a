// The lessons: a list, and the one that is open: idea, what to look at, the question, and what the measurement says
// once a prediction was made. What a person has done so far is kept in this browser and nowhere else; in a workshop,
// for the room that it belongs to. What was revealed stays revealed after a reload. The list ends with the final exam
// (exam.js).

import { poll, posted } from 'lab/client/ask.js';
import { elements, emphasised, h, publishHeight } from 'lab/client/dom.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';
import { beginSitting, drawExam } from 'lab/views/lessons/exam.js';
import { LANGUAGES } from 'lab/site.js';
import { makeMap } from 'lab/views/lessons/map.js';

const KEY = 'bertviz-lab-lessons';
const EXAM = 0; // its place among the numbers of the lessons
const before = recall(KEY);
const NOTHING = { at: 1, chosen: {}, done: [], room: '', called: 0 }; // `called`: the leader's last call, by its number
const memory = Object.fromEntries(Object.entries(NOTHING).map(([name, value]) =>
  [name, before[name]?.constructor === value.constructor ? before[name] : value]));
const keep = (changes) => remember(KEY, Object.assign(memory, changes));

const marked = (text) => emphasised(text.split('`'), 'code');

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
    answers = {};
    open(lessons[0].number);
  } }, gettext('Start again'));
  const languages = Object.entries(LANGUAGES).filter(([code]) => code !== LANGUAGE)
    .map(([lang, name]) => h('a.plain', { lang, href: '' }, name));
  const map = makeMap();
  const course = h('div.course', h('nav.side', { 'aria-label': gettext('Lessons') }, list, progress,
    h('div.act', leaders, again, ...languages)), map.node, place);
  let lessons = [];
  let room = ''; // of a workshop: that of the lesson in sight
  let answers = {}; // number -> the page of a measured lesson that is under way or there
  const part = (selector) => place.querySelector(selector);
  place.addEventListener('change', ({ target }) => {
    if (memory.at === EXAM) return;
    keep({ chosen: { ...memory.chosen, [memory.at]: Number(target.value) } });
    refresh();
  });
  place.addEventListener('click', ({ target }) => {
    const button = target.closest('button');
    if (button?.matches('.reveal')) reveal(true);
    if (button?.dataset.lesson) open(Number(button.dataset.lesson));
    if (button?.dataset.place) page.open(JSON.parse(button.dataset.place));
  });

  async function begin() {
    root.replaceChildren(h('p.quiet', gettext('The lessons are loading.')));
    const failed = ({ message }) => root.replaceChildren(h('p', gettext(message)));
    lessons = await page.ask('lessons', 'lessons', { language: LANGUAGE }).catch(failed) ?? [];
    if (!lessons.length) return;
    root.replaceChildren(course);
    const asked = page.lesson === 'exam' ? EXAM : Number(page.lesson ?? NaN);
    open([asked, memory.at].find(isThere) ?? lessons[0].number, false);
  }

  const find = (number) => lessons.find((lesson) => lesson.number === number);
  const isThere = (number) => (number === EXAM ? !page.start.published : find(number));
  /** In a workshop the leader reveals. */
  const isRevealed = () => page.room?.room === memory.room && memory.at in page.room.revealed;

  /** The page of a lesson after its measurement, which is asked for once. */
  function measured(number) {
    const question = { number, language: LANGUAGE, chosen: memory.chosen[number] };
    answers[number] ??= page.ask('lessons', 'measured', question, `lesson ${number}`).catch((error) => {
      delete answers[number];
      throw error;
    });
    return answers[number];
  }

  function open(number, focus = true) {
    keep({ at: number });
    const search = Object.fromEntries(new URLSearchParams(location.search));
    const lesson = number === EXAM ? 'exam' : number;
    for (const link of languages) link.search = new URLSearchParams({ ...search, lang: link.lang, lesson });
    map.show(find(number)); // the exam has none: it asks for what the picture says
    if (number === EXAM) {
      drawExam(place, () => open(EXAM));
      drawList();
      if (focus) settle(part('h2'));
      return;
    }
    place.innerHTML = find(number).page; // the server's own words: lesson.html
    room = memory.room;
    drawList();
    refresh();
    if (focus) settle(part('h2'));
    if (memory.done.includes(number) || isRevealed()) reveal(false);
  }

  /** What has been predicted, and what may be done now. */
  function refresh() {
    const chosen = memory.chosen[memory.at];
    for (const input of place.querySelectorAll('.choice input')) input.checked = Number(input.value) === chosen;
    const show = part('.reveal');
    show.disabled = chosen === undefined;
    show.hidden = page.start.workshop; // there the leader reveals
    const counted = page.start.workshop
      ? gettext('Your prediction is counted, without your name. You can change it until the leader reveals.') : '';
    part('.hint').textContent = show.disabled ? gettext('First choose what you expect.') : counted;
  }

  /** Show the lesson with its measurement, or a sentence why there is none. */
  async function reveal(fresh) {
    const number = memory.at;
    const told = part('.told');
    part('.reveal').disabled = true;
    part('.hint').textContent = gettext('Measuring …');
    try {
      const answer = await measured(number);
      if (!told.isConnected) return; // another lesson is open
      place.innerHTML = answer; // as above
    } catch ({ message }) {
      if (!told.isConnected) return;
      refresh();
      told.replaceChildren(h('p.verdict', gettext(message)));
      told.hidden = false;
      return;
    }
    if (!memory.done.includes(number)) keep({ done: [...memory.done, number] });
    drawList();
    if (fresh) settle(part('.told .verdict'), 'center'); // with the bars under it
  }

  page.on('room', () => {
    if (!lessons.length) return;
    if (room !== memory.room) { // the leader has started again
      answers = {};
      open(memory.at, false);
    } else if (isRevealed() && !memory.done.includes(memory.at)) reveal(true);
  });

  /** The line above the place that a lesson has opened leads back here, to the step that was left. A leader who calls
   * everybody here names no step. */
  page.on('open', ({ space, lesson }) => {
    if (space !== 'learn' || !isThere(lesson?.number)) return;
    if (memory.at !== lesson.number || lesson.number === EXAM) open(lesson.number, false);
    settle([...place.querySelectorAll('.set-up')].find((step) => step.dataset.text === lesson.text) ?? part('h2'));
  });

  function drawItem({ number, title, minutes }) {
    const done = memory.done.includes(number);
    const mark = h(`span.mark.small${done ? '.done' : ''}`, { 'aria-hidden': 'true' },
      done ? '✓' : number === EXAM ? '★' : number);
    return h('li', h('button', { 'data-number': number || 'exam', title,
      'aria-current': number === memory.at ? 'step' : null, onclick: () => open(number) },
    mark, h('span.hush', number ? `${number}. ` : ''), h('span.name.grow', title),
    h('span.quiet.small.time', `${minutes} min`), h('span.hush', done ? gettext(', done') : '')));
  }

  function drawList() {
    const hours = [gettext('First hour'), gettext('Second hour'), gettext('Third hour')];
    list.replaceChildren(...lessons.flatMap((lesson, at) => [
      ...(lesson.hour === lessons[at - 1]?.hour ? [] : [h('li.quiet.small', hours[lesson.hour - 1])]),
      drawItem(lesson)]));
    if (isThere(EXAM)) list.append(drawItem({ number: EXAM, title: gettext('Final exam'), minutes: 40 }));
    const count = lessons.filter(({ number }) => memory.done.includes(number)).length;
    progress.textContent = count ? gettext('{count} of {total} done', { count, total: lessons.length }) : '';
    leaders.hidden = page.start.workshop || page.start.published;
    again.hidden = !count || page.start.workshop;
  }

  begin();
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
  const here = h('div.here.lab-island-lessons', h('div.lab-lessons'));
  const goHome = () => document.querySelector('.lab-lessons .course')?.append(...here.firstChild.children);
  const hide = () => {
    root.hidden = true;
    goHome();
  };
  const close = h('button.close', { 'aria-label': gettext('Hide this line'),
    title: gettext('Hide this line'), onclick: hide }, '×');
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

  // Back in Learn, what a lesson had opened is over; a part of a workshop's plan goes on.
  const leave = (name) => name === 'learn' && place.lesson?.number && hide();
  page.on('space', leave);
  page.on('open', (opened) => {
    leave(opened.space);
    if (!opened.lesson || opened.space === 'learn') return;
    place = opened;
    const { lesson } = place; // a part of a workshop's plan is none: it has no number
    if (lesson.number) here.firstChild.append(document.querySelector('.lab-lessons .place') ?? '');
    else goHome();
    title.textContent = lesson.number ? gettext('Lesson {number}: {title}', lesson) : `${lesson.title}.`;
    text.replaceChildren(...marked(lesson.text));
    root.setAttribute('aria-label', `${title.textContent} ${text.textContent}`); // is read out where the focus comes
    back.hidden = !lesson.number;
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
  const told = room && room === page.room?.room ? { room, at, chosen, done } : {};
  const answer = await fetch(`room?lang=${LANGUAGE}`, posted(told));
  return answer.ok ? answer.json() : undefined;
}

function take(told) {
  // What was done before belongs to another room. A link may have led to a lesson; a new start begins with the first.
  if (told.room !== memory.room) {
    keep({ room: told.room, at: page.room ? 1 : memory.at, chosen: {}, done: [], called: 0 });
  }
  page.room = told;
  page.emit('room');
  const { number, lesson, exam, place } = told.call;
  if ((lesson || exam || place) && number > memory.called) {
    keep({ called: number });
    if (exam) beginSitting(`${told.room} ${exam}`);
    if (!place) page.lesson = exam ? 'exam' : lesson; // Learn may not be there yet, and then begins with it
    page.open(place ?? { space: 'learn', show: 'lessons', lesson: { number: lesson } });
  }
  return 2500; // milliseconds
}
