"""What each command on files does."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from umbel_client.client import Umbel
from umbel_client.commands import conditions, outputs
from umbel_client.commands.embedding import (
    FEATURES,
    embedded,
    embedding_of,
    layout_of,
    mapped,
    named_by_terms,
)
from umbel_client.commands.outputs import put, say
from umbel_client.commands.plugged import plugged_of
from umbel_client.commands.values import (
    CUTS,
    PICTURES,
    assignments_of,
    compared,
    input_of,
    parameter_of,
    require_numbers,
    table_of,
    taken,
    tree_of,
    without_zeros,
)
from umbel_client.errors import (
    CannotStart,
    ConnectionFailed,
    InputError,
    UmbelError,
    UmbelWarning,
    WaitTimeout,
)
from umbel_client.packages import package
from umbel_client.problems import WrongLength
from umbel_client.quoting import as_options, path_shown, shown
from umbel_client.tree import Tree

Forms: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Which clusters are written, and how pictures are drawn."""

REFUSED, WRONG, UNREACHABLE, TIMEOUT, HOLDS, INTERRUPTED = 1, 2, 3, 4, 5, 130


def guarded(command: Callable[[Namespace], None], arguments: Namespace) -> int:
    """The exit status of a command; a sentence reports what went wrong."""
    as_json = bool(getattr(arguments, "json", False))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UmbelWarning)
            warnings.showwarning = outputs.shower(bool(getattr(arguments, "quiet", False)))
            command(arguments)
    except KeyboardInterrupt:
        say("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # Who reads the output has ended; nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except UmbelError as error:
        status = _status(error)
        if as_json and (problem := getattr(error, "problem", None)) is not None:
            put(problem, True, "")
        say(f"umbel: {as_options(str(error))}")
        return status
    return 0


def _status(error: UmbelError) -> int:
    if isinstance(error, InputError):
        return WRONG
    if isinstance(error, WaitTimeout):
        return TIMEOUT
    if isinstance(error, conditions.ConditionHolds):
        return HOLDS
    if isinstance(error, (ConnectionFailed, CannotStart)):
        return UNREACHABLE
    return REFUSED


@contextlib.contextmanager
def service(arguments: Namespace, *, kept: bool = False) -> Iterator[Umbel]:
    """The service of --url or UMBEL_URL, else a service that ends with the command.

    kept : whether the command reads what a service has kept, so that a new one is of no use.

    Raises InputError where one is needed and none was named.
    """
    own = arguments.data_dir is not None
    url = arguments.url or (None if own else os.environ.get("UMBEL_URL"))
    if arguments.url and own:
        raise InputError(
            "--data-dir", "only a service that the command starts has it; leave out --url."
        )
    if url is None and kept and not own:
        raise InputError(
            "--url",
            "this reads what a service keeps: name the service by --url or UMBEL_URL, or the "
            "--data-dir of an earlier command.",
        )
    if url is not None:
        with Umbel(url) as umbel:
            yield umbel
        return
    say("Starting a service for this command ...", arguments.quiet or not sys.stderr.isatty())
    with Umbel.local(arguments.data_dir, workers=1) as umbel:
        try:
            yield umbel
        except WaitTimeout:
            later = "resumes when one starts on the folder again" if own else "ends, too"
            say(f"The service of this command ends with it; the job {later}.")
            raise


def run(arguments: Namespace) -> None:
    """`umbel run`."""
    facts = arguments.facts
    values: dict[str, Any] = {}
    embedding = embedding_of(arguments) if arguments.embed else None
    for role in facts.inputs:
        if embedding is not None and role == FEATURES:
            continue
        files = list(getattr(arguments, f"input:{role}") or [])
        if role == facts.inputs[0] and arguments.file is not None:
            files.insert(0, arguments.file)
        if len(files) > 1 and role not in facts.several:
            raise InputError(role, f"it is given {len(files)} times; once is accepted.")
        if files:
            several = [given(role, text, arguments) for text in files]
            values[role] = several[0] if len(several) == 1 else several
    if not values and embedding is None:
        raise InputError(
            facts.inputs[0],
            f"no file is given; {arguments.method} takes {', '.join(facts.inputs)}.",
        )
    values.update(further(arguments))
    params = {
        name: parameter_of(text)
        for name in facts.params
        if (text := getattr(arguments, f"param:{name}")) is not None
    }
    layout = layout_of(arguments)
    forms = _forms(arguments, layout[1])
    with service(arguments) as umbel:
        if embedding is not None:
            values[FEATURES] = embedded(umbel, embedding, arguments)
        tree = umbel.run(
            arguments.method,
            preprocess=_steps(arguments.preprocess),
            then=_then(arguments.then),
            support=_object("--support", arguments.support),
            name_by=arguments.name_by,
            **work_of(arguments),
            progress=False if arguments.quiet else None,
            params=params,
            **values,
        )
        named = {role: getattr(arguments, f"input:{role}") or [] for role in facts.inputs}
        own = {role: texts[0] for role, texts in named.items() if len(texts) == 1}
        if arguments.file is not None and embedding is None:
            own.setdefault(facts.inputs[0], arguments.file)
        names = None if embedding is None else named_by_terms(tree, values[FEATURES], arguments)
        mapped(tree, arguments, layout)
        _write(tree, arguments, forms, own, names)


def consensus(arguments: Namespace) -> None:
    """`umbel consensus`."""
    if len(arguments.trees) < 2 and arguments.reference is None:
        raise InputError("consensus", "give at least two trees.")
    given = [*arguments.trees, *([] if arguments.reference is None else [arguments.reference])]
    files = [None if _is_tree(text) else tree_of(text) for text in given]
    forms = _forms(arguments)
    with service(arguments, kept=any(file is None for file in files)) as umbel:
        trees = [
            text if file is None else umbel.import_tree(file)
            for text, file in zip(given, files, strict=True)
        ]
        n_trees = len(arguments.trees)
        tree = umbel.consensus(
            trees[:n_trees],
            arguments.rule,
            threshold=arguments.threshold,
            reference=trees[n_trees] if trees[n_trees:] else None,
            support=arguments.support,
            match=arguments.match,
            common=arguments.common,
            **work_of(arguments),
        )
        _write(tree, arguments, forms)


def _forms(arguments: Namespace, of_map: Mapping[str, str] | None = None) -> Forms:
    """of_map : what the file of --map takes of --picture.

    Raises InputError for a file of a form that there is not, or where none can be written.
    """
    cut = assignments_of("--cut", arguments.cut, CUTS) if arguments.cut else {}
    picture = assignments_of("--picture", arguments.picture, PICTURES) if arguments.picture else {}
    require_numbers("--cut", cut)
    forms = [outputs.form_of(path) for path in arguments.out]
    for path in arguments.out:
        outputs.require_place(path)
    for option, given, users in (
        ("--cut", cut, outputs.ASSIGNMENT_FORMS),
        ("--picture", {} if of_map else picture, outputs.PICTURES),
    ):
        if given and not set(users).intersection(forms):
            raise InputError(
                option, f"no --out uses it; it is for {', '.join(users[:-1])} and {users[-1]}."
            )
    if arguments.report is not None:
        outputs.require_place(arguments.report)
    return cut, picture


def _write(
    tree: Tree,
    arguments: Namespace,
    forms: Forms,
    files: Mapping[str, str] | None = None,
    names: str | None = None,
) -> None:
    for path in arguments.out:
        outputs.written(tree, path, *forms, names)
    outputs.reported(tree, arguments.report, files or {})
    _show(tree, arguments, names)


def _show(tree: Tree, arguments: Namespace, names: str | None) -> None:
    """The tree on the terminal: Newick on standard output, the rest on standard error."""
    if arguments.json:
        put({**outputs.facts_of(tree), "names": names, "files": arguments.out}, True, "")
    elif not arguments.out:
        put(None, False, tree.newick(names=names).rstrip("\n"))
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in tree.metrics.items())
    say(
        f"{tree.facts.method}: {tree.n_points:,} rows, {tree.n_leaves:,} leaves"
        + (f"; {metrics}" if metrics else "")
        + "".join(f"\n  {path}" for path in arguments.out),
        arguments.quiet,
    )
    if arguments.url or os.environ.get("UMBEL_URL"):
        say(f"  {tree.id}  {tree.url}", arguments.quiet)
    elif arguments.data_dir:
        say(f"  {tree.id}, kept in {arguments.data_dir}", arguments.quiet)
    outputs.warn(tree.warnings, arguments.quiet)


_OF_ROWS = (
    " A file has the leaves of a tree, not the rows of the fit: to evaluate it on these, name the "
    "tree that the service keeps, `umbel evaluate tr_... --labels FILE`; `umbel run` prints its "
    "id, `umbel list trees` lists it."
)


def evaluate(arguments: Namespace) -> None:
    """`umbel evaluate`."""
    inputs = {
        role: given(role, text, arguments)
        for role in ("labels", "features", "distances", "similarity")
        if (text := getattr(arguments, role)) is not None
    }
    other = arguments.hierarchy
    kept = any(_is_tree(text) for text in (arguments.tree, other) if text is not None)
    if other is not None and not _is_tree(other):
        other = tree_of(other)
    tree_file = None if _is_tree(arguments.tree) else tree_of(arguments.tree)
    if not inputs and other is None:
        raise InputError("evaluate", "give --labels, --features, --distances or --hierarchy.")
    rows: Any = None if arguments.rows is None else given("rows", arguments.rows, arguments)
    if by_role := further(arguments):
        if rows is not None:
            raise InputError("rows", "give --rows, or each input by --also, not both.")
        rows = by_role
    if rows is not None and tree_file is not None:
        raise InputError("rows", "only a tree that a service keeps (tr_...) places new rows.")
    require_table(arguments.out)
    required = conditions.conditions_of(arguments)
    with service(arguments, kept=kept) as umbel:
        tree = umbel.tree(arguments.tree) if tree_file is None else umbel.import_tree(tree_file)
        if other is not None and not _is_tree(str(arguments.hierarchy)):
            other = umbel.import_tree(other)
        try:
            evaluation = tree.evaluate(
                **inputs,
                rows=rows,
                hierarchy=other,
                metrics=_names(arguments.metrics),
                cut=cut_of(arguments.cut),
                sample=arguments.sample,
                seed=arguments.seed,
                **work_of(arguments),
            )
        except WrongLength as error:
            if tree_file is not None:
                error.detail += _OF_ROWS
            raise
        rows = [{"metric": name, "value": value} for name, value in evaluation.items()]
        if arguments.out:
            outputs.table(rows, arguments.out)
        put(evaluation.body, arguments.json, outputs.shown(rows))
        outputs.warn(evaluation.warnings, arguments.quiet)
        conditions.judge(arguments, required, evaluation, "evaluate")


def predict(arguments: Namespace) -> None:
    """`umbel predict`."""
    inputs = further(arguments)
    rows = None if arguments.file is None else given("rows", arguments.file, arguments)
    if rows is None and not inputs:
        raise InputError("rows", "no file is given.")
    fields: dict[str, Any] = {
        "top_k": arguments.top_k,
        "threshold": arguments.threshold,
        "confidence": arguments.confidence,
        "calibration": arguments.calibration,
        "alpha": arguments.alpha,
        **(cut_of(arguments.cut) or {}),
        **work_of(arguments),
    }
    require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        if arguments.tree.startswith("md_"):
            model = umbel.model(arguments.tree)
            if rows is not None:
                roles = [role for role in model.inputs if role not in inputs]
                if len(roles) != 1:
                    needed = ", ".join(model.inputs)
                    raise InputError("rows", f"the model needs {needed}; give each by --also.")
                inputs[roles[0]] = rows
            predictions = model.predict(**fields, **inputs)
        else:
            predictions = umbel.tree(arguments.tree).predict(rows, **fields, **inputs)
        items = [{"row": row, **item} for row, item in enumerate(predictions)]
        if arguments.out:
            outputs.table(items, arguments.out)
        elif arguments.json:
            put(items, True, "")
        else:
            put(None, False, outputs.csv_text(items).rstrip("\n"))


def calibrate(arguments: Namespace) -> None:
    """`umbel calibrate`."""
    inputs = further(arguments)
    rows = None if arguments.file is None else given("rows", arguments.file, arguments)
    if rows is None and not inputs:
        raise InputError("rows", "no file is given.")
    labels = given("labels", arguments.labels, arguments)
    costs = None if arguments.costs is None else input_of("costs", arguments.costs)
    for path in (arguments.out, arguments.suspects, arguments.pairs):
        require_table(path)
    required = conditions.conditions_of(arguments)
    with service(arguments, kept=True) as umbel:
        calibration = umbel.tree(arguments.tree).calibrate(
            labels,
            rows,
            alpha=arguments.alpha,
            loss=arguments.loss,
            per=arguments.per,
            answer=arguments.answer,
            score=arguments.score,
            costs=costs,
            cut=cut_of(arguments.cut),
            drift=arguments.drift,
            shift=arguments.shift,
            after=arguments.after,
            temperature=arguments.temperature,
            seed=arguments.seed,
            **work_of(arguments),
            **inputs,
        )
        tables = (
            (arguments.out, calibration.curve),
            (arguments.suspects, calibration.suspects),
            (arguments.pairs, calibration.pairs),
        )
        for path, rows_of in tables:
            if path:
                outputs.table(rows_of, path)
        facts = outputs.facts_shown(calibration.body["result"])
        put(calibration.body, arguments.json, f"{calibration.id}\n\n{facts}")
        outputs.warn(calibration.warnings, arguments.quiet)
        files = {"rows": arguments.file, "labels": arguments.labels}
        outputs.reported(calibration, arguments.report, files)
        conditions.judge(arguments, required, calibration.body["result"], "calibrate")


def drift(arguments: Namespace) -> None:
    """`umbel drift`."""
    labels: dict[str, Any] = {
        name: None if text is None else given("labels", text, arguments)
        for name in ("reference_labels", "batch_labels")
        for text in (getattr(arguments, name),)
    }
    reference, batch = (
        given("rows", getattr(arguments, name), arguments) for name in ("reference", "batch")
    )
    required = conditions.conditions_of(arguments)
    picture = outputs.is_svg(arguments.out)
    if picture:
        outputs.require_place(arguments.out)
    else:
        require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        drifted = umbel.tree(arguments.tree).drift(
            reference, batch, **labels, level=arguments.level, **work_of(arguments)
        )
        if picture:
            outputs.saved(drifted.svg.encode(), arguments.out)
        elif arguments.out:
            outputs.table(drifted.nodes, arguments.out)
        columns = ("aspect", "node", "name", "direction", "before", "after", "p_value")
        shown = [{name: move[name] for name in columns} for move in drifted.moves]
        text = outputs.shown(shown) if shown else "Nothing moved."
        put(drifted.body, arguments.json, f"{drifted.id}\n\n{text}")
        outputs.warn(drifted.warnings, arguments.quiet)
        files = {name: getattr(arguments, name) for name in ("reference", "batch")}
        outputs.reported(drifted, arguments.report, files)
        conditions.judge(arguments, required, drifted.body["result"], "drift")


def name(arguments: Namespace) -> None:
    """`umbel name`."""
    inputs = further(arguments)
    form = None if arguments.out is None else outputs.form_of(arguments.out)
    if form is not None:
        if form in outputs.ASSIGNMENT_FORMS:
            raise InputError("--out", "names are shown by the tree: .nwk, .json, .svg or .png.")
        outputs.require_place(arguments.out)
    with service(arguments, kept=True) as umbel:
        tree = umbel.tree(arguments.tree)
        naming = tree.name_nodes(
            arguments.by,
            evidence=arguments.evidence,
            n_clusters=arguments.n_clusters,
            **work_of(arguments),
            **inputs,
        )
        if form is not None:
            outputs.saved(tree.content(form, names=naming.id), arguments.out)
        columns = ("node", "size", "name", "evidence")
        shown = [{column: each[column] for column in columns} for each in naming.nodes]
        put(naming.body, arguments.json, f"{naming.id}\n\n{outputs.shown(shown)}")
        outputs.warn(naming.warnings, arguments.quiet)


def compare(arguments: Namespace) -> None:
    """`umbel compare`."""
    runs = [compared(text, lambda: plugged_of(arguments).methods) for text in arguments.methods]
    inputs = {
        role: given(role, text, arguments)
        for role in ("features", "logits", "labels", "hierarchy")
        if (text := getattr(arguments, role)) is not None
    }
    inputs.update(further(arguments))
    if not inputs:
        raise InputError("features", "no file is given.")
    require_table(arguments.out)
    required = conditions.conditions_of(arguments)
    with service(arguments) as umbel:
        comparison = umbel.compare(
            runs,
            seeds=arguments.seeds,
            metrics=_names(arguments.metrics),
            cut=cut_of(arguments.cut),
            **work_of(arguments),
            progress=False if arguments.quiet else None,
            **inputs,
        )
        rows = comparison.rows()
        if arguments.out:
            outputs.table(rows, arguments.out)
        without = [{key: cell for key, cell in row.items() if "_std" not in key} for row in rows]
        put(comparison.body, arguments.json, outputs.shown(without))
        roles = ("features", "logits", "labels", "hierarchy")
        outputs.reported(
            comparison, arguments.report, {role: getattr(arguments, role) for role in roles}
        )
        figures = conditions.figures_of_runs(comparison)
        conditions.judge(arguments, required, figures, "compare")


def jobs(arguments: Namespace) -> None:
    """`umbel jobs`."""
    with service(arguments, kept=True) as umbel:
        listed = umbel.jobs(
            status=arguments.status,
            method=arguments.method,
            name=arguments.name,
            tags=arguments.tag,
            limit=arguments.limit,
        )
        bodies = [job.body for job in listed]
        rows = [
            {
                "id": body["id"],
                "status": body["status"],
                "method": body.get("method"),
                "name": body.get("name"),
                "tags": ", ".join(body.get("tags") or ()),
                "created": body.get("created_at"),
                "tree": (body.get("result") or {}).get("tree"),
                "problem": (body.get("error") or {}).get("detail"),
            }
            for body in bodies
        ]
        put(bodies, arguments.json, outputs.shown(rows) if rows else "No jobs.")


def mcp(arguments: Namespace) -> None:
    """`umbel mcp`: until standard input ends."""
    package("mcp", "umbel mcp")
    from umbel_client.assistants import server

    with service(arguments) as umbel:
        server(umbel).run()


def work_of(arguments: Namespace) -> dict[str, Any]:
    """The options of `work_options`, as of `Umbel.run`."""
    retrying = {
        "attempts": arguments.attempts,
        "backoff": arguments.backoff,
        "retry_on": arguments.retry_on,
    }
    waiting = {"wait_s": arguments.wait_s} if hasattr(arguments, "wait_s") else {}
    own = {"webhook": arguments.webhook, "retrying": retrying}
    return {**described_of(arguments), **own, **waiting}


def described_of(arguments: Namespace) -> dict[str, Any]:
    """The options of `described_options`."""
    return {
        "name": arguments.title,
        "description": arguments.description,
        "tags": arguments.tag,
        "expires_at": arguments.expires_at,
    }


def given(role: str, text: str, arguments: Namespace) -> Any:
    """The input of a role, with what of the options of tables is of this role."""
    return input_of(role, text, taken(role, table_of(arguments)))


def further(arguments: Namespace) -> dict[str, Any]:
    """The inputs of --also."""
    inputs = {}
    for text in arguments.also:
        role, separator, file = text.partition("=")
        if not separator or not role or not file:
            raise InputError("--also", f"{shown(text)} is not ROLE=FILE.")
        inputs[role] = given(role, file, arguments)
    return inputs


def _object(option: str, text: str | None) -> Any:
    """JSON of an option. Raises InputError for text that is none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(option, f"{shown(text)} is not JSON: {error}.") from None


def _steps(text: str | None) -> Any:
    """The steps of --preprocess: JSON, or names with commas between them."""
    if text is None or text.lstrip()[:1] in ("[", "{", ""):
        steps = _object("--preprocess", text)
        return [steps] if isinstance(steps, dict) else steps
    return [{"step": name.strip()} for name in text.split(",")]


def _then(text: str | None) -> Any:
    return parameter_of(text) if text is not None and text.startswith("{") else text


def cut_of(text: str | None) -> dict[str, float] | None:
    """The cut of --cut."""
    if text is None:
        return None
    values = assignments_of("--cut", text, ("k", "height", "level"))
    require_numbers("--cut", values)
    return {name: parameter_of(without_zeros(value)) for name, value in values.items()}


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _is_tree(text: str) -> bool:
    """Whether text is the id of a tree, or an alias, and no file."""
    is_id = text.startswith("@") or (text.startswith("tr_") and len(text) == 29)
    return is_id and not os.path.exists(text)


def require_table(path: str | None) -> None:
    """Raises InputError for a file that is neither .csv nor .json, or that has no place."""
    if path is None:
        return
    ending = outputs.standard_form(path)[0]
    if ending and not ending.lower().endswith((".csv", ".json")):
        raise InputError("--out", f"{path_shown(path)} ends with neither .csv nor .json.")
    outputs.require_place(path)
