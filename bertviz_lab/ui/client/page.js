// What all parts of the page share: questions to Python, the input of Explore, the selected token, and the address. One
// object, `page`, for the whole document.

import { askWith } from 'lab/client/ask.js';
import { fillIn } from 'lab/client/format.js';
import { TEXTS, VIEWS, answerer } from 'lab/site.js';

/** What the page opens with: of a published one that has no address of its own, what it was made with. */
const START = new URLSearchParams(document.querySelector('meta[name=lab-start]')?.content || location.search);

/** The language of the course: the one that the address asks for, else the server's. */
export const LANGUAGE = [START.get('lang'),
  document.querySelector('meta[name=lab-language]')?.content].find((code) => code in TEXTS) ?? 'en';

/** A text of the course in its language, with values in place of the names in braces. */
export const gettext = (text, values) => fillIn(TEXTS[LANGUAGE]?.[text] ?? text, values);

export const page = (() => {
  const topics = new EventTarget();
  /** Call `act` with what is emitted on a topic, until the `signal` of an AbortController ends it. */
  const on = (topic, act, signal) => topics.addEventListener(topic, ({ detail }) => act(...detail), { signal });
  const emit = (topic, ...detail) => topics.dispatchEvent(new CustomEvent(topic, { detail }));
  const ask = askWith(answerer, emit);

  // ---- the address: the workspace, the input, and what a view keeps of its settings

  const hasAddress = location.protocol !== 'about:'; // else it is within another page
  const INPUTS = ['text_a', 'text_b', 'model', 'other'];
  const LONGEST = 2000; // characters of a text in an address that can still be sent
  const input = Object.fromEntries(INPUTS.map((name) => [name, START.get(name) ?? '']));
  const kept = new Map([...START].filter(([name]) => name.includes('.'))); // "view.setting" -> text
  const named = () => ['explore', 'train', 'runs', 'learn']
    .find((name) => name === new URLSearchParams(location.search).get('space')) ?? '';
  const firstSpace = START.has('lesson') ? 'learn' : named() || 'explore';
  let space = named();
  let writing = 0;
  let selected = null; // a token, by its position in the input of the model

  function address() {
    const url = new URL(location.href);
    url.hash = '';
    const texts = INPUTS.map((name) => [name, input[name]]).filter(([, text]) => text && text.length <= LONGEST);
    const language = START.has('lang') ? [['lang', LANGUAGE]] : [];
    url.search = new URLSearchParams([...language, ...(space ? [['space', space]] : []), ...texts, ...kept]);
    return url.href;
  }

  /** Browsers refuse more than a hundred changes of the address in half a minute. */
  function writeAddress() {
    clearTimeout(writing);
    if (hasAddress) writing = setTimeout(() => history.replaceState(history.state, '', address()), 400);
  }

  /** A setting of a view that the address keeps, as text; "" removes it. */
  function keep(name, value) {
    if ((value ?? '') === '') kept.delete(name);
    else kept.set(name, String(value));
    writeAddress();
  }

  /** Change some of the input; listeners to `input` receive the names. */
  function set(some) {
    const changed = Object.keys(some).filter((name) => input[name] !== some[name]);
    if (!changed.length) return;
    Object.assign(input, some);
    if (changed.some((name) => name !== 'other')) select(null);
    writeAddress();
    emit('input', changed);
  }

  function select(position) {
    if (selected === position) return;
    selected = position;
    emit('select', position);
  }

  window.addEventListener('popstate', () => page.open({ space: named() || 'explore' }));

  return {
    on, emit, ask, address, input, set, keep, select, firstSpace,
    kept: (name, otherwise = '') => kept.get(name) ?? otherwise,
    /** What a view keeps, [[setting, text], ...]. */
    settingsOf: (view) => [...kept].filter(([name]) => name.startsWith(`${view}.`))
      .map(([name, text]) => [name.slice(view.length + 1), text]),
    get selected() { return selected; },
    get space() { return space; },
    /** What Python tells the page: the default model, and the run whose first model is awaited. */
    start: { model: '' },
    /** The lesson that the page was opened with: its number. */
    lesson: START.get('lesson'),
    /** The place that `open` or the address asked for last, until a workspace has opened the view. */
    asked: { show: START.get('show'), part: START.get('part') ?? '' },
    /** Ask for a change of runs, whose place no other one takes; then all that lists runs asks again. */
    async change(view, question, args) {
      const answer = await ask(view, question, args, Symbol(question));
      emit('start');
      emit('changed');
      return answer;
    },
    /** A workspace has come into sight. */
    setSpace(name) {
      const moved = space && name !== (named() || 'explore');
      space = name;
      // The browser's Back leads to the workspace before.
      if (moved && hasAddress) history.pushState(history.state, '', address());
      else writeAddress();
      emit('space', name);
    },
    /** Go to a workspace with some input and settings: {space, input, settings: {"view.name": text}, show: view,
     * part}. Other settings of the view, or where a `lesson` leads there of its workspace, go back to their defaults
     * if there are some. `part` is a fold of the view, which is opened. */
    open(place) {
      const { show, part, lesson, settings } = place;
      const viewOf = (name) => name.split('.')[0];
      const isMeant = ({ id, workspace }) => id === show || (lesson && workspace === place.space);
      const views = VIEWS.filter(isMeant).map(({ id }) => id);
      const others = [...kept.keys()].filter((name) => views.includes(viewOf(name)) && !name.endsWith('.open'));
      const changes = { ...(settings && Object.fromEntries(others.map((name) => [name, '']))), ...settings,
        ...(part && { [`${show}.${part}`]: 'open' }) };
      for (const [name, value] of Object.entries(changes)) keep(name, value);
      if (settings || part) emit('settings', [show, ...Object.keys(changes).map(viewOf)]);
      if (place.input) set(place.input);
      page.asked = place;
      emit('open', place);
    },
  };
})();
