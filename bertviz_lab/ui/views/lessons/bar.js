// What a lesson has opened, in one line that stays in sight, and the way back.

const root = element.querySelector('.lab');
root.classList.add('callout');
Object.assign(root, { role: 'region', lang: LANGUAGE, tabIndex: -1, hidden: true }); // the focus comes here with the place
let place = {};
const [title, text] = [h('b', { class: 'title' }), h('span', { class: 'words' })];
const skip = h('button', { type: 'button', class: 'plain', onclick: goToPlace }, gettext('To the panel'));
const back = h('button', { type: 'button', class: 'action', onclick: () => page.open({ space: 'learn', show: 'lessons', lesson: place.lesson }) }, gettext('Back to the lesson'));
const close = h('button', { type: 'button', class: 'close', 'aria-label': gettext('Hide this line'), title: gettext('Hide this line'), onclick: () => { root.hidden = true; } }, '×');
root.append(h('p', { class: 'told grow' }, title, ' ', text), skip, back, close);
// What sticks to the top of the window is moved below this line, and a place that is opened stands below it.
new ResizeObserver(() => document.documentElement.style.setProperty('--lab-lesson-bar', `${root.offsetHeight && root.offsetHeight + 16}px`)).observe(root);

/** The panel, or the part of it, that the lesson has opened comes back into sight, and gets the focus. */
function goToPlace() {
  const head = document.querySelector(`#${place.show}-${place.part} > summary`) ?? document.querySelector(`#panel-${place.show} button`);
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
