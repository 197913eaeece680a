// The page's line to its handlers in Python. Events of the page call `labAsk`; it lies on the window because they have
// no other way to a component.

const lines = new Map(); // number of a handler -> { busy, next }

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
  try {
    return JSON.parse(await server.answer(number, ...(guarded ? inputs.slice(1) : inputs)));
  } catch {
    return [...Array(count - 1), JSON.stringify({ message: 'The server did not answer. Is it still running?' })];
  } finally {
    const { next } = line;
    line.next = null;
    if (next) next(true); // stays busy: the line is handed over
    else line.busy = false;
  }
};
