# `onefold capture` as a container: docs/capture-run.md. Build it from the top of a checkout.
FROM python:3.12-slim

WORKDIR /source
COPY pyproject.toml capture.requirements.txt README.md LICENSE ./
COPY onefold onefold
# The versions that were tested, by their hashes; the package itself is made of what they bring.
RUN pip install --no-cache-dir --require-hashes -r capture.requirements.txt \
 && pip install --no-cache-dir --no-deps --no-build-isolation . \
 && useradd --no-create-home capture

USER capture
WORKDIR /
# Lines of the log appear as they are written.
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["onefold", "capture"]
