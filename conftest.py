"""What imports PySpark is collected only where it is installed: it is too large for `make test`."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("pyspark")
    else ["python/headwater/adapters/spark.py", "tests/adapters/spark_job.py"]
)
