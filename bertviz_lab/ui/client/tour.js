// The tour: four steps that point at what is on the page. It can be left at any step.

import { h } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';

const TAKEN = 'bertviz-lab-tour'; // whether this browser has taken it
// Workspace, view, what is pointed at, and the words.
const STEPS = [
  ['explore', '', '#explore .input-bar', 'What goes in',
    'Type a text or choose an example. [MASK] stands for a word to predict; below are the tokens of the model.'],
  ['explore', 'predictions', '#panel-predictions', 'What it predicts',
    'The likeliest tokens for the mask. Click a word of the sentence to mask it, too.'],
  ['explore', 'attention', '#panel-attention', 'Where it looks',
    'Each square is an attention head. Click one to see which token looks at which.'],
  ['train', '', '#pretrain-form', 'How it learns',
    'Train starts with the text on the left. On the right are the curves of a run; yours takes its place.'],
];

/** Let `button` start the tour. An address with ?tour=1 starts it too, unless this browser has taken it. */
export function mountTour(button) {
  let [at, target] = [0, null];
  const title = h('h2', { id: 'tour-title' });
  const words = h('p');
  const next = h('button', { type: 'button', autofocus: true, onclick: () => go(at + 1) });
  const card = h('dialog.tour', { id: 'tour', 'aria-labelledby': 'tour-title',
    onkeydown: ({ key }) => { if (key === 'Escape') leave(); } },
  h('div', { 'aria-live': 'polite' }, title, words),
  h('div', next, h('button', { onclick: leave }, 'Leave the tour')));
  button.closest('.page').append(card);
  const follower = new ResizeObserver(place); // what is pointed at may still be drawn

  function go(step) {
    if (step === STEPS.length) return leave();
    at = step;
    const [space, show, selector, name, text] = STEPS[at];
    page.open({ space, show });
    target?.classList.remove('toured');
    target = document.querySelector(selector);
    target.classList.add('toured');
    title.textContent = `${at + 1} of ${STEPS.length}: ${name}`;
    words.textContent = text;
    next.textContent = at + 1 < STEPS.length ? 'Next' : 'Done';
    return setTimeout(point); // once the view is chosen, which takes the focus
  }

  function point() {
    if (!card.open) card.show();
    next.focus();
    target.scrollIntoView({ block: 'nearest' });
    follower.disconnect();
    follower.observe(target);
  }

  function place() {
    const { bottom, left } = target.getBoundingClientRect();
    card.style.top = `${Math.max(8, Math.min(bottom + 8, window.innerHeight - card.offsetHeight - 16))}px`;
    card.style.left = `${Math.max(8, Math.min(left, window.innerWidth - card.offsetWidth - 24))}px`;
  }

  function leave() {
    card.close();
    follower.disconnect();
    target.classList.remove('toured');
    remember(TAKEN, { taken: true });
    button.focus();
  }

  button.addEventListener('click', () => go(0));
  if (new URLSearchParams(location.search).has('tour') && !recall(TAKEN).taken) go(0);
}
