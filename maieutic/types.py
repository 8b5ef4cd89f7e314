"""The types of what the functions of `import maieutic` take and return. They bring pydantic and numpy."""

from evals.audit.finding import Check as Check
from evals.report.summary_types import Summary as Summary
from pipeline.experiment.experiment import Experiment as Experiment
from pipeline.knowledge.records import Dialogue as Dialogue
from pipeline.knowledge.records import Failure as Failure
