// Figures: the numbers of an answer become a picture and its words, here for every edition of the page, notebooks and
// saved pages. A payload names its figure in `picture`; one that names none is drawn as it is. The names are those of
// `show`, and of the kinds of charts.

import { architecture } from 'lab/components/figures/architecture.js';
import * as attention from 'lab/components/figures/attention.js';
import * as causes from 'lab/components/figures/causes.js';
import * as charts from 'lab/components/figures/charts.js';
import * as corpus from 'lab/components/figures/corpus.js';
import * as explanations from 'lab/components/figures/explanations.js';
import * as layers from 'lab/components/figures/layers.js';
import * as predictions from 'lab/components/figures/predictions.js';
import * as strips from 'lab/components/figures/strips.js';
import * as tokens from 'lab/components/figures/tokens.js';

const FIGURES = { architecture, ...charts, ...strips, ...tokens, ...predictions, ...explanations, ...causes, ...corpus,
  ...layers, ...attention };

/** What a drawing shows of a payload. */
export function figureOf(payload) {
  const { picture, ...given } = payload ?? {};
  return picture ? FIGURES[picture](given) : payload;
}
