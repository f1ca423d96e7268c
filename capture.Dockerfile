# `onefold capture` as a container: docs/how-to/deploy-capture.md. Build it from the top of a checkout.
FROM python:3.12-slim

WORKDIR /source
COPY pyproject.toml capture.requirements.txt README.md LICENSE ./
COPY onefold onefold
# The versions that were tested, by their hashes; the package itself is made of what they bring.
RUN pip install --no-cache-dir --no-deps --require-hashes -r capture.requirements.txt \
 && pip install --no-cache-dir --no-deps --no-build-isolation . \
 && groupadd --gid 65532 capture \
 && useradd --uid 65532 --gid 65532 --no-create-home capture

# By number: who runs the container can see that it is not root without looking into the image.
USER 65532:65532
WORKDIR /
# Lines of the log appear as they are written, and the process touches a file as long as it comes round.
ENV PYTHONUNBUFFERED=1 ONEFOLD_HEARTBEAT=/tmp/onefold-heartbeat
HEALTHCHECK --interval=60s --timeout=10s --start-period=120s --retries=2 CMD ["python", "-m", "onefold.capture.heartbeat"]
ENTRYPOINT ["onefold", "capture"]
