"""Classifiers with a hierarchy beside flat ones: the thesis's tables 2.2, 2.3, 2.4, 3.2 and 3.5.

Macro and micro F1 in percent on test rows, each with its 95% interval by bootstrap over these rows,
and CPU seconds of the training on one thread; beside them the thesis's figures for CLEF, whose
features were others. Then each order of methods in the thesis by the difference of their F1 on the
same resampled rows: `holds` is "open" if its 95% interval contains 0. Resamples lack the rarest
classes, so that intervals of macro F1 are not centred. `sets` are ImCLEF07A, and with hierarchies
from WordNet nouns and images. `entries` lists the methods, `runs` measures one. Only `--full` has
CorrMNL and C by cross-validation.

Result for ImCLEF07A: M3-map has the highest micro F1 of all, 81.2, with 57.0 macro; it is surely
above BSVM, RR-SVM, TD, HSVM and OT in both measures, above MSVM and MLR in micro. M3 over M1 is
open (0.3 and 0.5), M1 over M2 sure only in macro by variational inference. Recursive regularization
gains where C is small: at 0.1 6.0 macro for logistic regression, 8.9 macro and 1.9 micro for SVMs,
all sure; at 1 nothing is. On nouns RR-SVM is surely above the SVM (C = 1: 5.4 and 2.4), RR-LR and
M3-map are not above BLR; nor are they on images. There RR-SVM is above the SVM at C = 0.1 (56.2 and
56.5 to 51.5 and 51.6), less at 0.01, where the SVM is at its best (54.8 and 56.4). At a small C the
flat SVM suffers most: compare each at its best.

`--few-shot`: figure 2.1, F1 by the number of training rows of each class. `--speed`: training
times in relation to liblinear and scikit-learn at the same distance from the optimum. `--scale`:
training in blocks with as many classes as DMOZ-2010 has.

Source: Gopal, "Large-scale Structured Learning" (2014), chapters 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench import Size
from bench.classifiers.entries import ELSEWHERE, ON_IMCLEF, ORDERS
from bench.classifiers.runs import MEASURES, Entry, Published, Scored, interval, scored, verdict
from bench.classifiers.sets import NAMES, Labelled, at_hand
from bench.report import Report


def table(report: Report, size: Size) -> None:
    for labelled in at_hand(report, NAMES[:1] if size == "quick" else NAMES):
        report.heading(
            f"{labelled.name}: {labelled.train.labels.size:,} training and "
            f"{labelled.test.labels.size:,} test rows, {labelled.train.features.shape[1]:,} "
            f"features, {labelled.hierarchy.n_leaves} classes"
        )
        in_thesis = labelled.name == NAMES[0]
        runs = measured(
            report, labelled, ON_IMCLEF[size] if in_thesis else ELSEWHERE[labelled.name]
        )
        report.heading(f"{labelled.name}: differences on the same resampled rows")
        orders(report, labelled, runs)


def measured(report: Report, labelled: Labelled, entries: Sequence[Entry]) -> dict[str, Scored]:
    """A row for each classifier; returns their scores by name."""
    runs = {}
    for entry in entries:
        run = runs[entry.name] = scored(labelled, entry)
        published = entry.published if labelled.name == NAMES[0] else Published()
        report.row(
            "classifiers",
            set=labelled.name,
            method=entry.name.ljust(15),
            tables=published.tables.ljust(13),
            macro_f1=run.values["macro_f1"],
            macro_95=run.interval("macro_f1"),
            thesis_macro=published.macro_f1,
            micro_f1=run.values["micro_f1"],
            micro_95=run.interval("micro_f1"),
            thesis_micro=published.micro_f1,
            cpu_s=run.cpu_s,
            thesis_s=None if published.minutes is None else 60.0 * published.minutes,
        )
    return runs


def orders(report: Report, labelled: Labelled, runs: Mapping[str, Scored]) -> None:
    """A row for each order and measure of which both methods were run."""
    for names in ORDERS:
        if not set(names) <= runs.keys():
            continue
        better, worse = (runs[name] for name in names)
        for measure in MEASURES:
            apart = better.resamples[measure] - worse.resamples[measure]
            claimed = better.entry.published.over(worse.entry.published, measure)
            report.row(
                "classifiers",
                set=labelled.name,
                order=" over ".join(names).ljust(36),
                measure=measure,
                difference=better.values[measure] - worse.values[measure],
                interval_95=interval(apart, 2).ljust(14),
                holds=verdict(apart),
                thesis=claimed if labelled.name == NAMES[0] else None,
            )
