# Umbel: API and workers from one image, not root; a compiler only in that for GPUs.
#   docker build -t umbel .                                        PyTorch for the CPU where pip's
#       index or PyTorch's own has it, else without: the build says which, and what waits for it
#   docker build -t umbel --build-arg TORCH_INDEX=https://... .    another index of CPU wheels
#   docker build -t umbel:gpu --build-arg CUDA=yes .               PyTorch for CUDA (2.7 GB)
#   docker build -t umbel:small --build-arg EXTRAS=telemetry --build-arg TORCH=no .
#   docker build -t umbel --build-arg FONTS="fonts-noto-cjk fonts-noto-color-emoji" .
FROM python:3.11-slim AS build
ARG CUDA=no
ARG TORCH=yes
ARG TORCH_INDEX=
ARG EXTRAS="maps,cones,pdf,h5ad,oidc,telemetry"
WORKDIR /src
# Dependencies first: they change seldom, and this layer is large.
COPY pyproject.toml constraints.txt ./
COPY client/pyproject.toml client/
COPY scripts/install.py scripts/
RUN python scripts/install.py --venv /opt/umbel --requirements --extras "$EXTRAS" \
        --torch-index "$TORCH_INDEX" \
        $(if [ "$CUDA" = yes ]; then echo --cuda; fi) \
        $(if [ "$TORCH" != yes ]; then echo --without-torch; fi)
COPY README.md CHANGELOG.md LICENSE ./
COPY client client
COPY umbel umbel
COPY models models
COPY workers workers
COPY app app
RUN /opt/umbel/bin/pip install --no-cache-dir --no-deps ./client .

FROM python:3.11-slim
# Triton compiles the caller of its kernels with it (`l2h` on a GPU).
ARG CUDA=no
RUN if [ "$CUDA" = yes ]; then apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*; fi
# Fonts for pictures of names in scripts that the service's own font lacks; installed they take 91 MB
# (fonts-noto-cjk), 11 MB (fonts-noto-color-emoji) and 43 MB (fonts-noto-core: Indic, Thai, ...).
ARG FONTS=
RUN if [ -n "$FONTS" ]; then apt-get update \
    && apt-get install -y --no-install-recommends $FONTS \
    && rm -rf /var/lib/apt/lists/*; fi
RUN groupadd --gid 10001 umbel && useradd --uid 10001 --gid umbel --create-home umbel \
    && install -d -o umbel -g umbel /var/lib/umbel
COPY --from=build /opt/umbel /opt/umbel
ENV PATH=/opt/umbel/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    UMBEL_SCRATCH_DIR=/var/lib/umbel \
    NUMBA_CACHE_DIR=/var/lib/umbel/compiled
USER umbel
WORKDIR /var/lib/umbel
# The one folder that can be written; a processor of another kind compiles again at its first start.
RUN umbel compile --all
VOLUME /var/lib/umbel
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
CMD ["umbel", "api", "--host", "0.0.0.0", "--port", "8000"]
