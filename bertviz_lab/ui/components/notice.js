// One sentence, set with textContent: it may quote what a person typed.

const root = element.querySelector('.lab');
root.classList.add('callout');
const SIGNS = { error: '!', warning: '!', info: 'i', good: '✓' };
const sign = h('span', { class: 'sign', 'aria-hidden': 'true' });
const text = h('p', { class: 'text' });
root.append(sign, h('div', { class: 'grow' }, text));

onValue((body) => {
  root.hidden = !body;
  // Errors are read out at once, the rest when the reader pauses.
  root.setAttribute('role', body?.tone === 'error' ? 'alert' : 'status');
  root.dataset.tone = body?.tone ?? '';
  sign.textContent = SIGNS[body?.tone] ?? '';
  text.textContent = body?.text ?? '';
});
