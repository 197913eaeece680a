// A status line about questions that take long.

import { pause, serverAnswerer } from 'lab/client/ask.js';
import { duration, percent, plural } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';

export function mountWire(root) {
  const TELL_AFTER = 500; // milliseconds until a person is told, and between two words about it
  const working = new Map(); // ticket of a question that was asked -> the timer that will tell of it
  const told = new Set(); // tickets of those that take long
  root.setAttribute('role', 'status');

  page.on('asked', (ticket) => working.set(ticket, setTimeout(tell, TELL_AFTER, ticket)));
  page.on('answered', (ticket) => {
    clearTimeout(working.get(ticket));
    working.delete(ticket);
    told.delete(ticket);
    if (!told.size) root.textContent = '';
  });

  /** Say how far a question is, again and again until it is answered. */
  async function tell(ticket) {
    told.add(ticket);
    root.textContent ||= 'Working …';
    while (told.has(ticket)) {
      const { share = 0, before = null, seconds = 0 } = await serverAnswerer.progress(ticket);
      if (told.has(ticket)) root.textContent = before !== null ? waitingWords(before, seconds)
        : `Working …${share > 0 ? ` ${percent(share, 0)}` : ''}`;
      await pause(TELL_AFTER);
    }
  }

  /** Such as "2 questions before yours, about 4 s". */
  function waitingWords(before, seconds) {
    const others = before ? `${plural(before, 'question')} before yours` : 'Your question is next';
    return `${others}, about ${duration(Math.max(1, seconds))}`;
  }
}
