# syntax=docker/dockerfile:1
FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/airsched
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY clients/airsched_client clients/airsched_client
RUN /opt/airsched/bin/pip install . \
 # Compiled here, so that a container is ready as soon as it is up.
 && /opt/airsched/bin/python -P -m app.compilation

FROM python:3.11-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin airsched
# Owned by the service: numba uses a cache only where it may also write.
COPY --from=build --chown=airsched:airsched /opt/airsched /opt/airsched
USER 10001
ENV PATH=/opt/airsched/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
CMD ["python", "-m", "app", "--host", "0.0.0.0", "--port", "8000"]
