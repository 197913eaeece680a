// What a person has done so far, kept in this browser and nowhere else; in a workshop, for the room that it belongs to.

const KEY = 'bertviz-lab-lessons';
const before = recall(KEY);
page.memory ??= {
  at: Number.isInteger(before.at) ? before.at : 1,
  chosen: before.chosen && typeof before.chosen === 'object' ? before.chosen : {},
  done: Array.isArray(before.done) ? before.done.filter(Number.isInteger) : [],
  room: String(before.room ?? ''),
  called: Number.isInteger(before.called) ? before.called : 0, // the number of the leader's last call that was followed
};
const { memory } = page;

const keep = (changes) => remember(KEY, Object.assign(memory, changes));
