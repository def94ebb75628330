"""The paper's tables and figures, run again: configurations over the public interface, and nothing computed twice.

corpora           a folder of data becomes documents, split and paired as in the paper
run, workers      a folder of results: models and finished steps, so that a stopped run goes on; several processes
scoring           labelled documents under a model, evaluated token by token
supported_model   a model with a support set
grammar, sentiment, annotation   the experiments; their models and data (grammar_models, sentiment_data), and what a
                  support set adds (grammar_support, sentiment_support, examples)
registry          which experiments there are, and the files that each reads
step_result       what a step found
paper             what the paper printed
paper_comparison  ours beside the paper's
claims            what the paper says of its figures, and whether ours say so too
results           the folder of a run read back, and written as pages (pages, plots)
sample            made-up corpora, to try all of it
"""
