// The list of lessons and the one that is open. What was revealed stays revealed after a reload.

import { h } from 'lab/client/dom.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { LANGUAGES } from 'lab/site.js';
import { drawLesson, keep, memory } from 'lab/views/lessons/lesson.js';

export function mountLessons(root) {
  root.setAttribute('aria-label', gettext('Lessons'));
  root.setAttribute('lang', LANGUAGE);
  const list = h('ol.list');
  const progress = h('p.quiet.small', { role: 'status' });
  const leaders = h('a.plain', { href: `leader?lang=${LANGUAGE}`, target: '_blank' }, gettext('For leaders'));
  const again = h('button.plain', { onclick: startAgain }, gettext('Start again'));
  const languages = Object.entries(LANGUAGES).filter(([code]) => code !== LANGUAGE)
    .map(([lang, name]) => h('a.plain', { lang, href: '' }, name));
  const side = h('nav.side', { 'aria-label': gettext('Lessons') }, list, progress,
    h('div.act', leaders, again, ...languages));
  const place = h('div.place');
  root.append(h('div.course', side, place));
  let lessons = [];
  let opened = {}; // the lesson in sight: the room of a workshop that it belongs to, and what tells its answer
  const answers = new Map(); // number -> a measurement that is under way or there

  async function begin() {
    place.replaceChildren(h('p.quiet', gettext('The lessons are loading.')));
    const failed = ({ message }) => place.replaceChildren(h('p', gettext(message)));
    lessons = await page.ask('lessons', 'lessons', { language: LANGUAGE }).catch(failed) ?? [];
    if (lessons.length) open([Number(page.lesson), memory.at].find(find) ?? 1, false);
  }

  const find = (number) => lessons.find((lesson) => lesson.number === number);

  /** What the server measures for a lesson; asked for once. */
  function measured(number) {
    if (!answers.has(number)) answers.set(number, page
      .ask('lessons', 'measured', { number, language: LANGUAGE }, `lesson ${number}`).catch((error) => {
        answers.delete(number);
        return { message: gettext(error.message) };
      }));
    return answers.get(number);
  }

  function open(number, focus) {
    const lesson = find(number);
    keep({ at: number });
    for (const link of languages) link.search = new URLSearchParams(
      { ...Object.fromEntries(new URLSearchParams(location.search)), lang: link.lang, lesson: number });
    const drawn = drawLesson(lesson, lessons.length, {
      choose: (index) => keep({ chosen: { ...memory.chosen, [number]: index } }),
      reveal: () => tell(true),
      open: (step) => openPlace(lesson, step),
      go: (next) => open(next, true),
    });
    async function tell(fresh) {
      drawn.waiting();
      const body = await measured(number);
      if (!body.message && !memory.done.includes(number)) keep({ done: [...memory.done, number] });
      drawn.tell(body, fresh);
      drawList(number);
    }
    place.replaceChildren(drawn.node);
    drawList(number);
    if (focus) settle(drawn.heading);
    opened = { room: memory.room, tell };
    if (memory.done.includes(number) || isRevealed()) tell(false);
  }

  /** In a workshop the leader reveals. */
  const isRevealed = () => page.room?.room === memory.room && memory.at in page.room.revealed;

  page.on('room', () => {
    if (!lessons.length) return;
    if (opened.room !== memory.room) open(memory.at, false); // the leader has started again
    else if (isRevealed() && !memory.done.includes(memory.at)) opened.tell(true);
  });

  /** Bring a heading into sight and let a screen reader begin there. */
  function settle(heading) {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: 'nearest' });
  }

  function drawList(current) {
    list.replaceChildren(...lessons.flatMap(({ number, title, minutes, hour }) => {
      const done = memory.done.includes(number);
      const heading = hour === find(number - 1)?.hour ? []
        : [h('li.quiet.small', hour === 1 ? gettext('First hour') : gettext('Second hour'))];
      const mark = h(done ? 'span.mark.small.done' : 'span.mark.small', { 'aria-hidden': 'true' }, done ? '✓' : number);
      return [...heading, h('li', h('button', { 'data-number': number, title,
        'aria-current': number === current ? 'step' : null, onclick: () => open(number, true) }, mark,
      h('span.hush', `${number}. `), h('span.name.grow', title), h('span.quiet.small.time', `${minutes} min`),
      h('span.hush', done ? gettext(', done') : '')))];
    }));
    const count = lessons.filter(({ number }) => memory.done.includes(number)).length;
    progress.textContent = count ? gettext('{count} of {total} done', { count, total: lessons.length }) : '';
    leaders.hidden = page.start.workshop;
    again.hidden = !count || page.start.workshop;
  }

  function startAgain() {
    keep({ at: 1, chosen: {}, done: [] });
    open(1, true);
  }

  /** Open the place that a step is about. A model that this copy of the lab does not have leaves the chosen one. */
  function openPlace(lesson, { text, place: { input, ...there } }) {
    const { model, ...texts } = input ?? {};
    const { number, title, missing } = lesson;
    page.open({ ...there, ...(input && { input: missing ? texts : input }), lesson: { number, title, text } });
  }

  /** The line above the place that a lesson has opened leads back here. */
  page.on('open', ({ space, lesson }) => {
    if (space !== 'learn' || !lesson || !find(lesson.number)) return;
    if (memory.at !== lesson.number || !place.querySelector('.one')) open(lesson.number, false);
    settleInSight(lesson.text?.replaceAll('`', '')); // a leader who calls everybody here names no step
  });

  /** To the step that was left. Learn comes into sight only after this. */
  function settleInSight(left, tries = 40) {
    const steps = [...place.querySelectorAll('.set-up')];
    if (root.offsetParent) settle(steps.find((step) => left && step.getAttribute('aria-label').endsWith(left))
      ?? place.querySelector('h2'));
    else if (tries) setTimeout(settleInSight, 50, left, tries - 1);
  }

  begin();
}
