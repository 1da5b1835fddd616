# docker build -t pacsbo_ros . && docker run --rm pacsbo_ros            tunes the simulated pendulum
# docker run --rm pacsbo_ros make test                                  runs the tests
FROM python:3.12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ make git procps chromium chromium-driver \
 && rm -rf /var/lib/apt/lists/*
COPY . /pacsbo_ros
WORKDIR /pacsbo_ros
RUN make setup
CMD ["make", "run"]
