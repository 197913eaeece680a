# BertViz Lab in a container: no root, a read-only file system, a volume for the runs.
#   docker build -t bertviz-lab .
#   docker run --rm -p 7860:7860 --read-only --tmpfs /tmp:size=4g -v bertviz-lab-runs:/runs bertviz-lab
# Options of `bertviz-lab app` go at the end of the second command; limits also as -e BERTVIZ_LAB_...=...
FROM python:3.12-slim

# PyTorch without CUDA; for a GPU give --build-arg TORCH_INDEX= and a base image with a driver.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN useradd --create-home --uid 1000 lab && install --directory --owner=lab /runs
WORKDIR /lab
COPY requirements.lock ./
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} torch==2.13.0 \
    && pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY app.py ./
COPY bertviz_lab bertviz_lab
COPY checkpoints checkpoints
RUN python -m compileall -q bertviz_lab

USER lab
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 BERTVIZ_LAB_CACHE=none
VOLUME /runs
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/healthz', timeout=4)"]
ENTRYPOINT ["python", "app.py", "--host", "0.0.0.0", "--port", "7860", "--runs-dir", "/runs"]
