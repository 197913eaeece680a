// The progress of the visitor's runs, a line for each, whichever workspace is open; and how they ended, also while
// the page was asleep.

import { poll } from 'lab/client/ask.js';
import { elements, h } from 'lab/client/dom.js';
import { ACTIVE, duration, shareDone, stateWords } from 'lab/client/format.js';
import { LANGUAGE, gettext, page } from 'lab/client/page.js';
import { agoWords, makeNotices } from 'lab/components/runs/run_notices.js';

const [LOOKED_AT, HIDDEN, OVER] = [2000, 5000, 60000]; // milliseconds between two questions
const isActive = ({ known }) => !known || ACTIVE.includes(known.status);

/** How a run ended, when, what it scored and where its model is. */
function endWords({ name, status, ended, step, seconds, message, score: scored, saved, path }) {
  const values = { name, ago: agoWords(ended), step: step.toLocaleString(LANGUAGE), time: duration(seconds) };
  const end = status === 'finished' ? gettext('Your run {name} finished {ago} (step {step}, {time}).', values)
    : status === 'failed' ? gettext('Your run {name} failed {ago}.', values)
      : gettext('Your run {name} was stopped {ago}. It can be resumed.', values);
  const place = path ? gettext('Its model is in {path}.', { path })
    : saved && gettext('Its model can be chosen in Explore.');
  const score = scored && `${scored}.`;
  return [end, ...(status === 'failed' ? [message, score, place] : [score, place, message])].filter(Boolean).join(' ');
}

/** Returns the function that follows runs, by their ids. */
export default function runStrip(root) {
  const lines = new Map(); // id of a run -> its line
  const notices = makeNotices();
  const spoken = h('span.hush', { role: 'status' });
  let watches = 0;
  root.classList.add('card');
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', 'Training runs');
  root.append(spoken);
  root.hidden = true;

  function makeLine(id) {
    const [name, words, place, fill] = elements('b.name', 'span.words', 'span.place.quiet.small', 'span.fill');
    const showCurves = () => page.open({ space: 'runs', settings: { 'run.id': id }, show: 'run' });
    const hide = () => {
      line.isClosed = true;
      arrange();
    };
    const buttons = h('span.buttons.line', h('button.go', { onclick: showCurves }, 'Show curves'),
      h('button.close', { 'aria-label': 'Hide this line', title: 'Hide this line', onclick: hide }, '×'));
    const node = h('div.run.line', h('span.dot', { 'aria-hidden': 'true' }), name, words, place, buttons,
      h('span.track', { 'aria-hidden': 'true' }, fill));
    const line = { node, buttons, known: null, isClosed: false, show };

    function show(now) {
      const before = line.known ?? now;
      line.known = now;
      const active = isActive(line);
      node.dataset.status = active ? 'active' : now.status;
      node.lang = active ? '' : LANGUAGE;
      name.textContent = active ? now.name : '';
      words.textContent = active ? stateWords(now) : endWords(now);
      place.textContent = active && now.saved ? 'Its model can be chosen in Explore' : '';
      fill.style.width = `${100 * (now.status === 'finished' ? 1 : shareDone(now))}%`;
      if (active) notices.expect(id);
      else if (now.status !== before.status || notices.expected.includes(id)) {
        line.isClosed = false;
        spoken.textContent = words.textContent;
        notices.end(id, now, words.textContent, showCurves);
      }
      if (now.saved && now.saved !== before.saved) {
        if (page.start.awaited === id) page.set({ model: id }); // the first model of a run that was started here
        else page.emit('model', id);
        page.start.awaited = '';
        page.emit('changed'); // it can be started from
      }
      if (now.status === before.status) return;
      if (active) spoken.textContent = `${now.name}: ${now.status}`;
      page.emit('start'); // lists of runs tell it
      page.emit('changed');
    }
    return line;
  }

  /** Show the lines that have something to say, the newest run first, and what is to be seen of them elsewhere. */
  function arrange() {
    const active = [...lines.values()].filter((line) => line.known && isActive(line));
    notices.progress(active.map(({ known }) => (known.status === 'training' ? shareDone(known) : null)));
    for (const { node, known, isClosed } of lines.values()) node.hidden = isClosed || !known;
    root.hidden = [...lines.values()].every(({ node }) => node.hidden);
    notices.node.hidden = !active.length;
    const newest = active.findLast(({ isClosed }) => !isClosed);
    if (newest && newest.buttons.previousSibling !== notices.node) newest.buttons.before(notices.node);
  }

  function drop(id) {
    lines.get(id)?.node.remove();
    lines.delete(id);
    notices.forget(id);
  }

  function watch() {
    const mine = ++watches;
    const anyActive = () => [...lines.values()].some(isActive);
    poll(() => page.ask('runs', 'glances', { runs: [...lines.keys()] }, 'glances'), (answer) => {
      for (const [id, now] of Object.entries(answer)) {
        if (now) lines.get(id)?.show(now);
        else drop(id); // it was deleted
      }
      arrange();
      if (!lines.size) return null;
      return !anyActive() ? OVER : document.hidden ? HIDDEN : LOOKED_AT;
    }, () => mine === watches && root.isConnected && lines.size,
    { inBackground: anyActive, lost: () => notices.progress([...lines.values()].filter(isActive).map(() => null)) });
  }

  function follow(...ids) {
    for (const [id, line] of lines) if (!isActive(line) || ids.includes(id)) drop(id);
    const others = notices.expected.filter((id) => !lines.has(id) && !ids.includes(id));
    for (const id of [...others, ...ids]) {
      lines.set(id, makeLine(id));
      root.prepend(lines.get(id).node);
    }
    arrange();
    watch();
  }

  page.on('follow', follow); // it was started or resumed by a panel
  page.on('start', watch); // one may have another name now, or be gone
  return follow;
}
