"""Files of Optuna studies: all completed trials as JSON with a checksum, rewritten after each round of trials."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep_bench.shared.rows.atomic import write_atomically

if TYPE_CHECKING:
    from optuna import Study


def write_study(study: "Study", path: Path) -> None:
    """Write a study to a file, which is replaced. All trials must be finished and have the same search space.

    Raises:
        OSError: The file cannot be written; an earlier version of it is kept.
    """
    from optuna.distributions import distribution_to_json

    trials = study.get_trials(deepcopy=False)
    content = {
        "space": {name: distribution_to_json(distribution) for name, distribution in trials[0].distributions.items()},
        "user_attrs": study.user_attrs,
        "trials": [
            {"params": trial.params, "value": trial.value, "state": trial.state.name, "user_attrs": trial.user_attrs}
            for trial in trials
        ],
    }
    write_atomically(json.dumps({"study": content, "sha256": _digest(content)}).encode(), path)


def read_study(path: Path) -> "Study":
    """Return the study in a file as an in-memory Optuna study.

    Raises:
        FileNotFoundError: There is no file.
        OSError: The file cannot be read.
        ValueError: The file holds no study, or has changed since it was written.
    """
    import optuna
    from optuna.distributions import json_to_distribution
    from optuna.trial import TrialState, create_trial

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would say that a study was created
    text = path.read_bytes()
    try:
        stored = json.loads(text)
        content = stored["study"]
        if stored["sha256"] != _digest(content):
            raise ValueError("its digest is that of another study")
        space = {name: json_to_distribution(distribution) for name, distribution in content["space"].items()}
        study = optuna.create_study(direction="minimize")
        for name, value in content["user_attrs"].items():
            study.set_user_attr(name, value)
        study.add_trials(
            create_trial(
                state=TrialState[trial["state"]],
                value=trial["value"],
                params=trial["params"],
                distributions=space,
                user_attrs=trial["user_attrs"],
            )
            for trial in content["trials"]
        )
        return study
    except Exception as problem:  # a file that somebody made raises all kinds of errors
        raise ValueError(f"{path} holds no study: {problem}") from problem


def _digest(content: object) -> str:
    return sha256(json.dumps(content).encode()).hexdigest()
