// The end of the line to Python that lies in the page, and a word about questions that take long.

import { LOST, pause } from 'lab/client/ask.js';
import { duration, percent, plural } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';

export function mountWire(root, { events, server, value, watch }) {
  const TELL_AFTER = 500; // milliseconds until a person is told, and between two words about it
  const working = new Map(); // ticket of a question that was asked -> the timer that will tell of it
  const told = new Set(); // tickets of those that take long
  root.setAttribute('role', 'status');

  Object.assign(page.start, value());
  page.drop = (ticket) => server.drop(ticket);
  page.on('asked', (ticket) => working.set(ticket, setTimeout(tell, TELL_AFTER, ticket)));
  page.on('answered', (ticket) => {
    clearTimeout(working.get(ticket));
    working.delete(ticket);
    told.delete(ticket);
    if (!told.size) root.textContent = '';
  });
  page.connect((...sent) => server.answer(...sent));

  /** Say how far a question is, again and again until it is answered. */
  async function tell(ticket) {
    told.add(ticket);
    root.textContent ||= 'Working …';
    while (told.has(ticket)) {
      const { share = 0, before = null, seconds = 0 } = (await server.progress(ticket)) ?? {};
      if (told.has(ticket)) root.textContent = before !== null ? waitingWords(before, seconds) : `Working …${share > 0 ? ` ${percent(share, 0)}` : ''}`;
      await pause(TELL_AFTER);
    }
  }

  /** Such as "2 questions before yours, about 4 s". */
  function waitingWords(before, seconds) {
    const others = before ? `${plural(before, 'question')} before yours` : 'Your question is next';
    return `${others}, about ${duration(Math.max(1, seconds))}`;
  }

  // What changes something that others see goes by an event of Gradio's; its answer comes with the next value.
  const SLOWEST = { push: 3600000, other: 30000 }; // milliseconds until nobody believes in an answer any more
  const changing = new Map(); // ticket -> {resolve, reject}
  const changeBy = (send) => (change) => new Promise((resolve, reject) => {
    const ticket = Math.random().toString(36).slice(2);
    changing.set(ticket, { resolve, reject });
    setTimeout(() => changing.delete(ticket) && reject(new Error(LOST)), SLOWEST[change.action] ?? SLOWEST.other);
    send({ ticket, ...change });
  });
  page.changeRun = changeBy((change) => events.change_run?.(change));
  page.trainAblations = changeBy((plan) => events.train_ablations?.(plan));

  // What Python tells of runs: which one's first model is awaited, and what came of a change.
  watch(() => {
    const { answer, ...start } = value();
    Object.assign(page.start, start);
    const asked = changing.get(answer?.ticket);
    changing.delete(answer?.ticket);
    if (answer?.error) asked?.reject(new Error(answer.error));
    else asked?.resolve(answer?.message);
    page.emit('start');
  });

  // Another workspace is opened by Python, which alone can.
  page.on('open', ({ space, show }) => {
    if (space && (space !== page.space || space === 'train')) events.go?.({ space, show });
  });
}
