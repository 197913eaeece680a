// Examples under each other: what is true, what the model said and how sure it was, and the beginning of the text.

const AT_ONCE = 50;
const view = onPayload('No examples yet. They appear after the first evaluation.', show);
const heading = h('p', { class: 'heading' });
const sentence = h('p', { class: 'quiet' });
const nothing = h('p', { class: 'empty' });
const list = h('div', { class: 'list card', role: 'listbox' });
const more = h('button', { type: 'button', class: 'more plain', onclick: showMore });
const said = h('p', { class: 'hush', role: 'status' });
let payload = null;
let chosen = null; // index of the marked example
let current = 0; // place of the one in the tab order
let shown = 0;

const buttons = saveButtons('the examples', {
  CSV: () => saveCsv(`${payload.file}.csv`, fileRows(payload.items)),
  JSON: () => saveJson(`${payload.file}.json`, payload),
}, () => payload.file);
view.content.append(h('div', { class: 'bar' }, heading, buttons), sentence, nothing, list, more, said);

function show(body) {
  if (payload?.key !== body.key || !body.key) chosen = null;
  payload = body;
  chosen = body.chosen ?? chosen;
  heading.textContent = body.title;
  sentence.textContent = body.sentence;
  sentence.hidden = !body.sentence;
  nothing.textContent = body.empty;
  nothing.hidden = body.items.length > 0;
  list.hidden = buttons.hidden = body.items.length === 0;
  list.setAttribute('aria-label', body.title);
  list.replaceChildren();
  const marked = body.items.findIndex((item) => item.index === chosen);
  [shown, current] = [0, Math.max(0, marked)];
  append(Math.max(AT_ONCE, marked + 1));
  list.scrollTo(0, 0);
  list.children[current]?.setAttribute('tabindex', '0');
}

/** Draw up to so many. */
function append(goal) {
  const until = Math.min(goal, payload.items.length);
  list.append(...payload.items.slice(shown, until).map((item, place) => drawItem(item, shown + place)));
  shown = until;
  const left = payload.items.length - shown;
  more.hidden = left === 0;
  more.textContent = `Show ${whole(Math.min(AT_ONCE, left))} more of the ${whole(left)} left`;
}

function showMore() {
  const first = shown;
  append(shown + AT_ONCE);
  said.textContent = `${whole(shown)} of ${whole(payload.items.length)} are shown.`;
  moveTo(first, true);
}

// ---- one example

const DRAWINGS = { label: drawLabels, number: drawNumbers, words: drawWords, answer: drawAnswers };

function drawItem(item, place) {
  return h('div', { class: 'item', role: 'option', tabindex: '-1', 'data-place': place,
    'aria-selected': String(item.index === chosen), 'aria-setsize': payload.items.length, 'aria-posinset': place + 1 },
  ...DRAWINGS[item.kind](item), item.detail ? h('p', { class: 'quiet small cut', dir: 'auto' }, item.detail) : null);
}

/** A name before what it names. */
const named = (name, ...children) => h('span', { class: 'named' }, h('span', { class: 'quiet' }, `${name} `), ...children);

/** Right or wrong, as a sign that needs no colour. */
const sign = (right) => h('span', { class: right ? 'sign right' : 'sign wrong', role: 'img', 'aria-label': right ? 'correct:' : 'wrong:' },
  right ? '✓' : '✗');

const bar = (share) => h('span', { class: 'sure' }, h('span', { class: 'track', 'aria-hidden': 'true' },
  h('span', { class: 'fill', style: `width: ${100 * share}%` })), h('span', { class: 'share' }, percent(share)));

function texts(item) {
  return [h('p', { class: 'text two-lines', dir: 'auto' }, item.text), item.text_b ? h('p', { class: 'text two-lines second', dir: 'auto' }, item.text_b) : null];
}

function drawLabels(item) {
  const verdict = item.right ? [named('true and predicted', h('b', {}, item.predicted))]
    : [named('true', h('b', {}, item.truth)), named('predicted', h('b', {}, item.predicted))];
  return [h('p', { class: 'verdict line' }, sign(item.right), ...verdict, bar(item.probability)), ...texts(item)];
}

function drawNumbers(item) {
  const off = item.predicted - item.truth;
  return [h('p', { class: 'verdict line' }, named('true', h('b', {}, short(item.truth))), named('predicted', h('b', {}, short(item.predicted))),
    named('error', `${off < 0 ? '−' : '+'}${short(Math.abs(off))}`)), ...texts(item)];
}

/** The sentence; under each word that has a wrong label stand the label and the true one. */
function drawWords(item) {
  const verdict = item.right ? 'all labels correct' : `${plural(item.wrong, 'wrong label')}`;
  return [h('p', { class: 'verdict line' }, sign(item.right), verdict), h('p', { class: 'words', dir: 'auto' },
    ...item.words.flatMap(([word, truth, predicted]) => [truth === predicted
      ? h('span', { class: truth === 'O' ? 'word' : 'word tagged tinted' }, word, ...(truth === 'O' ? [] : [' ', h('span', { class: 'tag' }, truth)]))
      : h('span', { class: 'word wrong tinted' }, h('span', { class: 'said' }, word), ' ',
        h('span', { class: 'tag' }, `${predicted}, not ${truth}`)), ' ']))];
}

function drawAnswers(item) {
  const none = 'not in the passage';
  const right = item.answers.length ? item.answers.join(' / ') : none;
  return [h('p', { class: 'text two-lines', dir: 'auto' }, item.text), h('p', { class: 'verdict line' }, sign(item.right),
    named('predicted', h('b', { dir: 'auto' }, item.predicted || none)),
    item.right ? null : named('true', h('b', { dir: 'auto' }, right)),
    item.right || item.score === 0 ? null : named('F1', percent(item.score, 0)),
    item.probability === null ? null : bar(item.probability))];
}

// ---- choosing

function moveTo(place, focus) {
  list.children[current]?.setAttribute('tabindex', '-1');
  current = place;
  list.children[current].setAttribute('tabindex', '0');
  if (focus) list.children[current].focus();
}

function choose(place) {
  moveTo(place, true);
  chosen = payload.items[place].index;
  for (const node of list.children) node.setAttribute('aria-selected', String(Number(node.dataset.place) === place));
  trigger('example_select', { index: chosen });
}

list.addEventListener('click', (event) => {
  const node = event.target.closest('.item');
  if (node && !String(getSelection())) choose(Number(node.dataset.place)); // text can be marked for copying
});
list.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    choose(current);
    return;
  }
  const next = nextByArrow(event.key, current, shown);
  if (next === null) return;
  event.preventDefault();
  moveTo(next, true);
});

// ---- files

function fileRows(items) {
  const cells = {
    label: ['index', 'text', 'text_b', 'truth', 'predicted', 'probability', 'detail'],
    number: ['index', 'text', 'text_b', 'truth', 'predicted', 'detail'],
    words: ['index', 'words', 'truth', 'predicted', 'detail'],
    answer: ['index', 'text', 'predicted', 'answers', 'score', 'probability', 'detail'],
  };
  const names = cells[items[0].kind];
  const of = (item) => (item.kind !== 'words' ? item
    : { ...item, ...Object.fromEntries(['words', 'truth', 'predicted'].map((name, at) => [name, item.words.map((word) => word[at]).join(' ')])) });
  return [names, ...items.map((item) => names.map((name) => {
    const value = of(item)[name];
    return Array.isArray(value) ? value.join(' / ') : value;
  }))];
}

view.start();
