// The scrubber: one slider over a training, and every view at its step.

import { poll } from 'lab/client/ask.js';
import { onThemeChange } from 'lab/client/colors.js';
import { elements, h, payloadView } from 'lab/client/dom.js';
import { duration, whole } from 'lab/client/format.js';
import { saveButtons, saveJson } from 'lab/client/saving.js';
import { makeAttention } from 'lab/views/dynamics/attention.js';
import { makeHeads, makeLens, makeLosses, makeMap, readPlane } from 'lab/views/dynamics/charts.js';
import { makeFrames } from 'lab/views/dynamics/frames.js';
import { makePredictions } from 'lab/views/dynamics/predictions.js';
import { makeTimeline } from 'lab/views/dynamics/timeline.js';

export default payloadView('Choose a training run and press Show.', scrubber);

function scrubber(content, { events, server, savePage }, root) {
  const current = { index: 0, playing: 0, follow: true }; // the place of the slider
  const shown = () => scene.frames.nearest(current.index);
  const scene = { opening: null, plane: null, current, root, server, drawFold, shown, jump };
  let [follower, drawWanted, linesWanted] = [0, false, 0];

  // ---- furniture
  const [title, where] = elements('p.heading', 'p.where');
  const lossLines = makeTimeline(scene);
  const slider = h('input', { type: 'range', min: '0', max: '0', step: '1', value: '0', 'aria-label': 'Training step',
    'data-noexport': '' });
  const play = h('button.play', { title: 'Play (space)', 'aria-label': 'Play', onclick: toggle });
  const state = h('p.quiet.state', { role: 'status' });
  const spoken = h('p.hush', { 'aria-live': 'polite' });
  const frames = makeFrames(scene, arrived);
  const predictions = makePredictions(scene);
  const attention = makeAttention(scene, ({ layer, head }) => {
    events.look?.({ layer, head });
    drawFold('heads');
  });
  Object.assign(scene, { frames, predictions, attention });
  const fold = (name, words, part) => [name, { ...part, node: h('details.fold', { 'data-part': name,
    ontoggle: () => drawFold(name) }, h('summary', words), part.node) }];
  const folds = Object.fromEntries([
    fold('heads', 'Head metrics over training', makeHeads(scene)),
    fold('lens', 'Logit lens', makeLens(scene)),
    fold('map', 'Embedding map', makeMap(scene)),
    fold('losses', 'MLM loss per token', makeLosses(scene)),
  ]);
  const openFolds = () => Object.values(folds).filter(({ node }) => node.open && !node.hidden);
  const everything = saveButtons('all snapshots', { JSON: () => saveJson('training-dynamics.json', entire()) },
    savePage && (() => savePage('training-dynamics', entire())));

  content.append(h('div.bar', title, everything), lossLines.node, h('div.scrub.line', play, slider), where, state,
    spoken, predictions.node, attention.node, ...Object.values(folds).map(({ node }) => node));

  /** All frames that are here, in one: what a page of its own shows. */
  function entire() {
    return { ...scene.opening, live: false, first: null, frames: Object.fromEntries(frames.all()
      .map(({ data, points, plane: own, ...frame }) => [frame.step, frame])) };
  }

  // ---- a history, and its frames as they come

  function show(payload) {
    setPlaying(0);
    follower += 1;
    const before = scene.opening;
    const { steps, look = {}, question } = payload; // `look` is what a link says: {step, layer, head}
    [scene.opening, scene.plane] = [payload, readPlane(payload.plane)];
    for (const name of ['layer', 'head']) {
      if (Number.isInteger(look[name]) && look[name] >= 0) attention.state[name] = look[name];
    }
    const linked = steps.indexOf(look.step);
    const same = before && before.question.run === question.run;
    if (linked >= 0) current.index = linked;
    else if (!same || current.follow) current.index = steps.length - 1;
    else current.index = Math.max(0, steps.indexOf(before.steps[current.index]));
    current.follow = current.index === steps.length - 1;
    frames.begin();
    const frame = shown();
    if (!frame) return; // a page of its own without frames
    for (const part of [predictions, folds.heads, folds.losses]) part.begin();
    attention.begin(frames.nearest(steps.length - 1), Number.isInteger(look.layer));
    folds.lens.node.hidden = !frame.masked_tokens.length;
    folds.map.node.hidden = !scene.plane;
    folds.losses.node.hidden = !frame.losses;
    title.textContent = `Training dynamics of ${payload.title}`;
    measure();
    draw();
    if (payload.live && server?.news) follow(follower);
  }

  /** The axis is as long as what is known; the slider reaches as far as the snapshots do. */
  function measure() {
    const { steps, axis, loss } = scene.opening;
    const last = steps.length - 1;
    Object.assign(slider, { max: last, value: current.index, disabled: !last });
    content.style.setProperty('--end', axis.range[1]);
    slider.style.setProperty('--part', Math.max(0.02, last / axis.range[1]));
    lossLines.node.hidden = !loss.figure.data.length;
    lossLines.show(loss);
    drawLines();
  }

  function drawLines() {
    clearTimeout(linesWanted);
    linesWanted = 0;
    if (!shown()) return;
    predictions.drawLines();
    for (const part of openFolds()) part.draw(shown());
  }

  /** All of a part that is open: it may have been folded while frames came. */
  function drawFold(name) {
    if (scene.opening && openFolds().includes(folds[name])) folds[name].draw(shown());
  }

  /** A frame has come. Lines are drawn again a few times a second, the views at once where they wait for it. */
  function arrived(step) {
    if (frames.missing().length) linesWanted ||= setTimeout(drawLines, 250);
    else drawLines();
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
    content.style.setProperty('--at', current.index); // all cursors
    lossLines.move();
    predictions.move(frame);
    for (const part of openFolds()) part.move(frame);
    tellStep(frame);
    tellState();
    content.dataset.step = frame.step;
    content.dataset.took = (performance.now() - began).toFixed(1);
  }

  function want() {
    if (!drawWanted) requestAnimationFrame(() => {
      drawWanted = false;
      draw();
    });
    drawWanted = true;
  }

  function tellStep(frame) {
    const step = scene.opening.steps[current.index];
    const row = scene.opening.loss.table.rows.findLast(([curve, done]) => curve === 'training' && done <= step);
    const seen = row && (row[4] >= 1e6 ? `${(row[4] / 1e6).toFixed(1)} million` : whole(row[4]));
    const facts = row ? [`${seen} tokens seen`, duration(row[3])] : [];
    where.replaceChildren(h('b', `Step ${whole(step)}`), ...(step === 0 ? ['random initialization'] : facts)
      .flatMap((fact) => [' · ', fact]));
    const words = `Step ${whole(step)}. ${predictions.words(frame)}`;
    slider.setAttribute('aria-valuetext', words);
    // the slider says it itself
    if (!current.playing) spoken.textContent = document.activeElement === slider ? '' : words;
  }

  function tellState() {
    const missing = frames.missing().length;
    const { steps, live } = scene.opening;
    const nearest = shown()?.step;
    const away = nearest === steps[current.index] ? '' : `Showing step ${whole(nearest ?? 0)}, the nearest available. `;
    state.textContent = away + (missing && server
      ? `${steps.length - missing} of ${steps.length} snapshots are loaded, the others are loading.`
      : frames.trouble() + (live ? 'Training is in progress: new snapshots are added to the slider.' : ''));
  }

  function jump(index) {
    setPlaying(0);
    go(index);
  }

  function go(index) {
    const { steps } = scene.opening;
    current.index = Math.min(Math.max(0, index), steps.length - 1);
    current.follow = current.index === steps.length - 1;
    slider.value = current.index;
    events.look?.({ step: current.follow ? null : steps[current.index] });
    want();
  }

  // ---- play, keys, and a training under way

  function setPlaying(timer) {
    clearInterval(current.playing);
    current.playing = timer;
    play.classList.toggle('on', Boolean(timer));
    play.ariaLabel = timer ? 'Pause' : 'Play';
    play.title = `${play.ariaLabel} (space)`;
  }

  function toggle() {
    if (current.playing) return setPlaying(0);
    if (current.index === scene.opening.steps.length - 1) go(0);
    return setPlaying(setInterval(() => {
      const next = scene.opening.steps[current.index + 1];
      if (!root.isConnected || next === undefined) setPlaying(0);
      else if (frames.at(next) || !frames.missing().length) go(current.index + 1);
    }, 600));
  }

  slider.addEventListener('input', () => jump(Number(slider.value)));
  slider.addEventListener('keydown', (event) => {
    if (event.key !== ' ') return;
    event.preventDefault();
    toggle();
  });

  /** Ask every two seconds, while somebody looks, what has been added, until the training has ended or another is on
   * show. */
  function follow(mine) {
    poll(() => server.news(scene.opening.question, scene.opening.steps.at(-1)), (answer) => {
      if (answer.message) scene.opening.live = false;
      else take(answer);
      return scene.opening.live ? 2000 : null;
    }, () => mine === follower && root.isConnected && scene.opening.live, { node: root });
  }

  function take(progress) {
    const step = scene.opening.steps[current.index];
    const grown = String(progress.steps) !== String(scene.opening.steps);
    Object.assign(scene.opening, progress);
    if (progress.plane) scene.plane = readPlane(progress.plane);
    if (grown) {
      current.index = current.follow && !current.playing ? progress.steps.length - 1
        : Math.max(0, progress.steps.findLastIndex((other) => other <= step));
      frames.renew();
    }
    measure();
    want();
  }

  onThemeChange(root, want);

  return show;
}
