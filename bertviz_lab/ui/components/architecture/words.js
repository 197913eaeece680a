// The words of the picture of a model: of each part its title, a plain sentence, its formula and its shapes.

/** The activation as it is written: GELU for each of its spellings. */
export const activationOf = ({ activation }) => (/^(gelu|relu|silu)/.exec(activation)?.[0].toUpperCase() ?? activation);

/** {part: {title, says, formula, shapes, show}}: `shapes` are the letters of what goes into a part and comes out of it,
 * `show` is the place that shows more of it: a view, and a part of it. */
export function wordsOf(model, gettext) {
  const { layers, heads, hidden: D, feed_forward: F } = model;
  const act = activationOf(model);
  const added = model.is_prenorm ? 'attention(LayerNorm(x))' : 'attention(x)';
  const layer = model.is_prenorm ? `a = x + ${added},  y = a + FFN(LayerNorm(a))`
    : `a = LayerNorm(x + ${added}),  y = LayerNorm(a + FFN(a))`;
  const summands = ['token', model.has_positions && 'position', model.has_segments && 'segment'].filter(Boolean);
  const [norms, inHead, predictions] = [{ show: 'layers', part: 'token_norms' }, { show: 'attention' },
    { show: 'predictions' }];
  const isRotary = model.positions === 'rotary';
  const isMean = model.pooling === 'mean';
  const part = (title, says, shapes, show, formula = '') => ({ title, says, shapes, show, formula });
  return {
    text: part(gettext('Text'), gettext('The input: one text, or two as a pair.'), [], { show: 'tokens' }),
    tokens: part(gettext('Tokens'),
      gettext('The tokenizer ({kind}) splits the text and adds special tokens. The model is given their ids.',
        { kind: model.tokenizer }), ['BL'], { show: 'tokens' }),
    embeddings: part(gettext('Embeddings'),
      gettext('The learned vectors of each token are added, and LayerNorm normalizes the sum.'), ['BL', 'BLD'],
      { show: 'layers', part: 'sum' }, `x = LayerNorm(${summands.join(' + ')})`),
    layers: part(gettext('Encoder: {layers} layers', { layers }), model.is_shared
      ? gettext('One layer, applied again and again with the same weights. It changes vectors, not the shape.')
      : gettext('Layer after layer, each with weights of its own. A layer changes vectors, not the shape.'),
    ['BLD', 'BLD'], { show: 'layers' }),
    layer: part(gettext('Encoder layer'),
      gettext('In self-attention tokens read from each other; the feed-forward network works on each alone.'),
      ['BLD', 'BLD'], norms, layer),
    attention: part(gettext('Multi-head self-attention'),
      gettext('Each token takes information from every token, {heads} times in parallel: in each head.', { heads }),
      ['BLD', 'BLD'], inHead, 'softmax(q kᵀ / √K) v'),
    residual: part(gettext('Residual connection'),
      gettext('What a part computes is added to its input, so that vectors flow through all layers.'),
      ['BLD', 'BLD'], norms, `x + ${added}`),
    norm: part('LayerNorm',
      gettext('Brings the numbers of each vector to mean 0 and variance 1, then to a learned scale and shift.'),
      ['BLD', 'BLD'], norms, 'γ · (x − μ) / σ + β'),
    feed_forward: part(gettext('Feed-forward network'),
      gettext('Works on each token alone: widens its vector from {D} to {F} numbers and narrows it again.', { D, F }),
      ['BLD', 'BLF', 'BLD'], norms, model.is_gated ? `W₂ · (${act}(W₁ · a) ⊙ W₃ · a)`
        : `W₂ · ${act}(W₁ · a + b₁) + b₂`),
    final_norm: part(gettext('Final LayerNorm'),
      gettext('The layers of a pre-norm model add without normalizing; their output is normalized once, here.'),
      ['BLD', 'BLD'], norms),
    head: part(gettext('Attention head'),
      gettext('One of the heads of a layer. Each has learned by itself which tokens attend to which.'),
      ['BLD', 'BHLK'], inHead, 'softmax(q kᵀ / √K) v'),
    projections: part(gettext('Query, key, value'),
      gettext('Three linear maps of each vector: what a token looks for, is found by, and passes on.'),
      ['BLD', 'BHLK'], inHead, 'q = W_Q · x,  k = W_K · x,  v = W_V · x'),
    positions: part(isRotary ? gettext('Rotary positions') : gettext('Relative positions'), isRotary
      ? gettext('Queries and keys are rotated by an angle for their position: scores depend on the distance.')
      : gettext('What the model has learned of the distance of two tokens is added to their score.'),
    isRotary ? ['BHLK', 'BHLK'] : ['BHLL', 'BHLL'], inHead),
    scores: part(gettext('Attention scores'), gettext('How well the query of each token fits the key of every token.'),
      ['BHLK', 'BHLL'], inHead, 'q kᵀ / √K'),
    weights: part(gettext('Attention weights'), model.is_causal
      ? gettext('Softmax makes weights of each row of scores, which sum to 1; a causal mask hides later tokens.')
      : gettext('Softmax makes weights of each row of scores, which sum to 1; the mask leaves padding out.'),
    ['BHLL', 'BHLL'], inHead, 'softmax(q kᵀ / √K)'),
    context: part(gettext('Context'), gettext('Each token receives the sum of all value vectors, weighted by its row.'),
      ['BHLL', 'BHLK'], inHead, 'weights · v'),
    output: part(gettext('Output projection'),
      gettext('The contexts of all {heads} heads are concatenated and go through one more linear map.', { heads }),
      ['BHLK', 'BLD'], inHead, 'W_O · [context 1 … context H]'),
    mlm: part(gettext('MLM head'),
      gettext('A score for every token of the vocabulary. Its last matrix is the table of token embeddings.'),
      ['BLD', 'BLV'], predictions, `E · LayerNorm(${act}(W · h + b)) + c`),
    predictions: part(gettext('Predictions'),
      gettext('Softmax makes probabilities of the scores: which tokens are likely for the masked token.'),
      ['BLV', 'BLV'], predictions, 'softmax(scores)'),
    pooler: part(gettext('Pooler'), isMean ? gettext('Makes one vector of the text, from the mean of all tokens.')
      : gettext('Makes one vector of the text, from that of the first token, [CLS].'), ['BD', 'BD'], predictions,
    `p = ${model.pooler}(W · ${isMean ? 'mean(h)' : 'h[CLS]'} + b)`),
    nsp: model.pair_objective === 'sop'
      ? part(gettext('SOP head'), gettext('Are the texts in their order? Two scores (sentence-order prediction).'),
        ['BD', 'B2'], predictions, 'softmax(W · p + b)')
      : part(gettext('NSP head'), gettext('Does text B follow text A? Two scores (next-sentence prediction).'),
        ['BD', 'B2'], predictions, 'softmax(W · p + b)'),
    task: {
      classification: () => part(gettext('Classifier'),
        gettext('A score for each label of the text, from the pooled vector; trained by fine-tuning.'), ['BD', 'BC'],
        predictions, 'W · p + b'),
      tokens: () => part(gettext('Token classifier'),
        gettext('A score for each label of each token, from its own vector; trained by fine-tuning.'), ['BLD', 'BLC'],
        predictions, 'W · h + b'),
      qa: () => part(gettext('Answer head'),
        gettext('Two scores for each token: to be the first and the last of the answer; fine-tuned.'), ['BLD', 'BL2'],
        predictions, 'W · h + b'),
      rtd: () => part(gettext('Replaced-token detector'),
        gettext('A score for each token: has a generator replaced it? (ELECTRA)'), ['BLD', 'BL'], { show: 'layers' }),
      embedding: () => part(gettext('Pooling: {kind}', { kind: model.pooling }),
        gettext('Makes one vector of the text, which is compared with those of other texts.'), ['BLD', 'BD'],
        { show: 'embeddings' }),
    }[model.task]?.() ?? null,
  };
}
