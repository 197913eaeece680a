// The scrubber: one slider over a training, and every view at the step on which it stands.

const view = onPayload('Choose a training run and press Show.', show);
const look = { index: 0, playing: 0, follow: true };
let [opening, axis, plane, follower] = [null, null, null, 0];
let [drawWanted, linesWanted] = [false, 0];

// ---- furniture
const title = h('p', { class: 'heading' });
const lossLines = makeLines(170, jump);
const slider = h('input', { type: 'range', min: '0', max: '0', step: '1', value: '0', 'aria-label': 'Training step', 'data-noexport': '' });
const play = h('button', { type: 'button', class: 'play', title: 'Play (space)', 'aria-label': 'Play', onclick: () => toggle() });
const where = h('p', { class: 'where' });
const state = h('p', { class: 'quiet state', role: 'status' });
const spoken = h('p', { class: 'hush', 'aria-live': 'polite' });
const frames = makeFrames(() => look.index, arrived);
const guesses = makeGuesses(jump);
const attention = makeAttention(({ layer, head }) => {
  trigger('look', { layer, head });
  if (folds.heads.node.open) parts.heads.draw(shown(), axis);
});
const parts = { heads: makeHeads(jump, attention, () => parts.heads.draw(shown(), axis)), lens: makeLens(guesses, jump), map: makeMap(), losses: makeLosses(jump) };
const folds = Object.fromEntries([['heads', 'Head metrics over training'], ['lens', 'Logit lens'], ['map', 'Embedding map'],
  ['losses', 'MLM loss per token']].map(([name, words]) => [name, { node: foldOf(name, words, parts[name].node, () => drawFold(name)) }]));
const lossPicture = h('div', {}, lossLines.node);
const everything = saveButtons('all snapshots', {
  PNG: () => savePng('learning-curve.png', pictureOf(lossPicture, caption(title, false))),
  SVG: () => saveSvg('learning-curve.svg', pictureOf(lossPicture, caption(title, false))),
  CSV: () => saveCsv('learning-curve.csv', [['kind', 'step', 'loss'],
    ...[['training', 'trained'], ['causal', 'forwards'], ['held-out', 'held']].flatMap(([kind, key]) =>
      opening.curve[key].map(([step, loss]) => [kind, step, loss]))]),
  JSON: () => saveJson('learning.json', entire()),
  HTML: async () => saveText('learning.html', 'text/html', (await server.standalone_page()).replace('"the payload goes here"',
    () => JSON.stringify(entire()).replaceAll('<', '\\u003c'))),
});
if (!server) everything.querySelector('[data-save=html]').remove();

view.content.append(
  h('div', { class: 'bar' }, title, everything), lossPicture,
  h('div', { class: 'scrub' }, play, slider), where, state, spoken,
  guesses.node, attention.node, ...Object.values(folds).map((fold) => fold.node));

// ---- what the parts ask of the whole

/** All frames that are here, in one: what a page of its own shows. */
function entire() {
  return { ...opening, live: false, first: null, frames: Object.fromEntries(opening.steps.filter((step) => frames.at(step)).map((step) => {
    const { data, points, plane: own, ...frame } = frames.at(step);
    return [step, frame];
  })) };
}

const shown = () => frames.nearest(look.index);

function caption(heading, withStep = true) {
  return [opening.title, withStep ? `step ${whole(shown().step)}` : '', heading.textContent].filter(Boolean).join(' · ');
}

// ---- a history, and its frames as they come

function show(payload) {
  stop();
  follower += 1;
  const before = opening;
  opening = payload;
  plane = readPlane(payload.plane);
  const told = restore(payload.look);
  const last = payload.steps.length - 1;
  const same = before && before.question.run === payload.question.run;
  look.index = told ?? (same ? Math.max(0, payload.steps.indexOf(before.steps[look.index])) : last);
  if (same && told === null && look.follow) look.index = last;
  look.follow = look.index === last;
  frames.begin(payload);
  if (!frames.nearest(look.index)) return; // a page of its own without frames
  for (const part of [guesses, parts.heads, parts.lens, parts.losses]) part.begin(payload, frames);
  attention.begin(payload, frames.nearest(last), Number.isInteger(payload.look?.layer));
  parts.map.begin(payload, frames, plane);
  const first = shown();
  folds.lens.node.hidden = !first.masked_tokens.length;
  folds.map.node.hidden = !plane;
  folds.losses.node.hidden = !first.losses;
  title.textContent = `Training dynamics of ${payload.title}`;
  measure();
  draw();
  if (payload.live && server?.news) follow(follower);
}

/** Take over what a link says: {step, layer, head}, each where it is known. The index of the step, or null. */
function restore(linked = {}) {
  for (const name of ['layer', 'head']) if (Number.isInteger(linked[name]) && linked[name] >= 0) attention.state[name] = linked[name];
  const index = opening.steps.indexOf(linked.step);
  return index < 0 ? null : index;
}

/** The axis is as long as what is known; the slider reaches as far as the snapshots do. */
function measure() {
  const { trained, forwards } = opening.curve;
  axis = makeAxis(opening.steps, Math.max(trained.at(-1)?.[0] ?? 0, forwards.at(-1)?.[0] ?? 0));
  slider.max = String(opening.steps.length - 1);
  slider.value = String(look.index);
  slider.disabled = opening.steps.length < 2;
  slider.style.setProperty('--part', String(Math.max(0.02, (opening.steps.length - 1) / axis.end)));
  drawLoss();
  drawLines();
}

function drawLoss() {
  const { curve } = opening;
  const some = [...curve.trained, ...curve.held].map((point) => point[1]);
  const high = Math.max(1, ...some, curve.chance ?? 0) * 1.02;
  const series = [{ name: 'training', points: curve.trained, paint: paintOf(0) },
    { name: 'held-out', points: curve.held, paint: paintOf(1), dots: true },
    { name: 'next token (causal-LM warm-up)', points: curve.forwards, paint: paintOf(2) }].filter((one) => one.points.length);
  lossPicture.hidden = !series.length;
  lossLines.show({ series, low: 0, high, ticks: roundTicks(0, high), level: curve.chance ? [curve.chance, curve.chance_name] : null, format: (value) => String(Number(value.toFixed(2))),
    tell: short, words: `${curve.name} over the training. ${series.map((one) => `${one.name}: ${short(one.points.at(-1)[1])} in the end`).join(', ')}.` }, axis);
}

function drawLines() {
  if (!shown()) return;
  guesses.drawLines(axis);
  for (const name of Object.keys(folds)) drawFold(name);
}

/** All of a part that is open: it may have been folded while frames came. */
function drawFold(name) {
  if (!folds[name].node.open || folds[name].node.hidden || !opening) return;
  if (name === 'losses') parts.losses.drawLines(shown(), axis);
  else if (name === 'map') parts.map.build(shown());
  else parts[name].draw(shown(), axis);
}

/** A frame has come. Lines are drawn again a few times a second, the views at once where they wait for it. */
function arrived(step) {
  if (opening.steps[look.index] === step) want();
  else tellState();
  if (linesWanted) return;
  linesWanted = setTimeout(() => { linesWanted = 0; drawLines(); tellState(); }, frames.missing().length ? 250 : 0);
}

// ---- the step on which it stands

/** Everything that moves with the slider; all of it comes out of what is here. */
function draw() {
  const frame = shown();
  if (!frame) return;
  const began = performance.now();
  const step = opening.steps[look.index];
  attention.draw(frame); // asks how much room it has, which is quick only as long as nothing else has changed
  lossLines.moveTo(step);
  guesses.draw(frame);
  if (folds.heads.node.open) parts.heads.moveTo(step);
  if (folds.lens.node.open) parts.lens.moveTo(frame.step);
  if (folds.map.node.open && plane) parts.map.draw(frame);
  if (folds.losses.node.open && frame.losses) parts.losses.draw(frame);
  tellStep(step);
  tellState();
  view.content.dataset.step = String(frame.step);
  view.content.dataset.took = (performance.now() - began).toFixed(1);
}

function want() {
  if (drawWanted) return;
  drawWanted = true;
  requestAnimationFrame(() => { drawWanted = false; draw(); });
}

function tellStep(step) {
  const { trained } = opening.curve;
  const row = [...trained].reverse().find((point) => point[0] <= step);
  const facts = [row && step > 0 ? `${compactly(row[3])} tokens seen` : '', row && step > 0 ? duration(row[2]) : '', step === 0 ? 'random initialisation' : ''];
  where.replaceChildren(h('b', {}, `Step ${whole(step)}`), ...facts.filter(Boolean).flatMap((fact) => [' · ', fact]));
  const words = `Step ${whole(step)}. ${guesses.words(shown())}`;
  slider.setAttribute('aria-valuetext', words);
  if (!look.playing) spoken.textContent = document.activeElement === slider ? '' : words; // the slider says it itself
}

const compactly = (count) => (count >= 1e6 ? `${(count / 1e6).toFixed(1)} million` : whole(count));

function tellState() {
  const missing = frames.missing().length;
  const { steps } = opening;
  const away = shown()?.step !== steps[look.index] ? `Showing step ${whole(shown()?.step ?? 0)}, the nearest available. ` : '';
  const trouble = frames.trouble();
  state.textContent = missing && server ? `${away}${steps.length - missing} of ${steps.length} snapshots are loaded, the others are loading.`
    : away + trouble + (opening.live ? 'Training is in progress: new snapshots are added to the slider.' : '');
  state.classList.toggle('still', !state.textContent);
}

function jump(index) {
  stop();
  go(index);
}

function go(index) {
  look.index = Math.min(Math.max(0, index), opening.steps.length - 1);
  look.follow = look.index === opening.steps.length - 1;
  slider.value = String(look.index);
  trigger('look', { step: look.follow ? null : opening.steps[look.index] });
  want();
}

// ---- play, keys, and a training under way

function toggle() {
  if (look.playing) {
    stop();
    return;
  }
  if (look.index === opening.steps.length - 1) go(0);
  look.playing = setInterval(() => {
    if (!element.isConnected || look.index >= opening.steps.length - 1) stop();
    else if (frames.at(opening.steps[look.index + 1]) || !frames.missing().length) go(look.index + 1);
  }, 600);
  markPlay();
}

function stop() {
  clearInterval(look.playing);
  look.playing = 0;
  markPlay();
}

function markPlay() {
  play.classList.toggle('on', Boolean(look.playing));
  play.setAttribute('aria-label', look.playing ? 'Pause' : 'Play');
  play.title = `${look.playing ? 'Pause' : 'Play'} (space)`;
}

slider.addEventListener('input', () => jump(Number(slider.value)));
slider.addEventListener('keydown', (event) => {
  if (event.key !== ' ') return;
  event.preventDefault();
  toggle();
});

/**
 * Ask every two seconds, while somebody looks, what has been added, until the training has ended or another one is on
 * show. A lost answer is asked for again, later and later.
 */
async function follow(mine) {
  let lost = 0;
  while (mine === follower && element.isConnected && opening.live) {
    await pause(Math.min(10000, 2000 * 2 ** lost), element);
    if (mine !== follower || !element.isConnected) return;
    const answer = await server.news(opening.question, opening.steps.at(-1)).catch(() => undefined);
    if (mine !== follower) return;
    lost = answer ? 0 : lost + 1;
    if (answer?.message) opening.live = false;
    else if (answer) take(answer);
  }
}

function take(told) {
  const step = opening.steps[look.index];
  const grown = JSON.stringify(told.steps) !== JSON.stringify(opening.steps);
  opening = Object.assign(opening, { live: told.live, curve: told.curve, steps: told.steps });
  if (told.plane) {
    plane = readPlane(told.plane);
    parts.map.setPlane(plane);
    opening.plane = told.plane;
  }
  if (grown) {
    const near = told.steps.findLastIndex((one) => one <= step);
    look.index = look.follow && !look.playing ? told.steps.length - 1 : Math.max(0, near);
    frames.renew();
  }
  measure();
  want();
}

onThemeChange(want);
view.start();
