// The list of lessons and the one that is open. What was revealed stays revealed after a reload.

const view = onPayload('The lessons are loading.', show);
const list = h('ol', { class: 'list' });
const progress = h('p', { class: 'quiet', role: 'status' });
const leaders = h('button', { type: 'button', class: 'plain', onclick: () => openLeader(true) }, 'For leaders');
const again = h('button', { type: 'button', class: 'plain', onclick: startAgain }, 'Start again');
const side = h('nav', { class: 'side', 'aria-label': 'Lessons' }, list, progress, h('div', { class: 'act' }, leaders, again));
const place = h('div', { class: 'place' });
view.content.classList.add('course');
view.content.append(side, place);
let lessons = [];
const answers = new Map(); // number -> a measurement that is under way or there

function show(body) {
  lessons = body.lessons;
  const wanted = new URLSearchParams(location.search).get('lesson') ?? '';
  if (wanted === 'leader') openLeader(false);
  else open(find(Number(wanted)) ? Number(wanted) : find(memory.at) ? memory.at : 1, false);
}

const find = (number) => lessons.find((lesson) => lesson.number === number);

/** What the server measures for a lesson; asked for once. */
function measured(number) {
  if (!answers.has(number)) {
    answers.set(number, server.measured(number).then(JSON.parse).catch(() => {
      answers.delete(number);
      return { message: 'The server did not answer. Is it still running?' };
    }));
  }
  return answers.get(number);
}

function open(number, focus) {
  const lesson = find(number);
  keep({ at: number });
  const drawn = drawLesson(lesson, lessons.length, {
    choose: (index) => keep({ chosen: { ...memory.chosen, [number]: index } }),
    reveal: () => tell(true),
    setUp: (step) => trigger('set_up', { lesson: number, step }),
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
  if (drawn.done) tell(false);
}

function openLeader(focus) {
  const drawn = drawLeader(lessons, () => open(find(memory.at) ? memory.at : 1, true));
  place.replaceChildren(drawn.node);
  drawList(0);
  if (focus) settle(drawn.heading);
}

/** Bring a heading into sight and let a screen reader begin there. */
function settle(heading) {
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: 'nearest' });
}

function drawList(current) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.number : null;
  list.replaceChildren(...lessons.map(({ number, title, minutes }) => {
    const done = memory.done.includes(number);
    return h('li', {}, h('button', { type: 'button', 'data-number': number, title, 'aria-current': number === current ? 'step' : null,
      onclick: () => open(number, false) }, h('span', { class: done ? 'mark done' : 'mark', 'aria-hidden': 'true' }, done ? '✓' : number),
    h('span', { class: 'hush' }, `${number}. `), h('span', { class: 'name' }, title),
    h('span', { class: 'quiet time' }, `${minutes} min`), h('span', { class: 'hush' }, done ? ', done' : '')));
  }));
  if (focused) list.querySelector(`[data-number="${focused}"]`).focus();
  const count = lessons.filter(({ number }) => memory.done.includes(number)).length;
  progress.textContent = count ? `${count} of ${lessons.length} done` : '';
  again.hidden = !count;
  leaders.hidden = current === 0;
}

function startAgain() {
  keep({ at: 1, chosen: {}, done: [] });
  open(1, true);
}

/** The bar above another tab leads back here. */
window.addEventListener('lab-lesson', (event) => {
  if (!element.isConnected || !find(event.detail)) return;
  if (memory.at !== event.detail || !place.querySelector('.one')) open(event.detail, false);
  // The tab comes into sight only after this.
  setTimeout(() => settle(place.querySelector('.told:not([hidden]) .verdict') ?? place.querySelector('legend, h2')), 150);
});
view.start();
