# `onefold capture` as a container: docs/capture-run.md. Build it from the top of a checkout.
FROM python:3.12-slim

WORKDIR /source
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY onefold onefold
# The versions that were tested, without their hashes: a constraint cannot have any.
RUN grep -oE '^[a-z0-9._-]+==[^ ;]+' requirements.lock > constraints.txt \
 && pip install --no-cache-dir --constraint constraints.txt '.[capture,cli]' \
 && useradd --no-create-home capture

USER capture
WORKDIR /
# Lines of the log appear as they are written.
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["onefold", "capture"]
