// The progress of a run in one line, whichever workspace is open.

import { poll } from 'lab/client/ask.js';
import { h } from 'lab/client/dom.js';
import { ACTIVE, duration, plural, whole } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';

export default function runStrip(root, first, { label } = {}) {
  const PAUSE = 2000;
  root.classList.add('card');
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', label ?? 'Training run');
  const dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
  const name = h('b', { class: 'name' });
  const words = h('span', { class: 'words' });
  const place = h('span', { class: 'place quiet small cut' });
  const spoken = h('span', { class: 'hush', role: 'status' });
  const curves = h('button', { type: 'button', class: 'go', 
    onclick: () => page.open({ space: 'runs', settings: { 'run.id': runId }, show: 'run' }) }, 'Show curves');
  const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Hide this line', title: 'Hide this line',
    onclick: () => { closed = root.hidden = true; } }, '×');
  const fill = h('span', { class: 'fill' });
  root.append(dot, name, words, place, curves, close, spoken, h('span', { class: 'track', 'aria-hidden': 'true' },
    fill));
  root.hidden = true;

  let follower = 0;
  let runId = '';
  let closed = false; // by the visitor, until another run or a resumed one is to be followed
  let known = { status: '', saved: '' };

  function start(body) {
    follower += 1;
    [root.hidden, closed] = [true, false];
    if (!body?.run_id) return start;
    runId = body.run_id;
    known = 'status' in body ? { status: body.status, saved: body.saved } : null; // else as it is found
    follow(follower);
    return start;
  }

  function follow(mine) {
    poll(() => page.ask('runs', 'glance', { run_id: runId }, 'glance'), (now) => {
      root.hidden = closed || now === null; // the run was deleted
      if (now === null) return null;
      show(now);
      known ??= { status: now.status, saved: now.saved };
      if (now.saved && now.saved !== known.saved) {
        if (page.start.awaited === runId) page.set({ model: runId }); // the first model of a run that was started here
        else page.emit('model', runId);
        page.start.awaited = '';
        page.emit('changed'); // it can be started from
      }
      if (now.status !== known.status) {
        spoken.textContent = `${now.name}: ${now.status}`;
        page.emit('start'); // lists of runs tell it
        page.emit('changed');
      }
      known = { status: now.status, saved: now.saved };
      return ACTIVE.includes(now.status) ? PAUSE : null;
    }, () => mine === follower && root.isConnected);
  }

  function show(now) {
    root.dataset.status = ACTIVE.includes(now.status) ? 'active' : now.status;
    name.textContent = now.name;
    words.textContent = sentence(now);
    place.textContent = now.path ? `Model: ${now.path}` : now.saved ? 'Its model can be chosen in Explore' : '';
    place.title = now.path;
    const share = now.total_steps ? now.step / now.total_steps
      : now.eta_seconds !== null ? now.seconds / Math.max(1e-9, now.seconds + now.eta_seconds) : 0;
    fill.style.width = `${100 * (now.status === 'finished' ? 1 : Math.min(1, share))}%`;
  }

  function sentence(now) {
    const step = `step ${whole(now.step)}${now.total_steps ? ` of ${whole(now.total_steps)}` : ''}`;
    if (now.status === 'training' && now.eta_seconds !== null && now.step) {
      return `training · ${step} · about ${duration(now.eta_seconds)} left`;
    }
    if (now.status === 'training') return 'training · first step';
    if (now.status === 'preparing') return `preparing · ${now.message || 'reading the corpus'}`;
    if (now.status === 'waiting') return `queued · ${now.message}`;
    if (now.status === 'starting') return 'starting …';
    if (now.status === 'finished') return `finished · ${plural(now.step, 'step')} in ${duration(now.seconds)}`;
    if (now.status === 'stopped') return `stopped at ${step} · can be resumed`;
    return `failed · ${now.message}`;
  }

  page.on('follow', (run_id) => start({ run_id })); // it was started or resumed by a panel
  page.on('start', async () => { // it may have another name now, or be gone
    if (root.hidden || !runId) return;
    const now = await page.ask('runs', 'glance', { run_id: runId }, 'glance again').catch(() => undefined);
    if (now) show(now);
    else if (now === null) root.hidden = true;
  });

  return start(first);
}
