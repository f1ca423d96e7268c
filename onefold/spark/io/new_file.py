"""Files that are created only where there is none: of several jobs that create one file, one succeeds.

Hadoop's file systems cannot do that everywhere, S3A 3.4.1 among them. So each store is asked in its own way.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.gcs import GcsObjects
from onefold.core.errors import InvalidInput, TryAgain
from onefold.ports.objects import NEW, ObjectChanged, ObjectWriter
from onefold.spark.io.filesystem import Folder

_S3 = re.compile(r"s3a://(?P<bucket>[^/]+)/(?P<key>.+)")
# S3, "Conditional writes", https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html, 2026-11: 412 where
# the object exists; 409 where another write of the object is under way, after which the request may be repeated.
_EXISTS, _CONFLICT = 412, 409


def create_file(spark: SparkSession, folder: str, name: str, text: str) -> bool:
    """Create a small file, and return whether it did not exist.

    Args:
        spark: the session.
        folder: gs://, s3a://, or a folder of this machine.
        name: the path of the file below the folder.
        text: the content.

    Raises:
        InvalidInput: the store cannot create files on a condition.
        TryAgain: the store does not answer, and the file may have been written.
        Rejected: the store refuses.
    """
    root = Folder(spark, folder).qualified()
    if match := _S3.fullmatch(f"{root}/{name}"):
        return _put_new(spark, match["bucket"], match["key"], text)
    objects, path = _objects_at(root)
    try:
        objects.write(f"{path}/{name}", text.encode(), NEW)
    except ObjectChanged:
        return False
    return True


def _objects_at(root: str) -> tuple[ObjectWriter, str]:
    """Return the objects of a folder, and the folder as they spell it.

    Raises:
        InvalidInput: the store cannot create files on a condition.
    """
    if root.startswith("gs://"):
        return GcsObjects(), root
    if root.startswith("file:/"):
        path = root.removeprefix("file:")
        return FolderObjects(Path(path)), path
    raise InvalidInput(f"{root}: expected gs://, s3://, or a folder of this machine: no file can be created once elsewhere")


def _put_new(spark: SparkSession, bucket: str, key: str, text: str) -> bool:
    """Create an object by the client of S3A, which has the job's credentials.

    Args:
        spark: the session.
        bucket: the bucket.
        key: the name of the object.
        text: the content.

    Raises:
        TryAgain: S3 does not answer, or another job creates the object at this moment.
    """
    jvm: Any = spark._jvm
    java: Any = spark._jsc
    path = jvm.org.apache.hadoop.fs.Path(f"s3a://{bucket}/{key}")
    model, sync = jvm.software.amazon.awssdk.services.s3.model, jvm.software.amazon.awssdk.core.sync
    try:
        internals = path.getFileSystem(java.hadoopConfiguration()).getS3AInternals()
        request = model.PutObjectRequest.builder().bucket(bucket).key(key).ifNoneMatch("*").build()
        internals.getAmazonS3Client("create on a condition").putObject(request, sync.RequestBody.fromString(text))
    except Py4JJavaError as error:
        status = _status(error.java_exception)
        if status == _EXISTS:
            return False
        hint = "another job writes it" if status == _CONFLICT else error.java_exception.getMessage()
        raise TryAgain(f"s3://{bucket}/{key} cannot be written: {hint}") from error
    return True


def _status(error: Any) -> int:
    is_answer = error.getClass().getName().startswith("software.amazon.awssdk.services.s3.model.")
    return int(error.statusCode()) if is_answer else 0
