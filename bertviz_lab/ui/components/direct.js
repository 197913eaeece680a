// The page's line to its handlers in Python, and a word about those that take long. Events of the page call `labAsk`; it
// lies on the window because they have no other way to a component.

const TELL_AFTER = 500; // milliseconds until a person is told, and between two words about it
const root = element.querySelector('.lab');
const lines = new Map(); // number of a handler -> { busy, next }
const working = new Set(); // tickets of questions that take long
root.setAttribute('role', 'status');

/** Answers of a handler, one for each of `count` outputs; undefined leaves an output as it is. */
window.labAsk = async (number, count, inputs, guarded) => {
  if (guarded && !inputs[0]) return undefined;
  const line = lines.get(number) ?? { busy: false, next: null };
  lines.set(number, line);
  if (line.busy) {
    line.next?.(false); // an older question that nobody waits for any more
    const mine = await new Promise((resolve) => { line.next = resolve; });
    if (!mine) return undefined;
  }
  line.busy = true;
  const ticket = Math.random().toString(36).slice(2);
  const watched = setTimeout(tell, TELL_AFTER, ticket);
  try {
    return JSON.parse(await server.answer(ticket, number, ...(guarded ? inputs.slice(1) : inputs)));
  } catch {
    return [...Array(count - 1), JSON.stringify({ message: 'The server did not answer. Is it still running?' })];
  } finally {
    clearTimeout(watched);
    working.delete(ticket);
    if (!working.size) root.textContent = '';
    const { next } = line;
    line.next = null;
    if (next) next(true); // stays busy: the line is handed over
    else line.busy = false;
  }
};

/** Say how far a question is, again and again until it is answered. */
async function tell(ticket) {
  working.add(ticket);
  root.textContent ||= 'Working …';
  while (working.has(ticket)) {
    const share = await server.progress(ticket).catch(() => 0);
    if (working.has(ticket) && share > 0) root.textContent = `Working … ${percent(share, 0)}`;
    await new Promise((resolve) => { setTimeout(resolve, TELL_AFTER); });
  }
}
