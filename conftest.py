"""What imports PySpark is collected only where it is installed: it is too large for `make test`.

SciPy reads whether it takes arrays of other libraries when it is imported; without it scikit-learn
skips its check of them.
"""

import os
from importlib.util import find_spec

os.environ.setdefault("SCIPY_ARRAY_API", "1")

collect_ignore = (
    []
    if find_spec("pyspark")
    else ["python/headwater/adapters/spark.py", "tests/adapters/spark_job.py"]
)
