"""What `benchmarks.cost` measures: each case runs in a process of its own, so that its peak of memory is its own."""
