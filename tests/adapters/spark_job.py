"""A Spark job as a user would write it: one learner per key, from a folder or Kafka to a folder.

    python spark_job.py FOLDER
    python spark_job.py FOLDER SERVERS JARS

reads FOLDER/in, or the topic "rows" of these brokers by the connector in the folder JARS; writes
FOLDER/out and FOLDER/checkpoint, and then FOLDER/result.json: the rows that count and the learners
of the checkpoint. While FOLDER/hold exists, the first event of the key "visitor" makes the file
FOLDER/held and waits: whoever kills the job then kills it inside a batch.
"""

import json
import os
import sys
import time
from pathlib import Path

import headwater as hw
from headwater.adapters.spark import SCHEMA, SETTINGS, models, per_key, score


def session(cores: int = 2, partitions: int = 2, jars: str = ""):  # type: ignore[no-untyped-def]
    """Spark on this machine alone, started as quickly as it can be."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    options = {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.jars": jars,
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def rows_of(spark, folder: Path, servers: str | None):  # type: ignore[no-untyped-def]
    """The stream of rows: files in their order, or what is in a topic, 60 rows a batch."""
    if servers is None:
        files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return files.option("latestFirst", "false").json(str(folder / "in"))
    from pyspark.sql.functions import col, from_json

    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": "rows",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "60",
    }
    messages = spark.readStream.format("kafka").options(**options).load()
    return messages.select(from_json(col("value").cast("string"), SCHEMA).alias("row")).select(
        "row.*"
    )


def main(folder: Path, servers: str | None = None, jars: str | None = None) -> None:
    """Run the stream to its present end."""

    def start(key: str) -> hw.Learner:
        if key == "visitor" and (folder / "hold").exists():
            (folder / "held").touch()
            time.sleep(600)
        return hw.Linear(query="margin", seed=len(key))

    began = time.time()
    spark = session(jars="" if jars is None else ",".join(map(str, Path(jars).glob("*.jar"))))
    print(f"session after {time.time() - began:.1f} s", flush=True)
    rows = rows_of(spark, folder, servers)
    query = (
        per_key(rows, start, early_seconds=3600)
        .writeStream.format("json")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    print(f"stream after {time.time() - began:.1f} s", flush=True)
    out = [tuple(row) for row in spark.read.schema(SCHEMA).json(str(folder / "out")).collect()]
    learners = dict(models(folder / "checkpoint"))
    print(f"models after {time.time() - began:.1f} s", flush=True)
    frame = spark.createDataFrame([("a", 1.0, None), ("b", -2.0, 3.0)], ["id", "s0", "s1"])
    bodies = spark.createDataFrame([("a", '{"s0": 1.0}'), ("b", "[")], ["id", "body"])
    first = learners[min(learners)]
    scores = [tuple(row) for row in score(frame, first, keep=["id"]).collect()]
    from_bodies = [tuple(row) for row in score(bodies, first, keep=["id"], body="body").collect()]
    result = {
        "rows": out,
        "models": {key: learner.to_bytes().hex() for key, learner in learners.items()},
        "scores": scores,
        "from_bodies": from_bodies,
    }
    (folder / "result.json").write_text(json.dumps(result))
    spark.stop()
    print(f"all after {time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
