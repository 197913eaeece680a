// The scrubber: one slider over a training, and every view at its step.

import { poll } from 'lab/client/ask.js';
import { onThemeChange } from 'lab/client/colors.js';
import { h, payloadView } from 'lab/client/dom.js';
import { duration, whole } from 'lab/client/format.js';
import { saveButtons } from 'lab/client/picture.js';
import { saveJson } from 'lab/client/saving.js';
import { makeAttention } from 'lab/views/dynamics/attention.js';
import { makeHeads, makeLens, makeLosses, makeMap } from 'lab/views/dynamics/charts.js';
import { makeFrames, readPlane } from 'lab/views/dynamics/frames.js';
import { makePredictions } from 'lab/views/dynamics/predictions.js';
import { makeTimeline } from 'lab/views/dynamics/timeline.js';

export default function scrubber(root, first, { label, events = {}, server, savePage } = {}) {
  const view = payloadView(root, label, 'Choose a training run and press Show.', show);
  const current = { index: 0, playing: 0, follow: true }; // the place of the slider
  const scene = { opening: null, plane: null, current, root, server, drawFold, shown: () => shown() };
  let [follower, drawWanted, linesWanted] = [0, false, 0];

  // ---- furniture
  const title = h('p', { class: 'heading' });
  const lossLines = makeTimeline(scene, jump);
  const slider = h('input', { type: 'range', min: '0', max: '0', step: '1', value: '0', 'aria-label': 'Training step',
    'data-noexport': '' });
  const play = h('button', { type: 'button', class: 'play', title: 'Play (space)', 'aria-label': 'Play', onclick: () =>
    toggle() });
  const where = h('p', { class: 'where' });
  const state = h('p', { class: 'quiet state', role: 'status' });
  const spoken = h('p', { class: 'hush', 'aria-live': 'polite' });
  const frames = makeFrames(scene, () => current.index, arrived);
  const predictions = makePredictions(scene, jump);
  const attention = makeAttention(scene, ({ layer, head }) => {
    events.look?.({ layer, head });
    drawFold('heads');
  });
  Object.assign(scene, { frames, predictions, attention });
  const parts = { heads: makeHeads(scene, jump), lens: makeLens(scene, jump), map: makeMap(scene),
    losses: makeLosses(scene, jump) };
  const folds = Object.fromEntries([['heads', 'Head metrics over training'], ['lens', 'Logit lens'],
    ['map', 'Embedding map'],
    ['losses', 'MLM loss per token']].map(([name, words]) => [name,
      h('details', { class: 'fold', 'data-part': name, ontoggle: () => drawFold(name) },
    h('summary', {}, words), parts[name].node)]));
  const everything = saveButtons('all snapshots', { JSON: () => saveJson('training-dynamics.json', entire()) },
    savePage && (() => savePage('training-dynamics', entire())));

  view.content.append(h('div', { class: 'bar' }, title, everything), lossLines.node, h('div', { class: 'scrub line' },
    play, slider), where, state, spoken,
    predictions.node, attention.node, ...Object.values(folds));

  /** All frames that are here, in one: what a page of its own shows. */
  function entire() {
    return { ...scene.opening, live: false, first: null, frames: Object.fromEntries(frames.all()
      .map(({ data, points, plane: own, ...frame }) => [frame.step, frame])) };
  }

  const shown = () => frames.nearest(current.index);

  // ---- a history, and its frames as they come

  function show(payload) {
    stop();
    follower += 1;
    const before = scene.opening;
    scene.opening = payload;
    scene.plane = readPlane(payload.plane);
    const linked = restore(payload.look);
    const last = payload.steps.length - 1;
    const same = before && before.question.run === payload.question.run;
    current.index = linked ?? (same ? Math.max(0, payload.steps.indexOf(before.steps[current.index])) : last);
    if (same && linked === null && current.follow) current.index = last;
    current.follow = current.index === last;
    frames.begin();
    const first = shown();
    if (!first) return; // a page of its own without frames
    for (const part of [predictions, parts.heads, parts.losses]) part.begin();
    attention.begin(frames.nearest(last), Number.isInteger(payload.look?.layer));
    folds.lens.hidden = !first.masked_tokens.length;
    folds.map.hidden = !scene.plane;
    folds.losses.hidden = !first.losses;
    title.textContent = `Training dynamics of ${payload.title}`;
    measure();
    draw();
    if (payload.live && server?.news) follow(follower);
  }

  /** Take over what a link says: {step, layer, head}, each where it is known. The index of the step, or null. */
  function restore(linked = {}) {
    for (const name of ['layer', 'head']) if (Number.isInteger(linked[name])
      && linked[name] >= 0) attention.state[name] = linked[name];
    const index = scene.opening.steps.indexOf(linked.step);
    return index < 0 ? null : index;
  }

  /** The axis is as long as what is known; the slider reaches as far as the snapshots do. */
  function measure() {
    slider.max = String(scene.opening.steps.length - 1);
    slider.value = String(current.index);
    slider.disabled = scene.opening.steps.length < 2;
    view.content.style.setProperty('--end', String(scene.opening.axis.range[1]));
    slider.style.setProperty('--part',
      String(Math.max(0.02, (scene.opening.steps.length - 1) / scene.opening.axis.range[1])));
    lossLines.node.hidden = !scene.opening.loss.figure.data.length;
    lossLines.show(scene.opening.loss);
    drawLines();
  }

  function drawLines() {
    if (!shown()) return;
    predictions.drawLines();
    Object.keys(folds).forEach(drawFold);
  }

  /** All of a part that is open: it may have been folded while frames came. */
  function drawFold(name) {
    if (scene.opening && folds[name].open && !folds[name].hidden) parts[name].draw(shown());
  }

  /** A frame has come. Lines are drawn again a few times a second, the views at once where they wait for it. */
  function arrived(step) {
    if (!frames.missing().length) {
      clearTimeout(linesWanted);
      linesWanted = 0;
      drawLines();
    } else linesWanted ||= setTimeout(() => { linesWanted = 0; drawLines(); }, 250);
    if (scene.opening.steps[current.index] === step) want();
    else tellState();
  }

  // ---- the step of the slider

  /** Everything that moves with the slider; all of it comes out of what is here. */
  function draw() {
    const frame = shown();
    if (!frame) return;
    const began = performance.now();
    attention.draw(frame); // asks how much room it has, which is quick only as long as nothing else has changed
    view.content.style.setProperty('--at', String(current.index)); // all cursors
    lossLines.moveTo(current.index);
    predictions.move(frame);
    for (const [name, { open, hidden }] of Object.entries(folds)) if (open && !hidden) parts[name].move(frame);
    tellStep(scene.opening.steps[current.index]);
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
    const row = scene.opening.loss.table.rows.findLast(([curve, done]) => curve === 'training' && done <= step);
    const facts = step === 0 ? ['random initialization'] : row ? [`${compactly(row[4])} tokens seen`, duration(row[3])]
      : [];
    where.replaceChildren(h('b', {}, `Step ${whole(step)}`), ...facts.flatMap((fact) => [' · ', fact]));
    const words = `Step ${whole(step)}. ${predictions.words(shown())}`;
    slider.setAttribute('aria-valuetext', words);
    // the slider says it itself
    if (!current.playing) spoken.textContent = document.activeElement === slider ? '' : words;
  }

  const compactly = (count) => (count >= 1e6 ? `${(count / 1e6).toFixed(1)} million` : whole(count));

  function tellState() {
    const missing = frames.missing().length;
    const { steps } = scene.opening;
    const away = shown()?.step !== steps[current.index]
      ? `Showing step ${whole(shown()?.step ?? 0)}, the nearest available. ` : '';
    const trouble = frames.trouble();
    state.textContent = missing && server
      ? `${away}${steps.length - missing} of ${steps.length} snapshots are loaded, the others are loading.`
      : away + trouble + (scene.opening.live ? 'Training is in progress: new snapshots are added to the slider.' : '');
    state.classList.toggle('still', !state.textContent);
  }

  function jump(index) {
    stop();
    go(index);
  }

  function go(index) {
    current.index = Math.min(Math.max(0, index), scene.opening.steps.length - 1);
    current.follow = current.index === scene.opening.steps.length - 1;
    slider.value = String(current.index);
    events.look?.({ step: current.follow ? null : scene.opening.steps[current.index] });
    want();
  }

  // ---- play, keys, and a training under way

  function toggle() {
    if (current.playing) {
      stop();
      return;
    }
    if (current.index === scene.opening.steps.length - 1) go(0);
    current.playing = setInterval(() => {
      if (!root.isConnected || current.index >= scene.opening.steps.length - 1) stop();
      else if (frames.at(scene.opening.steps[current.index + 1]) || !frames.missing().length) go(current.index + 1);
    }, 600);
    markPlay();
  }

  function stop() {
    clearInterval(current.playing);
    current.playing = 0;
    markPlay();
  }

  function markPlay() {
    play.classList.toggle('on', Boolean(current.playing));
    play.setAttribute('aria-label', current.playing ? 'Pause' : 'Play');
    play.title = `${current.playing ? 'Pause' : 'Play'} (space)`;
  }

  slider.addEventListener('input', () => jump(Number(slider.value)));
  slider.addEventListener('keydown', (event) => {
    if (event.key !== ' ') return;
    event.preventDefault();
    toggle();
  });

  /**
   * Ask every two seconds, while somebody looks, what has been added, until the training has ended or another is on
   * show.
   */
  function follow(mine) {
    poll(() => server.news(scene.opening.question, scene.opening.steps.at(-1)), (answer) => {
      if (answer.message) scene.opening.live = false;
      else take(answer);
      return scene.opening.live ? 2000 : null;
    }, () => mine === follower && root.isConnected && scene.opening.live, { node: root });
  }

  function take({ plane: newPlane, ...progress }) {
    const step = scene.opening.steps[current.index];
    const grown = String(progress.steps) !== String(scene.opening.steps);
    Object.assign(scene.opening, progress);
    if (newPlane) {
      scene.opening.plane = newPlane;
      scene.plane = readPlane(newPlane);
    }
    if (grown) {
      current.index = current.follow && !current.playing ? scene.opening.steps.length - 1
        : Math.max(0, scene.opening.steps.findLastIndex((other) => other <= step));
      frames.renew();
    }
    measure();
    want();
  }

  onThemeChange(root, want);

  return view.start(first);
}
