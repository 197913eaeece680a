// What a lesson has opened, in one line that stays in sight, and the way back.

import { poll, posted } from 'lab/client/ask.js';
import { elements, h } from 'lab/client/dom.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { keep, marked, memory } from 'lab/views/lessons/lesson.js';

export function mountLessonBar(root) {
  root.classList.add('callout');
  Object.assign(root, { role: 'region', lang: LANGUAGE, tabIndex: -1, hidden: true }); // the focus comes here
  let place = {};
  const [title, text] = elements('b.title', 'span.words');
  const skip = h('button.plain', { onclick: goToPlace }, gettext('To the panel'));
  const back = h('button.action', { onclick: () =>
    page.open({ space: 'learn', show: 'lessons', lesson: place.lesson }) }, gettext('Back to the lesson'));
  const close = h('button.close', { 'aria-label': gettext('Hide this line'),
    title: gettext('Hide this line'), onclick: () => { root.hidden = true; } }, '×');
  root.append(h('p.told.grow', title, ' ', text), skip, back, close);
  // What sticks to the top of the window is moved below this line, and so is a place that is opened.
  new ResizeObserver(() => document.documentElement.style.setProperty('--lab-lesson-bar',
    `${root.offsetHeight && root.offsetHeight + 16}px`)).observe(root);

  /** The panel, or the part of it, that the lesson has opened comes back into sight, and gets the focus. */
  function goToPlace() {
    const head = document.querySelector(`#${place.show}-${place.part} > summary`)
      ?? document.querySelector(`#panel-${place.show} button`);
    head.focus({ preventScroll: true });
    (document.getElementById(`${place.show}-${place.part}`) ?? head.closest('.panel')).scrollIntoView();
  }

  page.on('open', (opened) => {
    if (!opened.lesson || opened.space === 'learn') return;
    place = opened;
    title.textContent = gettext('Lesson {number}: {title}', place.lesson);
    text.replaceChildren(...marked(place.lesson.text));
    root.setAttribute('aria-label', root.firstChild.textContent); // is read out where the focus comes
    skip.hidden = place.space === 'train';
    if (skip.hidden) window.scrollTo(0, 0); // where its forms begin
    root.hidden = false;
    takeFocus();
  });

  /** This line is in sight only when the other workspace is: then the focus comes here, if it is still where it was. */
  function takeFocus(before = document.activeElement) {
    root.focus({ preventScroll: true });
    const now = document.activeElement;
    if (now !== root && !root.hidden && [before, document.body].includes(now)) setTimeout(takeFocus, 50, before);
  }

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
