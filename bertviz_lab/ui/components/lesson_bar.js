// Where a lesson has led to, in one line that stays in sight, and the way back.

const SETTLING = 2500; // milliseconds in which a tab that was opened is drawn
const root = element.querySelector('.lab');
root.setAttribute('role', 'region');
root.setAttribute('aria-label', props.label ?? 'Lesson');
root.setAttribute('tabindex', '-1'); // the focus comes here with the tab
const title = h('b', { class: 'title' });
const words = h('span', { class: 'words' });
const back = h('button', { type: 'button', class: 'go', onclick: () => leave(number) });
const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Hide this line', title: 'Hide this line',
  onclick: () => { root.hidden = true; } }, '×');
root.append(h('p', { class: 'told' }, title, words), back, close);
root.hidden = true;
let number = 0;

function update() {
  const body = readPayload();
  root.hidden = !body;
  if (!body) return;
  ({ number } = body);
  title.textContent = `Lesson ${number}: ${body.title} `;
  words.replaceChildren(...body.text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part)));
  back.textContent = 'Back to the lesson';
  takeFocus();
  if (body.scroll_to) reveal(body.scroll_to);
  else window.scrollTo({ top: 0 });
}

/** This line is there only when the other tab is: then the focus, which that tab's button had, comes here. */
function takeFocus(tries = 20) {
  root.focus({ preventScroll: true });
  if (document.activeElement !== root && tries) setTimeout(takeFocus, 50, tries - 1);
}

/** Keep a part of the page in sight, below this line, while what stands above it is still being drawn. */
function reveal(id) {
  const end = performance.now() + SETTLING;
  const stop = new AbortController();
  for (const touched of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
    window.addEventListener(touched, () => stop.abort(), { signal: stop.signal, passive: true });
  }
  const follow = () => {
    if (stop.signal.aborted) return;
    const part = document.getElementById(id);
    if (part?.offsetParent) {
      const off = part.getBoundingClientRect().top - root.offsetHeight - 24;
      if (Math.abs(off) > 2) window.scrollBy({ top: off });
    }
    if (performance.now() < end) setTimeout(follow, 100);
    else stop.abort();
  };
  follow();
}

function leave(to) {
  window.dispatchEvent(new CustomEvent('lab-lesson', { detail: to }));
  trigger('back', { number: to });
}

watch('value', update);
update();
