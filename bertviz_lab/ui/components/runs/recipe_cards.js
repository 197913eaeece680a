// Cards for what may be left out of the recipe: tick, train, predict, reveal.

const view = onPayload('No ablations yet.', show);
const wholeState = h('span', { class: 'quiet' });
const start = h('button', { type: 'button', class: 'start action', onclick: queue }, '');
const compare = h('button', { type: 'button', class: 'plain', onclick: sideBySide }, 'Compare their curves');
const all = h('button', { type: 'button', class: 'plain', onclick: tickAll }, 'Tick all');
const said = h('span', { class: 'quiet', role: 'status' });
const grid = h('div', { class: 'cards tiles' });
const bar = h('div', { class: 'bar', 'data-noexport': '' }, start, all, compare, said);
const buttons = saveDrawing('the cards', () => 'recipe', { picture: () => pictureOf(picture) });
const head = h('div', { class: 'bar' }, h('p', {}, h('b', {}, 'Full recipe'), ' ', wholeState), buttons);
const picture = h('div', {}, head, grid);
view.content.append(bar, picture);

let payload = null;
let cards = [];
let states = {};
let follower = 0;

function show(body) {
  payload = body;
  follower += 1;
  states = {};
  cards = body.cards.map((card) => makeCard(card, body.set, body.predictions, tell, reveal));
  grid.replaceChildren(...cards.map((card) => card.node));
  said.textContent = '';
  refresh();
  follow(follower);
}

const runs = () => [payload.whole, ...cards.map((card) => card.run)].filter(Boolean);

function refresh() {
  wholeState.textContent = payload.whole ? progressWords(states[payload.whole]) : `trains first: ${plural(payload.steps, 'step')} on Tiny Town, as does each ablation.`;
  tell();
}

/** What pressing the button would do. */
function tell() {
  for (const card of cards) card.update(states[card.run], states[payload.whole]);
  const ticked = cards.filter((card) => card.box.checked && !card.box.hidden);
  const first = !payload.whole || ['stopped', 'failed', 'missing'].includes(states[payload.whole]?.status);
  const count = ticked.length + (first ? 1 : 0);
  start.textContent = ticked.length ? `Train ${first ? 'the full recipe and ' : ''}${plural(ticked.length, 'ablation')}` : 'Run ablation study';
  start.disabled = ticked.length === 0;
  start.hidden = payload.training === false; // whoever runs the page has turned it off
  start.title = ticked.length ? `${plural(count, 'run')} of ${plural(payload.steps, 'step')}` : 'Select an ablation first';
  all.hidden = cards.every((card) => card.box.checked || card.box.hidden);
  compare.hidden = runs().length < 2;
}

function tickAll() {
  for (const card of cards) if (!card.box.hidden) card.box.checked = true;
  tell();
}

function queue() {
  const names = cards.filter((card) => card.box.checked && !card.box.hidden).map((card) => card.name);
  said.textContent = 'Queueing …';
  start.disabled = true;
  trigger('train_request', { names });
}

function sideBySide() {
  trigger('compare_request', { runs: runs() });
}

/** Ask how far the runs are, until all have ended or other cards are shown. */
function follow(mine) {
  poll(() => server.look(runs()), (answer) => {
    const before = JSON.stringify(states);
    states = answer;
    if (JSON.stringify(states) !== before) refresh();
    for (const card of cards) if (card.revealed && card.revealable && !card.told) reveal(card);
    return Object.values(states).some((run) => ACTIVE.includes(run.status)) ? 2000 : null;
  }, () => mine === follower && element.isConnected && runs().length && server, { node: element });
}

async function reveal(card) {
  card.told = true;
  try {
    const outcome = await server.reveal(card.name, payload.whole, card.run, card.predicted);
    const shown = cards.find((other) => other.name === card.name); // they may have been drawn again meanwhile
    if (outcome) shown?.tell(outcome);
  } catch (error) {
    card.told = false;
    said.textContent = error.message;
  }
}

view.start();
