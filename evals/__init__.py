"""What students do, measured. Its rooms import one way, each only those before it:

- `metrics`: what a metric is, what labels it rests on, and its cases;
- `stats`: ratios and differences with intervals, from cases;
- `sitting`: a student at an exam, its partners, and what an exam is;
- `exams`: the exams, each with its metrics and keys;
- `examining`: all exams of a config: what is refused, what it costs, sitting them;
- `report`: one or several runs, summed up and compared;
- `audit`: checks of anybody's dialogues;
- `readers`: who labels turns, against people;
- `society`: figures of the society of peers.
"""
