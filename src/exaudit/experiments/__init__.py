"""The paper's tables and figures, run again: configurations over the public interface, and nothing computed twice.

recipe            how models are trained and K-NNs fitted: the paper's values, and ours
corpora           a folder of data becomes documents, split and paired as in the paper
run, workers      a folder of results: models and finished steps, so that a stopped run goes on; several processes
scoring           labelled documents under a model, evaluated token by token
controls          what limits are held against: as many predictions chosen otherwise
supported_model   a model with a support set
grammar, sentiment, annotation   the experiments; their models and data (grammar_models, sentiment_data), and what a
                  support set adds (grammar_support, sentiment_support, examples)
registry          which experiments there are, and the files that each reads
step_result       what a step found, and by which code (provenance)
paper             what the paper printed
paper_comparison  ours beside the paper's
claims            what the paper says of its figures, and whether ours say so too
contents          the paper's tables and figures by number, and where they are
results           the folder of a run read back, and written as pages (pages, plots); several side by side (summary)
verification      whether pages, results and recipe agree
sample            made-up corpora, to try all of it
"""
