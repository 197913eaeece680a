// What a person has done so far, kept in this browser and nowhere else.

const KEY = 'bertviz-lab-lessons';
const memory = { at: 1, chosen: {}, done: [], ...recall() };

/** What was kept; it may say anything, and a browser may refuse to tell. */
function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return {
      at: Number.isInteger(kept.at) ? kept.at : 1,
      chosen: kept.chosen && typeof kept.chosen === 'object' ? kept.chosen : {},
      done: Array.isArray(kept.done) ? kept.done.filter(Number.isInteger) : [],
    };
  } catch {
    return {};
  }
}

function keep(changes) {
  Object.assign(memory, changes);
  try {
    localStorage.setItem(KEY, JSON.stringify(memory));
  } catch {
    // a browser that keeps nothing: the lessons work, and begin anew with the next visit
  }
}
