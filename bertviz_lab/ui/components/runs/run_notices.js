// The progress and the end of runs for somebody who looks elsewhere: title and icon of the tab, and, if asked for, a
// notification of the browser and a sound.

import { h, makeField, setText } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { LANGUAGE, gettext } from 'lab/client/page.js';
import { recall, remember } from 'lab/client/saving.js';

const KEY = 'bertviz-lab-notices';
// Colors that are seen on light and dark tabs, and a path on a grid of 16.
const ICONS = { finished: ['#0f766e', 'M4.5 8.5l2.5 2.5 4.5-5.5'], failed: ['#be123c', 'M5 5l6 6M11 5l-6 6'],
  stopped: ['#6b7280', 'M6 5v6M10 5v6'] };
const WORDS = { finished: (name) => gettext('{name} finished', { name }),
  failed: (name) => gettext('{name} failed', { name }), stopped: (name) => gettext('{name} stopped', { name }) };

/** How long ago something was, in the language of the page. */
export function agoWords(seconds) {
  if (seconds < 60) return gettext('just now');
  const [size, unit] = [[86400, 'day'], [3600, 'hour'], [60, 'minute']].find(([least]) => seconds >= least);
  return new Intl.RelativeTimeFormat(LANGUAGE).format(-Math.round(seconds / size), unit);
}

/** {node, progress(shares), expected, expect(id), forget(id), end(id, run, words, open)}: `node` has the controls. */
export function makeNotices() {
  const title = document.title;
  const icon = document.querySelector('link[rel~=icon]') ?? document.head.appendChild(h('link', { rel: 'icon' }));
  const usual = icon.href;
  const memory = { awaited: [] }; // runs whose end is still to be told, and what was chosen: for all tabs
  const read = () => Object.assign(memory, recall(KEY));
  const keep = (changes) => remember(KEY, Object.assign(memory, changes));
  let shares = []; // of the runs at work, from 0 to 1, null where nobody knows
  let ended = null; // the last run that has ended since the page was looked at

  const canNotify = () => window.Notification?.permission === 'granted';
  const tick = (name, label, isChosen, onChange) =>
    makeField('checkbox', label, isChosen, onChange, { inline: true, id: `run-${name}` });
  const chosen = read();
  const notify = tick('notify', gettext('Notify me when it is done'), chosen.notify && canNotify(), choose);
  const sound = tick('sound', gettext('Play a sound'), chosen.sound, (isWanted) => {
    keep({ sound: isWanted });
    if (isWanted) play();
  });
  const said = h('span.quiet.small', { role: 'status', hidden: true });

  async function choose(isWanted) {
    if (isWanted) await window.Notification?.requestPermission();
    const isRefused = isWanted && !canNotify();
    if (isRefused) notify.set(false);
    keep({ notify: isWanted && !isRefused });
    setText(said, isRefused ? refusal() : '');
  }

  function refusal() {
    if (window.top !== window)
      return gettext('There are no notifications within another page. Open this one in a tab of its own.');
    return window.isSecureContext
      ? gettext('The browser refuses notifications from this page. The title of its tab shows the end.')
      : gettext('Notifications need HTTPS or the address localhost. The title of this tab shows the end.');
  }

  function show() {
    const words = ended ? WORDS[ended.status](ended.name)
      : shares.map((share) => (share === null ? '…' : percent(share, 0))).join(' · ');
    document.title = [words, title].filter(Boolean).join(' – ');
    icon.href = words ? iconOf() : usual;
  }

  function iconOf() {
    const [color, path] = ICONS[ended?.status] ?? ['#6366f1', ''];
    const share = ended ? 1 : shares.reduce((sum, each) => sum + (each ?? 0), 0) / shares.length;
    const ring = (paint, length) => `<circle cx="8" cy="8" r="6.5" pathLength="100" fill="none" stroke="${paint}"
      stroke-width="3" stroke-dasharray="${length} 100" transform="rotate(-90 8 8)"/>`;
    const drawn = path ? `<circle cx="8" cy="8" r="8" fill="${color}"/><path d="${path}" fill="none" stroke="#fff"
      stroke-width="2"/>` : ring('#a3a3a3', 100) + ring(color, 100 * share);
    return `data:image/svg+xml,${encodeURIComponent(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${drawn}</svg>`)}`;
  }

  function play() {
    const audio = new AudioContext();
    const [tone, volume] = [new OscillatorNode(audio, { frequency: 660 }), new GainNode(audio, { gain: 0.15 })];
    tone.connect(volume).connect(audio.destination);
    tone.frequency.setValueAtTime(880, audio.currentTime + 0.15);
    volume.gain.setTargetAtTime(0, audio.currentTime + 0.3, 0.1);
    tone.start();
    tone.stop(audio.currentTime + 0.8);
    tone.onended = () => audio.close();
  }

  function looked() {
    ended = null;
    show();
  }

  return {
    node: h('div.notices.line', { lang: LANGUAGE }, notify.node, sound.node, said),
    progress(now) {
      shares = now;
      show();
    },
    /** Await the end of an active run, for this page and for one that is opened later. */
    expect(id) {
      const { awaited } = read();
      if (!awaited.includes(id)) keep({ awaited: [...awaited, id] });
    },
    forget: (id) => keep({ awaited: read().awaited.filter((each) => each !== id) }),
    get expected() { return read().awaited; },
    /** Tell the end of a run; of several tabs the first notifies. */
    end(id, run, words, open) {
      const { awaited } = read();
      keep({ awaited: awaited.filter((each) => each !== id) });
      ended = run;
      for (const event of ['pointermove', 'pointerdown', 'keydown'])
        window.addEventListener(event, looked, { once: true });
      show();
      if (!awaited.includes(id)) return;
      if (memory.sound) play();
      if (!memory.notify || !canNotify()) return;
      try {
        const notification = new Notification(WORDS[run.status](run.name), { body: words, tag: id, lang: LANGUAGE });
        notification.onclick = () => {
          window.focus();
          open();
        };
      } catch { /* on a phone only service workers may; the title shows it */ }
    },
  };
}
