# Umbel: API and workers from one image, not root, no compiler in it.
#   docker build -t umbel --build-arg TORCH_INDEX=https://... .   the index of PyTorch's CPU wheels,
#       where the usual one has those for CUDA alone (2.7 GB, which constraints.txt refuses)
#   docker build -t umbel:gpu --build-arg CUDA=yes .              the same PyTorch, for CUDA
#   docker build -t umbel:small --build-arg EXTRAS=telemetry .    without PyTorch
#   docker build -t umbel --build-arg FONTS="fonts-noto-cjk fonts-noto-color-emoji" .
FROM python:3.11-slim AS build
ARG CUDA=no
ARG TORCH_INDEX=
ARG EXTRAS="telemetry torch"
WORKDIR /src
RUN python -m venv /opt/umbel
# Dependencies first: they change seldom, and this layer is large.
COPY pyproject.toml constraints.txt ./
RUN python -c 'import os, tomllib; \
project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
extras = [project["optional-dependencies"][extra] for extra in os.environ["EXTRAS"].split()]; \
print(*project["dependencies"], *sum(extras, []), sep="\n")' > requirements.txt
# The refusal of triton is what keeps PyTorch for CUDA out; all other versions are those tested.
RUN if [ "$CUDA" = yes ]; then sed -i '/^triton<0$/d' constraints.txt; fi; \
    if [ -n "$TORCH_INDEX" ]; then \
        /opt/umbel/bin/pip install --no-cache-dir -c constraints.txt --no-deps \
            --index-url "$TORCH_INDEX" torch; fi \
    && /opt/umbel/bin/pip install --no-cache-dir -c constraints.txt -r requirements.txt
COPY README.md LICENSE ./
COPY models models
COPY workers workers
COPY app app
RUN /opt/umbel/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim
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
RUN python -m models.compiled --all
VOLUME /var/lib/umbel
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
CMD ["umbel", "api", "--host", "0.0.0.0", "--port", "8000"]
