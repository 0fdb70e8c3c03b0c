# docs/operations.md says how to pin this image by digest.
FROM python:3.11.15-slim-trixie AS base
# The kernels are compiled for this processor, not for the one that builds the image: the image runs
# on any with AVX2 and FMA. For others, use `--build-arg KERNEL_CPU=generic`.
ARG KERNEL_CPU=x86-64-v3
ENV NUMBA_CPU_NAME=$KERNEL_CPU NUMBA_CPU_FEATURES=
WORKDIR /srv/airsched

FROM base AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/airsched
COPY requirements.lock ./
# Removed: the test suites of the libraries, and an unused MKL build of SCS.
RUN python -m pip --python /opt/airsched/bin/python install \
      --require-hashes --only-binary :all: --requirement requirements.lock \
 && find /opt/airsched -type d -name tests -prune -exec rm -r {} + \
 && find /opt/airsched -name '_scs_mkl*.so' -delete
COPY app app
COPY deploy/container/kernel_cache.py ./
RUN /opt/airsched/bin/python -m compileall -q app kernel_cache.py \
 && /opt/airsched/bin/python -m app.warmup

FROM base
COPY --from=build /opt/airsched /opt/airsched
COPY --from=build /srv/airsched/app app
COPY --from=build /srv/airsched/kernel_cache.py ./
# Only /tmp is written at run time: the root file system may be read-only.
# Solves run in parallel; threads inside one would only compete with the others.
ENV NUMBA_CACHE_LOCATOR_CLASSES=kernel_cache.ReadOnlyCacheLocator OPENBLAS_NUM_THREADS=1 \
    PATH=/opt/airsched/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
CMD ["python", "-m", "app", "--host", "0.0.0.0", "--port", "8000"]
