// What a lesson has opened, in one line that stays in sight, and the way back.

const root = element.querySelector('.lab');
root.classList.add('callout');
root.setAttribute('role', 'region');
root.setAttribute('aria-label', props.label);
root.setAttribute('tabindex', '-1'); // the focus comes here with the place
let number = 0;
const title = h('b', { class: 'title' });
const text = h('span', { class: 'words' });
const back = h('button', { type: 'button', class: 'action', onclick: () => page.open({ space: 'learn', show: 'lessons', lesson: { number } }) }, 'Back to the lesson');
const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Hide this line', title: 'Hide this line', onclick: () => show(false) }, '×');
root.append(h('p', { class: 'told grow' }, title, text), back, close);
show(false);
// What sticks to the top of the window is moved below this line, and a place that is opened stands below it.
new ResizeObserver(() => document.documentElement.style.setProperty('--lab-lesson-bar', `${root.offsetHeight && root.offsetHeight + 16}px`)).observe(root);

function show(shown) {
  root.hidden = !shown;
}

page.on('open', ({ space, lesson }) => {
  if (!lesson || space === 'learn') return;
  ({ number } = lesson);
  title.textContent = `Lesson ${number}: ${lesson.title} `;
  text.replaceChildren(...lesson.text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part)));
  show(true);
  takeFocus();
});

/** This line is in sight only when the other workspace is: then the focus, which the lesson's button had, comes here. */
function takeFocus(tries = 40) {
  root.focus({ preventScroll: true });
  if (document.activeElement !== root && tries) setTimeout(takeFocus, 50, tries - 1);
}
