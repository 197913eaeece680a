"""Interpret a model on a text. Results are frozen dataclasses; those with arrays equal themselves alone.

In reading order: `architecture` (what a model consists of), `inputs` (text to tensors, and their cost) and `targets`
(which prediction is explained); `predictions` (fill-mask, next sentence, classes), `token_labels` (tags, answers),
`minimal_pairs` (probes, and pseudo-log-likelihood), `attention` (trace, scores, head metrics), `layers` (lenses,
norms), `embeddings`, `masking`, `comparison` (of models). Two rooms of their own: `causes` (attribution, patching,
parts of a logit, information flow) and `corpora` (what needs a corpus or a run). `findings` is a report of all these.
"""

from bertviz_lab.interpret.architecture import Architecture, describe_architecture
from bertviz_lab.interpret.attention import (
    AttentionScores,
    QueryKey,
    TextTrace,
    attention_scores,
    head_metrics,
    query_key,
    rollout,
    trace_text,
)
from bertviz_lab.interpret.causes.attribution import (
    METHODS,
    Attribution,
    HeadAblation,
    Method,
    ablate_heads,
    attribute,
    attribute_by_all,
    explain_example,
)
from bertviz_lab.interpret.causes.decomposition import LogitDecomposition, decompose_logit
from bertviz_lab.interpret.causes.flow import FLOW_METHODS, FlowMethod, InformationFlow, information_flow
from bertviz_lab.interpret.causes.patching import (
    COMPONENTS,
    ActivationPatching,
    Cell,
    Component,
    Corruption,
    CorruptionKind,
    Direction,
    PatchedPrediction,
    corruption_of,
    patch_activations,
    predict_patched,
    propose_corruption,
)
from bertviz_lab.interpret.comparison import (
    Alignment,
    AttentionComparison,
    FillComparison,
    attention_difference,
    compare_attention,
    compare_fill_mask,
    untrained,
)
from bertviz_lab.interpret.corpora.corpus_index import FORMAT as INDEX_FORMAT
from bertviz_lab.interpret.corpora.corpus_index import INTERVALS, MOST_TEXTS, CorpusIndex, index_corpus
from bertviz_lab.interpret.corpora.corpus_search import (
    ROLES,
    FiringNeuron,
    HeadSearch,
    PromotedTokens,
    find_heads,
    find_neurons,
    head_roles,
    promoted_tokens,
)
from bertviz_lab.interpret.corpora.probing import LayerProbes, probe_layers, probe_snapshots
from bertviz_lab.interpret.corpora.results import Results, Slice, read_results
from bertviz_lab.interpret.corpora.training_dynamics import (
    MaskedToken,
    SnapshotAnalysis,
    analyze_snapshot,
    related_tokens,
)
from bertviz_lab.interpret.corpora.training_influence import TrainingInfluence, training_influence
from bertviz_lab.interpret.corpora.tuned_lens import LensFit, TunedLens, fit_tuned_lens
from bertviz_lab.interpret.embeddings import (
    ContextComparison,
    EmbeddingPlane,
    EmbeddingSum,
    Neighbour,
    SearchHit,
    Similarity,
    compare_contexts,
    embedding_plane,
    embedding_sum,
    encode,
    nearest_tokens,
    semantic_search,
    similarity,
)
from bertviz_lab.interpret.findings import Findings, measure_findings
from bertviz_lab.interpret.inputs import encode_inputs
from bertviz_lab.interpret.layers import LogitLens, NormsByLayer, logit_lens, norms_by_layer
from bertviz_lab.interpret.masking import (
    MaskedLoss,
    MaskedText,
    MaskingStatistics,
    mask_epochs,
    mask_text,
    masked_loss,
    masking_statistics,
)
from bertviz_lab.interpret.minimal_pairs import (
    MinimalPairReport,
    ProbeReport,
    PseudoLogLikelihood,
    probe,
    pseudo_log_likelihood,
    score_minimal_pairs,
)
from bertviz_lab.interpret.predictions import (
    Candidate,
    Classification,
    FilledSequence,
    FillMask,
    JointFill,
    LabelScore,
    MaskPrediction,
    NextSentence,
    RankedCandidate,
    classify,
    encode_masked,
    fill_mask,
    joint_fill,
    next_sentence,
)
from bertviz_lab.interpret.targets import NEXT_NAMES, Target, choose_target, class_name, class_scores, target_kinds
from bertviz_lab.interpret.token_labels import (
    Entity,
    PassageAnswer,
    WordLabel,
    WordLabels,
    answer_question,
    label_words,
)
