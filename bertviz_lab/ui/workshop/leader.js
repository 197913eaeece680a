// The leader's page and the screen: the server writes them; this keeps their numbers fresh and sends what the leader
// does.

import { poll, posted } from 'lab/client/ask.js';
import { setText } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { gettext } from 'lab/client/page.js';

const { live } = document.body.dataset;
const all = (selector) => [...document.querySelectorAll(selector)];
const ask = async (act) => (await fetch(live, act && posted(act))).json();
const said = document.querySelector('[data-told=said]');
const lost = () => said && setText(said, gettext('The server did not answer. Is it still running?'));

/** Put the texts and the lengths of bars into their places; returns the milliseconds until the next look. */
function show({ texts, shares, here }) {
  for (const node of all('[data-told]')) setText(node, texts[node.dataset.told]);
  for (const node of all('[data-share]')) node.style.width = percent(shares[node.dataset.share] ?? 0);
  for (const node of all('[data-when]')) node.hidden = !here.includes(node.dataset.when);
  for (const node of all('[data-part]')) node.ariaCurrent = here.includes(node.dataset.part) ? 'step' : null;
  return 2000;
}

/** Fill a place with HTML of the server's own, whose texts are escaped there. */
async function load(place, address) {
  place.textContent = gettext('Measuring …');
  const answer = await fetch(address).catch(() => null);
  if (answer?.ok) place.innerHTML = await answer.text();
  else place.textContent = gettext('The server did not answer.');
}

document.addEventListener('click', async ({ target }) => {
  const button = target.closest('button');
  const { act, number, question, fill, from } = button?.dataset ?? {};
  if (fill) load(document.getElementById(fill), from);
  if (!act || button.ariaDisabled || (question && !window.confirm(question))) return;
  button.ariaDisabled = 'true'; // one press is one act; a disabled button would lose the focus
  await ask({ act, number: Number(number) }).then(show, lost);
  button.ariaDisabled = null;
  if (!button.checkVisibility()) document.getElementById('now').focus(); // it has gone with what it did
});

if (live) poll(() => ask(), show, () => true, { lost });
// One after the other: each may take a second of a core that the room needs too.
for (const place of all('[data-load]')) await load(place, place.dataset.load);
