// The progress of a run in one line, whichever workspace is open.

import { poll } from 'lab/client/ask.js';
import { elements, h } from 'lab/client/dom.js';
import { ACTIVE, shareDone, stateWords } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';

/** Returns the function that follows a run, by its id. */
export default function runStrip(root) {
  let follower = 0;
  let runId = '';
  let closed = false; // by the visitor, until another run or a resumed one is to be followed
  let known = null; // the last {status, saved}

  const [name, words, place, fill] = elements('b.name', 'span.words', 'span.place.quiet.small.cut', 'span.fill');
  const spoken = h('span.hush', { role: 'status' });
  const showCurves = () => page.open({ space: 'runs', settings: { 'run.id': runId }, show: 'run' });
  const hide = () => { closed = root.hidden = true; };
  root.classList.add('card');
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', 'Training run');
  root.append(h('span.dot', { 'aria-hidden': 'true' }), name, words, place, h('button.go', { onclick: showCurves },
    'Show curves'), h('button.close', { 'aria-label': 'Hide this line', title: 'Hide this line', onclick: hide }, '×'),
    spoken, h('span.track', { 'aria-hidden': 'true' }, fill));
  root.hidden = true;

  function follow(id) {
    follower += 1;
    const mine = follower;
    [runId, known, closed, root.hidden] = [id, null, false, true];
    poll(() => page.ask('runs', 'glance', { run_id: runId }, 'glance'), (now) => {
      root.hidden = closed || now === null; // the run was deleted
      if (now === null) return null;
      show(now);
      const { status, saved } = known ?? now;
      if (now.saved && now.saved !== saved) {
        if (page.start.awaited === runId) page.set({ model: runId }); // the first model of a run that was started here
        else page.emit('model', runId);
        page.start.awaited = '';
        page.emit('changed'); // it can be started from
      }
      if (now.status !== status) {
        spoken.textContent = `${now.name}: ${now.status}`;
        page.emit('start'); // lists of runs tell it
        page.emit('changed');
      }
      known = now;
      return ACTIVE.includes(now.status) ? 2000 : null;
    }, () => mine === follower && root.isConnected);
  }

  function show(now) {
    root.dataset.status = ACTIVE.includes(now.status) ? 'active' : now.status;
    name.textContent = now.name;
    words.textContent = stateWords(now.status === 'stopped' ? { ...now, message: 'It can be resumed.' } : now);
    place.textContent = now.path ? `Model: ${now.path}` : now.saved ? 'Its model can be chosen in Explore' : '';
    place.title = now.path;
    fill.style.width = `${100 * (now.status === 'finished' ? 1 : shareDone(now))}%`;
  }

  page.on('follow', follow); // it was started or resumed by a panel
  page.on('start', async () => { // it may have another name now, or be gone
    if (root.hidden || !runId) return;
    const now = await page.ask('runs', 'glance', { run_id: runId }, 'glance again').catch(() => undefined);
    if (now) show(now);
    else if (now === null) root.hidden = true;
  });
  return follow;
}
